"""The measurements themselves, against their definitions (section 2)."""

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from hypothesis import strategies as st

from empirical import data
from empirical.identity_map import measures, probes
from empirical.identity_map.networks import copier
from empirical.identity_map.recipes import Recipe
from empirical.identity_map.training import train
from empirical.networks import Convolutional
from empirical.randomness import torch_generator
from theory import identity_map as idm
from verify.claim import adversarial, grid, numeric
from verify.claims._predictors import mistake
from verify.claims._searches import searched
from verify.claims._twins import closed
from verify.claims.identity_map._definitions import edges_of, gained, picture
from verify.claims.identity_map._sources import ours, quoted
from verify.compare import AgreesTo, Array

Labels = npt.NDArray[np.int64]

# --- test images ----------------------------------------------------------------------


def _image(side: int, seed: int) -> torch.Tensor:
    rng = np.random.default_rng([60, seed])
    return torch.from_numpy(rng.standard_normal((1, side, side)))


def _measure_probe(*, rho: float, side: int, law: Any, seed: int) -> list[float]:
    """Cosines with the training image and norms over its own, of three test images."""
    x = _image(side, seed)
    generator = torch_generator(seed, "probe")
    if law == "near":
        noise = probes.random_pixels((3, *x.shape), generator=generator)
        z = probes.placed_at(x + 1e-7 * noise, x, (rho,))[0]
    else:
        z = probes.probes(x, (rho,), count=3, generator=generator, law=law)[0]
    rows, image = z.flatten(1).numpy(), x.numpy().ravel()
    norms = np.linalg.norm(rows, axis=1) / np.linalg.norm(image)
    cosines = rows @ image / np.linalg.norm(image) / np.linalg.norm(rows, axis=1)
    return [*cosines.tolist(), *norms.tolist()]


def _predict_probe(*, rho: float, side: int, law: str, seed: int) -> list[float]:
    return [rho] * 3 + [1.0] * 3


def _mixed_linearly(*, rho: float, side: int, law: str, seed: int) -> list[float]:
    """The mixture rho x + (1 - rho) z, of orthogonal x and z of length one."""
    length = (rho * rho + (1.0 - rho) ** 2) ** 0.5
    return [rho / length] * 3 + [length] * 3


PROBE = adversarial(
    id="id/probe",
    title="Test images have exactly the requested correlation and norm",
    statement=r"\cos(z,\hat x) = \rho,\qquad \|z\| = \|\hat x\|",
    source=quoted("Section 3.2, on test images"),
    cases=(
        *grid(rho=(0.0, 1e-9, 0.3, 0.999999, 1.0), side=14, law="gaussian", seed=0),
        # Almost parallel to the image.
        *grid(rho=(0.0, 0.3), side=14, law="near", seed=0),
    ),
    examples=searched(
        rho=st.floats(-1.0, 1.0, allow_subnormal=False),
        side=st.integers(2, 12),
        law=st.sampled_from(("gaussian", "uniform")),
        seed=st.integers(0, 1000),
    ),
    max_examples=50,
    predict=_predict_probe,
    measure=_measure_probe,
    # Norms and products of up to 200 pixels, of roundings at random: 14 times 1.1e-16
    # for each of five sums.
    compare=AgreesTo(absolute=8e-15),
    must_refute=_mixed_linearly,
)

# --- cosines --------------------------------------------------------------------------


def _measure_cosine(
    *, first: list[float], second: list[float], sizes: list[float], centred: bool
) -> float:
    """Cosine of two images of one row of pixels; -9 where there is none."""
    a, b = (
        torch.tensor(pixels, dtype=torch.float64)[None, None] * size
        for pixels, size in zip((first, second), sizes, strict=True)
    )
    return float(measures.cosine(a, b, centred=centred).nan_to_num(nan=-9.0))


