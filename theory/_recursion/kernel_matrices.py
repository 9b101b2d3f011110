"""Kernel matrices from inputs: checks, and which way computes them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks, matrices
from theory._recursion import uneven
from theory._recursion.layers import Layers
from theory._recursion.recursion import Stack
from theory._recursion.spheres import homogeneity, sphere, within
from theory._threads import one_thread

Array = npt.NDArray[np.float64]

SAME_LENGTH = 1e-14
"""Relative spread of squared norms that counts as one sphere, times sqrt(dimension)."""

DEEPEST = 10**5
"""Layers of rows of several lengths, or of which some are trained, at most: 100 bytes each
for every row, and 4 kB."""

NEARLY = 1e-6
"""Relative spread of norms that `sphere=True` takes for one."""


def normed(who: str, name: str, x: Any) -> tuple[Array, Array]:
    """Return rows and their norms."""
    v = _checks.real(who, name, x)
    if v.ndim != 2 or v.size == 0:
        need = "have shape (n, d), n and d at least 1"
        raise _checks.misshapen(who, name, need, v)
    with np.errstate(over="ignore", under="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->i", v, v))
    bad = ~((norms > 1e-150) & (norms < 1e150))
    need = "have rows of norm between 1e-150 and 1e150 (none of zeros)"
    _checks.reject(who, name, need, bad, norms, "Drop or rescale such inputs.")
    return v, norms


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of `x`, followed by those of `y` from `split` on where there are any."""

    v: Array
    norms: Array
    split: int | None
    square: float | None  # the squared norm of all, None where they differ

    @classmethod
    def read(cls, who: str, x: Any, y: Any, *, sphere: bool) -> "Rows":
        """Check inputs; with `sphere` their norms become equal."""
        _checks.flag(who, "sphere", sphere)
        v, norms = normed(who, "x", x)
        split = None
        if y is not None:
            w, more = normed(who, "y", y)
            if w.shape[1] != v.shape[1]:
                raise ValueError(
                    f"{who}: `y` must have the columns of `x`, {v.shape[1]}, got"
                    f" {w.shape[1]}."
                )
            split, v, norms = len(v), np.vstack([v, w]), np.concatenate([norms, more])
        q = norms * norms
        square = float(q.mean())
        tolerance = 2.0 * NEARLY if sphere else SAME_LENGTH * math.sqrt(v.shape[1])
        if float(np.ptp(q)) > tolerance * square:
            if sphere:
                raise ValueError(
                    f"{who}: `sphere=True` needs rows whose norms agree to {NEARLY:g}, got"
                    f" {norms.min():.9g} to {norms.max():.9g}. Normalise them, or leave it"
                    " out."
                )
            return cls(v, norms, split, None)
        # Norms are rounded: within the rounding of a unit vector, a norm is one.
        return cls(v, norms, split, 1.0 if abs(square - 1.0) <= tolerance else square)

    @property
    def inputs(self) -> Array:
        """The rows as the network sees them, exactly on the sphere if there is one."""
        if self.square is None:
            return self.v
        return self.v * (math.sqrt(self.square) / self.norms)[:, None]


def chosen(
    who: str, trained: Iterable[int] | None, depth: int
) -> frozenset[int] | range:
    """Return the weight layers that are trained: a range, by default, of them all."""
    if trained is None:
        return range(1, depth + 2)
    layers = _checks.listed(who, "trained", trained, "weight layers")
    found = frozenset(_checks.integer(who, "trained", v, 1) for v in layers)
    if not found or max(found) > depth + 1:
        raise ValueError(
            f"{who}: `trained` must name weight layers from 1 to {depth + 1}, got"
            f" {sorted(found)}."
        )
    return found


@one_thread()
def kernels(
    who: str,
    network: Layers,
    rows: Rows,
    trained: frozenset[int] | range,
    *,
    relative: bool = False,
) -> tuple[Array, Array | None]:
    """Return K and, if any layer is trained, T: over its diagonal if `relative`."""
    m = _degree(network)
    partly = isinstance(trained, frozenset) and 0 < len(trained) <= network.depth
    if network.residual or partly or (rows.square is None and m is None):
        if network.depth > DEEPEST:
            need = f"be at most {DEEPEST} where layers are taken one by one"
            raise _checks.refuse(who, "depth", need, network.depth)
        return uneven.fill(
            matrices.Inputs(rows.v, rows.norms),
            rows.inputs,
            Stack(network.each, frozenset(trained)),
            *((network.weight_var, network.bias_var), rows.split),
            relative=relative,
        )
    net = sphere(network, 1.0 if m is not None else rows.square or 0.0)
    scale = np.full(len(rows.v), math.sqrt(net.length))
    if m is not None:
        # |s(r x)| = r^m |s(x)|: after `depth` layers norms are raised to m^depth.
        with np.errstate(over="ignore", under="ignore"):
            scale *= rows.norms ** (np.float64(m) ** network.depth)
            ends = np.square([scale.min(), scale.max()])
        for value in ends.tolist():
            within(value)
    growth = net.tangent(who) / net.length if trained and not relative else 1.0
    inputs = matrices.Inputs(rows.v, rows.norms, net.share, net.rest)
    return matrices.fill(
        *(inputs, net.map, scale, growth, rows.split),
        tangent=bool(trained),
        relative=relative,
    )


def _degree(network: Layers) -> int | None:
    """Return m where all layers are one homogeneous function and nothing beside it."""
    layer, count = network.runs[0]
    alone = count == network.depth and layer.plain and not network.bias_var
    return homogeneity(layer.activation) if alone else None
