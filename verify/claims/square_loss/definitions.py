"""What records say of classifiers, from the definitions (closed claims)."""

import math
from itertools import combinations, product
from typing import Any

import numpy as np
import torch
from scipy.optimize import brentq
from torch import Tensor, nn
from torch.nn.utils import parametrize

from empirical.square_loss import measures
from empirical.square_loss.classifiers import classifier
from empirical.square_loss.problems import Problem
from empirical.square_loss.training import held_out_outputs, normalised_outputs
from verify.claim import Case, grid
from verify.claims._twins import SUMS, Array, closed, normal, sketch
from verify.claims.square_loss.steps import FAMILIES, drawn, plain, stacked, targets
from verify.compare import AgreesTo

_SHAPES = {"dense": (5,), "images": (2, 5, 4)}
_LEVELS = [k / 20 for k in range(21)]
_PENALTY = 0.7

# --- networks ---------------------------------------------------------------------------


def _network(family: Any, shape: str, outputs: int) -> Any:
    widths = (6, 7)
    return classifier(family, shape=_SHAPES[shape], widths=widths, outputs=outputs)


def _stacked(family: str, shape: str, outputs: int) -> tuple[Tensor, ...]:
    network = _network(family, shape, outputs)
    return stacked(network, family, shape, (6, 7), outputs)


def _net(family: str, shape: str, outputs: int, row: int) -> nn.Sequential:
    net = plain(family, shape, (6, 7), outputs)
    drawn(net, family, row)
    assert isinstance(net, nn.Sequential)
    return net


def _examples(shape: str) -> Tensor:
    return normal(9, *_SHAPES[shape], seed=[49])


def _classes(outputs: int) -> Tensor:
    # Of unequal size.
    return torch.tensor(
        [0, 1, 1, 0, 1, 1, 1, 1, 0] if outputs == 1 else [0, 2, 1, 0, 0, 2, 1, 0, 0]
    )


def _layers(net: nn.Sequential) -> list[Any]:
    return [part for part in net if isinstance(part, nn.Linear | nn.Conv2d)]


def _sizes(net: nn.Sequential, family: str) -> tuple[list[float], float]:
    """Return the norms of the layers as recorded, and rho."""
    weights = [layer.weight.detach() for layer in _layers(net)]
    norms = [float(w.norm()) for w in weights]
    if family == "wn":
        last = _layers(net)[-1].parametrizations.weight
        vs = [layer.parametrizations.weight.original1 for layer in _layers(net)]
        return [float(v.detach().norm()) for v in vs], float(last.original0.detach())
    return norms, norms[-1] if family.startswith("bn") else math.prod(norms)


def _freeze(net: nn.Sequential, x: Tensor) -> None:
    """Let a network normalise by this batch's statistics, whatever it is given."""
    for part in net:
        after = part(x)
        if isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d):
            axes = [k for k in range(x.ndim) if k != 1]
            part.running_mean = x.detach().mean(axes)
            part.running_var = x.detach().var(axes, correction=0)
            part.eval()
        x = after


def _quantiles(values: Array) -> list[float]:
    return np.quantile(values, _LEVELS).tolist()


def _margins(f: Array, classes: list[int]) -> Array:
    found = [
        row[0] * (2 * c - 1) if len(row) == 1 else row[c] - max(np.delete(row, c))
        for row, c in zip(f, classes, strict=True)
    ]
    return np.array(found)


def _error(f: Array, labels: Array) -> float:
    """Return the share that is wrong; of one output also what is next to nothing."""
    if f.shape[1] > 1:
        return float(np.mean(f.argmax(axis=1) != labels.argmax(axis=1)))
    heard = np.abs(f) > 2.0**-26 * np.abs(f).max()
    return float(np.mean(~((f * labels > 0.0) & heard)))


def _collapse(h: Array, classes: list[int], rows: Array) -> list[float]:
    """Return nc1 to nc4 by sums over classes and examples."""
    rows = np.concatenate([-rows, rows]) if len(rows) == 1 else rows
    labels, count = np.array(classes), max(classes) + 1
    means = np.array([h[labels == c].mean(axis=0) for c in range(count)])
    centred = means - means.mean(axis=0)
    gaps = h - means[labels]
    within, between = gaps.T @ gaps / len(h), centred.T @ centred / count
    nc1 = float(np.trace(within @ np.linalg.pinv(between, rcond=1e-10))) / count
    unit = [a / np.linalg.norm(a) for a in (rows, centred)]
    nearest = [
        int(np.argmin(((m - x) ** 2).sum(axis=1))) for m, x in ((means, x) for x in h)
    ]
    decided = [int(np.argmax(rows @ x)) for x in h]
    nc4 = float(np.mean(np.array(nearest) != np.array(decided)))
    angles = [*_angles(centred), *_angles(rows)]
    return [nc1, *angles, float(((unit[0] - unit[1]) ** 2).sum()), nc4]


