"""The kernel experiments, from the definitions (closed claims)."""

import math
from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical import data
from empirical.conditioning.activations import named
from empirical.conditioning.descent import step_sizes, train_top_layer
from empirical.conditioning.experiments import EXPERIMENTS, recorded
from empirical.kernels import sample
from empirical.networks import FullyConnected
from empirical.randomness import numpy_generator, torch_generator
from empirical.testbed.loop import Task, Trained
from empirical.testbed.loop import train as descend
from empirical.testbed.observers import Diverged
from empirical.testbed.optimisers import SGD
from empirical.testbed.stack import Params, Stack
from verify.claim import grid
from verify.claims._predictors import unlike
from verify.claims._resumed import resumed
from verify.claims._twins import UPDATES, Array, closed
from verify.claims.deep_conditioning.activations.named import moments
from verify.compare import AgreesTo

Function = Callable[[Any], Any]
# Of sums of a few hundred products, each rounded once or twice.
_SUMS = AgreesTo(relative=1e-12, absolute=1e-13)

# --- inputs, and networks layer by layer ------------------------------------------------

_N, _DELTA, _SEED = 4, 0.2, 7
"""Where an experiment assumes the separation, the seed or tanh, it is not told them."""

_WIDTH, _DRAWS = 9, 3


def inputs(kind: str, n: int = _N) -> Array:
    """Return unit inputs: random with a closest pair, of least eigenvalue, on an arc.

    Or digits.
    """
    if kind == "digits":
        return _unit_digits("train", n)[0]
    rng = numpy_generator(_SEED, "inputs", kind)
    if kind == "arc":
        step = math.acos(1.0 - _DELTA)
        return np.array([[math.cos(k * step), math.sin(k * step)] for k in range(n)])
    dim = max(64, 8 * n) - 1 if kind == "a" else n - 1
    x = rng.standard_normal((n, dim))
    x /= np.sqrt((x**2).sum(axis=1))[:, None]
    if kind == "b":
        return np.hstack([math.sqrt(1 - _DELTA) * x, math.sqrt(_DELTA) * np.eye(n)])
    top = max(float(x[i] @ x[j]) for i, j in combinations(range(n), 2))
    # A coordinate that all share lifts the closest pair to 1 - delta.
    share = (1.0 - _DELTA - top) / (1.0 - top)
    return np.hstack([math.sqrt(1.0 - share) * x, np.full((n, 1), math.sqrt(share))])


def _activation() -> Function:
    mean, deviation = moments(math.tanh, ())
    return lambda z: (torch.tanh(z) - mean) / deviation


def _weights(g: torch.Generator, sizes: list[int]) -> list[Tensor]:
    return [
        torch.empty(b, a, dtype=torch.float64).normal_(generator=g)
        for a, b in pairwise(sizes)
    ]


def _layers(x: Tensor, weights: list[Tensor]) -> list[Tensor]:
    """Return the input and s(W h)/sqrt(m) of every weight."""
    found, act = [x], _activation()
    for w in weights:
        found.append(act(found[-1] @ w.T) / math.sqrt(len(w)))
    return found


def _tangent(x: Tensor, weights: list[Tensor]) -> Array:
    """Return the tangent kernel, readout last, one gradient an input."""
    leaves = [w.requires_grad_() for w in weights]
    rows: list[Tensor] = []
    for one in x:
        output = (_layers(one[None], leaves[:-1])[-1] @ leaves[-1].T)[0, 0]
        slopes = torch.autograd.grad(output, leaves)
        rows.append(torch.cat([s.flatten() for s in slopes]))
    jacobian = torch.stack(rows).numpy()
    return jacobian @ jacobian.T


def _gram(h: Tensor) -> Array:
    return (h @ h.T).detach().numpy()


def _unit(k: Array) -> Array:
    return k / np.sqrt(np.outer(np.diag(k), np.diag(k)))


def _extremes(k: Array) -> list[float]:
    values = np.linalg.eigvalsh(_unit(k))
    return [values[-1] / values[0], values[0], values[-1]]


# --- condition numbers, spreads, lengths ------------------------------------------------


