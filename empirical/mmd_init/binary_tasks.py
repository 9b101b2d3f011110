"""Random binary tasks: standardised images, labellings of the classes, few examples."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.checks import check_classes, check_counts, check_finite, check_whole
from empirical.data import load
from empirical.data.pixels import pixels
from empirical.data.sources import Dataset
from empirical.testbed.writing import Bools, Integers

ROWS = 4096
"""Images that are converted at once."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Images:
    """Training and test images, flat and standardised, with their labels.

    Attributes
    ----------
    inputs, test_inputs : Tensor, shape (n, features)
    labels, test_labels : Tensor, shape (n,), int64
        0..C-1.
    source : dict
        What a record says about the data.
    mean, std : float
        Of the pixels in [0, 1], which became 0 and 1.

    Raises
    ------
    ValueError
        If there are no examples, inputs are not finite, or shapes do not fit.
    """

    inputs: Tensor
    labels: Tensor
    test_inputs: Tensor
    test_labels: Tensor
    source: dict[str, Any]
    mean: float
    std: float

    def __post_init__(self) -> None:
        parts = (("", self.inputs, self.labels),)
        for name, x, y in (*parts, ("test_", self.test_inputs, self.test_labels)):
            check_inputs("Images", f"{name}inputs", x)
            check_classes("Images", f"{name}labels", y, len(x))
        if self.inputs.shape[1] != self.test_inputs.shape[1]:
            raise ValueError(
                "Images: `test_inputs` must have as many features as `inputs`, "
                f"{self.inputs.shape[1]}, but they have {self.test_inputs.shape[1]}"
            )


def check_inputs(who: str, name: str, x: Tensor) -> None:
    """Refuse inputs that are no table of finite numbers with at least one row."""
    if x.ndim != 2 or 0 in x.shape:
        raise ValueError(
            f"{who}: `{name}` must be a table (examples, features), neither 0, but the "
            f"shape is {tuple(x.shape)}"
        )
    check_finite(who, name, x, ". Remove these examples.")


def images(
    data: str = "mnist",
    *,
    side: int | None = None,
    limit: int | None = None,
    tests: int | None = None,
    directory: Path | str | None = None,
    allow_unverified: bool = False,
    cached: bool = True,
    embedded: bool = True,
    dtype: torch.dtype = torch.float32,
) -> Images:
    """Load images, standardised by one mean and one standard deviation.

    Both are over all pixels of all training images, in float64, the deviation with
    divisor n; the test images are moved by the same two numbers. The paper leaves open
    whether it is this or a mean per pixel.

    Parameters
    ----------
    data : {"mnist", "fashion-mnist", "cifar10"}
    side : int, optional
        Shrink images to this edge, each pixel the mean of those it covers.
    limit, tests : int, optional
        Keep the first so many training or test images; absent, all.
    directory, allow_unverified, cached, embedded
        See `empirical.data.load`. With no directory and ``cached=False`` MNIST is the
        4,000 and 1,000 digits that are always at hand.
    dtype : torch.dtype
        Of the inputs returned.

    Raises
    ------
    ValueError
        If pixels are all equal, `side` is not positive, or more images are asked for
        than there are.
    FileNotFoundError
        If they are not at hand.

    Examples
    --------
    >>> digits = images(side=8, limit=200, tests=50, cached=False, dtype=torch.float64)
    >>> tuple(digits.inputs.shape), tuple(digits.test_inputs.shape)
    ((200, 64), (50, 64))
    >>> x = digits.inputs
    >>> abs(float(x.mean())) < 1e-12, round(float(x.std(correction=0)), 12)
    (True, 1.0)
    """
    check_counts("images", side=side)
    whole = partial(
        load,
        data,
        directory=directory,
        allow_unverified=allow_unverified,
        cached=cached,
        embedded=embedded,
    )
    train, test = whole(split="train"), whole(split="test")
    train = train if limit is None else train.head(limit)
    test = test if tests is None else test.head(tests)
    mean, std = _moments(train, side)
    # Pixels are multiples of 1/255: one that differs makes more than 1e-9 of MNIST, and
    # rounding of a mean makes 1e-16.
    if std < 1e-12:
        raise ValueError(
            "images: pixels must not all be equal, but all "
            f"{len(train)} training images are {mean:g} throughout"
        )

    def standardised(of: Dataset) -> Tensor:
        return torch.cat([((x - mean) / std).to(dtype) for x in _parts(of, side)])

    # Digests of the bytes, not of floats, whose last bits vary between machines.
    source = {"data": data, "source": train.source, "side": side}
    source |= {"train": len(train), "train_sha256": train.sha256}
    source |= {"test": len(test), "test_sha256": test.sha256}
    return Images(
        inputs=standardised(train),
        labels=torch.from_numpy(train.labels.astype(np.int64)),
        test_inputs=standardised(test),
        test_labels=torch.from_numpy(test.labels.astype(np.int64)),
        source=source,
        mean=mean,
        std=std,
    )


def _parts(data: Dataset, side: int | None) -> Iterator[Tensor]:
    """Yield some rows of pixels after others: all of MNIST in float64 is 0.4 GB."""
    for start in range(0, len(data), ROWS):
        yield pixels(data.images[start : start + ROWS], side=side).flatten(1)


def _moments(data: Dataset, side: int | None) -> tuple[float, float]:
    totals = [(x.sum(), x.numel()) for x in _parts(data, side)]
    count = sum(number for _, number in totals)
    mean = float(torch.stack([total for total, _ in totals]).sum()) / count
    squares = [(x - mean).square().sum() for x in _parts(data, side)]
    return mean, float(torch.stack(squares).sum() / count) ** 0.5


