"""The definition of softsign, fast enough for hundreds of values.

`verify.integrals` nests adaptive quadratures, ten seconds a value; here duals come from
`reference_smooth` and coefficients from one Gauss rule for all orders.
"""

from functools import lru_cache
from typing import Any

import reference_smooth as smooth
from flint import arb, ctx

from verify.integrals import BITS, Law, mpf
from verify.integrals import arb as ball

NODES = 64
"""Of a panel: next to the pole at -1 they leave (2 + sqrt 3)^-128 = 1e-73."""

REACH = 48
"""Where h_200 times the density is 1e-80."""

ORDER = 203


def law() -> Law:
    """Return the law of x / (1 + |x|), to 24 digits and 45 next to rho = +-1."""
    both = smooth.SoftSign(45)

    def at(which: int, rho: Any) -> Any:
        with ctx.workprec(BITS):
            return mpf(both.two(arb(1), arb(1), ball(rho))[which])

    return Law(
        lambda rho: at(0, rho), lambda rho: at(1, rho), lambda k: coefficients()[k]
    )


@lru_cache(maxsize=1)
def coefficients() -> list[Any]:
    """Return E s(X) h_k(X) for all orders, twice the integral over the positive half."""
    with ctx.workprec(2 * BITS):
        rule = [arb.legendre_p_root(NODES, k, weight=True) for k in range(NODES)]
        scale = (2 / arb.pi()).sqrt()
        total = [arb(0)] * ORDER
        roots = [arb(k).sqrt() for k in range(ORDER + 1)]
        for start in range(REACH):
            for x, weight in rule:
                y = start + (1 + x) / 2
                share = scale * weight / 2 * (-y * y / 2).exp() * y / (1 + y)
                last, here = arb(0), share
                for k in range(ORDER):
                    if k % 2:
                        total[k] += here
                    last, here = here, (y * here - roots[k] * last) / roots[k + 1]
        return [mpf(t) for t in total]
