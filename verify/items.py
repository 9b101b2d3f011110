"""Every numbered item of every paper, in the paper's order: what the ledger must cover.

A claim names the items it covers in ``Claim.items``; `verify.ledger.coverage` compares.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points

from verify.reading import Reading

Sections = tuple[tuple[str, tuple[str, ...]], ...]
"""Titles of a paper's sections, and the items below each."""


def _sections(items: Mapping[str, str]) -> Sections:
    return tuple((title, tuple(names.split())) for title, names in items.items())


DEEP_CONDITIONING = _sections(
    {
        "Setting": "Eq1 Fn1 Eq2 AsmA AsmB Sec3.3 Sec1.2",
        "Dual activations and the coefficient of non-linearity": (
            "DefC.1 Def3.1 LemC.2 C.4 Tab1 Tab2 LemC.5 B"
        ),
        "Conditioning of the top-layer kernel": (
            "LemC.7 Thm3.2 LemC.4 Cor3.3 LemC.8 Thm3.6 Cor3.7"
        ),
        "Conditioning of the neural tangent kernel": (
            "Eq7 LemC.14 Thm3.4 Cor3.5 Thm3.8 Cor3.9"
        ),
        "Uncentred activations": (
            "DefC.20 LemC.21 LemC.23 LemC.24 LemC.26 LemC.28 LemC.30 Thm3.10 LemC.32"
        ),
        "Inputs that are not on the unit sphere": (
            "D.0 Eq14 LemD.5 Eq15 Eq16 LemD.3 ThmD.1 LemD.6 RemD.2 Eq12 Eq13 Eq17 Eq18"
            " Eq19 Eq20 Thm3.11 ThmD.9 D.4"
        ),
        "NormReLU": "Eq4 I.dual I.len Fact1 Eq28 Eq29 ThmI.1 RemI.2",
        "Batch and layer normalisation": "Lem2.1 Eq5 Eq6 AppB",
        "Optimisation": (
            "ThmE.8 ThmE.9 LemE.1 Thm4.1 ThmE.2 ThmE.3 ThmE.5 RemE.4 Thm4.2 CorE.6"
            " RemE.7"
        ),
        "Statistical-query hardness": "Eq21 Eq3 ThmF.1 Eq22 Eq23 Eq24 Thm5.1 ThmF.2",
        "Benign overfitting": "delta LemG.1 LemG.3 Eq25 Eq26 Thm6.1",
        "One hidden layer and non-singularity": "ThmH.1 NoteH.1 LemH.3 Eq27 ThmH.5",
        "Experiments": "Sec11 Fig1 Fig3 Sec7-rates Fig4 Fig5 Fig7 Fig8",
        "Errata and caveats": "E1 E2 E3 E4 E5 E6 E7 E8 E9 E10 E11 E12 E13 E14",
    }
)

IDENTITY_MAP = _sections(
    {
        "One layer and one image": (
            "Thm1 Eq4 Thm1-orth Lem1 Lem2 TwoLayer Eq16 AnyDepth"
        ),
        "One convolution and one image": "Patch Conv Rank",
        "Bounds on its error": "Eq8 Eq9 Chi2 Eq10 Eq11 Eq12 Thm2",
        "Architectures that can be the identity": "B1 B2 B3 Tab1 Bias",
        "What is measured": "Probe Corr MSE Layer SVD Upper Rel",
        "Fully connected networks": "Fig2 Fig11 Fig12 Fig13 Fig14 Fig33",
        "Fully connected networks, other data": "Fig34 Fig41 Fig42 Fig43",
        "Convolutional networks": "Fig1 Fig3 Fig4 Fig5 Fig35 Fig36 Fig37 Fig40",
        "Sizes of images at test time and in training": "Fig6 Fig7 Fig8",
        "Sizes at test time, in full": "Fig20 Fig21",
        "Kernel size and channels": "Fig9 Fig10 Fig25 Fig26 Fig27 Fig28 Fig29 Fig30",
        "Inside the networks": "Fig15 Fig16 Fig17 Fig18 Fig19 Fig22 Fig23",
        "The last layers alone": "Fig24",
        "Initial weights and optimisers": "Fig31 Fig32",
        "Two and three training images": "Fig38 Fig39",
        "Remarks on trained networks": (
            "Identity5 Edges ThreeChannels Fig5Bottom Robust Width Fig19Lower Break"
            " Kaiming FCNMSE"
        ),
        "Errata and caveats": "Err1 Err2 Err3 Err4 Err5 Err6 Err7 Err8 Err9",
    }
)