def _plain_depth(
    *, kind: str, tangent: bool, depths: list[int], wrong: bool, n: int = _N
) -> list[float]:
    """Form each kernel entry by entry, from layers of plain products.

    Wrong: The mean correlation of pairs in the place of the largest.
    """
    x, g = torch.from_numpy(inputs(kind, n)), torch_generator(_SEED, "weights")
    product = x.numpy() @ x.numpy().T
    off = [abs(product[i, j]) for i, j in combinations(range(n), 2)]
    found = [n, 1.0 - max(off), float(np.linalg.eigvalsh(product)[0])]
    for _ in range(_DRAWS):
        sizes = [x.shape[1], *[_WIDTH] * depths[-1], *([1] if tangent else [])]
        weights = _weights(g, sizes)
        for depth in depths:
            k = _gram(_layers(x, weights[:depth])[depth])
            pairs = [abs(_unit(k)[i, j]) for i, j in combinations(range(n), 2)]
            found += [np.mean(pairs) if wrong else max(pairs), *_extremes(k)]
            if tangent:
                own = [*weights[:depth], weights[-1]]
                found += _extremes(_tangent(x, own) if depth else product)
    return found


def _found_depth(
    *, kind: str, tangent: bool, depths: list[int], n: int = _N
) -> list[float]:
    found = EXPERIMENTS["depth"](
        data=kind,
        **unlike({"n": 32}, n=n),
        delta=_DELTA,
        activation="tanh",
        width=_WIDTH,
        depths=depths,
        draws=_DRAWS,
        tangent=tangent,
    )
    told = [found["source"]["examples"], found["delta"]]
    told.append(found["smallest_input_eigenvalue"])
    for draw in range(_DRAWS):
        for place in range(len(depths)):
            told.append(found["largest_correlations"][draw][place])
            for kernel in ("nngp", "ntk") if tangent else ("nngp",):
                for what in ("conditions", "smallest", "largest"):
                    told.append(found[f"{kernel}_{what}"][draw][place])
    return told


DEPTH = closed(
    id="dc/cor3.3-sampled",
    items=("Cor3.3", "Cor3.5"),
    title="Condition numbers of sampled networks equal those of kernels formed entry by"
    " entry",
    statement=r"\kappa(D^{-1/2}KD^{-1/2}),\qquad K_{ij}=\langle h_i,h_j\rangle"
    r"\text{ or }\langle\nabla f_i,\nabla f_j\rangle",
    where="Corollaries 3.3 and 3.5, at finite width",
    cases=(
        *grid(kind=("a", "b"), tangent=(False, True), depths=([0, 1, 3],)),
        # Four points of a plane have no condition number of their own.
        *grid(kind="arc", tangent=(False, True), depths=([1, 3],)),
        # As many inputs as it assumes, more than there are units.
        *grid(kind="a", tangent=False, depths=([0],), n=32),
        *grid(kind="digits", tangent=True, depths=([0, 2],)),
    ),
    twin=_plain_depth,
    measure=_found_depth,
    uses=("dc/eq2-named",),
)


def _plain_width(*, widths: list[int], depth: int, wrong: bool) -> list[float]:
    """Form each kernel by itself, and take means and spreads of entries.

    Wrong: Spreads that divide by the number of draws, not one less.
    """
    x, g = torch.from_numpy(inputs("b")), torch_generator(_SEED, "weights")
    found = _gram(x).ravel().tolist()
    for width in widths:
        kernels: list[tuple[Array, Array]] = []
        for _ in range(_DRAWS):
            weights = _weights(g, [x.shape[1], *[width] * depth, 1])
            kernels.append((_gram(_layers(x, weights[:-1])[-1]), _tangent(x, weights)))
        for each in zip(*kernels, strict=True):
            stack = np.stack(each)
            spread = stack.std(axis=0, ddof=0 if wrong else 1)
            found += [*stack.mean(axis=0).ravel(), *spread.ravel()]
    return found


