"""What the papers misprint: statements that contradict their own tables, text or units.

No measurement decides these, so they are no claims: each stands here with what is printed
and what it should be.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Misprint:
    """A slip of the pen.

    Attributes
    ----------
    paper, item : str
        The paper's prefix and the item of its specification.
    where, printed, correct : str
        The place, what stands there, and what it should be, or how one can tell.
    """

    paper: str
    item: str
    where: str
    printed: str
    correct: str


MISPRINTS: tuple[Misprint, ...] = (
    Misprint(
        "id",
        "Err5",
        "Lemma 1 and the proofs of it and of Theorem 1",
        "N ≤ d, the number of outputs; Y of N × 1; in its proof a sum up to t − 1; in that"
        " of Theorem 1 W⁰ + u x̂x̂ᵀ",
        "N ≤ D, the dimension of the inputs, as the rank N that it asks for needs; Y of"
        " N × d; t terms, as many as steps; W⁰ + u x̂ᵀ, as in Equation 4",
    ),
    Misprint(
        "id",
        "Err9",
        "Captions of Figures 14 and 33",
        "Figure 33: linear networks, the same as Figure 14 (a); Figure 14: (a) is ReLU",
        "one of the two captions has its panels the wrong way round",
    ),
    Misprint(
        "sl",
        "Err8",
        "Caption of Figure 1",
        "weight decay 0.01, and also no weight decay; one start of 5; ConvNets",
        "with weight decay, by the figure's title; Figures 2 and 3 show starts of 0.1, 1"
        " and 5, and the networks have four fully connected layers",
    ),
    Misprint(
        "sl",
        "Err9",
        "Caption of Figure 6",
        "an initialisation of rho_k = 0; a factor of normalisation that starts from 0",
        "scales of 0.1 and 5, as the caption says: all gradients are zero at scale zero;"
        " by Figure 5's caption batch normalisation has no such factor",
    ),
    Misprint(
        "sl",
        "Err10",
        "Section 2, above Observation 3, against Figures 1, 5 and 9",
        "the same networks with both, with normalisation alone, and with neither",
        "by the captions two are fully connected and the second convolutional, at a tenth"
        " of their rate; widths are not printed",
    ),
    Misprint(
        "mmd",
        "Err7",
        "Appendix B",
        "a network 784-392-392-2",
        "784-392-392-392-2, as in section 4, appendices C and D and Table 4: 616,618"
        " parameters, not 462,562",
    ),
    Misprint(
        "mmd",
        "Err8",
        "Section 4",
        "N examples to learn from and 0.2 N to choose by",
        "10 N and 2 N, as in the captions of Tables 1 and 2: N counts examples a digit,"
        " or one batch of 50 were more than there are at N = 5",
    ),
    Misprint(
        "mmd",
        "Err10",
        "Caption of Figure 3",
        "the pairs (1, 1), (sqrt 2, 1), (sqrt 2, 1)",
        "one pair stands twice",
    ),
    Misprint(
        "mmd",
        "Err11",
        "Appendix B.3, against Table 4",
        "21.82 per cent of dead units in the text",
        "21.81 in the table",
    ),
    Misprint(
        "mmd",
        "Err12",
        "After Equation 6; Equations 14, 15, 22 and 38",
        "a ball in R^d, d the number of classes; theta_0* ; x_l of layer l + 1; a sum to n",
        "a ball in R^m, m the number of parameters; theta_0; x_l of layer l; a sum to d",
    ),
    Misprint(
        "mmd",
        "Err14",
        "Section 5, against Tables 1 and 2",
        "random labels and batch normalisation help at N = 40 and hurt at N = 5",
        "random labels do not help a plain network at N = 40 (90.88 < 90.91, 90.66 <"
        " 91.34); batch-normalised ones they do",
    ),
    Misprint(
        "mmd",
        "Err15",
        "Section 4",
        "each image has mean 0 and variance 1 across all the examples",
        "by image, by pixel, or by two numbers for all: the last is taken here",
    ),
    Misprint(
        "mmd",
        "Err16",
        "Caption of Table 5, against its numbers",
        "at s = sqrt 0.5 and lambda = 0.4 both DS and IOD are significantly smaller than"
        " elsewhere",
        "IOD is least there (5.48, then 6.91); DS is 1.58, and smaller in five other"
        " cells, down to 0.54",
    ),
)


def of(paper: str) -> tuple[Misprint, ...]:
    """Return the misprints of a paper.

    >>> [misprint.item for misprint in of("sl")]
    ['Err8', 'Err9', 'Err10']
    """
    return tuple(misprint for misprint in MISPRINTS if misprint.paper == paper)
