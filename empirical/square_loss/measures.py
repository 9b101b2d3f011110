r"""What a record holds of a stack at one moment, each from its definition.

With :math:`f = g/\rho` (`networks.rho`), targets y and :math:`e_n = \rho f_n - y_n`, all
sums over the training examples (and over outputs where there are several):

.. math::
    S = \sum f_n^2, \quad B = \sum y_n f_n, \quad
    \rho_{eq} = \frac{B}{\lambda + S}, \quad \nu = -\rho \sum e_n f_n,

.. math::
    r_k = \Big\| \sum e_n \Big(\frac{\partial f_n}{\partial V_k} - V_k \langle V_k,
    \frac{\partial f_n}{\partial V_k}\rangle\Big) \Big\|_F, \quad
    D_{n,k} = \Big\|\frac{\partial f_n}{\partial V_k} - V_k f_n\Big\|_F / |f_n|.

With cross entropy e_n is half the slope of an example's loss by its outputs, and the
equilibrium that of `losses`.

Without batch normalisation the inner product in r_k is f_n, and so it is for the last
layer with it; hidden layers then have the inner product 0, because f does not depend on
their norm. D is taken with the batch's statistics held fixed.

References
----------
Poggio, Liao 2021, equations (1), (5), (6).
"""

import torch
from torch import Tensor

from empirical.checks import check_classes, check_slopes
from empirical.networks import Convolutional, Network, Params, Signals
from empirical.square_loss.losses import LOSSES, summed
from empirical.square_loss.networks import Classifier, norms, rho, statistics
from empirical.square_loss.task import wrong_answers
from empirical.testbed.stack import along

LEVELS = tuple(i / 20 for i in range(21))
"""Of the quantiles of outputs and margins."""

CLASS_LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of the quantiles of per-example residuals, for each class."""

# Examples whose gradients by a convolution's kernel are formed one by one.
_FORMED = 128

Values = dict[str, Tensor]


def observe(
    network: Classifier,
    params: Params,
    inputs: Tensor,
    targets: Tensor,
    classes: Tensor,
    *,
    penalty: float,
    loss: str = "square",
) -> Values:
    """Return everything but the per-example residuals; replicates in front of each.

    Parameters
    ----------
    network, params
    inputs, targets, classes : Tensor
        All training examples: ``(n, *shape)``, ``(n, outputs)`` and ``(n,)``.
    penalty : float
        The lambda of the sum of squares.
    loss : {"square", "entropy"}

    Returns
    -------
    dict
        ``loss``, ``error``, ``rho``, ``product``, ``S``, ``B``, ``rho_eq``, ``nu``,
        ``abs_mean``, ``margin_mean``, ``nc1``, ``nc3``, ``nc4``: one number a replicate;
        ``norms`` and ``residual`` (``r_k / |e|``): one a layer; ``abs_quantiles`` and
        ``margin_quantiles``: at `LEVELS`; ``nc2_means`` and ``nc2_rows``: equinorm,
        equiangle, distance to the maximal angle.

    Raises
    ------
    RuntimeError
        In `torch.inference_mode`.
    """
    check_slopes("observe")
    leaves = tuple(p.detach().requires_grad_() for p in params)
    with torch.enable_grad():
        weights = network.weights(leaves)
        signals = network.run(leaves, inputs, weights=weights)
        g = signals.outputs
        e = LOSSES[loss].half_slopes(g.detach(), targets)
        slopes = torch.autograd.grad(g, weights, 2.0 * e / len(inputs))
    weights = tuple(w.detach() for w in weights)
    size = rho(network, params)
    effective = torch.stack([_norm(w) for w in weights], dim=1)
    f = g.detach() / along(size, g)
    squares, overlap = summed(f * f), summed(targets * f)
    length, margin = f.norm(dim=2), margins(f, classes)
    wrong = wrong_answers(f, targets).to(f.dtype) / len(inputs)
    found = {
        "loss": LOSSES[loss].total(g.detach(), targets) / len(inputs),
        "error": wrong,
        "rho": size,
        "product": effective.prod(dim=1),
        "norms": norms(network, params),
        "S": squares,
        "B": overlap,
        "rho_eq": LOSSES[loss].equilibrium(f, targets, penalty),
        "nu": -size * summed(e * f),
        "residual": _critical(weights, slopes, effective, size, len(inputs))
        / summed(e * e).sqrt()[:, None],
        "abs_mean": length.mean(dim=1),
        "margin_mean": margin.mean(dim=1),
        "abs_quantiles": quantiles(length, LEVELS),
        "margin_quantiles": quantiles(margin, LEVELS),
    }
    features = _features(signals, inputs).detach()
    return found | collapse(features, classes, weights[-1])


def margins(f: Tensor, classes: Tensor) -> Tensor:
    """Return the margins of outputs (replicates, n, outputs): (replicates, n).

    y f for one output; for several that of the right class less the largest other.

    Examples
    --------
    >>> margins(torch.tensor([[[0.5], [0.25]]]), torch.tensor([0, 1]))
    tensor([[-0.5000,  0.2500]])
    >>> margins(torch.tensor([[[0.5, 0.25, 0.0]]]), torch.tensor([0]))
    tensor([[0.2500]])
    """
    if f.shape[2] == 1:
        return f[..., 0] * (2 * classes - 1)
    index = classes[:, None].expand(len(f), -1, 1)
    right = f.gather(2, index)[..., 0]
    others = f.scatter(2, index, -torch.inf).amax(dim=2)
    return right - others


def quantiles(values: Tensor, levels: tuple[float, ...]) -> Tensor:
    """Return quantiles along the last axis, levels last; of no values they are nan."""
    if not values.shape[-1]:
        return values.new_full((*values.shape[:-1], len(levels)), torch.nan)
    at = torch.tensor(levels, dtype=values.dtype, device=values.device)
    return torch.quantile(values, at, dim=-1).movedim(0, -1)


def example_gradients(
    network: Classifier, params: Params, inputs: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Return gradients of a scalar g example by example.

    Returns
    -------
    squares, inner : Tensor, shape (replicates, layers, n)
        :math:`\|\partial g_n/\partial W_k\|_F^2` and
        :math:`\langle W_k, \partial g_n/\partial W_k\rangle`, statistics of the batch
        held fixed. A convolutional network's are of the first 128 examples only.
    outputs : Tensor, shape (replicates, n)

    Raises
    ------
    ValueError
        If the network has several outputs.
    RuntimeError
        In `torch.inference_mode`.

    Examples
    --------
    Outputs are homogeneous in each layer (Euler's identity):

    >>> from empirical.randomness import torch_generator
    >>> from empirical.square_loss import classifier, start
    >>> net = classifier("none", shape=(3,), widths=(4, 4))
    >>> params = start(net, [2.0], [torch_generator(7)])
    >>> x = torch.eye(3, dtype=torch.float64)
    >>> _, inner, g = example_gradients(net, params, x)
    >>> bool(torch.allclose(inner, g[:, None], rtol=1e-12))
    True
    """
    check_slopes("example_gradients")
    if network.units[-1] != 1:
        raise ValueError(
            "example_gradients: `network` must have one output, but it has "
            f"{network.units[-1]}"
        )
    leaves = tuple(p.detach().requires_grad_() for p in params)
    with torch.no_grad():
        known = statistics(network, params, inputs) if network.norm else ()
    if isinstance(network, Convolutional):
        inputs = inputs[:_FORMED]
    with torch.enable_grad():
        weights = network.weights(leaves)
        signals = network.run(
            leaves, inputs, weights=weights, buffers=known, training=False, kept=True
        )
        deltas = torch.autograd.grad(signals.outputs.sum(), signals.before)
    below = [inputs, *signals.hidden]
    below[-1] = _features(signals, inputs)
    each = [
        _layer_gradients(network, d, z.detach(), h.detach())
        for d, z, h in zip(deltas, signals.before, below, strict=True)
    ]
    squares = torch.stack([s for s, _ in each], dim=1)
    inner = torch.stack([i for _, i in each], dim=1)
    return squares, inner, signals.outputs.detach()[..., 0]


