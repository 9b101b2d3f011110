"""What is measured of networks that copy images, from the definitions (closed claims)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from empirical import data
from empirical.identity_map import measures
from empirical.identity_map.images.pictures import Pictures
from empirical.identity_map.networks import copier
from empirical.randomness import torch_generator
from verify.claim import grid
from verify.claims._twins import Array, closed, normal
from verify.claims.identity_map.steps import plain

KEY = "zhang2020identity"
_SHAPE = (2, 3, 4)
_RHOS = (-0.5, 0.0, 0.3, 1.0)
_COUNT, _SEED, _DIGITS, _EXAMPLES = 3, 3, 7, (40, 15)
_SIZES, _UPPER = (3, 5, 2), (1, 2, 3, 4)
_LAYERS = {"cnn": 3, "residual": 4, "fcn": 3}
Found = dict[str, Any]


def _nets(kind: str, first: int, *, dead: bool) -> list[nn.Sequential]:
    nets = [plain(kind, _LAYERS[kind], "relu", True, first + k) for k in range(2)]  # noqa: FBT003
    if dead:
        with torch.no_grad():
            for own in [*nets[1].parameters()][-2:]:
                own.zero_()
    return nets


def _training() -> Tensor:
    return normal(2, *_SHAPE, seed=[57])


def _tests() -> Pictures:
    pixels = normal(2, *_SHAPE, seed=[58])
    return Pictures(pixels=pixels, names=("a", "b"), origins=({}, {}), data="mnist")


# --- the definitions --------------------------------------------------------------------


def _flat(x: Tensor) -> Array:
    return x.detach().double().numpy().ravel()


def _cosine(a: Tensor, b: Tensor, *, centred: bool) -> float:
    u, v = _flat(a), _flat(b)
    if centred:
        u, v = u - u.mean(), v - v.mean()
    size = math.sqrt(float(u @ u)) * math.sqrt(float(v @ v))
    return float(u @ v) / size if size else math.nan


def _mse(a: Tensor, b: Tensor) -> float:
    return float(np.mean((_flat(a) - _flat(b)) ** 2))


def _close(
    net: nn.Module, x: Tensor, constant: Tensor, *, centred: bool
) -> list[float]:
    """Return closeness to identity and constant, errors, and whether it is zero."""
    with torch.no_grad():
        y = net(x[None])[0]
    cosines = [_cosine(y, other, centred=centred) for other in (x, constant)]
    zero = float(bool((y == 0.0).all()))
    return [*cosines, _mse(y, x), _mse(y, constant), zero, 0.0]


_FIELDS = ("identity", "constant", "identity_mse", "constant_mse", "zero", "nonfinite")


def _mean(rows: Sequence[Sequence[float]]) -> list[float]:
    """Average what is defined of each field; count zeros and what is not finite."""
    found: list[float] = []
    for name, column in zip(_FIELDS, zip(*rows, strict=True), strict=True):
        values = [v for v in column if not math.isnan(v)]
        counted = name in ("zero", "nonfinite")
        found.append(sum(values) if counted else float(np.mean(values or [math.nan])))
    return found


def _probe(image: Tensor, z: Tensor, rho: float) -> Tensor:
    """Move noise to a correlation with an image, by the root of the quadratic."""
    x, noise = _flat(image), _flat(z)
    if rho == 1.0:
        return image
    size = math.sqrt(float(x @ x))
    along = float(noise @ x) / size
    across = math.sqrt(float(noise @ noise) - along**2)
    alpha = rho * across / math.sqrt(1.0 - rho**2) / size - along / size
    moved = noise + alpha * x
    moved *= size / math.sqrt(float(moved @ moved))
    return torch.from_numpy(moved).reshape(image.shape)


def _noise(index: int, law: str) -> Tensor:
    draw = torch.randn if law == "gaussian" else torch.rand
    generator = torch_generator(_SEED, "probes", index)
    return draw((_COUNT, *_SHAPE), generator=generator, dtype=torch.float64)


def _map(
    net: nn.Module, image: Tensor, index: int, law: str, *, centred: bool
) -> list[list[list[float]]]:
    """Return closeness by correlation and noise."""
    return [
        [
            _close(net, _probe(image, z, r), image, centred=centred)
            for z in _noise(index, law)
        ]
        for r in _RHOS
    ]


def _digits(split: Any, count: int) -> tuple[Tensor, list[int]]:
    found = data.load("mnist", split, cached=False).head(count)
    pixels = (torch.from_numpy(found.images / 255.0) - 0.1307) / 0.3081
    small = functional.interpolate(
        pixels[:, None], size=_SHAPE[1:], mode="bilinear", antialias=True
    )
    return small.repeat(1, 2, 1, 1), found.labels.astype(int).tolist()


def _outputs(net: nn.Sequential, kind: str, x: Tensor) -> list[Tensor]:
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
    last = found[-1] if kind == "cnn" else found[-1].reshape(-1, *_SHAPE)
    return [*found[:-1], last]


def _averaging(net: nn.Sequential, kind: str) -> list[float]:
    """Return the averaging classifier's errors, every pair of examples looked at."""
    (x, labels), (z, wanted) = (
        _digits(split, n) for split, n in zip(("train", "test"), _EXAMPLES, strict=True)
    )
    errors: list[float] = []
    both = zip(_outputs(net, kind, x), _outputs(net, kind, z), strict=True)
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