def _found_width(*, widths: list[int], depth: int) -> list[float]:
    found = EXPERIMENTS["width"](
        data="b",
        n=_N,
        delta=_DELTA,
        activation="tanh",
        widths=widths,
        depth=depth,
        draws=_DRAWS,
    )
    told = np.ravel(found["gram"]).tolist()
    for place in range(len(widths)):
        for kernel in ("nngp", "ntk"):
            told += np.ravel(found[f"{kernel}_means"][place]).tolist()
            told += np.ravel(found[f"{kernel}_deviations"][place]).tolist()
    return told


WIDTH = closed(
    id="dc/eq7-sampled",
    items=("Eq1", "Eq7"),
    title="Means and spreads of sampled kernels equal those of kernels formed one by one",
    statement=r"\bar K_m,\qquad\sqrt{\tfrac1{D-1}\sum(K-\bar K_m)^2}",
    where="Equations 1 and 7, at finite width",
    cases=({"widths": [5, 8], "depth": 2}, {"widths": [7], "depth": 3}),
    twin=_plain_width,
    measure=_found_width,
    compare=_SUMS,
    uses=("dc/eq2-named",),
)


def _plain_sampled(*, tangent: bool, max_bytes: int, wrong: bool) -> list[float]:
    """Draw one network after the other, readouts too, from one stream.

    Wrong: Networks without their readouts.
    """
    del max_bytes
    x, g = torch.from_numpy(inputs("b")), torch_generator(_SEED, "weights")
    found: list[float] = []
    for _ in range(_DRAWS):
        weights = _weights(g, [x.shape[1], *[_WIDTH] * 2, *([] if wrong else [1])])
        hidden = weights if wrong else weights[:-1]
        k = _gram(_layers(x, hidden)[-1])
        found += [*k.ravel(), *(_tangent(x, weights).ravel() if tangent else [])]
    return found


def _found_sampled(*, tangent: bool, max_bytes: int) -> list[float]:
    x = torch.from_numpy(inputs("b"))
    network = FullyConnected.uniform(
        inputs=x.shape[1], width=_WIDTH, depth=2, activation=named("tanh")
    )
    chunks = sample(
        network,
        x,
        draws=_DRAWS,
        generator=torch_generator(_SEED, "weights"),
        max_bytes=max_bytes,
        **unlike({"tangent": True}, tangent=tangent),
    )
    found: list[float] = []
    for chunk in chunks:
        for row, k in enumerate(chunk.nngp):
            found += k.ravel().tolist()
            found += chunk.ntk[row].ravel().tolist() if tangent else []
    return found


SAMPLED = closed(
    id="dc/eq1-sampled",
    items=("Eq1", "Eq7"),
    title="Kernels of networks that are drawn together or one by one, from one stream",
    statement=r"K_m(x,y)=\langle h_m(x),h_m(y)\rangle,\qquad m=1,2,3",
    where="Equations 1 and 7",
    # So little memory that each is alone, or enough for all.
    cases=grid(tangent=(False, True), max_bytes=(1, 2**30)),
    twin=_plain_sampled,
    measure=_found_sampled,
    compare=_SUMS,
    uses=("dc/eq2-named",),
)


_NONE = -1.0
"""Said of an error that is nan: one network does not say how far another is."""


def _with_errors(values: Array, *, wrong: bool) -> list[float]:
    """Return means over networks, and standard errors of them, or deviations."""
    count, errors = len(values), np.full(values.shape[1:], _NONE)
    if count > 1:
        errors = values.std(axis=0, ddof=1) / math.sqrt(1 if wrong else count)
    return [*values.mean(axis=0).ravel(), *errors.ravel()]


def _told(found: Any, *names: str) -> list[float]:
    """Return what a record says of each name, and its standard errors."""
    parts = (found[f"{n}{end}"] for n in names for end in ("", "_standard_errors"))
    numbers = np.concatenate([np.ravel(part) for part in parts])
    return np.where(np.isnan(numbers), _NONE, numbers).tolist()


