"""What is said of the measurements of networks of finite width, and their figures."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from empirical.testbed.ending import Curve, Ending, counted, spread
from empirical.testbed.records import RunRecord
from empirical.testbed.writing import Array

Result = Mapping[str, Any]


def ending(record: RunRecord, kind: str) -> Ending:
    """Say what an experiment measured, on which networks."""
    settings = dict(record.configuration["arguments"])
    return _ENDINGS[kind](record.fact("result"), settings)


KERNELS = {"nngp": "last layer's kernel", "ntk": "tangent kernel"}


def _depth(result: Result, settings: Mapping[str, Any]) -> Ending:
    depths = np.asarray(result["depths"])
    curves: list[Curve] = []
    said = [
        (
            f"Measured kernels of {counted(settings['draws'], 'network')} with"
            f" {settings['activation']} and {counted(settings['width'], 'unit')} a layer on"
            f" {settings['n']} inputs."
        )
    ]
    for name, words in KERNELS.items():
        if f"{name}_conditions" in result:
            each = np.asarray(result[f"{name}_conditions"], dtype=float)
            curves.append(_means(f"condition number of the {words}", depths, each))
            pairs = zip(depths, each.T, strict=True)
            shown = [f"{spread(c)} at depth {d}" for d, c in pairs]
            said.append(f"The condition number of the {words} is {_ends(shown)}.")
            if len(depths) > 1:
                said.append(_conditioned(np.median(each, axis=0)))
    if len(depths) > 1:
        said.append(
            "At infinite width depth brings condition numbers to 1 if the activation is"
            " not linear (the paper's Corollaries 3.3 and 3.5): larger `--depths` and"
            " `--width` come nearer."
        )
    y = "condition number"
    return Ending(said=tuple(said), curves=tuple(curves), x="depth", y=y, log=True)


def _width(result: Result, settings: Mapping[str, Any]) -> Ending:
    widths = np.asarray(result["widths"])
    curves: list[Curve] = []
    said = [
        (
            f"Measured kernels of {settings['draws']} networks with"
            f" {settings['activation']} and"
            f" {counted(settings['depth'], 'hidden layer')} on {settings['n']} inputs."
        )
    ]
    for name, words in KERNELS.items():
        if f"{name}_deviations" in result:
            spreads = np.asarray(result[f"{name}_deviations"], dtype=float)
            typical = np.sqrt((spreads**2).mean(axis=(1, 2)))
            curves.append(Curve(f"deviation of the {words}", widths, typical))
            pairs = zip(widths, typical, strict=True)
            shown = [f"by {value:.2g} at width {width}" for width, value in pairs]
            said.append(f"An entry of the {words} deviates {_ends(shown)}.")
            if len(widths) > 1 and typical.min() > 0.0:
                slope = np.polyfit(np.log(widths), np.log(typical), 1)[0]
                said.append(f"It goes like width^{slope:.2f}.")
    if len(widths) > 1:
        said.append(
            "The law of large numbers says width^-0.5, by which kernels come to those of"
            " infinite width, of which the paper's theorems speak."
        )
    # A power of the width is a straight line.
    axes: Any = {"x": "width", "log": True, "log_x": True}
    y = "standard deviation of an entry"
    return Ending(said=tuple(said), curves=tuple(curves), y=y, **axes)


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
            f"Drew {counted(settings['draws'], 'network')} with {settings['activation']}"
            f" and {counted(settings['width'], 'unit')} a layer."
        ),
        (
            f"After {counted(len(squared) - 1, 'layer')} the squared lengths"
            f" {spread(squared[0])} have become {spread(squared[-1])}, and the cosine"
            f" {result['correlations'][0]:.3g} has become"
            f" {result['correlations'][-1]:.3g}."
        ),
        _lengths_mean(squared, np.asarray(result["correlations"], dtype=float)),
    )
    return Ending(said=said, curves=curves, x="layer", y="squared length")


def _conditioned(medians: Array) -> str:
    """Say whether depth has conditioned a kernel, as the paper proves of wide ones."""
    first, last = float(medians[0]), float(medians[-1])
    if last < first:
        return f"Depth conditions it: by the median, a factor {first / last:.3g} less."
    return "Depth has not conditioned it."


def _lengths_mean(squared: Array, cosines: Array) -> str:
    """Say what became of lengths and cosine, in the terms of the paper's theorems."""
    away = [float(np.abs(each - 1.0).max()) for each in (squared[0], squared[-1])]
    lengths = "nearer to 1" if away[1] < away[0] else "no nearer to 1"
    fell = abs(cosines[-1]) < abs(cosines[0])
    cosine = "the inputs less alike" if fell else "the inputs no less alike"
    return (
        f"The lengths have come {lengths}, and {cosine}: the paper's theorem on inputs of"
        " unequal length (3.11) says of odd activations, and I.1 of NormReLU, that both"
        " go together at infinite width."
    )