def _picture(h: Tensor, image: Tensor) -> Found:
    """Return a layer's top singular vector and its channel most like the image."""
    rows = h.flatten(1).numpy() if h.ndim == 3 else h.reshape(_SHAPE).flatten(1).numpy()
    edges = tuple(h.shape[1:]) if h.ndim == 3 else _SHAPE[1:]
    if not rows.any():
        nothing = np.full(edges, math.nan)
        numbers = dict.fromkeys(("share", "channel", "cosine"), math.nan)
        return numbers | dict.fromkeys(("singular", "correlated", "first"), nothing)
    values, vectors = np.linalg.eigh(rows.T @ rows)
    top = vectors[:, -1]
    top = top if float(top @ rows.sum(axis=0)) > 0.0 else -top
    grey = image.mean(dim=0).numpy().ravel()
    cosines = [
        float(r @ grey) / np.linalg.norm(r) / np.linalg.norm(grey) if r.any() else -2.0
        for r in rows
    ]
    channel = int(np.argmax(cosines))
    return {
        "share": float(values[-1] / values.sum()),
        "channel": float(channel),
        "cosine": cosines[channel],
        "singular": top.reshape(edges),
        "correlated": rows[channel].reshape(edges),
        "first": rows[0].reshape(edges),
    }


def _pictures(net: nn.Sequential, kind: str) -> Found:
    shown = torch.stack([_training()[0], _tests().pixels[1]])
    outputs = _outputs(net, kind, shown)[1:]
    each = [
        [_picture(h[row], image) for h in outputs] for row, image in enumerate(shown)
    ]
    names = ("share", "channel", "cosine", "singular", "correlated", "first")
    return {n: [[one[n] for one in row] for row in each] for n in names}


def _upper(net: nn.Sequential, kind: str, *, centred: bool) -> Found:
    shown = torch.stack([_training()[0], _tests().pixels[1]])
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
            y = nn.Sequential(*kept)(h).reshape(-1, *_SHAPE)
        pairs = list(zip(y, shown, strict=True))
        cosines = [_cosine(a, b, centred=centred) for a, b in pairs]
        found["identity"].append(cosines)
        constants = [_cosine(a, shown[0], centred=centred) for a in y]
        found["constant"].append(constants)
        found["outputs"].append(y.reshape(len(y), 6, 4).numpy())
    return found


def _resized(x: Tensor, edge: int) -> Tensor:
    return functional.interpolate(x, size=(edge, edge), mode="bilinear", antialias=True)


