"""Starts and optimisers: how far apart the functions are that they end in.

What is tried, by how much at least and on how many networks stands in
``docs/trained/identity-map.md``.
"""

from collections.abc import Mapping
from functools import partial
from itertools import combinations, permutations
from typing import Any

import numpy as np

from empirical.networks import initial
from empirical.testbed.records import Draw, Draws
from verify.claim import Claim, grid
from verify.claims._predictors import stated, unmet
from verify.claims.identity_map._runs import (
    FITTED,
    LEAST,
    NETWORKS,
    Array,
    effect,
    looks,
    named,
    remaining,
    run,
)
from verify.claims.identity_map._sources import as_read, ours
from verify.compare import Contrast
from verify.trained import NotLearnt, Run

ASSUMPTIONS = (
    "28 x 28, 32 channels, 5 layers, no biases, 2,000 updates, gradients clipped at 0.5",
    "the paper: 128 channels, two million updates, not clipped",
)
SCHEMES = "schemes-depth-5"

Kinds = Mapping[str, Draws]
"""What is compared, by its name: one network of each seed, in the same order."""


def _fitted(found: Kinds, what: str, most: float = FITTED) -> Kinds:
    """Return the kinds of which every network has fitted the image."""
    left = {kind: max(map(remaining, draws)) for kind, draws in found.items()}
    kept = {kind: draws for kind, draws in found.items() if left[kind] <= most}
    if len(kept) < LEAST:
        raise NotLearnt(
            f"{what}: all networks of {len(kept)} kinds have fitted the image, and"
            f" {LEAST} are needed; of the first loss the worst have left {left}"
        )
    return kept


def _outputs(draw: Draw) -> Array:
    """Return outputs at points of unseen images, (kinds of images, points)."""
    return draw.series("points/outputs")


def distance(one: Array, other: Array) -> float:
    """Distance of two outputs over their root mean square norm, a mean over kinds.

    >>> distance(np.array([[3.0, 0.0]]), np.array([[0.0, 4.0]])) == (25 / 12.5) ** 0.5
    True
    """
    gap = np.square(one - other).sum(axis=1)
    size = (np.square(one).sum(axis=1) + np.square(other).sum(axis=1)) / 2.0
    return float(np.sqrt(gap / size).mean())


def excess(outputs: Array) -> Array:
    """Distances between kinds less those within them, by pairs of seeds.

    Parameters
    ----------
    outputs : array, shape (kinds, seeds, kinds of images, points)

    Returns
    -------
    array, shape (seeds, seeds)
        Symmetric; NaN on the diagonal: networks of one seed share random numbers.
    """
    kinds, seeds = outputs.shape[:2]
    found = np.full((seeds, seeds), np.nan)
    for i, j in combinations(range(seeds), 2):
        apart = [
            distance(outputs[a, i], outputs[b, j])
            for a, b in permutations(range(kinds), 2)
        ]
        same = [distance(outputs[a, i], outputs[a, j]) for a in range(kinds)]
        found[i, j] = found[j, i] = np.mean(apart) - np.mean(same)
    return found


def pseudo(pairs: Array) -> Array:
    """Jackknife pseudo-values of the mean over pairs, one for each seed left out.

    Their mean is the mean over pairs.

    >>> pseudo(np.array([[np.nan, 1.0, 2.0], [1.0, np.nan, 6.0], [2.0, 6.0, np.nan]]))
    array([-3.,  5.,  7.])
    """
    count = len(pairs)
    whole = np.nanmean(pairs)
    left = [
        np.nanmean(np.delete(np.delete(pairs, k, axis=0), k, axis=1))
        for k in range(count)
    ]
    return count * whole - (count - 1) * np.array(left)


def _beyond_seeds(found: Kinds, what: str, most: float = FITTED) -> Contrast:
    kept = _fitted(found, what, most)
    outputs = np.stack([[_outputs(draw) for draw in each] for each in kept.values()])
    return Contrast.alone(pseudo(excess(outputs)))


def _schemes(scale: str) -> Kinds:
    draws = run(SCHEMES, scale).draws
    return {scheme: draws.where(scheme=scheme) for scheme in draws.key("scheme")}