def _cosine(
    *,
    first: list[float],
    second: list[float],
    sizes: list[float],
    centred: bool,
    wrong: bool,
) -> float:
    """Sum pixels as fractions, of which sizes are no part.

    Wrong: The cosine of the mean-free images in the place of the plain one, and the other
    way round.
    """
    a, b = ([Fraction(pixel) for pixel in each] for each in (first, second))
    if centred is not wrong:
        a, b = ([p - sum(each) / len(each) for p in each] for each in (a, b))
    inner = sum(p * q for p, q in zip(a, b, strict=True))
    squares = sum(p * p for p in a) * sum(q * q for q in b)
    return float(inner) / math.sqrt(squares) if squares else -9.0


COSINE = closed(
    id="id/corr-pixels",
    title="Cosines of images with black pixels, faint, bright and of one grey",
    statement=r"\cos(a, b) = \frac{\langle a, b\rangle}{\|a\|\,\|b\|}",
    where="Section 3.2",
    cases=(
        *grid(
            first=([3.0, 0.0, -4.0, 1.0],),
            second=([1.0, 2.0, 0.0, -2.0],),
            sizes=([1.0, 1.0], [1e-200, 1e200], [1e200, 1e200]),
            centred=(False, True),
        ),
        # One grey has no contrast, though the mean of its pixels is rounded.
        *grid(
            first=([0.1] * 7,),
            second=([0.0, 1.0, 2.0, 0.0, 5.0, 0.0, 1.0],),
            sizes=([1.0, 1.0],),
            centred=(False, True),
        ),
    ),
    twin=_cosine,
    measure=_measure_cosine,
    # A few terms of order one.
    compare=AgreesTo(absolute=1e-15),
)

# --- what is undefined ------------------------------------------------------------------

_ODD = (
    *([0.0, 0.0, 0.0], [0.0, 2.0, -1.0], [1.0, 2.0, 3.0], [1e200, 1.0, 0.0]),
    *([math.inf, 1.0, 2.0], [0.0, math.nan, 0.0]),
)
"""Outputs of one row: black, in part, neither, too large to square, and no numbers."""
_PUT_IN, _LEARNT = [1.0, 2.0, -1.0], [0.0, 3.0, 1.0]


def _plain_closeness(*, rows: list[int], wrong: bool) -> list[float]:
    """Look at one output after the other, then at what is defined of all; -9 if nothing is.

    Wrong: An output is black if one pixel is.
    """
    kinds: list[list[float]] = []
    for y in (_ODD[row] for row in rows):
        finite = all(map(math.isfinite, y))
        size = math.hypot(*y) if finite else 0.0
        found = [
            sum(a / size * b for a, b in zip(y, other, strict=True))
            / math.hypot(*other)
            if size
            else -9.0
            for other in (_PUT_IN, _LEARNT)
        ]
        for other in (_PUT_IN, _LEARNT):
            gaps = [a - b for a, b in zip(y, other, strict=True)]
            squared = finite and max(map(abs, gaps)) < 1e150
            found.append(sum(g * g for g in gaps) / 3.0 if squared else -9.0)
        black = any(v == 0.0 for v in y) if wrong else not any(y)
        kinds.append([*found, float(black), float(not finite)])
    means: list[float] = []
    for place, column in enumerate(zip(*kinds, strict=True)):
        known = [v for v in column if v != -9.0]
        mean = sum(known) / len(known) if known else -9.0
        means.append(mean if place < 4 else sum(column))
    return [*means, *(v for kind in kinds for v in kind)]


def _found_closeness(*, rows: list[int]) -> list[float]:
    outputs = torch.tensor([_ODD[row] for row in rows], dtype=torch.float64)
    images, constant = (
        torch.tensor(each, dtype=torch.float64)[None, None]
        for each in (_PUT_IN, _LEARNT)
    )
    found = measures.closeness(
        outputs[None, :, None, None], images.expand(len(rows), 1, 1, 3), constant
    )
    means = torch.cat([mean.double() for mean in found.mean(1).values()])
    each = torch.stack([v[0].double() for v in vars(found).values()], dim=1).flatten()
    return torch.cat([means, each]).nan_to_num(nan=-9.0).tolist()


