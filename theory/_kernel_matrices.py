"""Kernel matrices from inputs: checks, and which way computes them."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks, matrices
from theory import _layer_recursion as layer_recursion
from theory._layers import Network, runs
from theory._spheres import homogeneity, sphere, within
from theory.kernel_maps import needs_slope

Array = npt.NDArray[np.float64]

SAME_LENGTH = 1e-14
"""Relative spread of squared norms, per input dimension, that counts as one sphere."""

NEARLY = 1e-6
"""Relative spread of norms that `sphere=True` takes for one."""


def inputs(who: str, x: Any, name: str = "x") -> tuple[Array, Array]:
    """Return checked rows and their norms."""
    v = _checks.real(who, name, x)
    if v.ndim != 2 or v.size == 0:
        raise ValueError(
            f"{who}: `{name}` must have shape (n, d), got shape {v.shape}."
        )
    with np.errstate(over="ignore", under="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->i", v, v))
    bad = ~((norms > 1e-150) & (norms < 1e150))
    need = "have rows of norm between 1e-150 and 1e150 (none of zeros)"
    _checks.reject(who, name, need, bad, norms, "Drop or rescale such inputs.")
    return v, norms


def _trained(who: str, trained: Iterable[int] | None, depth: int) -> frozenset[int]:
    if trained is None:
        return frozenset(range(1, depth + 2))
    layers = _checks.listed(who, "trained", trained, "weight layers")
    found = frozenset(_checks.integer(who, "trained", v, 1) for v in layers)
    if not found or max(found) > depth + 1:
        raise ValueError(
            f"{who}: `trained` must name weight layers from 1 to {depth + 1}, got"
            f" {sorted(found)}."
        )
    return found


def kernels(
    who: str,
    x: Any,
    activation: Network,
    depth: Any,
    given: tuple[Any, Any, Any, Any],
    *,
    tangent: bool,
    relative: bool = False,
    trained: Iterable[int] | None = None,
) -> tuple[Array, Array | None]:
    """Return K and, with `tangent`, T: of all pairs of rows, or with those of `y`.

    `given` are the keywords `y`, `weight_var`, `bias_var` and `sphere`.
    """
    other, weight_var, bias_var, nearly = given
    layers = runs(who, activation, depth, weight_var, bias_var)
    if tangent:
        needs_slope(who, layers)
    _checks.flag(who, "sphere", nearly)
    v, norms = inputs(who, x)
    split = None
    if other is not None:
        w, more = inputs(who, other, "y")
        if w.shape[1] != v.shape[1]:
            raise ValueError(
                f"{who}: `y` must have the columns of `x`, {v.shape[1]}, got {w.shape[1]}."
            )
        split, v, norms = len(v), np.concatenate([v, w]), np.concatenate([norms, more])
    w, b = float(weight_var), float(bias_var)
    whole = sum(count for _, count in layers)
    wanted = _trained(who, trained, whole)
    q = norms * norms
    start = float(q.mean())
    tolerance = SAME_LENGTH * math.sqrt(v.shape[1])
    same = float(np.ptp(q)) <= tolerance * start
    if nearly:
        tolerance = 2.0 * NEARLY
        if float(np.ptp(q)) > tolerance * start:
            raise ValueError(
                f"{who}: `sphere=True` needs rows whose norms agree to {NEARLY:g}, got"
                f" {norms.min():.9g} to {norms.max():.9g}. Normalise them, or leave it out."
            )
        same = True
    degrees = [homogeneity(layer.activation) for layer, _ in layers]
    easy = not any(layer.skip for layer, _ in layers) and len(wanted) == whole + 1
    m = degrees[0] if len(layers) == 1 and layers[0][0].plain and not b else None
    if not easy or not (same or m is not None):
        deep = [layer for layer, count in layers for _ in range(count)]
        each = [
            d
            for d, (_, count) in zip(degrees, layers, strict=True)
            for _ in range(count)
        ]
        recursion = layer_recursion.prepare(
            *(v if not nearly else v / norms[:, None] * math.sqrt(start), deep, each),
            tangent=tangent,
            trained=wanted,
            weight_var=w,
            bias_var=b,
        )
        return layer_recursion.fill(
            *(matrices.Inputs(v, norms), recursion, split),
            tangent=tangent,
            relative=relative,
        )
    if m is None:
        # Norms are rounded: one from an exact unit vector is one.
        start = 1.0 if abs(start - 1.0) <= tolerance else start
        net = sphere(layers, start, w, b)
        scale = np.full(len(v), math.sqrt(net.length))
    else:
        net = sphere(layers, 1.0, w, b)
        # |s(r x)| = r^m |s(x)|: after `depth` layers norms are raised to m^depth.
        with np.errstate(over="ignore", under="ignore"):
            scale = norms ** float(m**whole if m else 0) * math.sqrt(net.length)
        for value in (scale.min(), scale.max()):
            within(float(value) ** 2)
    growth = 1.0
    if tangent and not relative:
        growth = net.tangent(who) / net.length
    rows = matrices.Inputs(v, norms, net.share)
    return matrices.fill(
        *(rows, net.map, scale, growth, split), tangent=tangent, relative=relative
    )
