"""What is measured of networks that copy images, against definitions (closed claims)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any
from unittest import mock

import numpy as np
from torch import nn

from empirical.identity_map import measures
from empirical.identity_map.measures import subjects
from empirical.identity_map.networks import copier
from verify.claim import grid
from verify.claims._twins import SUMS, closed, stacked
from verify.claims.identity_map import _definitions as by
from verify.compare import Array


def _plain_one(
    old: nn.Sequential,
    new: nn.Sequential,
    kind: str,
    law: str,
    *,
    centred: bool,
    wrong: bool,
) -> by.Found:
    """Measure one network; names as records have them."""
    maps = [
        by.map(new, image, index, law, centred=centred)
        for index, image in enumerate(by.trained_on())
    ]
    found: by.Found = {}
    for place, name in enumerate(by.FIELDS):
        found[f"curve/{name}"] = [by.means([*chain(*m)])[place] for m in maps]
        found[f"heatmap/{name}"] = [[by.means(rows)[place] for rows in m] for m in maps]
    found["change/relative"] = by.change(old, new, wrong=wrong)
    identity, constant = by.probed(new, centred=centred, law=law)
    found |= {"probes/identity": identity, "probes/constant": constant}
    found["probes/untrained_constant"] = by.probed(old, centred=centred, law=law)[1]
    found["edges/untrained"] = by.edged(old)["own"]
    found |= {f"edges/{k}": v for k, v in by.edged(new).items()}
    found["points/outputs"] = by.sampled(new)
    for name, net in (("trained", new), ("untrained", old)):
        found[f"layer-error/{name}"] = by.averaging(net, kind)
        sizes = [
            math.sqrt(float(h.square().mean()))
            for h in by.layer_outputs(net, kind, by.trained_on())
        ]
        found[f"signal/{name}"] = sizes
        if kind != "fcn":
            found |= {
                f"pictures/{name}/{k}": v for k, v in by.all_pictures(net, kind).items()
            }
    if kind != "fcn":
        upper = by.upper(new, kind, centred=centred)
        found |= {f"upper/{k}": v for k, v in upper.items()}
    predicted = by.predicted(new, centred=centred)
    found |= {f"predictions/{k}": v for k, v in predicted.items()}
    if kind == "cnn":
        found |= {f"sizes/{k}": v for k, v in by.sized(new, centred=centred).items()}
    return found


_IMAGES = ("outputs", "inputs")
_PICTURES = ("layers", "singular", "correlated", "first")


def _as_kept(name: str, values: Array) -> Array | None:
    """Return what a record keeps of pixels; None of what is no picture."""
    parts = name.split("/")
    if name != "points/outputs" and any(part in parts for part in _IMAGES):
        return np.round(values, 3)
    if name == "points/outputs":
        return _significant(values, 4)
    return _significant(values, 3) if any(p in parts for p in _PICTURES) else None


def _significant(values: Array, digits: int) -> Array:
    return np.array([float(f"{v:.{digits}g}") for v in values])


def _told(each: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return every number of both networks; pictures as few, of the first alone."""
    found: list[float] = []
    for row, one in enumerate(each):
        for name in sorted(one):
            values = np.nan_to_num(np.asarray(one[name], dtype=np.float64), nan=-9.0)
            kept = _as_kept(name, values.ravel())
            if kept is None:
                found += values.ravel().tolist()
            elif row == 0:
                weights = np.cos(np.sqrt(np.arange(1.0, len(kept) + 1.0)))
                found.append(float(kept @ weights))
    return found


_NAMES = ("train a", "train b", "a", "b")


def _plain_said(kind: str) -> list[float]:
    """Say of all networks how many outputs, which layers and pictures, by name."""
    shown = [0, 2, 3]
    counts = {"cnn": [1, 2, 3], "residual": [2, 4], "fcn": []}[kind]
    # Pictures of layers, what upper layers are fed, and images of other sizes.
    times = {"cnn": 4, "residual": 2, "fcn": 0}[kind]
    every = (*shown * times, *range(len(_NAMES)))
    return [len(by.RHOS) * by.COUNT, *by.RHOS, *counts, *every]