def _angles(vectors: Array) -> list[float]:
    norms = [float(np.linalg.norm(v)) for v in vectors]
    cosines = [
        float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
        for a, b in combinations(vectors, 2)
    ]
    far = [abs(c + 1.0 / (len(vectors) - 1)) for c in cosines]
    return [
        float(np.std(norms) / np.mean(norms)),
        float(np.std(cosines)),
        float(np.mean(far)),
    ]


def _lost(g: Tensor, y: Tensor, loss: str) -> tuple[float, Tensor]:
    """Return the sum of outputs' losses, and e: half its slopes by them."""
    leaf = g.detach().clone().requires_grad_()
    if loss == "square":
        total = (leaf - y).square().sum()
    elif g.shape[1] == 1:
        bce = nn.functional.binary_cross_entropy_with_logits
        total = bce(leaf, 0.5 * (y + 1.0), reduction="sum")
    else:
        total = nn.functional.cross_entropy(leaf, y.argmax(dim=1), reduction="sum")
    (slopes,) = torch.autograd.grad(total, leaf)
    return total.item(), 0.5 * slopes


def _rests(f: Tensor, y: Tensor, loss: str) -> float:
    """Return where the norm of fixed outputs rests; 0 where it shrinks to nothing."""
    if loss == "square":
        return float((f * y).sum() / (_PENALTY + (f * f).sum()))

    def pull(rho: float) -> float:
        return float((_lost(rho * f, y, loss)[1] * f).sum()) + _PENALTY * rho

    high = float(f.norm(dim=1).sum()) / _PENALTY
    found: Any = brentq(pull, 0.0, high, xtol=1e-15) if pull(0.0) < 0.0 else 0.0
    return found


def _critical(
    net: nn.Sequential, x: Tensor, y: Tensor, rho: float, loss: str, *, wrong: bool
) -> tuple[list[float], list[float]]:
    """Return r_k over |e|, and the norms of the weights that act."""
    found, sizes = list[float](), list[float]()
    with parametrize.cached():
        g = net(x)
        _, e = _lost(g, y, loss)
        for layer in _layers(net):
            w = layer.weight
            (slope,) = torch.autograd.grad((e * g).sum(), w, retain_graph=True)
            size = float(w.detach().norm())
            v = w.detach() / size
            # f = g / rho, and V = W / |W|: df/dV off the radius is |W| / rho dg/dW.
            tangent = slope if wrong else slope - float((slope * v).sum()) * v
            found.append(size / rho * float(tangent.norm()) / float(e.norm()))
            sizes.append(size)
    return found, sizes


def _plain_observed(
    *, family: str, shape: str, outputs: int, loss: str = "square", wrong: bool
) -> list[float]:
    """Compute each quantity of one network after the other, slopes by autograd.

    Wrong: Gradients that are not projected onto the spheres.
    """
    x, y, classes = (
        _examples(shape),
        targets(_classes(outputs), outputs),
        _classes(outputs).tolist(),
    )
    told: list[float] = []
    for row in range(2):
        net = _net(family, shape, outputs, row)
        norms, rho = _sizes(net, family)
        residual, acting = _critical(net, x, y, rho, loss, wrong=wrong)
        with torch.no_grad():
            g = net(x)
            features = net[:-1](x).flatten(1).numpy() if len(net) > 1 else x.numpy()
            rows = _layers(net)[-1].weight.numpy()
        f, labels = (g / rho).numpy(), y.numpy()
        (total, slopes), length = _lost(g, y, loss), np.linalg.norm(f, axis=1)
        margin = _margins(f, classes)
        squares, overlap = float((f * f).sum()), float((f * labels).sum())
        error = _error(f, labels)
        told += [total / 9, error, rho, math.prod(acting), *norms]
        told += [squares, overlap, _rests(g / rho, y, loss)]
        told += [-rho * float((slopes.numpy() * f).sum()), *residual]
        told += [float(length.mean()), float(margin.mean())]
        told += [*_quantiles(length), *_quantiles(margin)]
        told += _collapse(features, classes, rows)
    return told


