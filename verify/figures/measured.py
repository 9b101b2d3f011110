"""Pictures of records: what a claim measured, beside what was predicted for it.

Every number drawn is in the record. A record that lacks what a picture shows is a
ValueError that names it.
"""

from typing import Any

import numpy as np

from verify.compare import Array, flatten
from verify.figures.style import (
    DASHES,
    FAINT,
    INK,
    SERIES,
    Figure,
    axes,
    band,
    log_axis,
    plain_number,
)
from verify.records import CaseRecord, Record, number
from verify.report.numbers import as_fields

_INTERVAL = "± 3 standard errors"
"""What every error bar and band here is."""

_MARKS = {"linestyle": "none", "marker": "o", "capsize": 2}


def condition_numbers(record: Record) -> Figure:
    """Draw measured condition numbers by depth with the bound that was predicted.

    Cases hold `depths` and `width`; both sides are logarithms of condition numbers.
    """
    figure, (ax,) = axes(height=3.6)
    for k, case in enumerate(_with(record, "depths")):
        depths = _numbers(case.case["depths"])
        mean, stderr = _estimate(case)
        bound = np.exp(_numbers(case.predicted))
        colour, dashes = SERIES[k % len(SERIES)], DASHES[k % len(DASHES)]
        value = np.exp(mean)
        # The standard error is one of the logarithm.
        ends = np.exp(mean - 3.0 * stderr), np.exp(mean + 3.0 * stderr)
        width = case.case["width"]
        look = _MARKS | {"color": colour, "markersize": 4.5}
        label = f"measured, width {width}, {_INTERVAL}"
        ax.errorbar(
            depths, value, yerr=[value - ends[0], ends[1] - value], label=label, **look
        )
        look = {"color": INK, "linestyle": dashes, "linewidth": 1.3}
        ax.plot(depths, bound, label=f"bound at width {width}", **look)
    ax.axhline(1.0, color=INK, linewidth=0.7)
    ax.set(yscale="log", xlabel="hidden layers L", ylabel="condition number κ")
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(plain_number)
    ax.yaxis.set_major_formatter(plain_number)
    ax.legend()
    return figure


def finite_width(record: Record) -> Figure:
    """Draw the root mean square error of a kernel entry against width.

    Cases hold `width`; both sides are width times the mean squared error.
    """
    figure, (ax,) = axes(height=3.4)
    cases = sorted(_with(record, "width"), key=lambda c: number(c.case["width"]))
    width = np.array([number(case.case["width"]) for case in cases])
    scaled = np.array([_estimate(case)[0][0] for case in cases])
    stderr = np.array([_estimate(case)[1][0] for case in cases])
    predicted = np.array([_numbers(case.predicted)[0] for case in cases])
    error = np.sqrt(scaled / width)
    look = {"color": INK, "linestyle": DASHES[1], "linewidth": 1.3}
    ax.plot(width, np.sqrt(predicted / width), label="predicted, slope −1/2", **look)
    # First order: the relative error of a root is half of its argument's.
    half = 1.5 * error * stderr / scaled
    look = _MARKS | {"color": SERIES[0], "markersize": 5}
    ax.errorbar(width, error, yerr=half, label=f"measured, {_INTERVAL}", **look)
    ax.set(xlabel="width m", ylabel="root mean square error of a kernel entry")
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(plain_number)
    log_axis(ax)
    ax.legend()
    return figure


def correlation_floor(record: Record) -> Figure:
    """Draw mean correlations of random networks, in units of one over the width.

    By layer where the record has them layer by layer, else those of the last layer
    beside what was predicted for it.
    """
    curves = [case for case in _with(record, "width") if len(_estimate(case)[0]) > 1]
    return _floor_curves(curves) if curves else _floor_ends(_with(record, "width"))


def _floor_curves(cases: list[CaseRecord]) -> Figure:
    figure, (ax,) = axes(height=3.8)
    names = list(dict.fromkeys(str(case.case["activation"]) for case in cases))
    for case in cases:
        k = names.index(str(case.case["activation"]))
        same = [c for c in cases if c.case["activation"] == case.case["activation"]]
        mean, stderr = _estimate(case)
        layer = np.arange(1, len(mean) + 1)
        colour = SERIES[k % len(SERIES)]
        band(ax, layer, mean - 3.0 * stderr, mean + 3.0 * stderr, colour, 0.22)
        ax.plot(
            layer,
            mean,
            color=colour,
            linestyle=DASHES[same.index(case) % len(DASHES)],
            linewidth=1.2,
            label=f"{_plain(names[k])}, m = {case.case['width']}",
        )
        predicted = np.broadcast_to(_numbers(case.predicted), mean.shape)
        ax.plot(layer, predicted, color=INK, linewidth=0.9, linestyle=DASHES[2])
    ax.plot([], [], color=INK, linewidth=0.9, linestyle=DASHES[2], label="predicted")
    band(ax, [], [], 0.0, INK, 0.22, label=_INTERVAL)
    ax.set(
        xlabel="layer",
        ylabel="mean correlation × width m",
        xlim=(0, None),
        ylim=(None, ax.get_ylim()[1] * 1.05),
    )
    figure.legend(loc="outside right center")
    return figure


def _floor_ends(cases: list[CaseRecord]) -> Figure:
    figure, (ax,) = axes(height=1.5 + 0.45 * len(cases))
    for k, case in enumerate(cases):
        mean, stderr = _estimate(case)
        predicted = _numbers(case.predicted)
        ax.errorbar(
            mean, [k], xerr=3.0 * stderr, color=SERIES[0], marker="o", capsize=3
        )
        ax.plot(predicted, [k], "d", color=SERIES[1], markersize=7, fillstyle="none")
    ax.plot([], [], "o", color=SERIES[0], label=f"measured, {_INTERVAL}")
    ax.plot([], [], "d", color=SERIES[1], fillstyle="none", label="predicted")
    ax.axvline(0.0, color=FAINT, linewidth=1.0)
    names = [f"{_plain(c.case['activation'])}, L = {c.case['depth']}" for c in cases]
    ax.set_yticks(range(len(cases)), names)
    ax.set(xlabel="mean correlation × width m", ylim=(len(cases) - 0.4, -0.6))
    figure.legend(loc="outside upper right", ncols=2)
    return figure


def _plain(name: Any) -> str:
    """Return the field's word for an activation where the case has a short one."""
    return {"hermite2": "h₂", "relu": "ReLU"}.get(str(name), str(name))


def _with(record: Record, key: str) -> list[CaseRecord]:
    cases = [c for c in record.cases if key in c.case and not c.error]
    if not cases:
        raise ValueError(
            f"{record.claim}: its record has no finished case with `{key}` to draw"
        )
    return cases


def _estimate(case: CaseRecord) -> tuple[Array, Array]:
    """Return the measured means and standard errors."""
    measured = as_fields(case.measured)
    if "stderr" not in measured:
        raise ValueError(f"the case {dict(case.case)} has no standard errors to draw")
    return _numbers(measured["mean"]), _numbers(measured["stderr"])


def _numbers(value: Any) -> Array:
    """Return an encoded number or array as a flat one of floats."""
    return np.array([number(leaf) for leaf in flatten(value)])
