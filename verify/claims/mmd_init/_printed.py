"""The paper's numbers: tables 1 to 5, and the sizes that they are of.

Percentages, each a mean and its standard deviation. Source: Lee and Cho 2023, sections
4 and 5 and appendices B and C.
"""

from collections.abc import Mapping

Number = tuple[float, float]
"""Mean and standard deviation."""

IMAGES = 60_000
"""To train with."""

WIDTHS = (784, 392, 392, 392, 2)
STEPS = 9375
"""Of pre-training: 5 epochs, 32 images at a time."""

RATE = 2e-4
PERTURBATIONS = 256
TASKS, RUNS = 20, 4
MINIBATCHES = 128

SHOTS = (5, 10, 20, 40)
"""N: a fine-tuning task has 10 N examples."""

STARTS = ("Xavier", "He")
OURS, SCRATCH, LABELS = "Ours", "none", "R.label"

Row = tuple[str, str, str]
"""Model, start, what it was pre-trained with."""

ByRow = Mapping[Row, tuple[Number, ...]]
"""A number for each N."""

ROWS: tuple[Row, ...] = tuple(
    (model, start, pretrained)
    for start in STARTS
    for model, pretrained in (
        ("FCN", OURS),
        ("FCN", SCRATCH),
        ("FCN", LABELS),
        ("FCN+BN", SCRATCH),
        ("FCN+BN", LABELS),
    )
)
"""In the order of the tables."""


def _rows(text: str) -> ByRow:
    """Read a table: a line a row, an entry ``mean/std`` for each N."""
    lines = [line.split() for line in text.strip().splitlines()]
    return {
        row: tuple(_number(entry) for entry in line)
        for row, line in zip(ROWS, lines, strict=True)
    }


def _number(entry: str) -> Number:
    mean, std = entry.split("/")
    return float(mean), float(std)


ACCURACY = _rows(
    """
    82.42/0.72  85.98/0.65  90.07/0.17  92.48/0.57
    79.63/0.78  83.70/0.59  87.54/0.67  90.91/0.53
    76.81/2.13  83.34/0.79  87.53/0.91  90.88/0.52
    77.09/1.22  83.50/0.44  88.00/0.60  91.48/0.53
    78.87/1.75  84.38/0.97  88.71/0.53  91.57/0.59
    82.27/0.78  86.46/0.37  89.69/0.28  92.61/0.51
    79.17/1.21  83.41/0.92  87.96/0.64  91.34/0.37
    77.41/2.09  83.52/0.77  87.31/0.68  90.66/0.41
    76.89/1.48  83.01/0.98  88.01/0.66  91.55/0.57
    78.82/0.78  85.33/0.62  89.15/0.68  92.14/0.67
    """
)
"""Table 1: test accuracy, over runs."""

SPREAD = _rows(
    """
    4.76/0.88  4.54/0.52  3.01/0.71  2.26/0.40
    6.62/1.29  5.55/0.62  3.54/0.27  2.65/0.53
    6.08/0.92  5.02/1.16  3.82/0.23  2.78/0.49
    7.47/1.70  5.53/0.69  3.72/0.78  2.72/0.32
    6.62/1.50  5.44/0.33  3.20/0.41  2.40/0.37
    5.26/0.87  4.04/0.80  3.25/0.42  2.16/0.40
    5.74/0.81  5.32/0.45  3.31/0.48  2.47/0.31
    6.37/1.10  4.84/1.02  3.98/0.44  3.03/0.85
    7.52/0.76  6.50/1.76  3.59/0.80  2.74/0.41
    7.33/1.10  4.95/1.08  3.18/0.55  2.30/0.28
    """
)
"""Table 2: standard deviation of the accuracy over 20 tasks, over runs."""

CONSTANT: Mapping[tuple[float, float], Number] = {
    (0.0, 0.0): (89.32, 0.94),
    (0.4, 0.0): (0.41, 0.38),
    (0.0, 1.0): (80.83, 1.03),
    (0.4, 1.0): (1.39, 0.62),
}
"""Table 3: degenerate softmax by lambda and xi, over minibatches."""

DEAD: Mapping[tuple[float, float], tuple[Number, ...]] = {
    (0.0, 0.0): ((52.11, 3.07), (63.88, 1.30), (80.08, 0.61)),
    (0.4, 0.0): ((1.96, 0.42), (21.81, 1.40), (8.21, 2.16)),
    (0.4, 1.0): ((3.75, 0.77), (5.12, 1.20), (0.02, 0.06)),
}
"""Table 4: dead units of each hidden layer by lambda and xi, over minibatches."""

LAMBDAS = (0.2, 0.4, 1.0)

SWEEP: Mapping[float, tuple[tuple[Number, Number], ...]] = {
    0.2: (
        ((1.32, 0.73), (28.87, 5.05)),
        ((0.54, 0.42), (30.25, 3.56)),
        ((0.84, 0.53), (16.52, 3.27)),
    ),
    0.5: (
        ((1.33, 0.64), (17.80, 3.83)),
        ((1.58, 0.72), (5.48, 1.56)),
        ((1.41, 0.72), (34.15, 28.81)),
    ),
    1.0: (
        ((6.39, 1.19), (6.91, 1.19)),
        ((4.30, 1.23), (13.06, 3.23)),
        ((3.96, 1.26), (16.13, 3.57)),
    ),
    2.0: (
        ((44.20, 4.75), (56.44, 5.00)),
        ((35.57, 5.63), (47.62, 5.48)),
        ((16.93, 7.63), (34.12, 9.02)),
    ),
}
"""Table 5: degenerate softmax and detachment (IOD) by s^2, for each lambda, over runs."""
