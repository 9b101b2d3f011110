"""What is measured of networks that copy images: the definitions."""

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from empirical import data
from empirical.identity_map.images.pictures import Pictures
from empirical.randomness import torch_generator
from verify.claims._twins import Array, normal
from verify.claims.identity_map.steps import plain

SHAPE = (2, 3, 4)
RHOS = (-0.5, 0.0, 0.3, 1.0)
COUNT, SEED, DIGITS, POINTS, EXAMPLES = 3, 3, 7, 50, (40, 15)
SIZES, UPPER = (3, 5, 2), (1, 2, 3, 4)
LAYERS = {"cnn": 3, "residual": 4, "fcn": 3}
Found = dict[str, Any]


def nets(kind: str, first: int, *, dead: bool) -> list[nn.Sequential]:
    nets = [plain(kind, LAYERS[kind], "relu", True, first + k) for k in range(2)]  # noqa: FBT003
    if dead:
        with torch.no_grad():
            for own in [*nets[1].parameters()][-2:]:
                own.zero_()
    return nets


def trained_on() -> Tensor:
    return normal(2, *SHAPE, seed=[57])


def unseen() -> Pictures:
    pixels = normal(2, *SHAPE, seed=[58])
    return Pictures(pixels=pixels, names=("a", "b"), origins=({}, {}), data="mnist")


# --- the definitions --------------------------------------------------------------------


def flat(x: Tensor) -> Array:
    return x.detach().double().numpy().ravel()


def cosine(a: Tensor, b: Tensor, *, centred: bool) -> float:
    u, v = flat(a), flat(b)
    if centred:
        u, v = u - u.mean(), v - v.mean()
    size = math.sqrt(float(u @ u)) * math.sqrt(float(v @ v))
    return float(u @ v) / size if size else math.nan


def mse(a: Tensor, b: Tensor) -> float:
    return float(np.mean((flat(a) - flat(b)) ** 2))


def close(net: nn.Module, x: Tensor, constant: Tensor, *, centred: bool) -> list[float]:
    """Return closeness to identity and constant, errors, and whether it is zero."""
    with torch.no_grad():
        y = net(x[None])[0]
    cosines = [cosine(y, other, centred=centred) for other in (x, constant)]
    zero = float(bool((y == 0.0).all()))
    return [*cosines, mse(y, x), mse(y, constant), zero, 0.0]


FIELDS = ("identity", "constant", "identity_mse", "constant_mse", "zero", "nonfinite")


def means(rows: Sequence[Sequence[float]]) -> list[float]:
    """Average what is defined of each field; count zeros and what is not finite."""
    found: list[float] = []
    for name, column in zip(FIELDS, zip(*rows, strict=True), strict=True):
        values = [v for v in column if not math.isnan(v)]
        counted = name in ("zero", "nonfinite")
        found.append(sum(values) if counted else float(np.mean(values or [math.nan])))
    return found


def moved(image: Tensor, z: Tensor, rho: float) -> Tensor:
    """Move noise to a correlation with an image, by the root of the quadratic."""
    x, noise = flat(image), flat(z)
    if rho == 1.0:
        return image
    size = math.sqrt(float(x @ x))
    along = float(noise @ x) / size
    across = math.sqrt(float(noise @ noise) - along**2)
    alpha = rho * across / math.sqrt(1.0 - rho**2) / size - along / size
    moved = noise + alpha * x
    moved *= size / math.sqrt(float(moved @ moved))
    return torch.from_numpy(moved).reshape(image.shape)


def drawn_noise(index: int, law: str) -> Tensor:
    draw = torch.randn if law == "gaussian" else torch.rand
    generator = torch_generator(SEED, "probes", index)
    return draw((COUNT, *SHAPE), generator=generator, dtype=torch.float64)


def map(
    net: nn.Module, image: Tensor, index: int, law: str, *, centred: bool
) -> list[list[list[float]]]:
    """Return closeness by correlation and noise."""
    return [
        [
            close(net, moved(image, z, r), image, centred=centred)
            for z in drawn_noise(index, law)
        ]
        for r in RHOS
    ]


