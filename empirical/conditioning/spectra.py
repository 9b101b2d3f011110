"""Condition numbers of finite-width kernels against depth."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from empirical.checks import check_counts, check_finite, check_symmetric, check_whole
from empirical.conditioning.chains import gram_chain
from empirical.kernels import MAX_BYTES, draws_per_chunk, gram, nngp_ntk
from empirical.networks import Elementwise, FullyConnected
from empirical.testbed.writing import Array, Integers


@dataclass(frozen=True, kw_only=True, eq=False)
class Spectrum:
    """Extreme eigenvalues of normalised Gram matrices, leading axes kept.

    Attributes
    ----------
    smallest, largest : float array
        Of the matrices scaled to unit diagonal.
    conditions : float array
        Their quotients; ``inf`` where the smallest is not above the rounding of the
        eigenvalue routine, n eps times the largest.
    """

    smallest: Array
    largest: Array
    conditions: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class DepthCurves:
    """Spectra of many draws against depth.

    Attributes
    ----------
    depths : int array, shape (depths,)
        Hidden layers.
    nngp : Spectrum of shape (draws, depths)
        Of the features' Gram matrices; depth 0 is that of the inputs.
    ntk : Spectrum of shape (draws, depths) or None
    largest_correlations : float array, shape (draws, depths)
        Largest absolute off-diagonal entry of the normalised feature Gram matrices.
    """

    depths: Integers
    nngp: Spectrum
    ntk: Spectrum | None
    largest_correlations: Array


def normalised(kernels: Tensor) -> Tensor:
    """Scale Gram matrices, shape (..., n, n), to unit diagonal.

    Raises
    ------
    ValueError
        If an entry is not finite, or one of a diagonal not positive.

    Examples
    --------
    >>> normalised(torch.tensor([[4.0, 1.0], [1.0, 1.0]]))
    tensor([[1.0000, 0.5000],
            [0.5000, 1.0000]])
    """
    if kernels.ndim < 2 or kernels.shape[-1] != kernels.shape[-2]:
        raise ValueError(
            "normalised: `kernels` must have shape (..., n, n), but it has "
            f"{tuple(kernels.shape)}"
        )
    diagonal = kernels.diagonal(dim1=-2, dim2=-1)
    bad = ~(torch.isfinite(diagonal) & (diagonal > 0.0))
    if bool(bad.any()):
        raise ValueError(
            "normalised: `kernels` must have a positive, finite diagonal, but "
            f"{int(bad.sum())} of {bad.numel()} entries are not, e.g. "
            f"{float(diagonal[bad][0])}"
        )
    check_finite("normalised", "kernels", kernels)
    root = diagonal.sqrt()
    scaled = kernels / root[..., :, None] / root[..., None, :]
    # Exactly one, so that the trace is n.
    scaled.diagonal(dim1=-2, dim2=-1).fill_(1.0)
    return scaled


def spectrum(kernels: Tensor) -> Spectrum:
    """Return extreme eigenvalues and condition numbers after normalisation.

    Parameters
    ----------
    kernels : Tensor, shape (..., n, n)
        Symmetric positive semi-definite up to rounding.

    Returns
    -------
    Spectrum
        Arrays of shape (...).

    Raises
    ------
    ValueError
        As `normalised`, and if half of the digits of a matrix are not symmetric.

    Examples
    --------
    >>> s = spectrum(torch.tensor([[2.0, 1.0], [1.0, 2.0]], dtype=torch.float64))
    >>> bool(abs(s.conditions - 3.0) < 1e-14)
    True
    """
    scaled = normalised(kernels.detach())
    check_symmetric("spectrum", "kernels", scaled, torch.finfo(scaled.dtype).eps ** 0.5)
    values = torch.linalg.eigvalsh(scaled).cpu().numpy()
    return Spectrum(
        smallest=values[..., 0].astype(np.float64),
        largest=values[..., -1].astype(np.float64),
        conditions=condition_numbers(values),
    )


def condition_numbers(eigenvalues: Array) -> Array:
    """Return largest over smallest eigenvalue, infinite where that is rounding, (...).

    Parameters
    ----------
    eigenvalues : array, shape (..., n)
        In ascending order, of positive semi-definite matrices.

    Examples
    --------
    >>> condition_numbers(np.array([[1.0, 2.0, 3.0], [-1e-16, 2.0, 3.0]])).tolist()
    [3.0, inf]
    """
    low, high = (eigenvalues[..., k].astype(np.float64) for k in (0, -1))
    rounding = eigenvalues.shape[-1] * np.finfo(eigenvalues.dtype).eps * high
    lost = low <= rounding
    return np.where(lost, np.inf, high / np.where(lost, 1.0, low))


def condition_by_depth(
    x: Tensor,
    *,
    activation: Elementwise,
    width: int,
    depths: Sequence[int],
    draws: int,
    generator: torch.Generator,
    tangent: bool = False,
    units: bool = False,
    max_bytes: int = MAX_BYTES,
) -> DepthCurves:
    """Measure condition numbers of networks of growing depth.

    Each draw is one network of the largest depth; the shallower ones are its first
    layers, so that curves of one draw are comparable and dependent.

    Parameters
    ----------
    x : Tensor, shape (n, d)
        Its dtype and device are those of the computation.
    activation : callable
    width : int
        Of every hidden layer.
    depths : sequence of int
        Increasing; 0 is the input and has no tangent kernel beyond its Gram matrix.
    draws : int
    generator : torch.Generator
    tangent : bool
        Measure tangent kernels too: a pass for each depth, and all weights are held.
    units : bool
        Draw units instead of weights, see `gram_chain`: the same distribution, other
        numbers, and a layer costs n n width instead of n width width. Feature kernels
        only.
    max_bytes : int
        Budget for the draws held at once.

    Raises
    ------
    ValueError
        If `x` is not of shape (n, d), `depths` is empty, not whole, not increasing or
        negative, `draws` is below one, or both `tangent` and `units` are asked for.

    References
    ----------
    Agarwal, Awasthi, Kale 2020, Corollaries 3.3 and 3.5, Theorems 3.6 and 3.8, there at
    infinite width.

    Examples
    --------
    Depth makes two close inputs tell apart:

    >>> from empirical.randomness import torch_generator
    >>> x = torch.tensor([[1.0, 0.0], [0.8, 0.6]], dtype=torch.float64)
    >>> curves = condition_by_depth(
    ...     x,
    ...     activation=torch.sin,
    ...     width=512,
    ...     depths=(0, 6),
    ...     draws=2,
    ...     generator=torch_generator(7),
    ... )
    >>> round(float(curves.nngp.conditions[0, 0]), 12)
    9.0
    >>> bool((curves.nngp.conditions[:, 1] < 9.0).all())
    True
    """
    if x.ndim != 2:
        raise ValueError(
            "condition_by_depth: `x` must have shape (n, d), but it has "
            f"{tuple(x.shape)}"
        )
    for depth in depths:
        check_whole("condition_by_depth", depths=depth)
    wanted = [int(depth) for depth in depths]
    if not wanted or wanted[0] < 0 or sorted(set(wanted)) != wanted:
        raise ValueError(
            "condition_by_depth: `depths` must be increasing and not negative, but it "
            f"is {tuple(depths)}"
        )
    check_counts("condition_by_depth", draws=draws)
    if tangent and units:
        raise ValueError(
            "condition_by_depth: `units` must be false where `tangent` is true: only "
            "weights have a tangent kernel"
        )
    network = FullyConnected.uniform(
        inputs=x.shape[-1], width=width, depth=max(1, wanted[-1]), activation=activation
    )
    if tangent:
        drawn = _held(network, x, wanted, draws, generator, max_bytes)
    else:
        drawn = _one_by_one(network, x, wanted, draws, generator, units=units)
    features: list[Spectrum] = []
    tangents: list[Spectrum] = []
    largest: list[Tensor] = []
    # A few draws at a time: all their matrices at once may not fit.
    for nngp, ntk in drawn:
        features.append(spectrum(nngp))
        if tangent:
            tangents.append(spectrum(ntk))
        off = normalised(nngp).abs()
        off.diagonal(dim1=-2, dim2=-1).zero_()
        largest.append(off.amax(dim=(-2, -1)))
    return DepthCurves(
        depths=np.asarray(wanted),
        nngp=_joined(features),
        ntk=_joined(tangents) if tangent else None,
        largest_correlations=torch.cat(largest).cpu().numpy().astype(np.float64),
    )


def _joined(parts: list[Spectrum]) -> Spectrum:
    names = vars(parts[0])
    return Spectrum(**{n: np.concatenate([vars(p)[n] for p in parts]) for n in names})


def _one_by_one(
    network: FullyConnected,
    x: Tensor,
    depths: list[int],
    draws: int,
    generator: torch.Generator,
    *,
    units: bool,
) -> Iterator[tuple[Tensor, Tensor]]:
    """One draw, one layer's units or weights at a time: shapes (1, depths, n, n)."""
    with torch.no_grad():
        for _ in range(draws):
            if units:
                chain = gram_chain(
                    gram(x),
                    activation=network.activations()[0],
                    width=network.widths[1],
                    depth=network.depth,
                    generator=generator,
                )
                layers = (k[0] for k in chain)
            else:
                layers = map(gram, network.stream_features(x, generator=generator))
            kept = [gram(x)] if depths[0] == 0 else []
            kept += [k for depth, k in enumerate(layers, start=1) if depth in depths]
            yield torch.stack(kept)[None], x.new_empty(0)


def _held(
    network: FullyConnected,
    x: Tensor,
    depths: list[int],
    draws: int,
    generator: torch.Generator,
    max_bytes: int,
) -> Iterator[tuple[Tensor, Tensor]]:
    size = draws_per_chunk(network, len(x), max_bytes=max_bytes)
    for start in range(0, draws, size):
        now = min(size, draws - start)
        params = network.init(
            replicates=now, generator=generator, dtype=x.dtype, device=x.device
        )
        nngps, ntks = [], []
        for depth in depths:
            if depth == 0:
                nngps.append(gram(x).expand(now, -1, -1))
                ntks.append(nngps[-1])
                continue
            shallow = FullyConnected(
                widths=(*network.widths[: depth + 1], 1),
                activation=network.activations()[:depth],
            )
            # The widths agree, so the readout fits after any hidden layer.
            both = nngp_ntk(
                shallow, (*params[:depth], params[-1]), x, max_bytes=max_bytes
            )
            nngps.append(both.nngp)
            ntks.append(both.ntk)
        yield torch.stack(nngps, dim=1), torch.stack(ntks, dim=1)