def _of_schemes(*, scale: str) -> Contrast:
    return _beyond_seeds(_schemes(scale), SCHEMES)


def _optimised(scale: str) -> tuple[str, ...]:
    return tuple(
        n
        for n in NETWORKS.names(scale)
        if n.startswith("optimiser-") and n.endswith("-5")
    )


def _optimiser_runs(*, scale: str, **_case: Any) -> tuple[Run, ...]:
    return tuple(Run(NETWORKS, name, scale) for name in _optimised(scale))


def _of_optimisers(*, scale: str, most: float = FITTED) -> Contrast:
    found: dict[str, Draws] = {}
    for name in _optimised(scale):
        draws = run(name, scale).draws
        for rate in dict.fromkeys(draws.key("rate")):
            found[f"{name}, rate {rate}"] = draws.where(rate=rate)
    return _beyond_seeds(found, "optimisers", most)


_full: Any = partial(
    effect,
    cases=(),
    larger_cases={"full": grid(scale="full")},
    paired=True,
    assumptions=ASSUMPTIONS,
)


def _farther(number: int, what: str, **parts: Any) -> Claim:
    parts.setdefault("source", as_read(f"Appendix I, Figure {number}"))
    return _full(
        title=f"{what} give functions farther apart than two seeds of one do",
        statement=(
            r"\overline{d}(f_{s,i},f_{s',j})-\overline{d}(f_{s,i},f_{s,j})\ge0.05"
            r"\text{ on unseen images},\quad "
            r"d^2(f,g)=\frac{2\|f-g\|^2}{\|f\|^2+\|g\|^2}"
        ),
        **stated(0.05),
        **parts,
    )


STARTS = _farther(
    31,
    "Initialisations",
    id="id/Fig31",
    runs=looks(named(SCHEMES)),
    measure=_of_schemes,
    version=3,
    figure="identity_figure_31",
    finding=(
        "Kaiming's starts and the printed variance lie farthest from the others. Xavier's,"
        " the framework's and the orthogonal ones are hardly farther apart than seeds."
    ),
)
OPTIMISERS = _farther(
    32,
    "Optimisers",
    id="id/Fig32",
    runs=_optimiser_runs,
    measure=_of_optimisers,
    version=3,
    figure="identity_figure_32",
    finding=(
        "More than half of it is SGD at the smallest rate, whose networks have only just"
        " fitted the image; see id/Fig32-fitted."
    ),
)

_CLOSELY = 0.02
"""Share of the first loss that may be left where optimisers are to fit alike."""

FITTING_ALIKE = _farther(
    32,
    "Optimisers that fit closely",
    id="id/Fig32-fitted",
    runs=_optimiser_runs,
    measure=partial(_of_optimisers, most=_CLOSELY),
    source=ours("Appendix I, Figure 32"),
    finding="SGD at the smallest rate is left out. Entered after the others were seen.",
    uses=("id/Fig32",),
)

# --- identity and artefacts -------------------------------------------------------------

UNSEEN = tuple("0123456789")
PRINTED = ("default", "default-sqrt")
"""The default as printed, and its standard deviation taken for the variance."""


def beside(identity: Array, constant: Array, between: Array) -> Array:
    """Share of an output that no mixture of its input and the training image has.

    From the cosines of output and input, output and training image, and of these two.

    >>> beside(np.array(0.6), np.array(0.8), np.array(0.0)).round(12)
    np.float64(0.0)
    """
    explained = identity**2 + constant**2 - 2.0 * identity * constant * between
    return 1.0 - explained / (1.0 - between**2)


def _nearer(*, scale: str, scheme: str) -> Contrast:
    """Cosines with the input and with the training image, means over unseen digits."""
    kept = _fitted(_schemes(scale), SCHEMES)
    if scheme not in kept:
        raise NotLearnt(f"{SCHEMES} ({scale}): {scheme} has not fitted the image")
    draws = kept[scheme]
    shown = [image["name"] for image in run(SCHEMES, scale).fact("predictions/images")]
    rows = [k for k, name in enumerate(shown) if name in UNSEEN]
    return Contrast(
        draws.series("predictions/identity")[:, rows].mean(axis=1),
        draws.series("predictions/constant")[:, 0, rows].mean(axis=1),
    )