def random_tasks(
    count: int, generator: np.random.Generator, *, classes: int = 10
) -> Bools:
    """Draw binary tasks, labellings that are not constant: bool, shape (count, classes).

    Uniformly from all 2^classes - 2, without repeats. A labelling and its complement are
    two tasks here, as in the paper, though the names of the labels are all that differs.

    Parameters
    ----------
    count : int
    generator : numpy.random.Generator
        The same for every run and method that is to have the same tasks.
    classes : int

    Raises
    ------
    ValueError
        If `classes` is not in 2..30, or there are fewer tasks than asked for.

    Examples
    --------
    >>> made = random_tasks(1022, np.random.default_rng(7))
    >>> made.shape, int(made.sum()) == 1022 * 5, bool(made.all(axis=1).any())
    ((1022, 10), True, False)
    """
    check_whole("random_tasks", count=count, classes=classes)
    if not 2 <= classes <= 30:
        raise ValueError(
            f"random_tasks: `classes` must lie in 2..30, but it is {classes}"
        )
    every = 2**classes - 2
    if not 1 <= count <= every:
        raise ValueError(
            f"random_tasks: `count` must lie in 1..{every}, the labellings of {classes} "
            f"classes that are not constant, but it is {count}"
        )
    # Binary digits of 1, ..., 2^classes - 2: neither all 0 nor all 1.
    codes = 1 + generator.choice(every, size=count, replace=False)
    return (codes[:, None] >> np.arange(classes)) % 2 == 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Split:
    """Indices of the training images of each task.

    Attributes
    ----------
    train : int array, shape (tasks, a) or (runs, tasks, a)
        Learnt from.
    validation : int array, shape (tasks, b) or (runs, tasks, b)
        Chosen by: disjoint from the former.

    Raises
    ------
    ValueError
        If they are no whole numbers, the shapes do not fit, a task has no examples, or
        is to learn from one that it is chosen by.
    """

    train: Integers
    validation: Integers

    def __post_init__(self) -> None:
        for name, rows in (("train", self.train), ("validation", self.validation)):
            if rows.dtype.kind not in "iu":
                raise ValueError(
                    f"Split: `{name}` must be whole numbers, but they are {rows.dtype}"
                )
        shapes = self.train.shape, self.validation.shape
        if self.train.ndim not in (2, 3) or shapes[0][:-1] != shapes[1][:-1]:
            raise ValueError(
                "Split: `train` and `validation` must be (tasks, n) or (runs, tasks, n)"
                f" alike, but the shapes are {shapes[0]} and {shapes[1]}"
            )
        if not self.train.size or not self.validation.size:
            raise ValueError(
                "Split: `train` and `validation` must not be empty, but the shapes are "
                f"{shapes[0]} and {shapes[1]}"
            )
        each = (
            rows.reshape(-1, rows.shape[-1]) for rows in (self.train, self.validation)
        )
        for task, (learnt, held_out) in enumerate(zip(*each, strict=True)):
            if len(common := np.intersect1d(learnt, held_out)):
                raise ValueError(
                    "Split: `validation` must be disjoint from `train`, but "
                    f"{len(common)} of task {task} are in both, e.g. {common[0]}"
                )


def draw_splits(
    labels: Tensor | Integers,
    tasks: int,
    per_class: int,
    generator: np.random.Generator,
    *,
    classes: int = 10,
) -> Split:
    """Draw examples for each task: N a class to learn from, a fifth as many to choose by.

    So with ten classes 10 N and 2 N of them, as the paper's tables head them (its text
    has N and 0.2 N). They are drawn without replacement in a task, anew for each. Where
    N is no multiple of 5, the validation examples that do not go round equally are any.

    Parameters
    ----------
    labels : array of int, shape (n,)
        Of the training images.
    tasks : int
        How many; the first few are the same whatever their number.
    per_class : int
        N.
    generator : numpy.random.Generator
    classes : int
        Labels are 0..classes-1.

    Raises
    ------
    ValueError
        If a number is not positive, or a class has too few examples.

    Examples
    --------
    >>> labels = np.arange(200) % 10
    >>> made = draw_splits(labels, 3, 5, np.random.default_rng(7))
    >>> made.train.shape, made.validation.shape
    ((3, 50), (3, 10))
    >>> np.bincount(labels[made.validation[0]]).tolist()
    [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    """
    check_counts("draw_splits", tasks=tasks, per_class=per_class, classes=classes)
    found = np.asarray(labels, dtype=np.int64)
    chosen = max(1, classes * per_class // 5)
    each = chosen // classes
    rows = [np.flatnonzero(found == label) for label in range(classes)]
    for label, row in enumerate(rows):
        if len(row) < per_class + each:
            raise ValueError(
                f"draw_splits: `labels` must have {per_class + each} examples of each "
                f"class, {per_class} to learn from and {each} to choose by, but class "
                f"{label} has {len(row)}. Lower `per_class`, or give more data."
            )
    rest = chosen - each * classes
    if sum(map(len, rows)) < classes * per_class + chosen:
        raise ValueError(
            f"draw_splits: `labels` must have {classes * per_class + chosen} examples "
            f"0..{classes - 1}, but there are {sum(map(len, rows))}. Lower `per_class`."
        )
    train, validation = [], []
    for _ in range(tasks):
        drawn = np.stack(
            [generator.choice(r, per_class + each, replace=False) for r in rows]
        )
        others = drawn[:, per_class:].reshape(-1)
        if rest:
            unused = np.setdiff1d(np.concatenate(rows), drawn)
            others = np.append(others, generator.choice(unused, rest, replace=False))
        train.append(drawn[:, :per_class].reshape(-1))
        validation.append(others)
    return Split(train=np.stack(train), validation=np.stack(validation))