UNDEFINED = closed(
    id="id/corr-undefined",
    items=("Corr", "MSE"),
    title="Outputs that are black or no numbers are counted, and left out of means",
    statement=r"\cos(0, x),\ \overline{(\infty-x)^2}\text{: undefined}",
    where="Section 3.2 and Appendix J",
    cases=grid(rows=([0, 1, 2, 3, 4, 5], [1, 2, 2], [0, 0], [4, 5])),
    twin=_plain_closeness,
    measure=_found_closeness,
    # A few terms of order ten.
    compare=AgreesTo(relative=2e-15),
    uses=("id/corr-pixels",),
)


# --- numbers of any size ----------------------------------------------------------------


def _whole(*shape: int, seed: int) -> torch.Tensor:
    drawn = np.random.default_rng([65, seed]).integers(-9, 10, shape)
    return torch.from_numpy(drawn).double()


def _learnt(size: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return weights before and after, and those of a second network that diverged."""
    old, new = size * _whole(2, 3, 4, seed=0), size * _whole(2, 3, 4, seed=1)
    return old, new, torch.stack([new[0], new[1] * math.inf])


def _examples() -> tuple[torch.Tensor, torch.Tensor]:
    """Return 60 images of five pixels, and their labels."""
    return _whole(60, 1, 1, 5, seed=2), torch.arange(60) % 10


def _plain_sizes(*, size: float, wrong: bool) -> list[float]:
    """Measure at size one, where squares are whole numbers; -9 where nothing is.

    Wrong: The sum of squares in the place of their mean.
    """
    del size
    old, new, _ = (w.flatten(1).numpy() for w in _learnt(1.0))
    changes = [math.dist(a, b) / math.hypot(*a) for a, b in zip(old, new, strict=True)]
    images, labels = _examples()
    x = images.flatten(1).numpy()
    h = x @ _whole(5, 4, seed=3).numpy()
    signal = math.sqrt(float(np.square(h).sum()) / (1 if wrong else h.size))
    missed = 0.0
    for row, label in zip(h[40:], labels[40:].tolist(), strict=True):
        scores = [float((h[:40][labels[:40] == c] @ row).sum()) for c in range(10)]
        best = [c for c, score in enumerate(scores) if score == max(scores)]
        missed += 1.0 - (label in best) / len(best)
    basis = x[:2]
    mixed = np.linalg.lstsq(basis.T, x.T, rcond=None)[0].T @ basis
    explained = np.square(mixed).sum(axis=1) / np.square(x).sum(axis=1)
    return [*changes, changes[0], -9.0, signal, missed / 20, -9.0, *explained]


def _found_sizes(*, size: float) -> list[float]:
    old, new, diverged = _learnt(size)
    changes = [measures.relative_change((old,), (w,))[:, 0] for w in (new, diverged)]
    images, labels = _examples()
    mix = _whole(5, 4, seed=3)

    def layers(x: torch.Tensor, times: float = size) -> list[torch.Tensor]:
        return [times * (x.flatten(1) @ mix)[None]]

    signal = measures.signal_sizes(layers, images)[0, 1] / size
    errors = [
        measures.layer_errors(
            partial(layers, times=times),
            training=(images[:40], labels[:40]),
            tests=(images[40:], labels[40:]),
        )[0, 1]
        for times in (size, math.nan)
    ]
    explained = measures.shares(size * images, images[:2])[1]
    found = [*changes[0], *changes[1], signal, *errors, *explained]
    return torch.stack(found).nan_to_num(nan=-9.0).tolist()


OF_ANY_SIZE = closed(
    id="id/rel-sizes",
    items=("Rel", "Layer", "MSE"),
    title="Changes, signals, classes and mixtures are told of numbers of any size",
    statement=(
        r"\frac{\|cW^0-cW^*\|}{\|cW^0\|},\quad\tfrac1c\sqrt{\overline{(ch)^2}},\quad"
        r"\frac{\|\Pi\,cf\|^2}{\|cf\|^2},\qquad c=10^{\pm200}"
    ),
    where="Section 3.2, Appendices G and L",
    cases=grid(size=(1.0, 1e-200, 1e200)),
    twin=_plain_sizes,
    measure=_found_sizes,
    # Norms of up to 240 numbers, of roundings at random; shares of one.
    compare=AgreesTo(relative=4e-15, absolute=4e-15),
    uses=("id/layer", "id/rel"),
)

# --- edges ----------------------------------------------------------------------------


def _shown(channels: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return two outputs, two inputs and a training image, of whole numbers.

    A pixel or two of each output are what its pixels are on average.
    """
    rng, shape = np.random.default_rng([64, channels]), (channels, 3, 5)
    half = math.prod(shape) // 2
    outputs = np.full((2, math.prod(shape)), 3)
    for row in outputs:
        more = rng.integers(1, 9, size=half - 1 + channels % 2)
        places = rng.permutation(len(row))
        row[places[: len(more)]] += more
        row[places[-len(more) :]] -= more
    drawn = rng.integers(0, 9, size=(3, *shape))
    pixels = torch.from_numpy(drawn).double()
    return torch.from_numpy(outputs).double().reshape(2, *shape), pixels[:2], pixels[2]


def _plain_edges(
    *, channels: int, size: float, known: bool = False, wrong: bool
) -> list[float]:
    """Fit outputs with and without edges; -9 for an output of one grey.

    Wrong: The training image is left out of both fits.
    """
    outputs, images, training = _inputs(channels, known=known)
    found: list[float] = []
    for y, x in zip(outputs.flatten(1).numpy(), images, strict=True):
        shown = [np.ones_like(y), x.numpy().ravel()]
        shown += [] if wrong else [training.numpy().ravel()]
        found.append(gained(y, shown, edges_of(x).ravel()))
    return [*found, -9.0, found[1]]


def _inputs(
    channels: int, *, known: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return outputs, inputs and a training image: the first input, if it is known.

    The second is then of one grey, without edges.
    """
    outputs, images, training = _shown(channels)
    if known:
        images = torch.stack([training, torch.full_like(training, 0.1)])
    return outputs, images, training


def _found_edges(*, channels: int, size: float, known: bool = False) -> list[float]:
    outputs, images, training = _inputs(channels, known=known)
    # Of two networks, the second grey on the first image.
    both = size * torch.stack([outputs, outputs])
    both[1, 0] = 0.1 * size
    edges = measures.sobel(images)
    shares = measures.edge_share(both, images, training, edges)
    return shares.nan_to_num(nan=-9.0).flatten().tolist()


EDGES = closed(
    id="id/Edges-share",
    title="What edges add to an output is what one regressor more explains of it",
    statement=(
        r"\min_{a}\|y-a_0-a_1x-a_2\hat x\|^2-\min_{a,b}\|y-a_0-a_1x-a_2\hat x-b\,g\|^2"
        r"\ \text{over}\ \|y-\bar y\|^2"
    ),
    where="Section 3.2, on edges; the measure is ours",
    cases=(
        *grid(channels=(1, 2, 3), size=(1.0, 1e-200, 1e200)),
        # Pictures that make up one another, and no edges.
        *grid(channels=(1, 2, 3), size=1.0, known=True),
    ),
    twin=_plain_edges,
    measure=_found_edges,
    # Projections of some forty pixels on four pictures that are far from parallel: an
    # eps for each pixel.
    compare=AgreesTo(absolute=1e-14),
)

# --- the averaging classifier ---------------------------------------------------------


def _digits(count: int, split: Any, side: int) -> tuple[Array, Labels]:
    digits = data.load("mnist", split, cached=False).head(count)
    pixels = digits.images[:, :: 28 // side, :: 28 // side] / 255.0
    return pixels.reshape(count, -1) - 0.13, digits.labels.astype(np.int64)


def _measure_classifier(*, train_size: int, tests: int, side: int) -> float:
    """Error on pixels, by class sums."""
    pairs = []
    for count, split in ((train_size, "train"), (tests, "test")):
        pixels, labels = _digits(count, split, side)
        images = torch.from_numpy(pixels).reshape(count, 1, side, side)
        pairs.append((images, torch.from_numpy(labels)))
    errors = measures.layer_errors(
        lambda images: (images.flatten(1)[None],), training=pairs[0], tests=pairs[1]
    )
    return float(errors[0, 0])


def _by_pairs(
    *, train_size: int, tests: int, side: int, nearest: bool = False
) -> float:
    """Error by the definition: every pair of a test and a training example."""
    (x, y), (z, wanted) = (
        _digits(train_size, "train", side),
        _digits(tests, "test", side),
    )
    wrong = 0
    for row, label in zip(z, wanted, strict=True):
        if nearest:
            found = y[int(np.argmax(x @ row))]
        else:
            scores = np.zeros(10)
            np.add.at(scores, y, x @ row)
            found = int(np.argmax(scores))
        wrong += int(found != label)
    return wrong / tests


CLASSIFIER = numeric(
    id="id/layer",
    title="The averaging classifier computed from class sums equals that from pairs",
    statement=(
        r"\operatorname{argmax}_c\textstyle\sum_j\langle r_i,r_j\rangle[y_j=c]"
        r" = \operatorname{argmax}_c\langle r_i,\sum_{j:\,y_j=c}r_j\rangle"
    ),
    source=quoted("Section 3.2, on layers"),
    cases=grid(train_size=(300, 1000), tests=200, side=(7, 14)),
    predict=_by_pairs,
    measure=_measure_classifier,
    # Shares of 200 tests.
    compare=AgreesTo(absolute=1e-12),
    must_refute=mistake(
        "The nearest image of a class in the place of the mean.", nearest=True
    ),
)

# --- pictures, upper layers, change ---------------------------------------------------


def _representation(channels: int, side: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng([61, seed])
    image = rng.standard_normal((side, side))
    mixed = rng.standard_normal((channels, 1, 1)) * image
    h = mixed + 0.5 * rng.standard_normal((channels, side, side))
    if channels == 2:
        # Opposite channels sum to nothing; the first pixel has no sign either.
        h[0, 0, 0] = 0.0
        h[1] = -h[0]
    return h, image


def _measure_picture(*, channels: int, side: int, seed: int) -> list[float]:
    h, image = _representation(channels, side, seed)
    seen = measures.picture(torch.from_numpy(h), torch.from_numpy(image)[None])
    assert seen is not None
    return [seen.share, seen.cosine, *seen.singular.numpy().ravel().tolist()]


def _predict_picture(*, channels: int, side: int, seed: int) -> list[float]:
    """By eigenvectors of the channels' Gram matrix over pixels."""
    h, image = map(torch.from_numpy, _representation(channels, side, seed))
    seen = picture(h, image[None])
    return [seen["share"], seen["cosine"], *seen["singular"].ravel().tolist()]


def _channel_zero(*, channels: int, side: int, seed: int) -> list[float]:
    """The picture of the first channel."""
    h, _ = _representation(channels, side, seed)
    right = _predict_picture(channels=channels, side=side, seed=seed)
    return [*right[:2], *(h[0] / np.linalg.norm(h[0])).ravel().tolist()]


PICTURE = numeric(
    id="id/svd",
    title="The picture shown for a layer is its top right singular vector",
    statement=(
        r"v = \operatorname{argmax}_{\|v\|=1}\|Hv\|,\quad H\in\mathbb R^{C\times HW};\quad"
        r"\sigma_1^2/\textstyle\sum_i\sigma_i^2,\quad\max_c\cos(h_c,x)"
    ),
    source=quoted("Appendix F"),
    cases=grid(channels=(1, 2, 4, 30), side=5, seed=(0, 1)),
    predict=_predict_picture,
    measure=_measure_picture,
    # eps for each of 30 channels, twice over the gap of the squares of the top two
    # singular values, 0.7 of the largest at least.
    compare=AgreesTo(absolute=2e-14),
    must_refute=_channel_zero,
)


def _cnn(
    layers: int, seed: int, outputs: int | None
) -> tuple[Convolutional, Any, torch.Tensor]:
    widths = (5,) * (layers - 1)
    network = Convolutional(shape=(1, 6, 6), widths=widths, kernel=3, outputs=outputs)
    params = network.init("framework", generator=torch_generator(seed, "upper"))
    return network, params, _image(6, seed)[None]


def _measure_upper(
    *, layers: int, count: int, seed: int, outputs: int | None = None
) -> Array:
    network, params, images = _cnn(layers, seed, outputs)
    # The image itself, then what each layer puts out.
    below = (images, *network.layer_outputs(params, images))[layers - count]
    return network.upper(params, below, count).numpy().ravel()


def _by_modules(
    *,
    layers: int,
    count: int,
    seed: int,
    outputs: int | None = None,
    relu: bool = True,
) -> Array:
    """The whole network by the framework's own convolutions."""
    _, params, h = _cnn(layers, seed, outputs)
    for weight in params[:-1]:
        h = torch.nn.functional.conv2d(h, weight[0], padding=1)
        h = torch.relu(h) if relu else h
    if outputs is not None:
        return (h.flatten(1) @ params[-1][0].T).numpy().ravel()
    return torch.nn.functional.conv2d(h, params[-1][0], padding=1).numpy().ravel()


UPPER = numeric(
    id="id/upper",
    title="The upper layers applied to the lower layers' output are the whole network",
    statement=r"f = f_{k+1..L}\circ f_{1..k}",
    source=ours("Appendix H.2; ours"),
    cases=(
        *grid(layers=4, count=(1, 2, 3, 4), seed=0),
        # With a readout of images.
        *grid(layers=3, count=(1, 2), seed=0, outputs=2),
    ),
    predict=_by_modules,
    measure=_measure_upper,
    # Four layers of sums of 45 products, half an eps each.
    compare=AgreesTo(relative=2e-14, of_largest=True),
    must_refute=mistake("The network without any of its ReLUs.", relu=False),
)


def _one_layer(side: int, seed: int) -> tuple[Array, Array]:
    x = _image(side, seed).numpy().ravel()
    w0 = np.random.default_rng([62, seed]).standard_normal((side**2, side**2))
    return x / np.linalg.norm(x) * side, 0.1 * w0


def _measure_change(*, side: int, seed: int) -> float:
    """Relative change of one trained layer, by the test-bed's trainer."""
    x, w0 = _one_layer(side, seed)
    network = copier(kind="fcn", shape=(1, side, side), layers=1, activation="linear")
    params = network.load([w0])
    images = torch.from_numpy(x.reshape(1, 1, side, side))
    recipe = Recipe(rate=0.1, momentum=0.5, steps=400, schedule=())
    trained = train(network, params, images, recipe)
    return float(measures.relative_change(trained.initial, trained.final)[0, 0])


def _predict_change(*, side: int, seed: int) -> float:
    x, w0 = _one_layer(side, seed)
    return float(np.linalg.norm(idm.one_layer_weights(x, w0) - w0) / np.linalg.norm(w0))


def _of_the_new(*, side: int, seed: int) -> float:
    """Changes over the norm of the trained weights."""
    x, w0 = _one_layer(side, seed)
    trained = idm.one_layer_weights(x, w0)
    return float(np.linalg.norm(trained - w0) / np.linalg.norm(trained))


CHANGE = numeric(
    id="id/rel",
    items=("Rel", "Thm1"),
    title="The relative change of one trained layer, in closed form",
    statement=r"\|W^0-W^*\|/\|W^0\| = \|(I-W^0)\hat x\|/(\|\hat x\|\,\|W^0\|)",
    source=ours("Appendix G; the closed form is ours"),
    cases=grid(side=(3, 6), seed=(0, 1)),
    predict=_predict_change,
    measure=_measure_change,
    # The mean loss has curvature 2 here: what is left is below 0.5^200 = 1e-60. Norms of
    # 1,296 numbers, of whose roundings the mean counts.
    compare=AgreesTo(relative=4e-15),
    must_refute=_of_the_new,
    uses=("id/thm1",),
)