def _placed(x: Tensor, edge: int) -> Tensor:
    """Copy pixel by pixel onto black, of an odd difference one less before than behind."""
    black = (0.0 - 0.1307) / 0.3081
    made = torch.full((len(x), 2, edge, edge), black, dtype=torch.float64)
    for axis_row in range(edge):
        for axis_column in range(edge):
            place: list[int] = []
            for at, own in ((axis_row, _SHAPE[1]), (axis_column, _SHAPE[2])):
                shift = (own - edge) // 2 if own > edge else -((edge - own) // 2)
                place.append(at + shift)
            if 0 <= place[0] < _SHAPE[1] and 0 <= place[1] < _SHAPE[2]:
                made[:, :, axis_row, axis_column] = x[:, :, place[0], place[1]]
    return made


def _sized(net: nn.Sequential, *, centred: bool) -> Found:
    x, found = torch.cat([_training()[:1], _tests().pixels]), Found()
    for rule, change in (("resized", _resized), ("placed", _placed)):
        rows: list[list[list[float]]] = []
        for edge in _SIZES:
            inputs = change(x, edge)
            rows.append(
                [_close(net, one, inputs[0], centred=centred) for one in inputs]
            )
            if edge <= 4:
                with torch.no_grad():
                    y = net(inputs[[0, 2]])
                found[f"{rule}/outputs/{edge}"] = y.reshape(2, 2 * edge, edge).numpy()
                layers = _outputs(net, "cnn", inputs[[2]])[1:]
                within = [_picture(h[0], inputs[2])["singular"] for h in layers]
                found[f"{rule}/layers/{edge}"] = np.nan_to_num(np.array(within))
        for place, name in (
            (0, "identity"),
            (1, "constant"),
            (4, "zero"),
            (5, "nonfinite"),
        ):
            found[f"{rule}/{name}"] = [[one[place] for one in row] for row in rows]
    return found


def _predicted(net: nn.Sequential, *, centred: bool) -> Found:
    training = _training()
    x = torch.cat([training, _tests().pixels])
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
        "identity": [_cosine(a, b, centred=centred) for a, b in zip(y, x, strict=True)],
        "constant": [[_cosine(a, t, centred=centred) for a in y] for t in training],
        "coefficients": shares,
        "explained": explained,
    }


def _probed(net: nn.Sequential, *, centred: bool, law: str) -> list[list[float]]:
    """Return identity and constant on four kinds of test images."""
    image = _training()[0]
    each = [
        [
            _close(net, _probe(image, z, 0.0), image, centred=centred)
            for z in _noise(0, "gaussian")
        ]
    ]
    for kind in ("gaussian", "uniform"):
        each.append(sum(_map(net, image, 0, kind, centred=centred), []))
    seen, _ = _digits("test", _DIGITS)
    each.append([_close(net, x, image, centred=centred) for x in seen])
    means = [_mean(rows) for rows in each]
    return [[m[0] for m in means], [m[1] for m in means]]


def _change(old: nn.Module, new: nn.Module, *, wrong: bool) -> list[float]:
    # Over the norm at the start; by mistake guarded against zero.
    before, after = (
        [p.detach() for p in net.parameters() if p.ndim > 1] for net in (old, new)
    )
    return [
        float((b - a).norm() / (a.norm() + 1e-3 if wrong else a.norm()))
        for a, b in zip(before, after, strict=True)
    ]


