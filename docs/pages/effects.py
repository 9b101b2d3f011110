"""Tables of effects in documents, read from the records of the claims on training."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from verify import calibrated, ledger, paths, records
from verify.compare import Outcome, flatten
from verify.records import CaseRecord, Record, number
from verify.report.numbers import as_fields, between
from verify.report.rows import by_draw

Rows = list[list[str]]

SAID = {
    Outcome.HOLDS: "reproduced",
    Outcome.REFUTED: "not reproduced",
    Outcome.UNDECIDED: "undecided",
}

IDENTITY_MAP = {
    "id/bias-constant": (
        "cosine with the training image, 20 layers, with biases less without: on images"
        " orthogonal to it; Gaussian images; digits"
    ),
    "id/bias-not-rescaling": (
        "cosine with the training image on orthogonal images, 20 layers, rescaled: with"
        " biases less without"
    ),
    "id/Fig3-full": "cosine with the training image on Gaussian images, 20 layers less 5",
    "id/Fig3": "cosine with the training image on orthogonal images, deep less 5 layers",
    "id/Fig3-identity": "cosine with the input on digits, 5 layers less deep",
    "id/Fig35": "mean squared error to the training image, 5 layers less deep",
    "id/identity-depths": "cosine with the input on digits, 5 layers",
    "id/identity-ten": "cosine with the input on digits, 10 layers",
    "id/Fig3-neither": "13 layers, digits: cosine with the input; the training image",
    "id/Fig3-boundary": (
        "5 layers: log of the error on patterns, at the boundary less inside"
    ),
    "id/edges": "share of the output that edges add, 7, 10, 13 layers less 3",
    "id/Fig5": "5 layers: error of the worst layer less the output's",
    "id/Fig5-untrained": "20 untrained layers: error of the last layer less the first's",
    "id/Fig5-sixth": "20 untrained layers: mean error of those above the sixth",
    "id/Fig5-deep": "20 layers: least error of the upper ten",
    "id/Fig5-bottom": "20 layers: error of the lower five, untrained less trained",
    "id/Fig19": "relative change of the last layer less the largest of the others",
    "id/Fig19-lower": "relative change of the lower half, 5 layers less 20",
    "id/Fig19-zero": "12 fully connected layers: change of the lower five",
    "id/Fig19-fcn": "12 fully connected layers: change of the lower five over the largest",
    "id/Fig6": "cosine with the input at twice the size less at half",
    "id/Fig6-resized": "the same, images resized",
    "id/Fig15-trained": (
        "layer 8 of 20: best cosine of a channel with the input, trained less untrained"
    ),
    "id/Fig22": "cosine with the training image, last ten layers less the last",
    "id/Fig22-break": "the same, the last layer alone, 20 layers less 13",
    "id/Fig7-robust": "cosine with the training image at other sizes less at its own",
    "id/Fig7-smaller": (
        "kept at half and twice the size: identity of 5 layers less constant of the deepest"
    ),
    "id/Fig2": "ReLU FCNs: cosine with the training image, 11 layers less 1",
    "id/Fig11": "linear FCNs: cosine with the training image, 11 layers less 1",
    "id/Fig11-example": (
        "linear FCNs: the same, 4 layers of 784 units less 2 layers of 2,048"
    ),
    "id/Fig11-width": "linear FCNs: the same, twice the width less the width",
    "id/Fig14": (
        "FCNs on orthogonal images: cosine with the input; ReLU at 1, 2, 4 and 11 layers,"
        " then linear"
    ),
    "id/Fig14-sooner": "4 layers: cosine with the training image, ReLU less linear",
    "id/Fig33-mse": "FCNs: error to the training image, 1 layer less 11; ReLU, linear",
    "id/Fig12": "two layers: cosine with the training image, both less the bottom alone",
    "id/Fig41": "residual FCNs: log of 1 less the cosine with the input, 8 layers less 2",
    "id/Fig41-identity": (
        "residual FCNs: cosine with the input; 2, 4 and 8 layers (full: 12, too; the"
        " paper's: 12 and 20)"
    ),
    "id/Fig8": "cosine with the training image, 7 x 7 less 28 x 28 pixels",
    "id/Fig9": "cosine with the training image, kernels of 11 (full: 29) less 5",
    "id/Fig25": "mean squared error to the training image, kernels of 5 less 29",
    "id/Fig10-three": "5 layers: cosine with the input, 32 channels less 3",
    "id/Fig28-three": "three channels: log10 of the loss left, 10 layers less 5",
    "id/Fig28": (
        "24 channels (full: 128): cosine with the training image, 12 (full: 10) layers"
        " less 5"
    ),
    "id/Fig1": "many digits: cosine with the input on patterns, CNN less FCN",
    "id/Fig31": "distance of networks of two starts less that of two seeds",
    "id/Fig31-identity": (
        "5 layers from each of 8 starts: cosine with the input less that with the training"
        " image, on digits"
    ),
    "id/Fig31-kaiming": "artefacts, Kaiming's start less the framework's",
    "id/Fig31-kaiming-printed": (
        "the same, less the printed default's: its variance; the square root of it"
    ),
    "id/Fig31-xavier": "artefacts, Xavier's start less the framework's",
    "id/Fig31-xavier-printed": (
        "the same, less the printed default's: its variance; the square root of it"
    ),
    "id/Fig32": "distance of networks of two optimisers less that of two seeds",
    "id/Fig32-fitted": "the same, of those with at most a fiftieth of the loss left",
    "id/Fig37": "ten digits: cosine with the training image, 5 layers less 1",
    "id/Fig38": "two images: share of their mixtures in the output, 14 layers less 5",
    "id/Fig39": "three images: the same",
    "id/Fig42": (
        "colour, CNNs: cosine with the training image, 12 (full: 14) layers less 5"
    ),
    "id/Fig43": (
        "colour, FCNs: cosine with the training image, 4 (full: 10) layers less 1"
    ),
}

SQUARE_LOSS = {
    "sl/Fig1": "A: training converges (log10 of the loss; test error)",
    "sl/Fig5": "B: training converges (log10 of the loss; test error)",
    "sl/Fig9": "C: training converges (log10 of the loss; test error)",
    "sl/Fig2": "A: norms from 0.1, 1 and 5 merge (share of their distance left)",
    "sl/Fig3": "A: normalised outputs grow",
    "sl/Fig4": "A: margins are nearly equal (their coefficient of variation)",
    "sl/Fig6": "B: the larger start ends with the larger norm",
    "sl/Fig7": "B: the larger start ends with smaller margins",
    "sl/Fig6-spread": "fully connected, no decay: the distance of norms is kept in part",
    "sl/Fig8": "B: outputs become nearly equal",
    "sl/Fig10": "C: the larger start ends with the larger norm (two pairs of starts)",
    "sl/Fig11": "C: the larger start ends with smaller margins (two pairs of starts)",
    "sl/init": "only decay forgets the start (less without decay; without both)",
    "sl/init-zero": "C: the smallest start ends at the smallest norm",
    "sl/abs-trained": "A: all starts end at one norm, the least",
    "sl/abs-decay": "decay lowers the norm",
    "sl/obs1-trained": "A, ours: from 0.1 the norm rises past its end",
    "sl/obs1-dip": "A: from 5 the norm falls, not far below its end",
    "sl/obs3-trained": "no decay: networks of small norm have smaller test errors",
    "sl/obs3-decay": "from 5: decay lowers the test error",
    "sl/eq6-trained": "only with decay do directions come to rest",
    "sl/sec1.2-both": "weight norm, ours: one end for networks of both classes",
    "sl/sec1.2-trained": "weight norm: log of the ends' ratio, from 5 and from 0.1",
    "sl/sec1.2-cost": "weight norm: share of networks that predict one class",
    "sl/nc1-trained": "NC1 falls after the first epoch without an error, two classes",
    "sl/nc1-classes": "NC1 falls after the first epoch without an error, four classes",
    "sl/nc1-decay": "NC1 falls more with decay",
    "sl/nc2-angles": "NC2: angles between class means become equal",
    "sl/nc2-simplex": "NC2: class means approach a simplex",
    "sl/nc3-trained": "NC3: the classifier approaches the class means",
    "sl/nc4-trained": "NC4: share of examples not given the nearest class mean",
    "sl/nc-norm-decay": "with decay: NC1 at a seed's larger final norm over the smaller",
    "sl/nc-norm-free": "no decay, ours: NC1 from 5 over that from 0.1",
    "sl/nc-entropy": "cross entropy: NC1 falls after the first epoch without an error",
    "sl/nc-entropy-angles": "cross entropy: angles between class means become equal",
    "sl/nc-entropy-simplex": "cross entropy: class means approach a simplex",
    "sl/nc-entropy-dual": "cross entropy: the classifier approaches the class means",
    "sl/nc-entropy-nearest": (
        "cross entropy: share of examples not given the nearest class mean"
    ),
    "sl/sgd-noise": (
        "no decay: share of the distance of norms left, exact labels less noisy ones"
    ),
    "sl/sgd-batches": "no decay: the same, batches of 128 less batches of 20",
    "sl/sgd-noise-norm": "no decay, ours: noisy labels lower the norm from 5",
    "sl/sgd-noise-weight": "weight norm, ours: the same, from 0.1",
    "sl/autotuning": "A fits at more learning rates than C, by a decade",
    "sl/autotuning-deep": "of 20 layers, A learns at more rates than C, by a factor of two",
}

MMD_INIT = {
    "mmd/tab1": "accuracy: learned start less none; N = 5 (full: 5, 10, 20, 40)",
    "mmd/abs-most": "share of tasks that gain in %, less 50; N = 5, 10, 20, 40",
    "mmd/tab1-few": "that gain at N = 5 less at N = 40, after ten epochs",
    "mmd/tab1-updates": "that gain at N = 5 less at N = 40, after 10 updates",
    "mmd/tab1-steps": "that gain at N = 40 after 10 updates less after 80",
    "mmd/tab1-plain": (
        "accuracy without pre-training, less the paper's; N = 5, 10, 20, 40"
    ),
    "mmd/tab1-ours-values": "the same from a learned start",
    "mmd/tab1-labels-values": "the same with random labels",
    "mmd/tab1-bn-values": "the same with batch normalisation",
    "mmd/tab1-labels-bn-values": "the same with random labels and batch normalisation",
    "mmd/tab1-differences": (
        "accuracy: random labels, batch norm, both; each less none, less that difference as"
        " printed; mean of cells"
    ),
    "mmd/tab1-differences-cells": (
        "the same by cell: random labels, batch norm, both; each at N = 5, 10, 20, 40"
    ),
    "mmd/tab1-labels": "N = 5: accuracy without pre-training less random labels",
    "mmd/tab1-best": (
        "accuracy: learned start less random labels, less batch norm, less both;"
        " each at N = 5, 10, 20, 40"
    ),
    "mmd/tab1-bn": "N = 5: accuracy without batch normalisation less with it",
    "mmd/tab1-bn-many": "N = 40: accuracy with batch normalisation less without",
    "mmd/tab2": (
        "spread over tasks, mean of all cells: none, random labels, batch norm, both; each"
        " less learned"
    ),
    "mmd/tab2-cells": "spread over tasks: none less learned; N = 5, 10, 20, 40",
    "mmd/tab2-few": "spread over tasks: none less learned, at N = 5 less at N = 40",
    "mmd/tab2-values": (
        "spread over tasks, less the paper's: none, random labels, learned, batch norm,"
        " both; each at N = 5, 10, 20, 40"
    ),
    "mmd/tab3": "degenerate models in %: without L_sd less with it; weights 0, 1 of L_iod",
    "mmd/tab3-fifth": "a fifth of the degenerate models without L_sd less those with it",
    "mmd/tab4": "dead units of layer 3 in %: without L_sd less with it",
    "mmd/tab4-layers": "L_uni alone: dead units of layer 3 less layer 1",
    "mmd/tab4-deeper": "L_uni alone: dead units of layer 2 less 1; of 3 less 2",
    "mmd/tab4-second": "dead units of layer 2 without L_iod less those with it",
    "mmd/tab4-iod": "a tenth of layer 3's dead units without L_iod less those with it",
    "mmd/tab4-few": "all losses: dead units of the worst layer",
    "mmd/tab5": (
        "a third of the degenerate models at noise 2 less those at 0.5; weights 0.2, 0.4, 1"
    ),
    "mmd/tab5-iod": "dead units, noise of variance 2 less 0.5; weights 0.2, 0.4",
    "mmd/tab5-choice": (
        "dead units, less those at noise 0.5 and weight 0.4; every other cell"
    ),
    "mmd/claim1": "log distance from uniform, before less after; four choices of losses",
    "mmd/claim1-uniform": "L_uni: a third of the largest distance before, less after",
    "mmd/claim1-ours": "all losses: a third of the largest distance before, less after",
    "mmd/Fig1a": "L_uni: a third of the median distance before, less after",
    "mmd/Fig1b": "L_uni: deviation of a model's predictions over inputs (median)",
    "mmd/Fig1-degenerate": "L_uni: models of one class in %",
    "mmd/Fig1-untreated": "L_uni: models of one class in %, after less before",
    "mmd/Fig2": "log L_iod around the start, noise 0.2: first less last",
    "mmd/Fig2-chosen": "log L_iod around the start, noise 0.5: first less last",
    "mmd/Fig2-less": "the same, noise 0.2 less noise 0.5, 1, 2",
    "mmd/Fig3-rise": (
        "largest rise of L_uni, weight 1 of L_sd less weight 0.2; noise 1, 2"
    ),
    "mmd/both-fall": "log of L_uni; of L_sd: first window less last",
    "mmd/eq5": "R² of log t less R² of the root of t",
    "mmd/ablation": "accuracy at N = 5: all losses less without L_uni",
    "mmd/ablation-sd": "accuracy at N = 5: all losses less without L_sd",
    "mmd/ablation-iod": "accuracy at N = 5: all losses less without L_iod",
    "mmd/ablation-alone": "accuracy at N = 5: no pre-training less without L_uni",
}


def effects(words: Mapping[str, str], results: Path, *profiles: str) -> Rows:
    """Return a row for each claim: effects with their intervals, limits, verdicts.

    A claim without an effect in any profile has no row.
    """
    rows: Rows = []
    for name, told in words.items():
        found = [
            _record(name, paths.folder_of(profile, results)) for profile in profiles
        ]
        if not any(found):
            continue
        limits = next(filter(None, (_limits(r.cases) for r in found if r)), "")
        row = [f"`{name}`", told, limits]
        for record in found:
            row += [_effects(record.cases), _verdict(record.cases)] if record else _NONE
        rows.append(row)
    return rows


def redrawn(claim_id: str) -> str:
    """Say of a claim whether its verdict on small networks depends on the draw."""
    (entry,) = ledger.select([claim_id])
    drawn = calibrated.redrawn(claim_id)
    return by_draw(drawn, entry.claim.expected)


_NONE = ["", "no record"]


def _record(name: str, folder: Path) -> Record | None:
    """Read a claim's record, if it has one."""
    path = records.path_of(name, folder)
    return records.read(path) if path.exists() else None


