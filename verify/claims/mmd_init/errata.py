"""Statements of the text that contradict its tables, itself or arithmetic."""

import itertools
import math
from fractions import Fraction

import numpy as np
import torch

from theory import mmd
from verify.claim import Claim, Evidence, Source, grid
from verify.claims.mmd_init._samples import Array, laws, noise_energy
from verify.compare import AgreesTo, Identical, Outcome

KEY = "lee2023unsupervised"


# --- architecture and examples --------------------------------------------------------


def _measure_stated(*, hidden: int) -> list[float]:
    """Count the parameters of three hidden layers, and add up their noise."""
    return noise_energy([784, *([392] * hidden), 2], math.sqrt(0.5))[:2]


def _two_hidden(*, hidden: int) -> list[float]:
    noise = mmd.noise_rule([784, 392, 392, 2])
    return [float(noise.parameters), noise.energy]


def _as_many(*, hidden: int) -> list[float]:
    noise = mmd.noise_rule([784, *([392] * hidden), 2])
    return [float(noise.parameters), noise.energy]


ERR_7 = Claim(
    id="mmd/err7",
    items=("Err7",),
    title="The network has three hidden layers in the settings, two in an appendix",
    statement=r"(784,392,392,2)\text{ has three hidden layers of 392}",
    source=Source(KEY, "Appendix B, against section 4 and appendices C and D"),
    evidence=Evidence.NUMERIC,
    cases=grid(hidden=(3,)),
    predict=_two_hidden,
    measure=_measure_stated,
    compare=AgreesTo(relative=1e-13),
    must_hold=_as_many,
    expected=Outcome.REFUTED,
    finding="462,562 parameters against 616,618; Table 4 lists three hidden layers too.",
)

_LABELLED = (5, 10, 20, 40)


def _measure_examples(*, digits: int) -> list[str]:
    """Training and validation sets of the tables, as fractions of N."""
    return [str((digits * Fraction(n), Fraction(digits, 5) * n)) for n in _LABELLED]


def _text_examples(*, digits: int) -> list[str]:
    return [str((Fraction(n), Fraction(n, 5))) for n in _LABELLED]


def _table_examples(*, digits: int) -> list[str]:
    return [str((Fraction(10 * n), Fraction(2 * n))) for n in _LABELLED]


ERR_8 = Claim(
    id="mmd/err8",
    items=("Err8",),
    title="N examples in the text are 10 N in the tables",
    statement=r"\text{N for training and 0.2 N for validation}",
    source=Source(KEY, "Section 4, against the captions of Tables 1 and 2"),
    evidence=Evidence.NUMERIC,
    cases=grid(digits=(10,)),
    predict=_text_examples,
    measure=_measure_examples,
    compare=Identical(),
    must_hold=_table_examples,
    expected=Outcome.REFUTED,
    finding=(
        "N counts examples a digit: N = 5 gives 50, which is one batch, and 5 examples"
        " would leave none of a batch of 50 and one of validation."
    ),
)


# --- notation -------------------------------------------------------------------------


def _measure_median(*, size: int, seed: int) -> float:
    """The median of the distances as appendix C.1 counts them, cross pairs by both."""
    x, y = (torch.from_numpy(z) for z in laws(3, [size, size], seed))
    own = [torch.pdist(z) for z in (x, y)]
    cross = torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist").ravel()
    return float(np.median(torch.cat([*own, cross]).numpy()))


def _printed_indices(*, size: int, seed: int) -> float:
    """Take |f_i - u_i| for all i and j, as printed."""
    x, y = laws(3, [size, size], seed)
    own = [math.dist(a, b) for z in (x, y) for a, b in itertools.combinations(z, 2)]
    cross = np.repeat(np.linalg.norm(x - y, axis=1), size)
    return float(np.median(np.concatenate([own, cross])))


def _both_indices(*, size: int, seed: int) -> float:
    x, y = laws(3, [size, size], seed)
    return mmd.median_bandwidth(x, y)


