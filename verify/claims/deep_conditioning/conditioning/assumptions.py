"""When assumption B holds (section 3.3), singular inputs (1.2), and footnote 1."""

import itertools
import math
from functools import partial
from typing import Any

import mpmath
import numpy as np
import torch

from theory import conditioning as dc
from theory import kernels
from verify.claim import grid, numeric, statistical
from verify.claims._predictors import mistake
from verify.claims.deep_conditioning import _recursions as recursion
from verify.claims.deep_conditioning._sources import as_read, ours, quoted
from verify.claims.deep_conditioning._subjects import (
    Subject,
    law,
    normalised,
    subject,
)
from verify.claims.deep_conditioning.conditioning.correlations import extremals
from verify.compare import Array, AtLeast, AtMost, Estimate, MeanAtLeast, MeanEquals
from verify.integrals import BITS

# --- noise gives assumption B -------------------------------------------------------------


def _measure_noise(
    *, n: int, dim: int, noise: float, draws: int, seed: int
) -> Estimate:
    """The smallest singular value of n noisy copies of one input, over the noise."""
    rng, out = np.random.default_rng(seed), []
    for _ in range(draws):
        x = noise * rng.standard_normal((n, dim)) / math.sqrt(dim)
        x[:, 0] += 1.0
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        out.append(np.linalg.svd(x, compute_uv=False)[-1] / noise)
    return Estimate.of(out)


def _predict_noise(*, n: int, dim: int, **_: Any) -> float:
    return (math.sqrt(dim - 1.0) - math.sqrt(n)) / math.sqrt(dim)


def _wrong_noise(*, n: int, dim: int, **_: Any) -> float:
    """The noise of one input alone, as if n of them were orthogonal."""
    return math.sqrt((dim - 1.0) / dim)


_NOISES = (5, 40, 0.01), (30, 200, 0.01), (30, 200, 1e-6), (3, 99, 0.03)
"""Inputs, dimensions and the size of the noise."""

NOISE = statistical(
    id="dc/asmB-noise",
    items=("Sec3.3", "AsmB"),
    title="Adding a little white noise makes copies of one input satisfy Assumption B",
    statement=r"\frac1\epsilon\, \mathbb{E} \sqrt{\lambda_{\min}(G)} \ge"
    r" \frac{\sqrt{d - 1} - \sqrt{n}}{\sqrt{d}} + O(\epsilon)",
    assumptions=(
        "x_i = z + epsilon g_i / sqrt(d), scaled to length one; |z| = 1, n < d",
        "g_i standard Gaussian",
    ),
    source=ours("Section 3.3, on assumption B (with Gordon's bound)"),
    cases=tuple(
        {"n": n, "dim": dim, "noise": noise, "draws": 200, "seed": 33}
        for n, dim, noise in _NOISES
    ),
    predict=_predict_noise,
    measure=_measure_noise,
    # Rows of length 1 + noise N(0, 1)/sqrt(d) + noise^2/2: below 2 % at four deviations.
    compare=MeanAtLeast(discrepancy=0.1, rounding=0.02),
    must_refute=_wrong_noise,
    uses=("dc/asmB",),
)

# --- one layer turns assumption A into assumption B ---------------------------------------


_fan = partial(recursion.unit_points, spread=10.0)
_exact_fan = partial(recursion.exact_gram, spread=10.0)


def _predict_layers(*, activation: Subject, depth: int, **points: int) -> float:
    one = kernels.nngp(_fan(**points), normalised(activation), 1)
    least, mu = float(np.linalg.eigvalsh(one)[0]), subject(activation).mu
    return dc.nngp_min_eigenvalue_bound(depth - 1, least, mu, form="attained")


def _wrong_layers(*, activation: Subject, depth: int, **points: int) -> float:
    """Assumption A's separation in the place of the first layer's eigenvalue."""
    delta, mu = kernels.separation(_fan(**points)), subject(activation).mu
    return dc.nngp_min_eigenvalue_bound(depth, delta, mu, form="attained")


def _measure_layers(*, activation: Subject, depth: int, **points: int) -> Any:
    gram, found = _exact_fan(**points), law(activation)
    least = recursion.eigenvalues(gram)[0]
    if abs(least) > mpmath.mpf("1e-50"):
        raise ArithmeticError(f"assumptions: the Gram matrix is not singular: {least}")
    return recursion.eigenvalues(recursion.kernel(found, gram, depth))[0]


ONE_LAYER = numeric(
    id="dc/asmB-one-layer",
    items=("Sec3.3", "AsmB", "Thm3.6"),
    title="One layer of ReLU, leaky or not, makes dependent inputs satisfy Assumption B",
    statement=r"\lambda_{\min}(G) = 0, \quad \delta_1 = \lambda_{\min}(K^{(1)}) > 0,"
    r" \quad \lambda_{\min}(K^{(L)}) \ge 1 - r_{L-1}(\delta_1)",
    assumptions=("assumption A", "more inputs than dimensions", "normalised"),
    source=quoted("Section 3.3, on assumption B"),
    cases=grid(
        activation=("relu", "leaky_relu(0.1)"), n=(3, 4), dim=2, depth=(1, 2, 5), seed=3
    ),
    predict=_predict_layers,
    measure=_measure_layers,
    # Entries of a matrix of four rows to 1e-15, and so delta_1 to 4e-15; four layers more
    # let it grow by (1 + mu)^4 < 2.6.
    compare=AtLeast(rounding=2e-14, trivial=0.0),
    must_refute=_wrong_layers,
    uses=("dc/thm3.6", "dc/thmH.5"),
)

# --- an infinite condition number -------------------------------------------------------

