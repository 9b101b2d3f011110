r"""Lengths and correlations, layer by layer, through deep random networks.

Given the Gram matrix of one layer, the units of the next are independent Gaussian
vectors with that covariance, so the Gram matrices form a Markov chain. Drawing the
units instead of the weights is exact in distribution and costs n m numbers for each
layer where weights cost m m: depth 1,000 at width 1,000 becomes cheap. Networks with
their weights are measured beside it (`layer_statistics`).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from empirical.checks import check_counts, check_finite, check_symmetric
from empirical.kernels import gram
from empirical.networks import Elementwise, FullyConnected
from empirical.testbed.writing import Array

CHUNK = 1 << 22
"""Numbers drawn at once by `pair_chains`, at most (and at least one chain's)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PairChains:
    """Two inputs followed through independent random networks.

    Attributes
    ----------
    correlations : float array, shape (chains, depth + 1)
        Cosine between the two representations; column 0 is the input. ``nan`` once a
        representation is zero or has overflowed.
    squared_norms : float array, shape (chains, depth + 1, 2)
    """

    correlations: Array
    squared_norms: Array

    @property
    def means(self) -> Array:
        """Average correlation of the chains at each layer, shape (depth + 1,)."""
        return self.correlations.mean(axis=0)

    @property
    def standard_errors(self) -> Array:
        """Standard errors of `means`, shape (depth + 1,)."""
        return self.correlations.std(axis=0, ddof=1) / math.sqrt(len(self.correlations))


@dataclass(frozen=True, kw_only=True, eq=False)
class LayerStatistics:
    """Lengths and angles of signals in the layers of random networks.

    Attributes
    ----------
    squared_norms : float array, shape (draws, depth + 1, n)
    correlations : float array, shape (draws, depth + 1, n, n)
    """

    squared_norms: Array
    correlations: Array


def pair_chains(
    rho: float,
    *,
    activation: Elementwise,
    width: int,
    depth: int,
    chains: int,
    generator: torch.Generator,
    project: bool = False,
    dtype: torch.dtype = torch.float64,
) -> PairChains:
    r"""Follow two inputs of unit length through random networks of one width.

    With independent standard normal :math:`g_i, g_i'`, i = 1..m,

    .. math::
        u_i = \sqrt{q_1}\, g_i, \quad
        v_i = \sqrt{q_2}\,(\rho g_i + \sqrt{1-\rho^2}\, g_i'), \quad
        q_1 \leftarrow \tfrac1m \sum \sigma(u_i)^2, \quad
        \rho \leftarrow \frac{\sum \sigma(u_i)\sigma(v_i)}
                             {\sqrt{\sum\sigma(u_i)^2 \sum\sigma(v_i)^2}}.

    Parameters
    ----------
    rho : float
        Correlation of the inputs, in [-1, 1].
    activation : callable
    width : int
        m, of every layer.
    depth : int
        Hidden layers.
    chains : int
        Independent networks.
    generator : torch.Generator
        The computation runs on its device.
    project : bool
        Scale every representation to unit norm before it enters the next layer (the
        norms recorded are then those before scaling).
    dtype : torch.dtype

    Raises
    ------
    ValueError
        If `rho` is outside [-1, 1], or a count is below one.

    References
    ----------
    Agarwal, Awasthi, Kale 2020, equation 3 (`project`) and Appendices D and F.

    Examples
    --------
    An odd activation decorrelates, layer by layer:

    >>> from empirical.randomness import torch_generator
    >>> runs = pair_chains(
    ...     0.9,
    ...     activation=torch.sign,
    ...     width=64,
    ...     depth=8,
    ...     chains=200,
    ...     generator=torch_generator(7),
    ...     project=True,
    ... )
    >>> bool(runs.means[1] < 0.9 and abs(runs.means[8]) < 0.1)
    True
    """
    check_counts("pair_chains", width=width, depth=depth, chains=chains)
    if not -1.0 <= rho <= 1.0:
        raise ValueError(f"pair_chains: `rho` must lie in [-1, 1], but it is {rho}")
    size = max(1, CHUNK // (2 * width))
    rhos, norms = [], []
    with torch.no_grad():
        for start in range(0, chains, size):
            now = min(size, chains - start)
            device = generator.device
            r = torch.full((now,), float(rho), dtype=dtype, device=device)
            q = torch.ones((now, 2), dtype=dtype, device=device)
            path = [(r, q)]
            for _ in range(depth):
                scale = torch.ones_like(q) if project else q
                r, q = _pair_step(r, scale, activation, width, generator)
                path.append((r, q))
            rhos.append(torch.stack([r for r, _ in path], dim=1))
            norms.append(torch.stack([q for _, q in path], dim=1))
    return PairChains(
        correlations=_numpy(torch.cat(rhos)), squared_norms=_numpy(torch.cat(norms))
    )


def _pair_step(
    rho: Tensor,
    squared_norms: Tensor,
    activation: Elementwise,
    width: int,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    g = torch.empty((2, len(rho), width), dtype=rho.dtype, device=rho.device).normal_(
        generator=generator
    )
    # (1 - rho)(1 + rho) keeps its digits near both ends.
    sine = ((1.0 - rho) * (1.0 + rho)).sqrt()[:, None]
    roots = squared_norms.sqrt()
    u = activation(roots[:, :1] * g[0])
    v = activation(roots[:, 1:] * (rho[:, None] * g[0] + sine * g[1]))
    uu, vv, uv = ((a * b).sum(1) for a, b in ((u, u), (v, v), (u, v)))
    # The root of the product is exact where u = v: equal inputs stay equal, where a
    # correlation of 1 - eps would grow apart. Powers of two keep it in range, and round
    # nothing. Rounding may leave [-1, 1] by an ulp; nan passes through.
    a, b = (torch.frexp(squares).exponent // 2 for squares in (uu, vv))
    product = torch.ldexp(uu, -2 * a) * torch.ldexp(vv, -2 * b)
    overlap = torch.ldexp(torch.ldexp(uv, -a), -b)
    correlation = (overlap / product.sqrt()).clamp(-1.0, 1.0)
    return correlation, torch.stack([uu, vv], dim=1) / width


def gram_chain(
    start: Tensor,
    *,
    activation: Elementwise,
    width: int,
    depth: int,
    generator: torch.Generator,
    draws: int = 1,
) -> Iterator[Tensor]:
    """Yield the feature Gram matrices of layers 1, 2, ..., depth, shape (draws, n, n).

    Distributed as those of `FullyConnected.uniform` networks; the numbers differ.

    Parameters
    ----------
    start : Tensor, shape (n, n)
        Gram matrix of the inputs; its dtype is that of the computation.
    activation : callable
    width, depth : int
    generator : torch.Generator
    draws : int
        Independent networks, stacked: holds 2 draws n width numbers.

    Raises
    ------
    ValueError
        If `start` is not square, finite, symmetric and positive semi-definite, or a
        count is below one.

    Notes
    -----
    Eigenvalues below the rounding of the eigenvalue routine, n eps times the largest,
    count as zero: inputs that are equal, or make each other up, remain so.

    Examples
    --------
    >>> from empirical.randomness import torch_generator
    >>> eye = torch.eye(3, dtype=torch.float64)
    >>> g = torch_generator(7)
    >>> chain = gram_chain(
    ...     eye, activation=torch.sign, width=900, depth=2, generator=g, draws=4
    ... )
    >>> [tuple(k.shape) for k in chain]
    [(4, 3, 3), (4, 3, 3)]
    """
    check_counts("gram_chain", width=width, depth=depth, draws=draws)
    _check_gram(start)
    with torch.no_grad():
        k = start.expand(draws, -1, -1)
        for _ in range(depth):
            values, vectors = torch.linalg.eigh(k)
            # Of zero eigenvalues rounding is left, whose root would tell equal inputs
            # apart.
            rounding = len(start) * torch.finfo(k.dtype).eps * values[:, -1:]
            values = torch.where(values > rounding, values, 0.0)
            root = vectors * values.sqrt()[:, None, :]
            h = torch.empty(
                (draws, len(start), width), dtype=k.dtype, device=generator.device
            ).normal_(generator=generator)
            h = root @ h.to(k.device)
            # One of them goes before the next comes.
            h = activation(h)
            k = gram(h.div_(math.sqrt(width)))
            yield k


def _check_gram(start: Tensor) -> None:
    who = "gram_chain"
    if start.ndim != 2 or start.shape[0] != start.shape[1] or not len(start):
        raise ValueError(
            f"{who}: `start` must have shape (n, n), but it has {tuple(start.shape)}"
        )
    check_finite(who, "start", start)
    # Half of the digits: more than rounding loses.
    slack = torch.finfo(start.dtype).eps ** 0.5
    check_symmetric(who, "start", start, slack)
    least = float(torch.linalg.eigvalsh(start)[0])
    if least < -slack * float(start.abs().max()):
        raise ValueError(
            f"{who}: `start` must be positive semi-definite, but the least eigenvalue is"
            f" {least:.3g}"
        )


def layer_statistics(
    network: FullyConnected, x: Tensor, *, draws: int, generator: torch.Generator
) -> LayerStatistics:
    """Measure lengths and cosines of inputs at every layer of drawn networks.

    One draw and one weight matrix at a time, so that width 16,384 fits.

    Parameters
    ----------
    network : FullyConnected
        Its outputs are not used.
    x : Tensor, shape (n, d)
        Inputs of any norm.
    draws : int
    generator : torch.Generator

    Raises
    ------
    ValueError
        If `x` is not finite, there is no draw, or the network has biases, a
        normalisation or the standard parametrisation.

    Examples
    --------
    >>> from empirical.randomness import torch_generator
    >>> network = FullyConnected.uniform(
    ...     inputs=2, width=4000, depth=1, activation=torch.relu
    ... )
    >>> x = torch.tensor([[3.0, 0.0]], dtype=torch.float64)
    >>> s = layer_statistics(network, x, draws=1, generator=torch_generator(7))
    >>> bool(abs(s.squared_norms[0, 1, 0] - 4.5) < 0.5)  # half of 9
    True
    """
    check_counts("layer_statistics", draws=draws)
    check_finite("layer_statistics", "x", x)
    norms, cosines = [], []
    with torch.no_grad():
        for _ in range(draws):
            layers = network.stream_features(x, generator=generator)
            each = [_lengths_and_angles(h) for h in (x, *layers)]
            norms.append(torch.stack([squares for squares, _ in each]))
            cosines.append(torch.stack([angles for _, angles in each]))
    return LayerStatistics(
        squared_norms=_numpy(torch.stack(norms)),
        correlations=_numpy(torch.stack(cosines)),
    )


def _lengths_and_angles(h: Tensor) -> tuple[Tensor, Tensor]:
    """Return squared norms of rows, float64, and their cosines."""
    # Powers of two keep squares in range, and round nothing.
    powers = torch.frexp(h.abs().amax(dim=1)).exponent
    inner = gram(torch.ldexp(h, -powers[:, None]))
    squares = inner.diagonal()
    roots = squares.sqrt()
    return (
        torch.ldexp(torch.ldexp(squares.double(), powers), powers),
        inner / roots[:, None] / roots,
    )


def _numpy(values: Tensor) -> Array:
    return values.cpu().numpy().astype(np.float64)
