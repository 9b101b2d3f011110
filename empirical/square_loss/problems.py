"""What is learnt: a few classes of a data set, balanced, inputs of unit norm."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from empirical.checks import check_classes, check_counts, check_finite, check_whole
from empirical.data import load
from empirical.data.pixels import pixels
from empirical.randomness import torch_generator
from empirical.testbed.records import digest
from empirical.testbed.study import Setting
from empirical.testbed.writing import Integers


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """Training and test examples.

    Attributes
    ----------
    inputs, test_inputs : Tensor, shape (n, d) or (n, C, H, W), float64
        Each of unit Frobenius norm.
    classes, test_classes : Tensor, shape (n,), int64
        0..C-1, in the order in which the labels were asked for.
    source : dict
        What a record says about the data.

    Raises
    ------
    ValueError
        If inputs are not finite, or classes do not fit them or are fewer than two.
    """

    inputs: Tensor
    classes: Tensor
    test_inputs: Tensor
    test_classes: Tensor
    source: dict[str, Any]

    def __post_init__(self) -> None:
        check_finite("Problem", "inputs", self.inputs)
        check_finite("Problem", "test_inputs", self.test_inputs)
        check_classes("Problem", "classes", self.classes, len(self.inputs))
        if not self.classes.any():
            raise ValueError(
                "Problem: `classes` must be two at least, but all of "
                f"{len(self.classes)} are 0"
            )
        tests, most = len(self.test_inputs), self.count - 1
        check_classes("Problem", "test_classes", self.test_classes, tests, most)

    @property
    def digest(self) -> str:
        """Tells its examples from others; see `records.digest`."""
        return digest([self.source["train_sha256"], self.source["test_sha256"]])

    @property
    def count(self) -> int:
        """Number of classes, C."""
        return int(self.classes.max()) + 1

    def targets(self, classes: Tensor) -> Tensor:
        """Return targets, shape (n, outputs): -1 and +1, or one-hot for C > 2."""
        if self.count == 2:
            return 2.0 * classes[:, None].to(self.inputs.dtype) - 1.0
        return functional.one_hot(classes, self.count).to(self.inputs.dtype)

    def shuffled(self) -> "Problem":
        """Return it with the training examples' classes exchanged at random.

        There are as many of each class as before; tests keep theirs.
        """
        generator = torch_generator(len(self.classes), "square-loss", "labels")
        order = torch.randperm(len(self.classes), generator=generator)
        classes = self.classes[order]
        own = hashlib.sha256(bytes(classes.tolist())).hexdigest()
        source = self.source | {
            "train_sha256": digest([self.source["train_sha256"], own])
        }
        return replace(self, classes=classes, source=source | {"shuffled": True})


def problem(
    data: str = "mnist",
    labels: Sequence[int] = (3, 8),
    *,
    per_class: int = 150,
    tests: int = 50,
    side: int | None = None,
    constant: float | None = None,
    directory: Path | str | None = None,
    allow_unverified: bool = False,
    cached: bool = True,
) -> Problem:
    """Return the first examples of some classes, classes in turn.

    Parameters
    ----------
    data : {"mnist", "fashion-mnist", "cifar10"}
    labels : sequence of int
        The first becomes class 0 (target -1 of two), the second class 1 (+1), ...
    per_class, tests : int
        Training and test examples of each class.
    side : int, optional
        Shrink images to this edge, each pixel the mean of those it covers.
    constant : float, optional
        Flatten the images, pixels in [0, 1], and append this coordinate: it stands in
        for biases, and inputs become vectors.
    directory, allow_unverified, cached
        See `empirical.data.load`.

    Raises
    ------
    ValueError
        If fewer than two classes are asked for, one twice, or a class has too few
        examples.

    Examples
    --------
    >>> digits = problem(side=8, constant=0.25, per_class=5, tests=2, cached=False)
    >>> digits.inputs.shape, digits.targets(digits.classes)[:4, 0].tolist()
    (torch.Size([10, 65]), [-1.0, 1.0, -1.0, 1.0])
    """
    check_counts("problem", per_class=per_class, tests=tests)
    if constant is not None and not math.isfinite(constant):
        raise ValueError(f"problem: `constant` must be finite, but it is {constant}")
    for label in labels:
        check_whole("problem", labels=label)
    chosen = tuple(int(label) for label in labels)
    if len(chosen) < 2 or len(set(chosen)) < len(chosen):
        raise ValueError(
            "problem: `labels` must name at least two classes, each once, but they are "
            f"{chosen}"
        )
    parts: list[tuple[Tensor, Tensor]] = []
    source: dict[str, Any] = {"data": data, "labels": list(chosen)}
    for split, wanted in (("train", per_class), ("test", tests)):
        found = load(
            data,
            "train" if split == "train" else "test",
            directory=directory,
            allow_unverified=allow_unverified,
            cached=cached,
        )
        index = _balanced(found.labels, chosen, wanted, f"{data} ({split})")
        x = _inputs(found.images[index], side=side, constant=constant)
        parts.append((x, torch.arange(len(chosen)).repeat(wanted)))
        # Of the bytes, not of floats, whose last bits vary between machines.
        own = hashlib.sha256(found.images[index].tobytes()).hexdigest()
        source |= {"source": found.source, split: len(x), f"{split}_sha256": own}
    (inputs, classes), (test_inputs, test_classes) = parts
    return Problem(
        inputs=inputs,
        classes=classes,
        test_inputs=test_inputs,
        test_classes=test_classes,
        source=source,
    )


def problem_at(
    setting: Setting, c: Any, labels: Sequence[int], constant: float | None = None
) -> Problem:
    """Return the `problem` of a configuration's `data`, `per_class`, `tests` and `side`.

    Digits come from the set that is the same on every machine, unless it is too small.
    """
    embedded = c.data == "mnist" and c.per_class <= 400 and c.tests <= 100
    return problem(
        c.data,
        labels,
        per_class=c.per_class,
        tests=c.tests,
        side=c.side,
        constant=constant,
        directory=None if embedded else setting.data_folder,
        allow_unverified=setting.allow_unverified,
        cached=not embedded,
    )


def _balanced(
    labels: npt.NDArray[np.uint8], chosen: Sequence[int], wanted: int, where: str
) -> Integers:
    """Return indices: the first of each class, the second of each, ..."""
    rows = [np.flatnonzero(labels == label)[:wanted] for label in chosen]
    for label, row in zip(chosen, rows, strict=True):
        if len(row) < wanted:
            raise ValueError(
                f"problem: `labels` must have {wanted} examples each in {where}, but "
                f"class {label} has {len(row)}. Lower `per_class` or `tests`, or give "
                "the directory of the full data set."
            )
    return np.stack(rows, axis=1).reshape(-1)


def _inputs(
    images: npt.NDArray[np.uint8], *, side: int | None, constant: float | None
) -> Tensor:
    x = pixels(images, side=side)
    if constant is not None:
        x = functional.pad(x.flatten(1), (0, 1), value=constant)
    norms = x.flatten(1).norm(dim=1)
    if not bool((norms > 0.0).all()):
        raise ValueError("problem: images must not be zero, but some are")
    return x / norms.view(-1, *[1] * (x.ndim - 1))