IDENTITY = _full(
    id="id/Fig31-identity",
    items=("Fig31", "Identity5"),
    title="CNNs of five layers are nearer the identity than the constant from every start",
    statement=(
        r"\overline{\cos}(f(x),x)-\overline{\cos}(f(x),\hat x)\ge0.2\text{ on digits}"
    ),
    source=as_read("Appendix I, initialisation schemes"),
    larger_cases={"full": grid(scale="full", scheme=initial.SCHEMES)},
    runs=looks(named(SCHEMES)),
    measure=_nearer,
    **stated(0.2),
    uses=("id/Fig31-variances",),
    finding="Entered after its networks were seen, which were trained for id/Fig31.",
)


def _artefacts(draws: Draws, shown: list[str]) -> Array:
    """Return the artefacts of each network, a mean over digits that it has not seen."""
    rows = [k for k, name in enumerate(shown) if name in UNSEEN]
    # The training image comes first.
    images = draws[0].series("predictions/inputs").reshape(len(shown), -1)
    units = images / np.linalg.norm(images, axis=1, keepdims=True)
    found = beside(
        draws.series("predictions/identity")[:, rows],
        draws.series("predictions/constant")[:, 0, rows],
        units[rows] @ units[0],
    )
    return found.mean(axis=1)


def _more_artefacts(kind: str, *, scale: str, default: str) -> Contrast:
    """Artefacts of both schemes of a kind, and of the default, by seed."""
    record = run(SCHEMES, scale)
    shown = [str(image["name"]) for image in record.fact("predictions/images")]
    schemes = (f"{kind}-normal", f"{kind}-uniform", default)
    kept = _fitted({s: record.where(scheme=s) for s in schemes}, SCHEMES)
    normal, uniform, plain = (_artefacts(kept[s], shown) for s in schemes)
    return Contrast((normal + uniform) / 2.0, plain)


def _artefact_claim(kind: str, readings: tuple[str, ...], **parts: Any) -> Claim:
    return _full(
        items=("Kaiming", "Fig31"),
        source=as_read("Appendix I"),
        larger_cases={"full": grid(scale="full", default=readings)},
        runs=looks(named(SCHEMES)),
        measure=partial(_more_artefacts, kind),
        **parts,
    )


_SHARE = r"1-\|\Pi_{\mathrm{span}(x,\hat x)}f(x)\|^2/\|f(x)\|^2\text{ on digits: }"
_MORE = _SHARE + r"\text{Kaiming}-\text{default}\ge0.1"
_ALIKE = _SHARE + r"|\text{Xavier}-\text{default}|\le0.1"
# As many artefacts as Kaiming's start has to give.
_XAVIER = stated(-0.1, 0.1, wrong=(0.1, None))

KAIMING = _artefact_claim(
    "kaiming",
    ("framework",),
    id="id/Fig31-kaiming",
    title="Kaiming's initialisation gives artefacts that the framework's does not",
    statement=_MORE,
    **stated(0.1),
    version=2,
)

KAIMING_PRINTED = _artefact_claim(
    "kaiming",
    PRINTED,
    id="id/Fig31-kaiming-printed",
    title="Kaiming's initialisation gives artefacts that the printed default does not",
    statement=_MORE,
    **unmet((0.1, None), (None, 0.1)),
    finding=(
        "The printed variance gives as many artefacts as Kaiming's start. Its square root"
        " gives fewer, by about the smallest effect: undecided."
    ),
    uses=("id/Fig31-kaiming",),
)

XAVIER = _artefact_claim(
    "xavier",
    ("framework",),
    id="id/Fig31-xavier",
    title="Xavier's initialisation gives about as many artefacts as the framework's",
    statement=_ALIKE,
    **_XAVIER,
)

XAVIER_PRINTED = _artefact_claim(
    "xavier",
    PRINTED,
    id="id/Fig31-xavier-printed",
    title="Xavier's initialisation gives about as many artefacts as the printed default",
    statement=_ALIKE,
    **_XAVIER,
    finding=(
        "As many as the square root of the printed variance. The variance as printed gives"
        " more artefacts than Xavier's start, by about the margin: undecided."
    ),
    uses=("id/Fig31-xavier",),
)