def example_residuals(
    network: Classifier, params: Params, inputs: Tensor, classes: Tensor
) -> Tensor:
    """Return quantiles of D by class, shape (replicates, layers, classes, levels).

    They are nan for a class without an example among those of `example_gradients`.
    """
    squares, inner, g = example_gradients(network, params, inputs)
    sizes = torch.stack([_norm(w) for w in network.weights(params)], dim=1)[..., None]
    # In units of f: dg/dW = (rho / |W|) df/dV, and rho cancels from the ratio.
    squared = (sizes**2 * squares - 2.0 * g[:, None] * inner) / g[:, None] ** 2 + 1.0
    values, kept = squared.clamp(min=0.0).sqrt(), classes[: squares.shape[-1]]
    parts = [values[..., kept == c] for c in range(int(classes.max()) + 1)]
    return torch.stack([quantiles(part, CLASS_LEVELS) for part in parts], dim=2)


def collapse(features: Tensor, classes: Tensor, rows: Tensor) -> Values:
    r"""Measure neural collapse.

    Parameters
    ----------
    features : Tensor, shape (replicates, n, p)
        The last layer's inputs.
    classes : Tensor, shape (n,)
    rows : Tensor, shape (replicates, C, p), or (replicates, 1, p) for two classes
        The last layer; a single row w stands for -w and w.

    Returns
    -------
    dict
        ``nc1``: :math:`\mathrm{tr}(\Sigma_W \Sigma_B^+)/C`; ``nc2_means`` and
        ``nc2_rows``: spread of norms over their mean, spread of the cosines, mean
        distance of the cosines to -1/(C-1); ``nc3``: squared distance of rows and
        centred means, each of unit Frobenius norm; ``nc4``: share of examples that
        rows and nearest class mean decide differently. What is undefined is nan: all of
        them where class means are equal but for rounding, or a class has no example.

    Raises
    ------
    ValueError
        If `classes` are not n of 0, ..., C - 1.

    References
    ----------
    Papyan, Han, Donoho 2020, as Poggio, Liao 2021 take it up.
    """
    rows = torch.cat([-rows, rows], dim=1) if rows.shape[1] == 1 else rows
    count = rows.shape[1]
    check_classes("collapse", "classes", classes, features.shape[1], count - 1)
    features, rows = _reduced(features).mT, _reduced(rows)
    one_hot = torch.nn.functional.one_hot(classes, count).to(features.dtype)
    means = features @ (one_hot / one_hot.sum(dim=0))
    centred = means - means.mean(dim=2, keepdim=True)
    # Of means of n numbers, up or down as chance has it.
    eps = torch.finfo(means.dtype).eps * len(classes) ** 0.5
    rounding = eps * means.abs().amax(dim=(1, 2))
    known = centred.abs().amax(dim=(1, 2)) > rounding
    # One that is the centre has no direction.
    off = centred.abs().amax(dim=1, keepdim=True) > rounding[:, None, None]
    centred = torch.where(known[:, None, None], centred * off, torch.nan)
    safe = torch.where(known[:, None, None], centred, 1.0)
    u, s, _ = torch.linalg.svd(safe, full_matrices=False)
    # The pseudo-inverse has rank C - 1 at most: centred means sum to zero.
    u, s = u[:, :, : count - 1], s[:, : count - 1]
    inverse = torch.where(s > rounding[:, None], 1.0 / s, 0.0)
    within = u.mT @ (features - means[:, :, classes]) * inverse[..., None]
    distances = (means * means).sum(dim=1)[..., None] - 2.0 * means.mT @ features
    decided = (rows @ features).argmax(dim=1) != distances.argmin(dim=1)
    sound = known & rows.isfinite().all(dim=(1, 2))
    unit_rows, unit_means = rows / _norm(rows)[:, None, None], centred.mT
    unit_means = unit_means / _norm(unit_means)[:, None, None]
    return {
        "nc1": torch.where(known, within.square().sum(dim=1).mean(dim=1), torch.nan),
        "nc2_means": _angles(centred.mT),
        "nc2_rows": _angles(rows),
        "nc3": (unit_rows - unit_means).square().sum(dim=(1, 2)),
        "nc4": torch.where(sound, decided.to(features.dtype).mean(dim=1), torch.nan),
    }


