"""What is said of the measurements of networks of finite width, and their figures."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from empirical.testbed.ending import Array, Curve, Ending, spread
from empirical.testbed.records import RunRecord

Result = Mapping[str, Any]


def ending(record: RunRecord, kind: str) -> Ending:
    """Say what an experiment measured, on which networks."""
    settings = dict(record.configuration["arguments"])
    return _ENDINGS[kind](record.fact("result"), settings)


def _depth(result: Result, settings: Mapping[str, Any]) -> Ending:
    depths = np.asarray(result["depths"])
    curves: list[Curve] = []
    said: list[str] = []
    for name, words in (("nngp", "last layer's kernel"), ("ntk", "tangent kernel")):
        if f"{name}_conditions" not in result:
            continue
        each = np.asarray(result[f"{name}_conditions"], dtype=float)
        curves.append(_means(f"condition number of the {words}", depths, each))
        first, last = each[:, 0], each[:, -1]
        said.append(
            f"The condition number of the {words} goes from {spread(first)} at depth"
            f" {depths[0]} to {spread(last)} at depth {depths[-1]}."
        )
    what = (
        f"Measured kernels of {settings['draws']} networks with {settings['activation']}"
        f" and {settings['width']} units a layer on {settings['n']} inputs."
    )
    return Ending(
        said=(what, *said),
        curves=tuple(curves),
        x="depth",
        y="condition number",
        log=True,
    )


def _width(result: Result, settings: Mapping[str, Any]) -> Ending:
    widths = np.asarray(result["widths"])
    curves: list[Curve] = []
    said: list[str] = []
    for name, words in (("nngp", "last layer's kernel"), ("ntk", "tangent kernel")):
        if f"{name}_deviations" not in result:
            continue
        spreads = np.asarray(result[f"{name}_deviations"], dtype=float)
        typical = np.sqrt((spreads**2).mean(axis=(1, 2)))
        curves.append(Curve(f"deviation of the {words}", widths, typical))
        said.append(
            f"An entry of the {words} deviates by {typical[0]:.2g} at width {widths[0]}"
            f" and by {typical[-1]:.2g} at width {widths[-1]}."
        )
    what = (
        f"Measured kernels of {settings['draws']} networks with {settings['activation']}"
        f" and {settings['depth']} hidden layers on {settings['n']} inputs."
    )
    return Ending(
        said=(what, *said),
        curves=tuple(curves),
        x="width",
        y="standard deviation of an entry",
        log=True,
    )


def _norms(result: Result, settings: Mapping[str, Any]) -> Ending:
    squared = np.asarray(result["squared_norms"], dtype=float)
    errors = np.asarray(result["squared_norms_standard_errors"], dtype=float)
    layers = np.arange(len(squared))
    curves = tuple(
        Curve(f"input {k + 1}", layers, squared[:, k], errors[:, k])
        for k in range(squared.shape[1])
    )
    said = (
        (
            f"Drew {settings['draws']} networks with {settings['activation']} and"
            f" {settings['width']} units a layer."
        ),
        (
            f"After {len(squared) - 1} layers the squared lengths {spread(squared[0])} have"
            f" become {spread(squared[-1])}, and the cosine {result['correlations'][0]:.3g}"
            f" has become {result['correlations'][-1]:.3g}."
        ),
    )
    return Ending(said=said, curves=curves, x="layer", y="squared length")


def _chain(result: Result, settings: Mapping[str, Any]) -> Ending:
    mean = np.asarray(result["correlations"], dtype=float)
    error = np.asarray(result["correlations_standard_errors"], dtype=float)
    curve = Curve("mean correlation", np.arange(len(mean)), mean, error)
    said = (
        (
            f"Drew {settings['chains']} networks with {settings['activation']} and"
            f" {settings['width']} units a layer."
        ),
        (
            f"Two inputs of correlation {mean[0]:.3g} have {mean[-1]:.3g} ± {error[-1]:.1g}"
            f" after {len(mean) - 1} layers; at infinite width a normalised activation"
            " leaves less with every layer."
        ),
    )
    return Ending(said=said, curves=(curve,), x="layer", y="mean correlation")


def _train(result: Result, settings: Mapping[str, Any]) -> Ending:
    steps = np.asarray(result["steps"])
    losses = [np.asarray(each, dtype=float) for each in result["losses"]]
    left = [float(each[-1] / each[0]) for each in losses]
    away = sum(step >= 0 for step in result["diverged_at"])
    said = (
        (
            f"Trained {settings['layers']} layers of {len(losses)} networks with"
            f" {settings['depth']} hidden layers of {settings['width']} units by gradient"
            f" descent on {settings['n']} random signs."
        ),
        (
            f"After {steps[-1]} steps {spread(left, '.1e')} of the first loss is left;"
            f" {away} of {len(losses)} diverged. The kernel's condition number was at first"
            f" {spread(np.asarray(result['conditions'], dtype=float))}."
        ),
    )
    curves = (
        Curve(f"network {k + 1}", steps[: len(each)], each)
        for k, each in enumerate(losses)
    )
    return Ending(said=said, curves=tuple(curves), x="step", y="loss", log=True)


def _digits(result: Result, settings: Mapping[str, Any]) -> Ending:
    rows = result["rows"]
    depths = np.asarray([row["depth"] for row in rows])
    right = np.asarray([row["test_accuracy"] for row in rows], dtype=float)
    said = (
        (
            f"Interpolated {settings['n']} digits with kernels averaged over"
            f" {settings['draws']} networks of {settings['width']} units."
        ),
        (
            f"Of {settings['tests']} other digits {spread(100.0 * right)} % are right,"
            f" at depth {spread(depths, '.0f')}."
        ),
    )
    curve = Curve("digits right", depths, right)
    return Ending(said=said, curves=(curve,), x="depth", y="share right")


def _means(label: str, x: Array, each: Array) -> Curve:
    """Return means over networks with their standard errors."""
    count = len(each)
    error = each.std(axis=0, ddof=1) / count**0.5 if count > 1 else None
    return Curve(label, x, each.mean(axis=0), error)


_ENDINGS: Mapping[str, Callable[[Result, Mapping[str, Any]], Ending]] = {
    "depth": _depth,
    "width": _width,
    "norms": _norms,
    "chain": _chain,
    "train": _train,
    "digits": _digits,
}