_TOLD = (
    *("loss", "error", "rho", "product", "norms", "S", "B", "rho_eq", "nu", "residual"),
    *("abs_mean", "margin_mean", "abs_quantiles", "margin_quantiles"),
    *("nc1", "nc2_means", "nc2_rows", "nc3", "nc4"),
)


def _found_observed(
    *, family: str, shape: str, outputs: int, loss: str = "square"
) -> list[float]:
    found = measures.observe(
        _network(family, shape, outputs),
        _stacked(family, shape, outputs),
        _examples(shape),
        targets(_classes(outputs), outputs),
        _classes(outputs),
        penalty=_PENALTY,
        loss=loss,
    )
    assert set(found) == set(_TOLD)
    return [
        number
        for row in range(2)
        for name in _TOLD
        for number in found[name][row].flatten().tolist()
    ]


def _each(outputs: tuple[int, ...]) -> tuple[Case, ...]:
    return grid(family=FAMILIES, shape=tuple(_SHAPES), outputs=outputs)


OBSERVED = closed(
    id="sl/obs1-records",
    items=("Eq1", "Eq5", "Eq6", "NC1", "NC2", "NC3", "NC4"),
    title="Recorded quantities of classifiers follow their definitions",
    statement=(
        r"S=\sum f_n^2,\ B=\sum y_nf_n,\ \rho_{eq}=\tfrac{B}{\lambda+S},\ "
        r"\nu=-\rho\sum e_nf_n,\ r_k,\ NC1..4;\text{ with cross entropy }e_n="
        r"\tfrac12\partial\ell/\partial g_n\text{ and }\rho_{eq}\text{ where }"
        r"\textstyle\sum e_nf_n=-\lambda\rho_{eq}"
    ),
    where="Equations 1, 5 and 6, and section 2.1",
    cases=(
        *_each((1, 3)),
        *grid(family=("bn", "wn"), shape="dense", outputs=(1, 3), loss="entropy"),
    ),
    twin=_plain_observed,
    measure=_found_observed,
    uses=(
        "sl/eq1",
        "sl/eq5",
        "sl/eq6",
        "sl/nc1",
        "sl/nc2",
        "sl/nc3-binary",
    ),
)


# --- means on a line --------------------------------------------------------------------

# Along the line and across it.
_SPREAD = (2.0**-20, 1.0)


def _turn(size: int, *, turned: bool) -> Array:
    """Return a rotation of features: none, or one at random."""
    whole = np.eye(size)
    return np.linalg.qr(normal(size, size, seed=[51]).numpy())[0] if turned else whole


def _crossed(count: int) -> tuple[Array, list[int]]:
    """Return features whose class means lie on a line, and little else does."""
    middle = 0.5 * (count - 1)
    signs = list(product((-1.0, 1.0), repeat=count - 1))
    each = [
        [c - middle + a * _SPREAD[0], *(b * _SPREAD[1] for b in others)]
        for c in range(count)
        for a, *others in signs
    ]
    return np.array(each), [c for c in range(count) for _ in signs]


def _plain_line(*, count: int, power: int, turned: bool, wrong: bool) -> list[float]:
    """Compute tr(S_W S_B^+)/C along the line alone, whatever their size and direction.

    And angles of the last layer, and what else does not change with the size.
    Wrong: The spread across the line counts too.
    """
    del power, turned
    between = sum((c - 0.5 * (count - 1)) ** 2 for c in range(count)) / count
    across = (count - 2) * _SPREAD[1] ** 2 if wrong else 0.0
    h, classes = _crossed(count)
    # The mean in the middle has no angle.
    with np.errstate(invalid="ignore"):
        _, *others = _collapse(h, classes, _rows(count))
    return [(_SPREAD[0] ** 2 / between + across) / count, *others[3:]]


def _rows(count: int) -> Array:
    return normal(count, count - 1, seed=[50]).numpy()


def _found_line(*, count: int, power: int, turned: bool) -> list[float]:
    (h, classes), turn = _crossed(count), _turn(count - 1, turned=turned)
    found = measures.collapse(
        torch.from_numpy(np.ldexp(h @ turn, power))[None],
        torch.tensor(classes),
        torch.from_numpy(np.ldexp(_rows(count) @ turn, -power))[None],
    )
    names = ("nc1", "nc2_rows", "nc3", "nc4")
    return torch.cat([found[name].flatten() for name in names]).tolist()