def _effects(cases: Sequence[CaseRecord]) -> str:
    """Return the differences of means, each with half its interval."""
    return _by_start([(case, _effect(case)) for case in cases])


_STARTS = {"xavier": "Xavier", "he": "He"}
"""Laws of starts, as the paper's tables name them."""


def _by_start(told: Sequence[tuple[CaseRecord, str]]) -> str:
    """Return what is said of the cases, those of a law of starts together."""
    groups: dict[str, list[str]] = {}
    for case, words in told:
        groups.setdefault(_STARTS.get(str(case.case.get("start")), ""), []).append(
            words
        )
    if len(groups) < 2:
        return "; ".join(words for _, words in told)
    return "; ".join(f"{start}: {'; '.join(said)}" for start, said in groups.items())


def _effect(case: CaseRecord) -> str:
    if case.measured is None:
        return "networks have not learnt"
    effect, half = _of(case)
    if half == 0.0:
        return f"{_digits(effect, half)}, all alike"
    return f"{_digits(effect, half)} ± {_digits(half, half)}"


def _of(case: CaseRecord) -> tuple[float, float]:
    arms = as_fields(case.measured)
    treated, baseline = (
        [number(value) for value in flatten(arms[arm])]
        for arm in ("treated", "baseline")
    )
    effect = sum(treated) / len(treated) - sum(baseline) / len(baseline)
    return effect, number(case.resolves)


def _digits(value: float, half: float) -> str:
    """Round as the interval's half-width asks for: to its two leading digits."""
    places = 3 if half < 0.1 else 2 if half < 1.0 else 1
    shown = f"{value:.{places}f}"
    return shown.replace("-", "−") if float(shown) else f"{0.0:.{places}f}"


def _limits(cases: Sequence[CaseRecord]) -> str:
    """Return the limits between which the effects of the cases have to lie, if tried."""
    told = [(c, between(c.predicted)) for c in cases if c.predicted is not None]
    shown = {words for _, words in told}
    return shown.pop() if len(shown) == 1 else _by_start(told)


def _verdict(cases: Sequence[CaseRecord]) -> str:
    told = [(case, SAID[case.outcome]) for case in cases]
    said = {words for _, words in told}
    return said.pop() if len(said) == 1 else _by_start(told)