SQUARE_LOSS = _sections(
    {
        "From an optimiser to the formulas": "Sec0.1",
        "Identities and flows": (
            "Hom Factor Bound Eq1 nu Eq2 Eq3 Eq4 Norm Energy WN Fn2 Proj Unnorm"
        ),
        "The scale alone, and its equilibrium": "Lin Lin-GD Eq5 Eq5b Eq7",
        "Critical points": "Eq6 Sing Eq9 PerSample Exist",
        "Observations": "Obs1 Obs2a Obs2b Obs2c MinNorm Degen Init nuSign Lemma1",
        "Where the flow ends, and other remarks": (
            "MinNormFlow Sec1.2 SameNorm Obs2first Obs1large Landscape SmallOutput"
            " NearZero Fn3 Fn4 Sec3exp Sec3rank Sec3tuning Sec4.1nu Sec4.1oja"
        ),
        "Generalisation": "Obs3 Obs3error Eq8",
        "Orthogonal layers": "Orth RandOrth",
        "Neural collapse": "NC1 NC2 NC3 NC4 NCscale",
        "Experiment A: normalisation and weight decay": "ExpA Fig1 Fig2 Fig3 Fig4",
        "Experiment B: normalisation alone": "ExpB Fig5 Fig6 Fig7 Fig8",
        "Experiment C: neither": "ExpC Fig9 Fig10 Fig11",
        # Err11 was no fair reading: footnote 2 does not say what follows from unit rows.
        "Errata and caveats": (
            "Err1 Err2 Err3 Err4 Err5 Err6 Err7 Err8 Err9 Err10 Err12 Err13 Err14"
        ),
    }
)

MMD_INIT = _sections(
    {
        "The simplex and the discrepancy": "Eq1 Eq2 Eq3 Est C1 Seg",
        "Perturbed models": "Eq5 Claim1 Eq7 Eq9 Eq10 Sigma Gram Eq11",
        "How far perturbations go": "Thm1 Lem1 Lem2 Lem3 Prop1",
        "Degenerate softmax": "Lem4 Thm2 Eq14 SdFloor",
        "Detachment from the input": "Eq15 Eq16 Eq17 Eq18 Eq19 Jac Thm3 Eq20 Eq22 Eq23",
        "What is measured": "DS Dead IOD",
        "Fine-tuning on binary tasks": "Prelim Tab1 Tab2",
        "Pre-training": "Fig1 Fig2 Fig3 Tab3 Tab4 Tab5",
        "Remarks on what is learnt": (
            "Best BatchNorm Values Layers Choice Degenerate Ablation BothFall Cost"
            " Fig2chain Fig2chosen Fig3rise"
        ),
        # Err13 was no fair reading: the sentence says why xi stays at one.
        "Errata and caveats": (
            "Err1 Err2 Err3 Err4 Err5 Err6 Err7 Err8 Err9 Err10 Err11 Err12 Err14 Err15"
            " Err16"
        ),
    }
)


@dataclass(frozen=True)
class Paper:
    """A paper on trial.

    Attributes
    ----------
    prefix, key, title : str
        Of claim ids; in ``references.bib``; as printed.
    sections : tuple
        Titles and the items below them.
    reading : Reading
        How the words of its statements are known, where a claim's source says no other.
    finding : str
        What the trial found, in a sentence or two.
    claims, pictures : str
        Of a paper in another package: the module or package of its claims, and a module
        whose tuple ``PICTURES`` they name.
    bibliography : str
        Its BibTeX: the entry of `key`, and what else its claims cite.
    """

    prefix: str
    key: str
    title: str
    sections: Sections
    reading: Reading = Reading.QUOTED
    finding: str = ""
    claims: str = ""
    pictures: str = ""
    bibliography: str = ""

    @property
    def items(self) -> tuple[str, ...]:
        """All item ids, in the paper's order."""
        return tuple(item for _, items in self.sections for item in items)

    def section_of(self, items: tuple[str, ...]) -> str:
        """Return the title of the section that lists the first of `items`."""
        for title, members in self.sections:
            if items and items[0] in members:
                return title
        raise ValueError(f"{self.prefix}: no section lists the items {items}")


