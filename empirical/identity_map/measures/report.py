"""One entry for everything that a record keeps about trained networks."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from empirical.checks import check_choice
from empirical.identity_map.images import Pictures, unseen
from empirical.identity_map.measures.sections import MEASUREMENTS
from empirical.identity_map.measures.subjects import Settings, Subject, check
from empirical.identity_map.networks import image_shape
from empirical.networks import Network, Params
from empirical.randomness import Seed, torch_generator
from empirical.testbed.writing import Array


def measure(
    network: Network,
    initial: Params,
    final: Params,
    *,
    training_images: Pictures,
    names: Sequence[str],
    seed: Seed,
    test_images: Pictures | None = None,
    settings: Settings | None = None,
    before: int = 0,
) -> dict[str, Any]:
    """Measure a stack of trained networks.

    Parameters
    ----------
    network : Network
    initial, final : tuple of Tensor
        Weights before and after training, replicates in front. One whose weights are not
        finite is counted wherever it has no number.
    training_images : Pictures
        What was trained on, or the few of it that are to be looked at. None zero.
    names : sequence of str
        Among `MEASUREMENTS`.
    seed : int or SeedSequence
        Of the test images; the same for every network, so that networks are compared
        on the same images.
    test_images : Pictures, optional
        Unseen images of the network's shape; `images.unseen` by default.
    settings : Settings, optional
    before : int
        How many networks of the same group are measured elsewhere, before these: they
        count among those that the settings keep pictures of.

    Returns
    -------
    dict
        ``"settings"``, ``"training"`` (what the training images are), ``"replicates"``
        and one entry for each of `names`. What is told of each replicate is a tensor with
        the axes given here; its images are rows of pixels, (C, H, W) flattened to
        (C * H, W), four digits each. The rest is as JSON has it.

        ``"curve"``
            ``identity, constant, identity_mse, constant_mse``: [replicate][training image],
            means over correlations and test images, one point of a depth curve.
            ``zero, nonfinite``: how many outputs were, of ``outputs`` in all.
        ``"heatmap"``
            The same six as [replicate][training image][rho], and ``rhos``.
        ``"layer-error"``
            ``trained, untrained``: [replicate][layer], layer 0 the input; ``training,
            tests``: the examples' description.
        ``"pictures"``
            ``images``: names; behind ``trained/`` and ``untrained/``
            ``share, channel, cosine``: [replicate][image][layer], and the kinds that the
            settings name, ``singular, correlated, first``, of the first few. NaN where
            there is nothing to see; hidden layers of fully connected networks have a
            picture only if they are as large as the image.
        ``"upper"``
            ``counts``, ``images``; ``identity, constant``: [replicate][count][image];
            ``outputs``: [replicate][count][image]. For fully connected networks of another
            width than the image a ``reason`` alone.
        ``"change"``
            ``relative``: [replicate][layer 1..L].
        ``"signal"``
            ``untrained, trained``: [replicate][layer 0..L], root mean squares over the
            training images.
        ``"sizes"``
            ``sizes``, ``images``, ``shown``; behind ``resized/`` and ``placed/``
            ``identity, constant, zero, nonfinite``: [replicate][size][image], and with
            each edge up to the largest size kept behind them
            ``outputs/``: [replicate][shown image] and
            ``layers/``: [first replicate][layer], the last of these images in up to
            eight layers, evenly spaced, the output last;
            the constant is the first training image resized or placed likewise. For
            fully connected networks a ``reason`` alone.
        ``"predictions"``
            ``images``: descriptions; ``inputs, outputs``:
            [replicate][image]; ``identity``: [replicate][image]; ``constant``:
            [replicate][training image][image]; ``coefficients``:
            [replicate][image][training image] and ``explained``: [replicate][image], the
            output as a mixture of training images
            (a ``reason`` instead if those are dependent).
        ``"probes"``
            ``kinds``, ``digits``; ``identity, constant, untrained_constant``:
            [replicate][kind], means over test images at correlation 0, of Gaussian and
            of uniform pixels at all correlations, and digits.
        ``"points"``
            ``kinds``; ``outputs``: [replicate][kind][point], outputs at pixels of unseen
            images that were drawn once, four digits each.
        ``"edges"``
            ``own, other, untrained``: [replicate], means over test digits of the share
            that a digit's edges add to its output, and those of another digit;
            ``detector``: the same share where the output is the edges.
        ``"cover"``
            ``corner, centre``: [layer 1..L], fraction of the pixels seen.

    Raises
    ------
    ValueError
        If a name is unknown (near ones are suggested), shapes disagree, or a training
        image is zero or not finite.

    Examples
    --------
    >>> from empirical.randomness import torch_generator
    >>> from empirical.identity_map.images import chosen
    >>> from empirical.networks import Convolutional
    >>> net = Convolutional(shape=(1, 6, 6), widths=(2,))
    >>> params = net.init(generator=torch_generator(7), replicates=2)
    >>> found = measure(
    ...     net,
    ...     params,
    ...     params,
    ...     training_images=chosen((7,)).fitted((1, 6, 6)),
    ...     names=("change",),
    ...     seed=7,
    ... )
    >>> found["change"]["relative"].tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    for name in names:
        check_choice("measure", "names", name, MEASUREMENTS)
    settings = settings or Settings()
    images = training_images.pixels
    shape, generator = image_shape(network), torch_generator(seed, "unseen")
    tests = test_images or unseen(shape, generator=generator)
    check(network, initial, final, images=images, tests=tests, shown=settings.shown)
    measured = Subject(
        network=network,
        initial=initial,
        final=final,
        training=images.to(final[0]),
        names=tuple(f"train {name}" for name in training_images.names),
        tests=tests,
        seed=seed,
        settings=settings,
        before=before,
    )
    header = {
        "settings": {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in asdict(measured.settings).items()
        },
        "training": training_images.describe(),
        "replicates": len(final[0]),
    }
    with torch.no_grad():
        return header | {name: MEASUREMENTS[name](measured) for name in names}


def by_replicate(
    measured: Mapping[str, Any],
) -> tuple[dict[str, Any], list[dict[str, Array]]]:
    """Separate what `measure` says of each network from what it says of all.

    Returns
    -------
    shared : dict
        Settings, training images, and by section names, sizes and the like.
    each : list of dict
        Of each network arrays by ``section/name``, as `measure` has them, NaN for what
        is not finite.
    """
    each: list[dict[str, Array]] = [{} for _ in range(measured["replicates"])]
    shared: dict[str, Any] = {}
    for section, part in measured.items():
        if section not in MEASUREMENTS:
            shared[section] = part
            continue
        own = {k: v for k, v in part.items() if isinstance(v, Tensor)}
        shared[section] = {k: v for k, v in part.items() if k not in own}
        for name, values in own.items():
            # Some are kept of the first few networks alone.
            for one, row in zip(each, values, strict=False):
                known = torch.where(row.isfinite(), row.double(), torch.nan)
                one[f"{section}/{name}"] = known.cpu().numpy()
    del shared["replicates"]
    return shared, each