def _reduced(values: Tensor) -> Tensor:
    """Divide each replicate by a power of two: no square under- or overflows."""
    top = values.abs().amax(dim=(1, 2), keepdim=True)
    power = top / (2.0 * torch.frexp(top).mantissa)
    return values / torch.where(top > 0.0, power, 1.0)


def _angles(vectors: Tensor) -> Tensor:
    """Return equinorm, equiangle and maximal angle, (replicates, 3), of C vectors."""
    count = vectors.shape[1]
    norms = vectors.norm(dim=2)
    units = vectors / norms[..., None]
    apart = ~torch.eye(count, dtype=torch.bool, device=vectors.device)
    cosines = (units @ units.mT)[:, apart]
    equinorm = norms.std(dim=1, correction=0) / norms.mean(dim=1)
    equiangle = cosines.std(dim=1, correction=0)
    maximal = (cosines + 1.0 / (count - 1)).abs().mean(dim=1)
    return torch.stack([equinorm, equiangle, maximal], dim=1)


def _critical(
    weights: tuple[Tensor, ...],
    slopes: tuple[Tensor, ...],
    sizes: Tensor,
    whole: Tensor,
    n: int,
) -> Tensor:
    """Return r_k, (replicates, layers), from slopes of the mean loss by W_k."""
    found: list[Tensor] = []
    for index, (w, slope) in enumerate(zip(weights, slopes, strict=True)):
        unit = w / along(sizes[:, index], w)
        tangent = slope - along(summed(unit * slope), w) * unit
        # dg/dW_k = (rho / |W_k|) df/dV_k off the radius; the mean loss has 2 / n.
        found.append(n * sizes[:, index] / (2.0 * whole.abs()) * _norm(tangent))
    return torch.stack(found, dim=1)


def _layer_gradients(
    network: Network, delta: Tensor, z: Tensor, h: Tensor
) -> tuple[Tensor, Tensor]:
    if not isinstance(network, Convolutional) or delta.ndim == 3:
        # A gradient is the outer product of delta and h.
        squares = delta.square().sum(dim=-1) * h.square().sum(dim=-1)
        return squares, (delta * z).sum(dim=-1)
    taps = torch.nn.functional.unfold(
        h.flatten(0, -4),
        network.kernel,
        padding=network.kernel // 2,
        stride=network.stride,
    ).unflatten(0, h.shape[:-3])
    formed = delta.flatten(3) @ taps.mT
    inner = (delta * z).sum(dim=(2, 3, 4))
    return formed.square().sum(dim=(2, 3)), inner


def _features(signals: Signals, inputs: Tensor) -> Tensor:
    """Return the last layer's input, shape (replicates, n, units)."""
    first = inputs.expand(len(signals.outputs), *inputs.shape)
    return (first, *signals.hidden)[-1].flatten(2)


def _norm(tensor: Tensor) -> Tensor:
    return tensor.flatten(1).norm(dim=1)
