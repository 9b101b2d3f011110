"""Networks whose inputs are all of one length: a function of the correlation alone."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt

from theory import _one_layer
from theory._recursion.layers import Layer, Layers
from theory._recursion.length_families import Family, families
from theory.activations import Activation, Affine, PiecewisePolynomial
from theory.activations.affine import split
from theory.depth_maps import DepthMap

Array = npt.NDArray[np.float64]

MOVING = 5_000
"""Layers of different lengths, each with a table of its own: a minute, and half an hour
where several kinks make a table slow."""


@dataclass(frozen=True, eq=False)
class Sphere:
    """Depth map of inputs of one length, with the length it leads to.

    Depth maps compose because they know correlations alone; lengths are kept apart.

    Attributes
    ----------
    map : DepthMap
        From correlations of the first layer's arguments to those of the outputs.
    length : float
        The NNGP kernel's diagonal.
    share, rest : float
        Of the length before the first activation: the inputs' and that of the bias.
    """

    map: DepthMap
    length: float
    share: float
    rest: float

    def at(self, rho: Array) -> tuple[Array, Array]:
        """Return both kernels over their diagonals at correlations of the inputs, (m,)."""
        if not self.rest:
            return self.map(rho)
        return self.map(
            *_one_layer.beside(rho, 1.0 - np.abs(rho), self.share, self.rest)
        )

    def tangent(self, who: str) -> float:
        """Return the tangent kernel's diagonal."""
        log = self.map.log_diagonal + math.log(self.length)
        if log > 709.0:
            raise ValueError(
                f"{who}: `depth` must keep the tangent kernel within float64, got a"
                f" diagonal of 10^{log / math.log(10.0):.0f}. Use fewer layers, or"
                " `normalized=True` of `theory.kernels.ntk`."
            )
        return math.exp(self.map.log_diagonal) * self.length


def homogeneity(activation: Activation) -> int | None:
    """Return m when ``s(r x) = r^m s(x)`` for all r > 0, else None.

    >>> from theory import activations as act
    >>> homogeneity(act.relu), homogeneity(act.sign), homogeneity(act.tanh)
    (1, 0, None)
    """
    base, _, shift = split(activation)
    if not isinstance(base, PiecewisePolynomial) or (shift and base.m):
        return None
    if any(c != 0.0 for c in base.kinks):
        return None
    lower = (p for i, p in enumerate(base.poly) if i != base.m)
    return None if any(lower) else base.m


@lru_cache(maxsize=64)
def sphere(network: Layers, start: float) -> Sphere:
    """Return a network's map for inputs of squared norm `start`.

    Equal neighbours become one step, once the length has come to rest.
    """
    steps: list[tuple[Activation, int]] = []
    moving: dict[Layer, dict[Activation, float]] = {}  # and their log lengths
    length = within(network.weight_var * start + network.bias_var)
    share, rest = network.weight_var * start / length, network.bias_var / length
    for layer, count in network.runs:
        m = homogeneity(layer.activation)
        done = 0
        while done < count:
            if m is not None and layer.plain:
                # Correlations do not depend on the length.
                here = layer.activation
                steps.append((here, count))
                with np.errstate(over="ignore", under="ignore"):
                    if m == 1:
                        grown = np.float64(here.second_moment) ** count
                        length = within(length * float(grown))
                        break
                    for _ in range(count):
                        power = float(np.float64(length) ** m)
                        length, old = within(here.second_moment * power), length
                        if length == old:
                            break
                break
            if length > layer.activation._widest:
                raise ValueError(
                    "`depth` must keep the variance of what"
                    f" {layer.activation.name} is applied to at most"
                    f" {layer.activation._widest:g}, got {length:.3g}. Use fewer layers or"
                    " shorter inputs."
                )
            here = _at(layer, length)
            with np.errstate(over="ignore", invalid="ignore"):
                new = within(here.second_moment)
            if abs(new - length) <= 2.0 * math.ulp(length):
                steps.append((here, count - done))  # a fixed point, to rounding
                break
            if len(steps) > MOVING:
                raise ValueError(
                    f"`depth` must bring the length to rest in {MOVING:,} layers, got"
                    f" {network.depth:,} of which each has a length of its own. Use"
                    " fewer layers or an activation that keeps a length."
                )
            steps.append((here, 1))
            moving.setdefault(layer, {})[here] = 0.5 * math.log(length)
            length, done = new, done + 1
    return Sphere(
        DepthMap.of_layers(tuple(steps), _tables(moving)), length, share, rest
    )


def _tables(
    moving: dict[Layer, dict[Activation, float]],
) -> Callable[[Activation], DepthMap]:
    """Return what tabulates a layer: by itself, or between lengths of many of its kind."""
    known: dict[Activation, tuple[Family, float]] = {}
    for layer, logs in moving.items():
        at = partial(_at_log, layer)
        for (here, log), family in zip(
            logs.items(), families(at, list(logs.values())), strict=True
        ):
            if family is not None:
                known[here] = family, log

    def table(activation: Activation) -> DepthMap:
        if activation not in known:
            return DepthMap.of_layer(activation)
        family, log = known[activation]
        return family.at(activation, log)

    return table


def _at_log(layer: Layer, log: float) -> Activation:
    return _at(layer, math.exp(2.0 * log))


def _at(layer: Layer, length: float) -> Activation:
    """Return an activation with the dual of a layer whose arguments have this variance.

    A constant added to s adds to its dual the change of (E s)^2: that of a bias.
    """
    here = layer.activation
    here = here if length == 1.0 else here._scaled(length)
    if layer.plain:
        return here
    scale, mean = math.sqrt(layer.weight_var), here.mean
    shift = 0.0
    if layer.bias_var:
        whole = math.hypot(scale * mean, math.sqrt(layer.bias_var))
        away = whole + scale * abs(mean)
        shift = math.copysign(layer.bias_var / away, mean)
    return Affine(here, scale, shift)


def within(length: float) -> float:
    """Return a diagonal that float64 holds, or raise."""
    if not 1e-300 < length < 1e300:
        raise ValueError(
            "`depth` must keep the kernel within float64, got"
            f" {length:g} on the diagonal. Use `activation.normalized()`."
        )
    return length