def small_digits(split: Any, count: int) -> tuple[Tensor, list[int]]:
    found = data.load("mnist", split, cached=False).head(count)
    pixels = (torch.from_numpy(found.images / 255.0) - 0.1307) / 0.3081
    small = functional.interpolate(
        pixels[:, None], size=SHAPE[1:], mode="bilinear", antialias=True
    )
    return small.repeat(1, 2, 1, 1), found.labels.astype(int).tolist()


def layer_outputs(net: nn.Sequential, kind: str, x: Tensor) -> list[Tensor]:
    """Return what each weight layer puts out after its activation, input first."""
    with torch.no_grad():
        parts = [p for p in net if not isinstance(p, nn.Flatten | nn.Unflatten)]
        h = x if kind == "cnn" else x.flatten(1)
        found = [x]
        for place, part in enumerate(parts):
            if kind == "residual":
                # The inner layer's output is one of its own.
                block: Any = part
                found.append(block.act(block.inner(h)))
                h = block(h)
                found.append(h)
                continue
            h = part(h)
            if isinstance(part, nn.ReLU) or place == len(parts) - 1:
                found.append(h)
    last = found[-1] if kind == "cnn" else found[-1].reshape(-1, *SHAPE)
    return [*found[:-1], last]


def averaging(net: nn.Sequential, kind: str) -> list[float]:
    """Return the averaging classifier's errors, every pair of examples looked at."""
    (x, labels), (z, wanted) = (
        small_digits(split, n)
        for split, n in zip(("train", "test"), EXAMPLES, strict=True)
    )
    errors: list[float] = []
    both = zip(layer_outputs(net, kind, x), layer_outputs(net, kind, z), strict=True)
    for learnt, tested in both:
        a, b = learnt.flatten(1).numpy(), tested.flatten(1).numpy()
        missed = 0.0
        for row, label in zip(b, wanted, strict=True):
            scores = np.zeros(10)
            for other, own in zip(a, labels, strict=True):
                scores[own] += float(row @ other)
            best = np.flatnonzero(scores >= scores.max() - 1e-12 * abs(scores).max())
            missed += 1.0 - (label in best) / len(best)
        errors.append(missed / len(wanted))
    return errors


def picture(h: Tensor, image: Tensor) -> Found:
    """Return a layer's top singular vector and its channel most like the image."""
    rows = h.flatten(1).numpy() if h.ndim == 3 else h.reshape(SHAPE).flatten(1).numpy()
    edges = tuple(h.shape[1:]) if h.ndim == 3 else SHAPE[1:]
    if not rows.any():
        nothing = np.full(edges, math.nan)
        numbers: Found = dict.fromkeys(("share", "channel", "cosine"), math.nan)
        return numbers | dict.fromkeys(("singular", "correlated", "first"), nothing)
    values, vectors = np.linalg.eigh(rows.T @ rows)
    top = vectors[:, -1]
    # By the sum of channels, or where that is nothing by the first pixel that has a sign.
    signed = [v for v in top if abs(v) > 1e-9]
    side = float(top @ rows.sum(axis=0)) if rows.sum(axis=0).any() else signed[0]
    top = top if side > 0.0 else -top
    grey = image.mean(dim=0).numpy().ravel()
    cosines = [
        float(r @ grey) / np.linalg.norm(r) / np.linalg.norm(grey) if r.any() else -2.0
        for r in rows
    ]
    channel = cosines.index(max(cosines))
    return {
        "share": float(values[-1] / values.sum()),
        "channel": float(channel),
        "cosine": cosines[channel],
        "singular": top.reshape(edges),
        "correlated": rows[channel].reshape(edges),
        "first": rows[0].reshape(edges),
    }


def all_pictures(net: nn.Sequential, kind: str) -> Found:
    shown = torch.stack([trained_on()[0], *unseen().pixels])
    outputs = layer_outputs(net, kind, shown)[1:]
    each = [
        [picture(h[row], image) for h in outputs] for row, image in enumerate(shown)
    ]
    names = ("share", "channel", "cosine", "singular", "correlated", "first")
    return {n: [[one[n] for one in row] for row in each] for n in names}