LINE = closed(
    id="sl/nc1-line",
    title="What varies where class means do not leaves NC1 as it is, and no scale matters",
    statement=(
        r"\mathrm{tr}(\Sigma_W\Sigma_B^+)/C=\frac{\sigma^2}{C\,\mathrm{Var}\,\mu}"
        r"\text{ of means on a line}"
    ),
    where="Section 2.1, the pseudo-inverse of class means",
    cases=grid(count=(3, 4, 5), power=(0, 600, -600), turned=(False, True)),
    twin=_plain_line,
    measure=_found_line,
    # Singular vectors are right to some 1e-16: of a spread of 1 across, so much of the one
    # of 1e-6 along the line.
    compare=AgreesTo(relative=1e-9),
    uses=("sl/nc1",),
)


# --- one example after the other --------------------------------------------------------


def _plain_single(*, family: str, shape: str, wrong: bool) -> list[float]:
    """Differentiate the output of each example by each weight, statistics fixed.

    Wrong: Gradients alone, the directions not taken off.
    """
    x, classes, told = _examples(shape), _classes(1).tolist(), list[float]()
    for row in range(2):
        net = _net(family, shape, 1, row)
        _freeze(net, x)
        with parametrize.cached():
            weights = [layer.weight for layer in _layers(net)]
            d: list[list[float]] = []
            for one in x:
                g = net(one[None])[0, 0]
                slopes = torch.autograd.grad(g, weights)
                now: list[float] = []
                for w, slope in zip(weights, slopes, strict=True):
                    size = float(w.detach().norm())
                    by_v = size * slope / float(g.detach())
                    now.append(
                        float((by_v if wrong else by_v - w.detach() / size).norm())
                    )
                d.append(now)
        for layer in range(len(weights)):
            for c in (0, 1):
                mine = [
                    r[layer] for r, label in zip(d, classes, strict=True) if label == c
                ]
                told += np.quantile(mine, [0.0, 0.25, 0.5, 0.75, 1.0]).tolist()
    return told


def _found_single(*, family: str, shape: str) -> list[float]:
    found = measures.example_residuals(
        _network(family, shape, 1),
        _stacked(family, shape, 1),
        _examples(shape),
        _classes(1),
    )
    return found.flatten().tolist()


SINGLE = closed(
    id="sl/eq6-records",
    items=("PerSample", "Eq6"),
    title="Recorded per-example gradient distances match autograd, one example at a time",
    statement=r"D_{n,k}=\|\partial f_n/\partial V_k-V_kf_n\|_F/|f_n|",
    where="Equation 6 and section 2.1, on single examples",
    cases=grid(family=FAMILIES, shape=tuple(_SHAPES)),
    twin=_plain_single,
    measure=_found_single,
    uses=("sl/persample",),
)

# --- tests ------------------------------------------------------------------------------


def _plain_held_out(*, family: str, shape: str, wrong: bool) -> list[float]:
    """Return outputs on test inputs with the training batch's statistics.

    Wrong: The statistics of the tests, and outputs not divided by rho.
    """
    x, tests, told = (
        _examples(shape),
        normal(4, *_SHAPES[shape], seed=[48]),
        list[float](),
    )
    for row in range(2):
        net = _net(family, shape, 3, row)
        _, rho = _sizes(net, family)
        with torch.no_grad():
            seen = net(x) / rho
            # By mistake with the statistics of the tests.
            _freeze(net, tests if wrong else x)
            told += sketch(seen, net(tests) / (1.0 if wrong else rho))
    return told


def _found_held_out(*, family: str, shape: str) -> list[float]:
    x, tests = _examples(shape), normal(4, *_SHAPES[shape], seed=[48])
    classes = _classes(3)
    given = Problem(
        inputs=x,
        classes=classes,
        test_inputs=tests,
        test_classes=classes[:4],
        source={},
    )
    network, params = _network(family, shape, 3), _stacked(family, shape, 3)
    seen, unseen = (
        normalised_outputs(network, params, x),
        held_out_outputs(network, params, given),
    )
    return [number for row in range(2) for number in sketch(seen[row], unseen[row])]


HELD_OUT = closed(
    id="sl/expA-tests",
    items=("ExpA", "ExpB"),
    title="Test outputs use the training batch's statistics and are divided by rho",
    statement=r"f(x)=g(x;\hat\mu,\hat\sigma)/\rho",
    where="Captions of Figures 1, 5 and 9",
    cases=grid(family=FAMILIES, shape=tuple(_SHAPES)),
    twin=_plain_held_out,
    measure=_found_held_out,
    compare=SUMS,
)