def _plain_norms(
    *, rho: float, sizes: list[float], draws: int, wrong: bool
) -> list[float]:
    """Take lengths and cosines layer by layer, network by network.

    Wrong: Standard deviations in the place of standard errors.
    """
    g = torch_generator(_SEED, "weights")
    pair = np.array([[1.0, 0.0], [rho, math.sqrt(1.0 - rho * rho)]])
    x = torch.from_numpy(pair * np.sqrt(sizes)[:, None])
    norms: list[list[list[float]]] = []
    cosines: list[list[float]] = []
    for _ in range(draws):
        layers = _layers(x, _weights(g, [2, *[_WIDTH] * 3]))
        norms.append([[float(h[k] @ h[k]) for k in (0, 1)] for h in layers])
        pairs = [(h[0], h[1]) for h in layers]
        cosines.append([float(a @ b / a.norm() / b.norm()) for a, b in pairs])
    both = (np.array(norms), np.array(cosines))
    return [v for values in both for v in _with_errors(values, wrong=wrong)]


def _found_norms(*, rho: float, sizes: list[float], draws: int) -> list[float]:
    found = EXPERIMENTS["norms"](
        rho=rho, squared_norms=sizes, width=_WIDTH, depth=3, draws=draws
    )
    return _told(found, "squared_norms", "correlations")


NORMS = closed(
    id="dc/D.0-norms",
    title="Recorded lengths and cosines by layer are means over networks with standard"
    " errors",
    statement=r"\|h_l(x)\|^2,\ \cos(h_l(x),h_l(y)),\qquad s/\sqrt D",
    where="Appendix D, at finite width",
    cases=(
        {"rho": 0.9, "sizes": [2.0, 0.5], "draws": 3},
        {"rho": -0.3, "sizes": [1.0, 3.0], "draws": 2},
        # Of one network there is no spread.
        {"rho": 0.2, "sizes": [1.0, 1.0], "draws": 1},
    ),
    twin=_plain_norms,
    measure=_found_norms,
    compare=_SUMS,
    uses=("dc/asmA-pair", "dc/eq2-named"),
)

# --- descent ----------------------------------------------------------------------------

_STEPS = 12


def _rates(losses: list[float], steps: list[int]) -> list[float]:
    """Return the slowest rate that bounds the curve, and when it is down to 1e-6."""
    pairs = list(zip(steps, losses, strict=True))
    slowest = min(-math.log(v / losses[0]) / t for t, v in pairs if t)
    down = [t for t, v in pairs if v <= 1e-6 * losses[0]]
    return [slowest, down[0] if down else -1]


def _plain_train(*, layers: str, kind: str, every: int, wrong: bool) -> list[float]:
    """Descend by PyTorch's SGD; the readout starts at zero where it learns alone.

    Wrong: Descent with a momentum of 0.1.
    """
    x, g = torch.from_numpy(inputs(kind)), torch_generator(_SEED, "weights")
    signs = numpy_generator(_SEED, "targets").choice((-1.0, 1.0), size=(_N, 1))
    y, told = torch.from_numpy(signs), list[float]()
    for _ in range(_DRAWS):
        weights = _weights(g, [x.shape[1], *[_WIDTH] * 2, 1])
        top = layers == "top"
        h = _layers(x, weights[:-1])[-1]
        k = _gram(h) if top else _tangent(x, weights)
        low, high = np.linalg.eigvalsh(k)[[0, -1]]
        size = _N / high if top else 2.0 * _N / (low + high)
        # The readout starts at zero where it is trained alone.
        learnt = [torch.zeros(1, _WIDTH, dtype=torch.float64)] if top else weights
        learnt = [w.detach().clone().requires_grad_() for w in learnt]
        sgd = torch.optim.SGD(learnt, lr=size, momentum=0.1 if wrong else 0.0)
        losses: list[float] = []
        for _ in range(_STEPS + 1):
            inner = h if top else _layers(x, learnt[:-1])[-1]
            loss = 0.5 * (inner @ learnt[-1].T - y).square().sum() / _N
            losses.append(loss.item())
            sgd.zero_grad()
            loss.backward()  # pyright: ignore[reportUnknownMemberType]
            sgd.step()
        steps = list(range(0, _STEPS + 1, every))
        kept = [losses[t] for t in steps]
        told += [size, high / low, *kept, *_rates(kept, steps)]
    return told