PAPERS: tuple[Paper, ...] = (
    Paper(
        prefix="dc",
        key="agarwal2021deep",
        title="A Deep Conditioning Treatment of Neural Networks",
        sections=DEEP_CONDITIONING,
        # Its formulas were lost in the text before us, and restored from its proofs.
        reading=Reading.FORCED,
        finding=(
            "Depth conditions both kernels as stated, and the tangent kernel twice"
            " as fast as the theorem says. But random networks of fixed width keep"
            " a floor of correlation, and long inputs diverge under NormReLU with a"
            " kink above -0.3767."
        ),
    ),
    Paper(
        prefix="id",
        key="zhang2020identity",
        title=(
            "Identity Crisis: Memorization and Generalization under Extreme"
            " Overparameterization"
        ),
        sections=IDENTITY_MAP,
        finding=(
            "One layer becomes the identity if the image's patches have full rank, as"
            " the paper says, and zero padding, which it says does nothing, makes that"
            " rank full. Shallow networks learn the identity. At 28 x 28 pixels"
            " twenty layers learn the constant with biases, and cannot without"
            " them."
        ),
    ),
    Paper(
        prefix="sl",
        key="poggio2021explicit",
        title=(
            "Explicit regularization and implicit bias in deep network classifiers"
            " trained with the square loss"
        ),
        sections=SQUARE_LOSS,
        finding=(
            "The identities of the gradient flow hold between kinks of ReLU. But"
            " most flows of small networks come to slide along a kink, where the"
            " printed equation has no solution."
        ),
    ),
    Paper(
        prefix="mmd",
        key="lee2023unsupervised",
        title=(
            "Unsupervised Learning of Initialization in Deep Neural Networks via"
            " Maximum Mean Discrepancy"
        ),
        sections=MMD_INIT,
        finding=(
            "Its losses and bounds are right for two classes, which the experiments have."
            " From three on, the loss that should have every class predicted is least for"
            " a constant predictor, which prefers none."
        ),
    ),
)
"""The project's own papers, in the order of the report."""

GROUP = "deep_ledger.papers"
"""Entry points of other packages: each is a `Paper`."""


@cache
def papers() -> tuple[Paper, ...]:
    """Return the project's papers, then those of installed packages, by entry point.

    Raises
    ------
    TypeError
        If an entry point is no `Paper`.
    ValueError
        If two papers have the same prefix.
    """
    found = list(PAPERS)
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        loaded = point.load()
        if not isinstance(loaded, Paper):
            raise TypeError(
                f"papers: the entry point {point.name} of {GROUP} must be a Paper, got"
                f" {type(loaded).__name__}"
            )
        found.append(loaded)
    counted = Counter(each.prefix for each in found)
    if twice := [prefix for prefix, count in counted.items() if count > 1]:
        raise ValueError(f"papers: `prefix` must be unique, but {twice} are not")
    return tuple(found)


def paper(prefix: str) -> Paper:
    """Return the paper of a claim's prefix.

    >>> paper("dc").items[:2]
    ('Eq1', 'Fn1')
    """
    for candidate in papers():
        if candidate.prefix == prefix:
            return candidate
    known = ", ".join(p.prefix for p in papers())
    raise ValueError(f"paper: `prefix` must be one of {known}, got {prefix!r}")


def named(claim: str) -> tuple[str, ...]:
    """Return the item that a claim's id names, spelt as in its paper's list, if any.

    >>> named("dc/lemC.2-sharp"), named("dc/of-our-own")
    (('LemC.2',), ())
    """
    prefix, _, name = claim.partition("/")
    wanted = name.partition("-")[0].lower()
    return tuple(item for item in paper(prefix).items if item.lower() == wanted)


def reading(prefix: str, key: str) -> Reading:
    """Return how statements of a source are known; of other papers, ours to vouch for.

    >>> reading("dc", "agarwal2021deep").value, reading("dc", "lee2019wide").value
    ('forced', 'ours')
    """
    home = paper(prefix)
    return home.reading if key == home.key else Reading.OURS