def _found_said(shared: Mapping[str, Any]) -> list[float]:
    found = [shared["curve"]["outputs"], *shared["heatmap"]["rhos"]]
    found += shared["upper"].get("counts", [])
    places = ("pictures", "upper", "sizes", "sizes")
    kept = zip(places, ("images", "images", "images", "shown"), strict=True)
    names = [shared.get(section, {}).get(key, []) for section, key in kept]
    names.append([image["name"] for image in shared["predictions"]["images"]])
    return [*found, *map(_NAMES.index, chain(*names))]


def _plain_measure(
    *,
    kind: str,
    law: str,
    centred: bool,
    dead: bool,
    room: int | None = None,
    wrong: bool,
) -> list[float]:
    """Measure each network by itself.

    Wrong: Changes over the norm of the trained weights.
    """
    del room
    pairs = zip(by.nets(kind, 5, dead=False), by.nets(kind, 0, dead=dead), strict=True)
    each = [_plain_one(a, b, kind, law, centred=centred, wrong=wrong) for a, b in pairs]
    return [*_told(each), *_plain_said(kind)]


def _found_measure(
    *, kind: Any, law: Any, centred: bool, dead: bool, room: int = subjects.BYTES
) -> list[float]:
    network = copier(
        kind,
        shape=[*by.SHAPE],  # pyright: ignore[reportArgumentType] (as of JSON)
        layers=by.LAYERS[kind],
        width={"cnn": 9, "fcn": 5, "residual": None}[kind],
        kernel=3,
        bias=True,
    )
    old, new = (
        stacked(n.parameters() for n in nets)
        for nets in (by.nets(kind, 5, dead=False), by.nets(kind, 0, dead=dead))
    )
    settings = measures.Settings(
        rhos=by.RHOS,
        count=by.COUNT,
        law=law,
        centred=centred,
        sizes=by.SIZES,
        largest=4,
        upper=by.UPPER,
        shown=("a", "b"),
        replicates=1,
        digits=by.DIGITS,
        points=by.POINTS,
        examples=by.EXAMPLES,
    )
    with mock.patch.object(subjects, "BYTES", room):
        found = measures.measure(
            network,
            old,
            new,
            training_images=replace(by.unseen(), pixels=by.trained_on()),
            names=tuple(name for name in measures.MEASUREMENTS if name != "cover"),
            seed=by.SEED,
            test_images=by.unseen(),
            settings=settings,
        )
    if kind == "fcn":
        # Pictures of the output alone, which the other kinds have too.
        found = {k: v for k, v in found.items() if k != "pictures"}
    shared, each = measures.by_replicate(found)
    each = [one | {"edges/detector": shared["edges"]["detector"]} for one in each]
    return [*_told(each), *_found_said(shared)]


MEASURES = closed(
    id="id/corr-records",
    items=("Corr", "MSE", "Layer", "SVD", "Upper", "Rel", "Edges"),
    title="Recorded measures of image-copying networks follow their definitions",
    statement=(
        r"\cos(f(x),x),\ \overline{(f(x)-x)^2},\ \|W^0-W^*\|/\|W^0\|,\ \ldots"
        r"\text{ one image after the other}"
    ),
    where="Section 3.2 and Appendix J",
    cases=(
        *grid(kind=tuple(by.LAYERS), law="gaussian", centred=False, dead=False),
        {"kind": "cnn", "law": "uniform", "centred": True, "dead": True},
        # Two images at a time, of signals of 2, 9, 9 and 2 channels of 12 pixels.
        {"kind": "cnn", "law": "gaussian", "centred": False, "dead": False}
        | {"room": 2 * 2 * 22 * 12 * 8},
    ),
    compare=SUMS,
    twin=_plain_measure,
    measure=_found_measure,
    uses=(
        *("id/Edges-share", "id/corr-pixels", "id/layer", "id/probe"),
        *("id/svd", "id/upper"),
    ),
)