def _found_train(*, layers: str, kind: str, every: int) -> list[float]:
    found = EXPERIMENTS["train"](
        layers=layers,
        data=kind,
        n=_N,
        width=_WIDTH,
        depth=2,
        draws=_DRAWS,
        steps=_STEPS,
        every=every,
    )
    assert found["steps"] == list(range(0, _STEPS + 1, every))
    told: list[float] = []
    for draw in range(_DRAWS):
        told += [found["step_sizes"][draw], found["conditions"][draw]]
        told += [*found["losses"][draw], found["slowest_rates"][draw]]
        told.append(found["steps_to_1e-6"][draw])
    return told


TRAIN = closed(
    id="dc/thmE.8-steps",
    items=("ThmE.8", "ThmE.5"),
    title="Gradient descent on the top layer and on all layers matches PyTorch, step sizes"
    " too",
    statement=r"W\leftarrow W-\eta\nabla\tfrac1{2n}\|f-y\|^2,\qquad"
    r"\eta=\tfrac n{\lambda_{\max}}\text{ or }\tfrac{2n}{\lambda_{\min}+\lambda_{\max}}",
    where="Theorems E.5 and E.8",
    cases=grid(layers=("top", "all"), kind=("a", "b"), every=(1, 4)),
    twin=_plain_train,
    measure=_found_train,
    uses=("dc/eq2-named", "dc/thmE.8-fitted"),
)


def _plain_runs(*, every: int, wrong: bool) -> list[float]:
    """Multiply the residual of one feature and one target, until it has exploded.

    Wrong: A run counts as diverged from a million times the first residual on.
    """
    found: list[float] = []
    for y, size in _RUNS:
        first, ends, losses = 0.5 * y * y, -1, []
        for t in range(_STEPS + 1):
            loss = first * ((1.0 - size) ** t) ** 2
            limit = first * (1e12 if wrong else 1e6)
            if ends < 0 and not (loss <= limit and math.isfinite(loss)):
                ends = t
            losses.append(-9.0 if ends >= 0 else loss)
        found += [ends, *losses[:_STEPS:every], losses[-1]]
    return found


_RUNS = ((3.0, 0.5), (2.0, 101.0), (1e200, 1.5), (0.5, 1.0 + 10.0**0.6), (0.5, 11.0))
"""Targets and step sizes: halved, exploding at once and later, infinite at first."""


def _found_runs(*, every: int) -> list[float]:
    y, sizes = torch.tensor(_RUNS, dtype=torch.float64).T
    curves = train_top_layer(
        torch.ones_like(y)[:, None, None],
        y[:, None, None],
        step=sizes.numpy(),
        steps=_STEPS,
        every=every,
    )
    losses = np.nan_to_num(curves.losses, nan=-9.0)
    return (
        np.concatenate([curves.diverged_at[:, None], losses], axis=1).ravel().tolist()
    )


RUNS = closed(
    id="dc/thmE.8-diverged",
    items=("ThmE.8",),
    title="Runs diverge where a loss passes a million times the first, or is infinite",
    statement=r"\mathcal L_t\ \text{for}\ t<\min\{t:\mathcal L_t>10^6\mathcal L_0\}",
    where="Theorem E.8, as measured",
    cases=grid(every=(1, 5)),
    twin=_plain_runs,
    measure=_found_runs,
    compare=UPDATES,
)


class _Line(Task):
    """Half the square of one number's distance from a goal."""

    told = ("goal",)

    def __init__(self, goal: Tensor) -> None:
        self.goal, self.threads = goal, set[int]()

    def losses(self, params: Params, stack: Stack, examples: Tensor | None) -> Tensor:
        """Return each replicate's; see `Task.losses`."""
        del examples
        self.threads.add(torch.get_num_threads())
        return 0.5 * (params[0] - stack.select(self.goal)).square()


def _plain_left(*, after: int, wrong: bool) -> list[float]:
    """Go on until the update that follows an exploded loss, by one thread.

    Wrong: What has exploded before the stop is back where it started.
    """
    found: list[float] = []
    for y, size in _RUNS:
        made, w, first = 0, 0.0, 0.5 * y * y
        while made < _STEPS:
            loss = 0.5 * (w - y) * (w - y)
            w, made = w - size * (w - y), made + 1
            if not (loss <= 1e6 * first and math.isfinite(loss)):
                break
        found += [0.0 if wrong and made < after else w, made]
    return [*found, 1]