def upper(net: nn.Sequential, kind: str, *, centred: bool) -> Found:
    shown = torch.stack([trained_on()[0], *unseen().pixels])
    parts = [p for p in net if not isinstance(p, nn.Flatten | nn.Unflatten)]
    found: Found = {"identity": [], "constant": [], "outputs": []}
    # Weight layers and what follows them: two modules a layer but for the last.
    counts = (2, 4) if kind == "residual" else (1, 2, 3)
    for count in counts:
        kept = parts[-(count // 2) :] if kind == "residual" else parts[1 - 2 * count :]
        entry: Any = kept[0]
        with torch.no_grad():
            if kind == "cnn":
                h = shown.mean(dim=1, keepdim=True).repeat(1, entry.in_channels, 1, 1)
            else:
                h = shown.flatten(1)
            y = nn.Sequential(*kept)(h).reshape(-1, *SHAPE)
        pairs = list(zip(y, shown, strict=True))
        cosines = [cosine(a, b, centred=centred) for a, b in pairs]
        found["identity"].append(cosines)
        constants = [cosine(a, shown[0], centred=centred) for a in y]
        found["constant"].append(constants)
        found["outputs"].append(y.reshape(len(y), 6, 4).numpy())
    return found


def resized(x: Tensor, edge: int) -> Tensor:
    return functional.interpolate(x, size=(edge, edge), mode="bilinear", antialias=True)


def placed(x: Tensor, edge: int) -> Tensor:
    """Copy pixel by pixel onto black, of an odd difference one less before than behind."""
    black = (0.0 - 0.1307) / 0.3081
    made = torch.full((len(x), 2, edge, edge), black, dtype=torch.float64)
    for axis_row in range(edge):
        for axis_column in range(edge):
            place: list[int] = []
            for at, own in ((axis_row, SHAPE[1]), (axis_column, SHAPE[2])):
                shift = (own - edge) // 2 if own > edge else -((edge - own) // 2)
                place.append(at + shift)
            if 0 <= place[0] < SHAPE[1] and 0 <= place[1] < SHAPE[2]:
                made[:, :, axis_row, axis_column] = x[:, :, place[0], place[1]]
    return made


def sized(net: nn.Sequential, *, centred: bool) -> Found:
    x, found = torch.cat([trained_on()[:1], unseen().pixels]), Found()
    for rule, change in (("resized", resized), ("placed", placed)):
        rows: list[list[list[float]]] = []
        for edge in SIZES:
            inputs = change(x, edge)
            rows.append([close(net, one, inputs[0], centred=centred) for one in inputs])
            if edge <= 4:
                with torch.no_grad():
                    y = net(inputs)
                found[f"{rule}/outputs/{edge}"] = y.reshape(3, 2 * edge, edge).numpy()
                layers = layer_outputs(net, "cnn", inputs[[2]])[1:]
                within = [picture(h[0], inputs[2])["singular"] for h in layers]
                found[f"{rule}/layers/{edge}"] = np.nan_to_num(np.array(within))
        for place, name in (
            (0, "identity"),
            (1, "constant"),
            (4, "zero"),
            (5, "nonfinite"),
        ):
            found[f"{rule}/{name}"] = [[one[place] for one in row] for row in rows]
    return found


def predicted(net: nn.Sequential, *, centred: bool) -> Found:
    training = trained_on()
    x = torch.cat([training, unseen().pixels])
    with torch.no_grad():
        y = net(x)
    basis = training.flatten(1).numpy()
    shares = np.linalg.lstsq(basis.T, y.flatten(1).numpy().T, rcond=None)[0].T
    mixed, total = shares @ basis, (y.flatten(1).numpy() ** 2).sum(axis=1)
    explained = [
        float(m @ m / t) if t else math.nan for m, t in zip(mixed, total, strict=True)
    ]
    return {
        "inputs": x.reshape(4, 6, 4).numpy(),
        "outputs": y.reshape(4, 6, 4).numpy(),
        "identity": [cosine(a, b, centred=centred) for a, b in zip(y, x, strict=True)],
        "constant": [[cosine(a, t, centred=centred) for a in y] for t in training],
        "coefficients": shares,
        "explained": explained,
    }


def probed(net: nn.Sequential, *, centred: bool, law: str) -> list[list[float]]:
    """Return identity and constant on four kinds of test images."""
    image = trained_on()[0]
    each = [
        [
            close(net, moved(image, z, 0.0), image, centred=centred)
            for z in drawn_noise(0, "gaussian")
        ]
    ]
    for kind in ("gaussian", "uniform"):
        each.append([*chain(*map(net, image, 0, kind, centred=centred))])
    seen, _ = small_digits("test", DIGITS)
    each.append([close(net, x, image, centred=centred) for x in seen])
    found = [means(rows) for rows in each]
    return [[m[0] for m in found], [m[1] for m in found]]


def edges_of(x: Tensor) -> Array:
    """Return the magnitude of Sobel's gradient, neighbour by neighbour."""
    wide = np.pad(x.numpy(), ((0, 0), (1, 1), (1, 1)), mode="edge")
    found = np.zeros(x.shape)
    for place in np.ndindex(*x.shape):
        c, i, j = place
        near = wide[c, i : i + 3, j : j + 3]
        down = (near[2] - near[0]) @ [1.0, 2.0, 1.0]
        right = (near[:, 2] - near[:, 0]) @ [1.0, 2.0, 1.0]
        found[place] = math.hypot(down, right)
    return found


def gained(y: Array, known: Sequence[Array], more: Array) -> float:
    """Return what one regressor more explains, as a share of the variance."""
    left: list[float] = []
    for basis in (np.stack(known, 1), np.stack([*known, more], 1)):
        fit = basis @ np.linalg.lstsq(basis, y, rcond=None)[0]
        left.append(float(np.sum((y - fit) ** 2)))
    total = float(np.sum((y - y.mean()) ** 2))
    return (left[0] - left[1]) / total if total else math.nan


def edged(net: nn.Sequential) -> Found:
    """Return the share of edges in outputs on digits, own and of the digit before.

    And how much of the edges themselves is not explained without them.
    """
    x, constant = small_digits("test", DIGITS)[0], flat(trained_on()[0])
    edges = [edges_of(one).ravel() for one in x]
    rows: list[list[float]] = []
    for place, one in enumerate(x):
        with torch.no_grad():
            y = flat(net(one[None])[0])
        known = [np.ones_like(constant), flat(one), constant]
        found = [gained(y, known, edges[p]) for p in (place, place - 1)]
        rows.append([*found, gained(edges[place], known, edges[place])])
    means = np.mean(rows, axis=0)
    return dict(zip(("own", "other", "detector"), means.tolist(), strict=True))


def sampled(net: nn.Sequential) -> Array:
    """Return outputs at pixels drawn once, on digits and on Gaussian probes."""
    probes = [
        moved(trained_on()[0], z, r) for r in RHOS for z in drawn_noise(0, "gaussian")
    ]
    found: list[Array] = []
    shown = {"digits": small_digits("test", DIGITS)[0], "gaussian": torch.stack(probes)}
    for kind, x in shown.items():
        with torch.no_grad():
            y = flat(net(x))
        drawn = torch.randperm(len(y), generator=torch_generator(SEED, "points", kind))
        found.append(y[drawn[:POINTS].numpy()])
    return np.stack(found)


def change(old: nn.Module, new: nn.Module, *, wrong: bool) -> list[float]:
    # Over the norm at the start; by mistake over that of the trained weights.
    before, after = (
        [p.detach() for p in net.parameters() if p.ndim > 1] for net in (old, new)
    )
    return [
        float((b - a).norm() / (b if wrong else a).norm())
        for a, b in zip(before, after, strict=True)
    ]