ERR_9 = Claim(
    id="mmd/err9",
    items=("Err9", "C1"),
    title="Distances between outputs and points are of all pairs, not of equal indices",
    statement=r"\|f_{\theta_0+\epsilon_i}(x)-u_i\|\text{ for all }i\le M,\,j\le N",
    source=Source(KEY, "Appendix C.1"),
    evidence=Evidence.NUMERIC,
    cases=grid(size=(5, 40), seed=(0, 1)),
    predict=_printed_indices,
    measure=_measure_median,
    compare=AgreesTo(relative=4e-15),
    must_hold=_both_indices,
    expected=Outcome.REFUTED,
    uses=("mmd/c1",),
    finding="The list of perturbations beside it begins with the first one twice.",
)


def _measure_dimension(*, hidden: int) -> int:
    """Count the entries of theta by PyTorch."""
    widths = [784, *([392] * hidden), 2]
    pairs = itertools.pairwise(widths)
    return sum(p.numel() for a, b in pairs for p in torch.nn.Linear(a, b).parameters())


def _of_the_outputs(*, hidden: int) -> int:
    return 2


def _of_the_parameters(*, hidden: int) -> int:
    return mmd.noise_rule([784, *([392] * hidden), 2]).parameters


ERR_12 = Claim(
    id="mmd/err12",
    items=("Err12",),
    title="The ball is in the space of the parameters, not of the outputs",
    statement=r"B_r(\theta_0)=\{\theta\in R^d:\|\theta-\theta_0\|<r\}",
    source=Source(KEY, "After Equation 6"),
    evidence=Evidence.NUMERIC,
    cases=grid(hidden=(2, 3)),
    predict=_of_the_outputs,
    measure=_measure_dimension,
    compare=Identical(),
    must_hold=_of_the_parameters,
    expected=Outcome.REFUTED,
    finding=(
        "d is the number of classes. Equation 14 has theta_0* for theta_0, and x_l is of"
        " layer l + 1 before Equation 15 and of layer l after Equation 22."
    ),
)


# --- captions and tables --------------------------------------------------------------

_CAPTION = ((1.0, 1.0), (2.0, 1.0), (2.0, 1.0))
"""(s^2, lambda) for which Figure 3's caption says the curve is not monotone."""


def _measure_pairs(*, listed: int) -> int:
    return len(set(_CAPTION))


def _as_listed(*, listed: int) -> int:
    return listed


def _without_the_second(*, listed: int) -> int:
    return listed - 1


ERR_10 = Claim(
    id="mmd/err10",
    items=("Err10",),
    title="The caption of Figure 3 lists one pair twice",
    statement=r"(\sqrt1,1),\,(\sqrt2,1),\,(\sqrt2,1)\text{ are three settings}",
    source=Source(KEY, "Caption of Figure 3"),
    evidence=Evidence.NUMERIC,
    cases=grid(listed=(3,)),
    predict=_as_listed,
    measure=_measure_pairs,
    compare=Identical(),
    must_hold=_without_the_second,
    expected=Outcome.REFUTED,
)

_DEAD = ("21.81", "21.82")
"""Dead units of the second layer at lambda = 0.4, xi = 0: Table 4, and its text."""


def _measure_dead(*, places: int) -> int:
    return len(set(_DEAD))


def _one_value(*, places: int) -> int:
    return 1


def _one_a_place(*, places: int) -> int:
    return places


ERR_11 = Claim(
    id="mmd/err11",
    items=("Err11",),
    title="One share of dead units has two values",
    statement=r"\text{Table 4 and the text give the same share}",
    source=Source(KEY, "Table 4, against the text of appendix B.3"),
    evidence=Evidence.NUMERIC,
    cases=grid(places=(2,)),
    predict=_one_value,
    measure=_measure_dead,
    compare=Identical(),
    must_hold=_one_a_place,
    expected=Outcome.REFUTED,
    finding="21.81 per cent in the table, 21.82 in the text.",
)

_ACCURACY = {
    # Tables 1 and 2 at N = 5 and N = 40: mean accuracy, spread over tasks.
    ("xavier", "plain"): ((79.63, 90.91), (6.62, 2.65)),
    ("xavier", "random labels"): ((76.81, 90.88), (6.08, 2.78)),
    ("xavier", "batch norm"): ((77.09, 91.48), (7.47, 2.72)),
    ("he", "plain"): ((79.17, 91.34), (5.74, 2.47)),
    ("he", "random labels"): ((77.41, 90.66), (6.37, 3.03)),
    ("he", "batch norm"): ((76.89, 91.55), (7.52, 2.74)),
}