def _found_left(*, after: int) -> list[float]:
    goal, sizes = torch.tensor(_RUNS, dtype=torch.float64).T
    task = _Line(goal)

    def run(checkpoint: Path | None = None, **told: Any) -> Trained:
        return descend(
            task,
            Stack([torch.zeros_like(goal)], rates=sizes.tolist()),
            SGD(),
            steps=_STEPS,
            check=1,
            observers=[Diverged(1e6)],
            checkpoint=checkpoint,
            **told,
        )

    done, _ = resumed(run, after=after)
    each = zip(done.final[0].tolist(), done.steps.tolist(), strict=True)
    return [*(number for one in each for number in one), *task.threads]


LEFT = closed(
    id="dc/thmE.8-left",
    items=("ThmE.8",),
    title="A training in one thread that is stopped keeps what has exploded before",
    statement=r"w_{t+1},\qquad t=\min\{t:\mathcal L_t>10^6\mathcal L_0\}",
    where="Theorem E.8, as measured",
    cases=grid(after=(2, 6)),
    twin=_plain_left,
    measure=_found_left,
    compare=UPDATES,
    uses=("dc/thmE.8-diverged",),
)


def _kernels(shape: list[int]) -> Array:
    """Return whole numbers, symmetric where they are matrices."""
    drawn = np.random.default_rng([63, *shape]).integers(1, 9, size=shape)
    both = drawn + drawn.swapaxes(-1, -2) if len(shape) > 1 else drawn
    return both.astype(np.float64)


def _plain_sizes(*, rule: str, shape: list[int], wrong: bool) -> list[float]:
    """Solve each kernel's quadratic equation; -9 where there is no kernel.

    Wrong: Traces in the place of largest eigenvalues.
    """
    if len(shape) == 1:
        return [-9.0]
    found: list[float] = []
    for (a, b), (_, c) in _kernels(shape).reshape(-1, 2, 2):
        high = 0.5 * (a + c) + math.hypot(0.5 * (a - c), b)
        low = a + c - high
        slowed = high if rule == "largest" else 0.5 * (low + high)
        found.append(2.0 / (a + c if wrong else slowed))
    return found


def _found_sizes(*, rule: Any, shape: list[int]) -> list[float]:
    try:
        return step_sizes(_kernels(shape), rule=rule).ravel().tolist()
    except ValueError:
        return [-9.0]


SIZES = closed(
    id="dc/thmE.8-sizes",
    items=("ThmE.8", "ThmE.5"),
    title="Step sizes of a stack of kernels are those of each; eigenvalues alone have none",
    statement=r"\eta=\tfrac n{\lambda_{\max}}\text{ or }"
    r"\tfrac{2n}{\lambda_{\min}+\lambda_{\max}}",
    where="Theorems E.5 and E.8",
    cases=grid(rule=("largest", "balanced"), shape=([2, 2], [2, 3, 2, 2], [2])),
    twin=_plain_sizes,
    measure=_found_sizes,
    compare=_SUMS,
    uses=("dc/thmE.8",),
)

# --- pairs through many layers ----------------------------------------------------------


def _relu(z: Tensor) -> Tensor:
    """Return ReLU of mean zero and variance one under the standard normal."""
    return (z.clamp(min=0.0) - (2.0 * math.pi) ** -0.5) / math.sqrt(0.5 - 0.5 / math.pi)


def _plain_chain(*, rho: float, chains: int, wrong: bool) -> list[float]:
    """Follow one pair after the other, and take means of correlations and squares.

    Wrong: Standard deviations in the place of standard errors.
    """
    g, depth = torch_generator(_SEED, "units"), 3
    drawn = [
        torch.empty(2, chains, _WIDTH, dtype=torch.float64).normal_(generator=g)
        for _ in range(depth)
    ]
    paths: list[list[float]] = []
    for chain in range(chains):
        path = [rho]
        for one, other in (layer[:, chain] for layer in drawn):
            r = path[-1]
            u, v = _relu(one), _relu(r * one + math.sqrt(1.0 - r * r) * other)
            path.append(float(u @ v / (u.norm() * v.norm())))
        paths.append(path)
    both = (np.array(paths), np.array(paths) ** 2)
    return [v for values in both for v in _with_errors(values, wrong=wrong)]