def _chain(result: Result, settings: Mapping[str, Any]) -> Ending:
    mean = np.asarray(result["correlations"], dtype=float)
    error = np.asarray(result["correlations_standard_errors"], dtype=float)
    last = f"{mean[-1]:.3g}" + f" ± {error[-1]:.1g}" * bool(np.isfinite(error[-1]))
    curve = Curve("mean correlation", np.arange(len(mean)), mean, error)
    said = (
        (
            f"Drew {counted(settings['chains'], 'network')} with {settings['activation']}"
            f" and {counted(settings['width'], 'unit')} a layer."
        ),
        (
            f"Two inputs of correlation {mean[0]:.3g} have {last}"
            f" after {counted(len(mean) - 1, 'layer')}; at infinite width every layer of a"
            " normalised activation that is not linear leaves less of a correlation"
            " between 0 and 1."
        ),
    )
    return Ending(said=said, curves=(curve,), x="layer", y="mean correlation")


def _train(result: Result, settings: Mapping[str, Any]) -> Ending:
    steps = np.asarray(result["steps"])
    losses = [np.asarray(each, dtype=float) for each in result["losses"]]
    left = [each[-1] / each[0] for each in losses if np.isfinite(each[-1])]
    shares = "no loss is finite"
    if left:
        shares = f"{spread(left, '.1e')} of the first loss is left"
    away = sum(step >= 0 for step in result["diverged_at"])
    layers = "the top layer" if settings["layers"] == "top" else "all layers"
    said = (
        (
            f"Trained {layers} of {counted(len(losses), 'network')} with"
            f" {counted(settings['depth'], 'hidden layer')} of"
            f" {counted(settings['width'], 'unit')} by gradient descent on"
            f" {settings['n']} random signs."
        ),
        (
            f"After {counted(steps[-1], 'step')} {shares}; {away} of"
            f" {len(losses)} diverged. The kernel's condition number was at first"
            f" {spread(np.asarray(result['conditions'], dtype=float))}."
        ),
        (
            "The steps to a given loss are in proportion to that number, the paper's"
            " Theorems 4.1 and 4.2 say: the better depth conditions the kernel, the sooner"
            " gradient descent is done."
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
    shown = [
        f"{100.0 * r:.3g} % at depth {d}" for d, r in zip(depths, right, strict=True)
    ]
    said = (
        (
            f"Interpolated {settings['n']} digits with kernels averaged over"
            f" {counted(settings['draws'], 'network')} of"
            f" {counted(settings['width'], 'unit')}."
        ),
        (
            f"Of {settings['tests']} other digits it has right {_ends(shown)}; one in ten"
            " would be chance."
        ),
        _interpolated(right),
    )
    curve = Curve("digits right", depths, right)
    return Ending(said=said, curves=(curve,), x="depth", y="share right")


def _interpolated(right: Array) -> str:
    """Say whether better conditioned, deeper kernels classify better."""
    if len(right) == 1:
        told = "At several `--depths` it would show what depth does to that."
    elif right[-1] > right[0]:
        told = "The deeper kernel classifies better."
    else:
        told = "The deeper kernel classifies no better."
    return (
        f"{told} Depth makes the interpolant cheaper to find and the kernel nearer to a"
        " multiple of the identity, which knows the training digits alone; the paper"
        " promises small errors of deep kernels for noisy labels in high dimension"
        " (Theorem 6.1), not for digits."
    )


def _means(label: str, x: Array, each: Array) -> Curve:
    """Return means over networks with their standard errors."""
    count = len(each)
    # Of singular kernels they are infinite.
    with np.errstate(invalid="ignore"):
        error = each.std(axis=0, ddof=1) / count**0.5 if count > 1 else None
    return Curve(label, x, each.mean(axis=0), error)


def _ends(shown: list[str]) -> str:
    """Return the first and the last of several, or the only one."""
    return shown[0] if len(shown) == 1 else f"{shown[0]} and {shown[-1]}"


_ENDINGS: Mapping[str, Callable[[Result, Mapping[str, Any]], Ending]] = {
    "depth": _depth,
    "width": _width,
    "norms": _norms,
    "chain": _chain,
    "train": _train,
    "digits": _digits,
}