_LINES = {"hexagon": (3, 0.5), "cube": (4, 1.0 / 3.0), "icosahedron": (6, 5.0**-0.5)}
"""Equiangular lines in two and three dimensions: how many, and their cosine."""


def _points(lines: str) -> Any:
    """One unit vector a line, as rows."""
    if lines == "hexagon":
        rows = [[2, 0], [1, mpmath.sqrt(3)], [-1, mpmath.sqrt(3)]]
    elif lines == "cube":
        rows = [[1, 1, 1], [1, 1, -1], [1, -1, 1], [-1, 1, 1]]
    else:
        g = mpmath.phi
        rows = [[0, 1, g], [0, 1, -g], [1, g, 0], [1, -g, 0], [g, 0, 1], [-g, 0, 1]]
    return mpmath.matrix([[v / mpmath.norm(row) for v in row] for row in rows])


def _measure_singular(*, activation: Subject, lines: str, depth: int) -> Any:
    with mpmath.workprec(BITS):
        points = _points(lines)
        gram = points * points.T
    if abs(recursion.eigenvalues(gram)[0]) > mpmath.mpf("1e-50"):
        raise ArithmeticError("assumptions: the Gram matrix must be singular")
    return recursion.condition_number(recursion.kernel(law(activation), gram, depth))


def _predict_singular(
    *, activation: Subject, lines: str, depth: int, fewer: int = 0
) -> float:
    n, cosine = _LINES[lines]
    mu = subject(activation).mu
    return dc.nngp_condition_bound(depth, 1.0 - cosine, mu, n - fewer, form="attained")


SINGULAR = numeric(
    id="dc/cor3.3-singular",
    items=("Sec1.2", "Cor3.3"),
    title="Inputs with a singular Gram matrix are conditioned as fast as any others",
    statement=r"\kappa(G) = \infty, \quad"
    r" \kappa(K) \le \frac{1 + (n-1) r_L}{1 - (n-1) r_L}",
    assumptions=("equiangular lines, more than there are dimensions",),
    source=as_read("Section 1.2, comparison with Xiao et al."),
    cases=(
        *grid(activation=extremals(1.0, 0.6), lines=tuple(_LINES), depth=(2, 3)),
        *grid(activation="relu", lines=("hexagon", "icosahedron"), depth=(9, 20)),
    ),
    predict=_predict_singular,
    measure=_measure_singular,
    # 1 - (n - 1) r above 1e-2, mu to 1e-13.
    compare=AtMost(relative=1e-10, origin=1.0),
    must_refute=mistake(
        "The smallest eigenvalue without the input that depends on the others.", fewer=1
    ),
    uses=("dc/cor3.3-maximum",),
)

# --- footnote 1: several outputs, layers of different widths -----------------------------


_AT_ONCE = 10  # of the networks: what the processor's caches hold


def _measure_outputs(
    *, rho: float, widths: list[int], outputs: int, nets: int, seed: int
) -> Estimate:
    """Tangent kernels of two inputs and all outputs, (2 outputs)^2 entries, by autograd."""
    generator, found = torch.Generator().manual_seed(seed), list[torch.Tensor]()
    x = torch.tensor([[1.0, 0.0], [rho, math.sqrt(1.0 - rho * rho)]]).double()
    sizes, unit = [2, *widths, outputs], math.asin(2.0 / 3.0) * 2.0 / math.pi
    for _ in range(0, nets, _AT_ONCE):
        weights = [
            torch.randn(_AT_ONCE, after, before, generator=generator)
            .double()
            .requires_grad_()
            for before, after in itertools.pairwise(sizes)
        ]
        h = x @ weights[0].mT
        for weight in weights[1:]:
            h = torch.erf(h) / math.sqrt(unit * h.shape[2]) @ weight.mT
        # Networks do not mix: the gradient of the sum holds every network's own.
        each = h.flatten(1).sum(dim=0)
        slopes = [torch.autograd.grad(y, weights, retain_graph=True) for y in each]
        rows = [torch.cat([s.flatten(1) for s in of], dim=1) for of in slopes]
        flat = torch.stack(rows, dim=1)
        found.append(flat @ flat.mT)
    return Estimate.of(torch.cat(found).numpy())


def _predict_outputs(*, rho: float, widths: list[int], outputs: int, **_: Any) -> Array:
    a, depth = subject("erf").normalized(), len(widths)
    one, t = (float(kernels.ntk_map(r, a, depth)) for r in (1.0, rho))
    return np.kron(np.array([[one, t], [t, one]]), np.eye(outputs)).astype(np.float64)


OUTPUTS = statistical(
    id="dc/eq7-outputs",
    items=("Fn1", "Eq7"),
    title="Networks with several outputs and unequal widths have the same tangent kernel",
    statement=r"T_{(i, a), (j, b)} \to T_{ij}\, 1\{a = b\}",
    assumptions=("erf, normalised", "all weights standard Gaussian, trained"),
    source=quoted("Footnote 1"),
    cases=(
        {"rho": 0.6, "widths": [150, 400], "outputs": 3, "nets": 400, "seed": 8},
        {"rho": -0.3, "widths": [300], "outputs": 2, "nets": 400, "seed": 8},
    ),
    predict=_predict_outputs,
    measure=_measure_outputs,
    # Entries up to 4 vary by 2/sqrt(150) of it, over sqrt(400) networks: 0.03 and ten of
    # them to resolve. Bias: of order 1/150 of an entry.
    compare=MeanEquals(discrepancy=0.35, rounding=0.03),
    must_refute=mistake(
        "Outputs that share one readout.",
        outputs=1,
        then=lambda one, *, outputs: np.repeat(np.repeat(one, outputs, 0), outputs, 1),
    ),
    uses=("dc/eq7",),
)