def _plain_one(
    old: nn.Sequential,
    new: nn.Sequential,
    kind: str,
    law: str,
    *,
    centred: bool,
    wrong: bool,
) -> Found:
    """Measure one network; names as records have them."""
    maps = [
        _map(new, image, index, law, centred=centred)
        for index, image in enumerate(_training())
    ]
    found: Found = {}
    for place, name in enumerate(_FIELDS):
        found[f"curve/{name}"] = [_mean(sum(m, []))[place] for m in maps]
        found[f"heatmap/{name}"] = [[_mean(rows)[place] for rows in m] for m in maps]
    found["change/relative"] = _change(old, new, wrong=wrong)
    identity, constant = _probed(new, centred=centred, law=law)
    found |= {"probes/identity": identity, "probes/constant": constant}
    found["probes/untrained_constant"] = _probed(old, centred=centred, law=law)[1]
    for name, net in (("trained", new), ("untrained", old)):
        found[f"layer-error/{name}"] = _averaging(net, kind)
        sizes = [
            math.sqrt(float(h.square().mean()))
            for h in _outputs(net, kind, _training())
        ]
        found[f"signal/{name}"] = sizes
        if kind != "fcn":
            found |= {
                f"pictures/{name}/{k}": v for k, v in _pictures(net, kind).items()
            }
    if kind != "fcn":
        upper = _upper(new, kind, centred=centred)
        found |= {f"upper/{k}": v for k, v in upper.items()}
    predicted = _predicted(new, centred=centred)
    found |= {f"predictions/{k}": v for k, v in predicted.items()}
    if kind == "cnn":
        found |= {f"sizes/{k}": v for k, v in _sized(new, centred=centred).items()}
    return found


_ROUNDED = ("outputs", "inputs", "layers", "singular", "correlated", "first")


def _told(each: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return every number of both networks; pictures as few, of the first alone."""
    found: list[float] = []
    for row, one in enumerate(each):
        for name in sorted(one):
            values = np.nan_to_num(np.asarray(one[name], dtype=np.float64), nan=-9.0)
            if any(part in name.split("/") for part in _ROUNDED):
                # Four digits each, as records have them.
                digits = np.array([float(f"{v:.4g}") for v in values.ravel()])
                weights = np.cos(np.sqrt(np.arange(1.0, len(digits) + 1.0)))
                found += [] if row else [float(digits @ weights)]
            else:
                found += values.ravel().tolist()
    return found


def _plain_measure(
    *, kind: str, law: str, centred: bool, dead: bool, wrong: bool
) -> list[float]:
    pairs = zip(_nets(kind, 5, dead=False), _nets(kind, 0, dead=dead), strict=True)
    return _told(
        [_plain_one(a, b, kind, law, centred=centred, wrong=wrong) for a, b in pairs]
    )


def _found_measure(*, kind: Any, law: Any, centred: bool, dead: bool) -> list[float]:
    network = copier(
        kind,
        shape=_SHAPE,
        layers=_LAYERS[kind],
        width={"cnn": 9, "fcn": 5, "residual": None}[kind],
        kernel=3,
        bias=True,
    )
    old, new = (
        tuple(
            torch.stack(same).detach()
            for same in zip(*[tuple(n.parameters()) for n in nets], strict=True)
        )
        for nets in (_nets(kind, 5, dead=False), _nets(kind, 0, dead=dead))
    )
    settings = measures.Settings(
        rhos=_RHOS,
        count=_COUNT,
        law=law,
        centred=centred,
        sizes=_SIZES,
        largest=4,
        upper=_UPPER,
        shown=("b",),
        replicates=1,
        digits=_DIGITS,
        examples=_EXAMPLES,
    )
    found = measures.measure(
        network,
        old,
        new,
        training_images=_training(),
        names=tuple(name for name in measures.MEASUREMENTS if name != "cover"),
        seed=_SEED,
        test_images=_tests(),
        settings=settings,
    )
    if kind == "fcn":
        # Pictures of the output alone, which the other kinds have too.
        found = {k: v for k, v in found.items() if k != "pictures"}
    _, each = measures.by_replicate(found)
    return _told(each)


MEASURES = closed(
    id="id/corr-records",
    items=("Corr", "MSE", "Layer", "SVD", "Upper", "Rel"),
    title="Every measure of a network that copies images is the one that is defined",
    statement=(
        r"\cos(f(x),x),\ \overline{(f(x)-x)^2},\ \|W^0-W^*\|/\|W^0\|,\ \ldots"
        r"\text{ one image after the other}"
    ),
    key=KEY,
    where="Section 3.2 and appendices",
    cases=(
        *grid(kind=tuple(_LAYERS), law=("gaussian",), centred=(False,), dead=(False,)),
        {"kind": "cnn", "law": "uniform", "centred": True, "dead": True},
    ),
    twin=_plain_measure,
    measure=_found_measure,
)
