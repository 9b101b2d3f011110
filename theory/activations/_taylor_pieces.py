"""Taylor coefficients of the pieces of a polynomial with kinks, and moments of powers."""

import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def centres(kinks: Array) -> Array:
    """Return the points about which pieces are given, one more than there are kinks.

    The kink below a piece, the first kink for the piece before it, zero for that at zero.
    """
    out = np.concatenate([kinks[:1] if kinks.size else [0.0], kinks])
    out[np.searchsorted(kinks, 0.0)] = 0.0
    return out


def rows(m: int, poly: tuple[float, ...], kinks: Array, jumps: Array) -> Array:
    """Return the coefficients of poly + sum_j J_j (x - c_j)_+^m / m! about the centres."""
    starts = [*kinks[:1], *kinks] or [0.0]
    out = np.zeros((len(starts), m + 1))
    out[0, : len(poly)] = poly
    out[0] = moved(out[0], float(starts[0]))
    for i, (c, jump) in enumerate(zip(kinks, jumps, strict=True)):
        out[i + 1] = moved(out[i], float(c - starts[i]))
        out[i + 1, m] += jump / math.factorial(m)
    # Near zero relative accuracy.
    i = int(np.searchsorted(kinks, 0.0))
    out[i] = moved(out[i], -float(starts[i]))
    return out


def moved(poly: Array, to: float) -> Array:
    """Return the coefficients of the polynomial in powers of x - to."""
    n = len(poly)
    out = np.empty(n)
    for p in range(n):
        # In an order in which powers of a far kink do not overflow before products do;
        # beyond it values may.
        with np.errstate(over="ignore"):
            terms = [
                math.comb(j, p) * math.prod([to] * (j - p), start=poly[j])
                for j in range(p, n)
            ]
        out[p] = math.fsum(terms) if np.isfinite(terms).all() else math.inf
    return out


def absolute_moment(k: int) -> float:
    """E |Z|^k: (k - 1)!! for even k, sqrt(2/pi) (k - 1)!! for odd k."""
    return float(math.prod(range(k - 1, 0, -2))) * (
        math.sqrt(2.0 / math.pi) if k % 2 else 1.0
    )