def _found_chain(*, rho: float, chains: int) -> list[float]:
    found = EXPERIMENTS["chain"](rho=rho, width=_WIDTH, depth=3, chains=chains)
    return _told(found, "correlations", "squared_correlations")


CHAIN = closed(
    id="dc/eq3-chain",
    title="Recorded correlations by layer are means over pairs followed one by one",
    statement=r"\rho_{l+1}=\cos(\sigma(u),\sigma(v)),\qquad v=\rho_l g+"
    r"\sqrt{1-\rho_l^2}\,g'",
    where="Equation 3",
    cases=grid(rho=(0.5, -0.8), chains=(1, 4)),
    twin=_plain_chain,
    measure=_found_chain,
    compare=_SUMS,
    uses=("dc/eq2-named",),
)

# --- digits -----------------------------------------------------------------------------

_TESTS = 5


def _unit_digits(split: Any, count: int) -> tuple[Array, Array, Any]:
    """Return unit rows of pixels, 0.9 for the class and -0.1 for others, and classes."""
    digits = data.load("mnist", split).head(count)
    rows = digits.images.reshape(count, -1).astype(np.float64)
    rows /= np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return rows, np.eye(10)[digits.labels] - 0.1, digits.labels


def _plain_digits(
    *, n: int, depths: list[int], noise: float, wrong: bool
) -> list[float]:
    """Solve for the weights of kernels averaged over networks, entry by entry.

    Wrong: Targets of zero for the other classes.
    """
    (x, y, _), (z, wanted, labels) = (
        _unit_digits("train", n),
        _unit_digits("test", _TESTS),
    )
    y = y + noise * numpy_generator(_SEED, "noise").standard_normal((n, 10))
    y = y + 0.1 * (y < 0.0) if wrong else y
    g, every = torch_generator(_SEED, "weights"), torch.from_numpy(np.vstack([x, z]))
    kernels = np.zeros((max(depths), n + _TESTS, n + _TESTS))
    for _ in range(_DRAWS):
        h = every
        for place, w in enumerate(_weights(g, [784, *[_WIDTH] * max(depths)])):
            h = _relu(h @ w.T) / math.sqrt(_WIDTH)
            kernels[place] += _gram(h) / _DRAWS
    found: list[float] = []
    for depth in depths:
        k = kernels[depth - 1]
        weights = np.linalg.solve(k[:n, :n], y)
        values, seen = np.linalg.eigvalsh(k[:n, :n]), k[n:, :n] @ weights
        errors = ((seen - wanted) ** 2).sum(axis=1)
        right = seen.argmax(axis=1) == labels
        found += [depth, values[-1] / values[0], 0.0, (y * weights).sum()]
        found += [np.mean(right), errors.mean()]
    return found


def _found_digits(*, n: int, depths: list[int], noise: float) -> list[float]:
    given = {"n": n, "tests": _TESTS, "width": _WIDTH, "depths": depths}
    given |= {"draws": _DRAWS, **unlike({"noise": 0.0}, noise=noise)}
    record = recorded("digits", given)
    assert record.entry("arguments") == given
    found = record.fact("result")
    names = ("depth", "condition", "residual", "squared_norm")
    return [
        float(row[name])
        for row in found["rows"]
        for name in (*names, "test_accuracy", "test_error")
    ]


DIGITS = closed(
    id="dc/thm6.1-recorded",
    title="Digits interpolated with averaged kernels equal solutions entry by entry",
    statement=r"f(x)=k(x)^TK^{-1}y,\qquad y^TK^{-1}y",
    where="Section 6",
    cases=(
        {"n": 12, "depths": [1, 3], "noise": 0.0},
        {"n": 8, "depths": [2], "noise": 0.3},
    ),
    twin=_plain_digits,
    measure=_found_digits,
    uses=("dc/eq2-named",),
)
