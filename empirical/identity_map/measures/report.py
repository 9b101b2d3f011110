"""One entry for everything that a record keeps about trained networks."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.data import Dataset
from empirical.identity_map.images import Pictures
from empirical.identity_map.measures.sections import MEASUREMENTS
from empirical.identity_map.measures.subjects import Settings, subject
from empirical.identity_map.scales import checked_measurements
from empirical.networks import Network, Params
from empirical.randomness import Seed
from empirical.testbed.writing import Array


def measure(
    network: Network,
    initial: Params,
    final: Params,
    *,
    training_images: Pictures | Tensor,
    names: Sequence[str],
    seed: Seed,
    test_images: Pictures | None = None,
    digits: tuple[Dataset, Dataset] | None = None,
    settings: Settings | None = None,
) -> dict[str, Any]:
    """Measure a stack of trained networks; return what ``json.dumps`` takes.

    Parameters
    ----------
    network : Network
    initial, final : tuple of Tensor
        Weights before and after training, replicates in front. One whose weights are not
        finite gives None, and is counted, wherever it has no number.
    training_images : Pictures or Tensor, shape (m, C, H, W)
        What was trained on, or the few of it that are to be looked at. None zero.
    names : sequence of str
        Among `MEASUREMENTS`.
    seed : int or SeedSequence
        Of the test images; the same for every network, so that networks are compared
        on the same images.
    test_images : Pictures, optional
        Unseen images of the network's shape; `images.unseen` by default.
    digits : pair of Dataset, optional
        Training and test set of "layer-error"; by default the MNIST digits that are the
        same on every machine.
    settings : Settings, optional

    Returns
    -------
    dict
        ``"settings"``, ``"training"`` (what the training images are), ``"replicates"``,
        ``"finite"`` (of each, whether all its final weights are) and one entry for each of
        `names`. Lists are indexed in the order given here; images of a list are rows of
        pixels, (C, H, W) flattened to (C * H, W), four digits each; None stands for what
        is undefined.

        ``"curve"``
            ``identity, constant, identity_mse, constant_mse``: [replicate][training image],
            means over correlations and test images, one point of a depth curve.
            ``zero, nonfinite``: how many outputs were, of ``outputs`` in all.
        ``"heatmap"``
            The same six as [replicate][training image][rho], and ``rhos``.
        ``"layer-error"``
            ``trained, untrained``: [replicate][layer], layer 0 the input; ``training,
            tests``: the examples' description.
        ``"pictures"``
            ``images``: names; ``trained, untrained``: [replicate][image][layer], each None
            or ``share, channel, cosine`` and the kinds that the settings name:
            ``singular, correlated, first``, of the first few; hidden layers of fully
            connected networks have a picture only if they are as large as the image.
        ``"upper"``
            ``counts``, ``images``; ``identity, constant``: [replicate][count][image];
            ``outputs``: [replicate][count][image]. For fully connected networks of another
            width than the image a ``reason`` alone.
        ``"change"``
            ``relative``: [replicate][layer 1..L].
        ``"signal"``
            ``untrained, trained``: [replicate][layer 0..L], root mean squares over the
            training images.
        ``"sizes"``
            ``sizes``, ``images``; for ``resized`` and ``placed`` test images
            ``identity, constant, zero, nonfinite``: [replicate][size][image], and
            ``outputs``: [replicate][size][shown image], None beyond the largest size kept;
            ``layers``: [first replicate][size][layer], the last of these images in up to
            eight layers, evenly spaced, the output last;
            the constant is the first training image resized or placed likewise. For
            fully connected networks a ``reason`` alone.
        ``"predictions"``
            ``images``: descriptions; ``inputs``: [image]; ``outputs``:
            [replicate][image]; ``identity``: [replicate][image]; ``constant``:
            [replicate][training image][image]; ``coefficients``:
            [replicate][image][training image] and ``explained``: [replicate][image], the
            output as a mixture of training images
            (a ``reason`` instead if those are dependent).
        ``"probes"``
            ``kinds``, ``digits``; ``identity, constant, untrained_constant``:
            [replicate][kind], means over test images at correlation 0, of Gaussian and
            of uniform pixels at all correlations, and digits.
        ``"points"``
            ``kinds``; ``outputs``: [replicate][kind][point], outputs at pixels of unseen
            images that were drawn once, four digits each.
        ``"edges"``
            ``own, other, untrained``: [replicate], means over test digits of the share
            that a digit's edges add to its output, and those of another digit;
            ``detector``: the same share where the output is the edges.
        ``"cover"``
            ``corner, centre``: [layer 1..L], fraction of the pixels seen.

    Raises
    ------
    ValueError
        If a name is unknown (near ones are suggested), shapes disagree, or a training
        image is zero or not finite.

    Examples
    --------
    >>> from empirical.randomness import torch_generator
    >>> from empirical.networks import Convolutional
    >>> net = Convolutional(shape=(1, 6, 6), widths=(2,))
    >>> params = net.init(generator=torch_generator(7), replicates=2)
    >>> image = torch.rand(1, 1, 6, 6, generator=torch_generator(8)).double()
    >>> found = measure(
    ...     net, params, params, training_images=image, names=("change",), seed=7
    ... )
    >>> found["change"]
    {'relative': [[0.0, 0.0], [0.0, 0.0]]}
    """
    checked_measurements(names)
    measured = subject(
        network,
        initial,
        final,
        training_images=training_images,
        test_images=test_images,
        digits=digits,
        seed=seed,
        settings=settings or Settings(),
    )
    finite = [torch.isfinite(w).flatten(1).all(dim=1) for w in final]
    header = {
        "settings": {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in asdict(measured.settings).items()
        },
        "training": _described(training_images),
        "replicates": len(final[0]),
        "finite": torch.stack(finite).all(dim=0).tolist(),
    }
    with torch.no_grad():
        return header | {name: MEASUREMENTS[name](measured) for name in names}


_EACH = (
    *("identity", "constant", "identity_mse", "constant_mse", "zero", "nonfinite"),
    *("trained", "untrained", "outputs", "relative", "coefficients", "explained"),
    *("untrained_constant", "layers", "own", "other"),
)
"""Names of lists that are indexed by network."""


def by_replicate(
    measured: Mapping[str, Any],
) -> tuple[dict[str, Any], list[dict[str, Array]]]:
    """Separate what `measure` says of each network from what it says of all.

    Returns
    -------
    shared : dict
        Settings, training images, and by section names, sizes and the like.
    each : list of dict
        Of each network arrays by ``section/name``, as `measure` has them. In the place
        of ``pictures/trained/`` there are ``share, channel, cosine`` and the kinds, of
        shape (images, layers, ...), NaN where there is nothing to see;
        ``sizes/resized/outputs/`` have the edge behind them. Those with outputs have
        the inputs too.
    """
    each: list[dict[str, Array]] = [{} for _ in range(measured["replicates"])]
    shared = {
        name: _shared(name, part, each) if name in MEASUREMENTS else part
        for name, part in measured.items()
        if name not in ("replicates", "finite")
    }
    return shared, each


def _shared(
    path: str, section: Mapping[str, Any], each: list[dict[str, Array]]
) -> dict[str, Any]:
    """Move what belongs to one network to it; return the rest of a section."""
    rest: dict[str, Any] = {}
    for key, value in section.items():
        name = f"{path}/{key}"
        if key in ("resized", "placed"):
            _shared(name, {"sizes": section["sizes"], **value}, each)
        elif key == "inputs":
            for one in each[: len(section["outputs"])]:
                one[name] = np.array(value, dtype=np.float64)
        elif key not in _EACH or not isinstance(value, list):
            rest[key] = value
        else:
            # Outputs are kept of the first few alone.
            for one, part in zip(each, value, strict=False):
                one |= _arrays(name, part, section)
    return rest


def _arrays(name: str, part: Any, section: Mapping[str, Any]) -> dict[str, Array]:
    if name.startswith("pictures/"):
        return {f"{name}/{kind}": table for kind, table in _tables(part).items()}
    if name.startswith("sizes/") and name.endswith(("/outputs", "/layers")):
        return {
            f"{name}/{edge}": np.array(images, dtype=np.float64)
            for edge, images in zip(section["sizes"], part, strict=True)
            if images is not None
        }
    return {name: np.array(part, dtype=np.float64)}


def _tables(pictures: list[list[dict[str, Any] | None]]) -> dict[str, Array]:
    """Return what is said of pictures, (images, layers, ...), NaN where there is none."""
    seen = [one for row in pictures for one in row if one is not None]
    kinds = dict.fromkeys(("share", "channel", "cosine", *(k for s in seen for k in s)))
    tables: dict[str, Array] = {}
    for kind in kinds:
        shape = np.shape(seen[0][kind]) if seen else ()
        nothing = np.full(shape, np.nan)
        tables[kind] = np.array(
            [[nothing if o is None else o[kind] for o in row] for row in pictures],
            dtype=np.float64,
        )
    return tables


def _described(images: Pictures | Tensor) -> list[dict[str, Any]]:
    if isinstance(images, Pictures):
        return images.describe()
    return [
        {
            "name": str(row),
            "shape": list(image.shape),
            "sha256": hashlib.sha256(
                image.detach().cpu().to(torch.float64).numpy().tobytes()
            ).hexdigest(),
        }
        for row, image in enumerate(images)
    ]
