r"""Enclosures of the solutions of differential equations, step by step.

Taylor's method in ball arithmetic: with a box B that the solution provably does not leave
during a step h (Picard: ``x + [0, h] F(B)`` lies in B), the step is the Taylor polynomial
at x plus the term of order n taken on all of B.
"""

from collections.abc import Callable, Sequence
from typing import Any

import flint

from verify.enclose import BITS, _cap

Field = Callable[[Sequence[Any]], Sequence[Any]]
"""Velocities of a state, by sums and products: of balls and of power series."""

_ORDER = 16
_TRIES = 20


def flow(field: Field, start: Sequence[Any], end: float, steps: int) -> list[Any]:
    """Return balls that contain the state at time `end`.

    Parameters
    ----------
    field : callable
    start : sequence of balls
    end : float
    steps : int
        Of equal length.

    Raises
    ------
    ArithmeticError
        If no box is found that the solution stays in during a step.

    Examples
    --------
    >>> (x,) = flow(lambda s: [-s[0]], [flint.arb(1)], 1.0, 20)
    >>> x.overlaps(flint.arb(-1).exp()), float(x.rad()) < 1e-20
    (True, True)
    """
    with flint.ctx.workprec(BITS):
        state = list(start)
        step = flint.arb(end) / steps
        for _ in range(steps):
            near = _taylor(field, state, _ORDER)
            far = _taylor(field, _stay(field, state, step), _ORDER)
            state = [
                _value(series, step, _ORDER) + box[_ORDER] * step**_ORDER
                for series, box in zip(near, far, strict=True)
            ]
        return state


def _stay(field: Field, state: Sequence[Any], step: Any) -> list[Any]:
    """Return a box that the solution does not leave during a step."""
    during = step.union(flint.arb(0))
    box = [x + during * v for x, v in zip(state, field(state), strict=True)]
    for _ in range(_TRIES):
        # Somewhat wider than what one pass of Picard's iteration gives.
        wide = [b + flint.arb(0, 0.1 * float(b.rad()) + 1e-30) for b in box]
        box = [x + during * v for x, v in zip(state, field(wide), strict=True)]
        found = [
            w.is_finite() and w.contains(b) for w, b in zip(wide, box, strict=True)
        ]
        if all(found):
            return wide
    raise ArithmeticError("flow: the step is too long to be enclosed")


def _taylor(field: Field, state: Sequence[Any], order: int) -> list[Any]:
    """Return the Taylor coefficients of the solution at a state, up to an order."""
    with _cap(order + 1):
        series = [flint.arb_series([x], order + 1) for x in state]
        for _ in range(order):
            # Each pass is right in one more coefficient.
            series = [
                flint.arb_series([x], order + 1) + velocity.integral()
                for x, velocity in zip(state, field(series), strict=True)
            ]
        return series


def _value(series: Any, step: Any, order: int) -> Any:
    total = flint.arb(0)
    for k in reversed(range(order)):
        total = total * step + series[k]
    return total
