r"""What each layer still knows of its input: sizes, errors, pictures.

Layer 0 is the input itself. A representation is whatever a layer puts out, one draw of
weights after another along the leading axis.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from empirical.checks import check_counts

Layers = Callable[[Tensor], Sequence[Tensor]]
"""Images (n, C, H, W) to what each layer puts out, tensors (replicates, n, ...)."""

CLASSES = 10


def signal_sizes(layers: Layers, images: Tensor) -> Tensor:
    """Return the root mean square of every layer's numbers, over units and images.

    Parameters
    ----------
    layers : callable
    images : Tensor, shape (n, C, H, W)

    Returns
    -------
    Tensor, shape (replicates, layers + 1), float64
        Input first. In float64 and without under- or overflow of the squares, so that
        0 means that the numbers themselves are zero.

    Examples
    --------
    >>> ones = torch.ones((1, 1, 2, 2), dtype=torch.float64)
    >>> signal_sizes(lambda x: [1e-200 * x[None]], ones).tolist()
    [[1.0, 1e-200]]
    """
    outputs = layers(images)
    replicates = len(outputs[0])
    each = [images[None].expand(replicates, *images.shape), *outputs]
    return torch.stack([_root_mean_square(h.flatten(1)) for h in each], dim=1)


def layer_errors(
    layers: Layers,
    *,
    training: tuple[Tensor, Tensor],
    tests: tuple[Tensor, Tensor],
    chunk: int = 100,
) -> Tensor:
    r"""Measure the averaging classifier on every layer's representation r.

    A test example i is given the class of the largest

    .. math:: \sum_j \langle r_i, r_j \rangle \, [y_j = c]
              = \Big\langle r_i, \sum_{j: y_j = c} r_j \Big\rangle,

    a product with one sum for each class: no pair of examples is looked at. Classes
    that share the largest score share the decision, so that a layer that is zero errs
    as chance does, at 0.9.

    Parameters
    ----------
    layers : callable
    training, tests : pair of Tensor
        Images (n, C, H, W) and labels 0..9, shape (n,).
    chunk : int
        Images in memory at a time. Moves the results by rounding only.

    Returns
    -------
    Tensor, shape (replicates, layers + 1), float64
        Fractions of the tests that are wrong, input first. NaN where representations
        are not finite.

    Raises
    ------
    ValueError
        If there are no examples, or labels and images disagree.

    References
    ----------
    Zhang, Bengio, Hardt, Mozer, Singer 2020, section on layers. Sums, not means: on
    classes of unequal size a larger class scores higher.
    """
    check_counts("layer_errors", chunk=chunk)
    for name, (images, labels) in (("training", training), ("tests", tests)):
        _check_examples(name, images, labels)
    sums: list[Tensor] = []
    for images, labels in _chunks(*training, chunk):
        member = torch.nn.functional.one_hot(labels, CLASSES).T.to(torch.float64)
        parts = [member @ h.to(torch.float64) for h in _with_input(layers, images)]
        sums = [a + b for a, b in zip(sums, parts, strict=True)] if sums else parts
    weights = [_scaled(each).to(training[0].dtype) for each in sums]
    right = torch.zeros((max(len(s) for s in sums), len(sums)), dtype=torch.float64)
    for images, labels in _chunks(*tests, chunk):
        for index, h in enumerate(_with_input(layers, images)):
            scores = _scaled(h) @ weights[index].transpose(-1, -2)
            right[:, index] += _credit(scores, labels).to(right)
    return (len(tests[0]) - right) / len(tests[0])


@dataclass(frozen=True, kw_only=True, eq=False)
class Picture:
    """Three pictures of one layer's representation of one image.

    Attributes
    ----------
    singular : Tensor, shape (H, W), float64
        Top right singular vector of the channels-by-pixels matrix. Its sign is that of
        the sum over channels: non-negative inner product with it; if that is zero, the
        first non-zero pixel is positive. For one channel it is the channel, normalised.
    share : float
        Of the squared norm, what this vector explains.
    correlated : Tensor, shape (H, W)
        The channel of the largest cosine with the input (its mean over channels).
    channel : int
        Which one.
    cosine : float
        That cosine.
    first : Tensor, shape (H, W)
        Channel 0.
    """

    singular: Tensor
    share: float
    correlated: Tensor
    channel: int
    cosine: float
    first: Tensor


def picture(representation: Tensor, image: Tensor) -> Picture | None:
    """Return pictures of a representation (channels, H, W) of `image` (C, H, W).

    Returns
    -------
    Picture or None
        None where there is nothing to see: all zero, or not finite.

    Raises
    ------
    ValueError
        If the image is zero, not finite, or of another height or width.

    Examples
    --------
    >>> x = torch.tensor([[[1.0, -2.0]]])
    >>> seen = picture(torch.stack([x[0], -3.0 * x[0]]), x)
    >>> seen.channel, round(seen.share, 12), (seen.singular * 5**0.5).round().tolist()
    (0, 1.0, [[-1.0, 2.0]])
    """
    h = representation.detach().to(torch.float64)
    x = image.detach().to(torch.float64).mean(dim=0).flatten()
    if h.ndim != 3 or h.shape[1:] != image.shape[1:]:
        raise ValueError(
            "picture: `representation` must have shape (channels, H, W) and the "
            f"image's {tuple(image.shape[1:])}, but it has {tuple(h.shape)}"
        )
    if not bool(torch.isfinite(x).all()) or not bool(x.any()):
        raise ValueError(
            "picture: `image` must be finite and not zero on the mean of its channels"
        )
    if not bool(torch.isfinite(h).all()) or not bool(h.any()):
        return None
    rows, x = (h / h.abs().max()).flatten(1), x / x.abs().max()
    _, values, right = torch.linalg.svd(rows, full_matrices=False)
    vector = right[0]
    along = float(vector @ rows.sum(dim=0))
    if along == 0.0:
        along = float(vector[vector != 0.0][0])
    norms = rows.norm(dim=1)
    # A dead channel correlates with nothing: it never wins.
    cosines = torch.where(norms > 0.0, rows @ x / (norms * x.norm()), -2.0)
    channel = int(cosines.argmax())
    return Picture(
        singular=(vector if along > 0.0 else -vector).reshape(h.shape[1:]),
        share=float(values[0] ** 2 / values.square().sum()),
        correlated=h[channel],
        channel=channel,
        cosine=float(cosines[channel]),
        first=h[0],
    )


def _root_mean_square(rows: Tensor) -> Tensor:
    values = rows.to(torch.float64)
    top = values.abs().amax(dim=1)
    scaled = values / torch.where(top > 0.0, top, 1.0)[:, None]
    return top * scaled.square().mean(dim=1).sqrt()


def _with_input(layers: Layers, images: Tensor) -> list[Tensor]:
    """Input and layers, flattened to (replicates or 1, n, numbers)."""
    return [images[None].flatten(2), *(h.flatten(2) for h in layers(images))]


def _scaled(rows: Tensor) -> Tensor:
    """Divide each replicate by its largest number: no product under- or overflows."""
    top = rows.abs().amax(dim=(1, 2), keepdim=True)
    return rows / torch.where(top > 0.0, top, 1.0)


def _credit(scores: Tensor, labels: Tensor) -> Tensor:
    """Sum over examples the chance that a largest score is the label's: (replicates,)."""
    best = scores == scores.amax(dim=-1, keepdim=True)
    hit = best.gather(-1, labels.expand(len(scores), -1)[..., None])[..., 0]
    chance = hit.to(torch.float64) / best.sum(dim=-1).clamp(min=1)
    finite = torch.isfinite(scores).all(dim=-1)
    return torch.where(finite, chance, torch.nan).sum(dim=-1)


def _chunks(
    images: Tensor, labels: Tensor, size: int
) -> Iterator[tuple[Tensor, Tensor]]:
    return zip(images.split(size), labels.split(size), strict=True)


def _check_examples(name: str, images: Tensor, labels: Tensor) -> None:
    fits = images.ndim == 4 and len(images) > 0 and labels.shape == images.shape[:1]
    if not fits or labels.is_floating_point():
        raise ValueError(
            f"layer_errors: `{name}` must be images (n, C, H, W), n at least 1, and n "
            f"labels, but they have shapes {tuple(images.shape)}, {tuple(labels.shape)}"
        )
    if int(labels.min()) < 0 or int(labels.max()) >= CLASSES:
        raise ValueError(
            f"layer_errors: `{name}` must have labels 0..{CLASSES - 1}, but they reach "
            f"from {int(labels.min())} to {int(labels.max())}"
        )