def _measure_help(*, start: str, variant: str) -> list[bool]:
    """Better at N = 40; worse at N = 5; spread larger at N = 5, all against plain."""
    mean, spread = _ACCURACY[start, variant]
    plain, wide = _ACCURACY[start, "plain"]
    return [mean[1] > plain[1], mean[0] < plain[0], spread[0] > wide[0]]


def _as_the_text(*, start: str, variant: str) -> list[bool]:
    return [True, True, True]


def _as_the_tables(*, start: str, variant: str) -> list[bool]:
    """Random labels do not help; they narrow Xavier's spread at N = 5."""
    normed = variant == "batch norm"
    return [normed, True, normed or start == "he"]


ERR_14 = Claim(
    id="mmd/err14",
    items=("Err14", "Tab1", "Tab2"),
    title="Random labels do not help with 40 examples, nor always hurt with five",
    statement=(
        r"\text{random labels and batch norm help at }N=40\text{ and hurt at }N=5"
        r"\text{, in mean and spread}"
    ),
    source=Source(KEY, "Section 5, against its Tables 1 and 2"),
    evidence=Evidence.NUMERIC,
    cases=grid(start=("xavier", "he"), variant=("random labels", "batch norm")),
    predict=_as_the_text,
    measure=_measure_help,
    compare=Identical(),
    must_hold=_as_the_tables,
    expected=Outcome.REFUTED,
    finding=(
        "On the plain network 90.88 < 90.91 and 90.66 < 91.34 at N = 40; the spread of"
        " Xavier's start at N = 5 falls from 6.62 to 6.08."
    ),
)


# --- preprocessing --------------------------------------------------------------------


def _images(seed: int) -> Array:
    """Twelve images of six pixels of unequal brightness and contrast."""
    rng = np.random.default_rng([92, seed])
    return rng.gamma(0.6, size=(12, 6)) * rng.uniform(0.2, 3.0, (12, 1)) + np.arange(6)


def _standard(x: Array, axis: int | None) -> Array:
    mean, spread = x.mean(axis=axis, keepdims=True), x.std(axis=axis, keepdims=True)
    return (x - mean) / spread


def _measure_standard(*, seed: int) -> list[float]:
    """Largest mean of one image, and of one pixel, after each of the three readings."""
    x = torch.from_numpy(_images(seed))
    found: list[float] = []
    for dims in ((1,), (0,), (0, 1)):
        spread = x.std(dim=dims, keepdim=True, correction=0)
        z = (x - x.mean(dim=dims, keepdim=True)) / spread
        found += [float(z.mean(dim=1).abs().max()), float(z.mean(dim=0).abs().max())]
    return found


def _one_reading(*, seed: int) -> list[float]:
    """Let all readings centre images and pixels alike."""
    return [0.0] * 6


def _three_readings(*, seed: int) -> list[float]:
    found: list[float] = []
    for axis in (1, 0, None):
        z = _standard(_images(seed), axis)
        found += [float(np.abs(z.mean(axis=k)).max()) for k in (1, 0)]
    return found


ERR_15 = Claim(
    id="mmd/err15",
    items=("Err15",),
    title="Standardised images can be read in three ways, which differ",
    statement=r"\text{each image has mean 0 and variance 1 across all the examples}",
    source=Source(KEY, "Section 4"),
    evidence=Evidence.NUMERIC,
    cases=grid(seed=(0, 1)),
    predict=_one_reading,
    measure=_measure_standard,
    compare=AgreesTo(absolute=1e-13),
    must_hold=_three_readings,
    expected=Outcome.REFUTED,
    finding=(
        "By image, by pixel over the examples, or by two numbers for the whole data set:"
        " the last is the reading that this ledger takes."
    ),
)

CLAIMS = (ERR_7, ERR_8, ERR_9, ERR_10, ERR_11, ERR_12, ERR_14, ERR_15)
