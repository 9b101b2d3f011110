"""Figures 25 to 43: kernels, channels, procedures, other images."""

from functools import partial

from verify.figures.identity_map import curves, plates
from verify.figures.identity_map.paper import MAPPED, PaperFigure

ENTRIES = (
    PaperFigure(
        25,
        "Kernels by similarity",
        "Larger kernels take agreement from the identity to the constant, at all"
        " similarities.",
        "Heat maps by kernel.",
        partial(plates.property_maps, key="kernel", xlabel="edge of the kernel"),
        needs=("kernel-*-depth-*",),
        sections=MAPPED,
        companions=True,
    ),
    PaperFigure(
        26,
        "Kernels, all images",
        "As figure 9, on every unseen image: blurred, then the training image.",
        "Outputs by filter size.",
        partial(plates.varied, key="kernel", words="{0} × {0}", only=None),
        needs=("kernel-*-depth-*",),
        companions=True,
    ),
    PaperFigure(
        27,
        "Channels by similarity",
        "Depth decides between identity and constant; the number of channels changes"
        " little.",
        "Heat maps by number of channels.",
        partial(plates.property_maps, key="width", xlabel="channels"),
        needs=("channels-*-depth-*",),
        sections=MAPPED,
        companions=True,
    ),
    PaperFigure(
        28,
        "Channels, all images: the least number",
        "Every unseen image at each depth, the least number of channels.",
        "CNNs of 3 channels at every depth: beyond 8 layers they fail to converge.",
        plates.channels_least,
        needs=("channels-*-depth-*",),
        companions=True,
    ),
    *(
        PaperFigure(
            number,
            f"Inside networks of few and of more channels, {words}",
            "Five layers of two networks: singular vector, channel most like the input,"
            f" and first channel of each layer, {words}.",
            f"Layers of a 3- and a 128-channel 5-layer CNN, {words}.",
            partial(plates.side_by_side, state=state),
            needs=("channels-*-depth-5",),
            sections=("pictures",),
            companions=True,
        )
        for number, state, words in (
            (29, "untrained", "as first drawn"),
            (30, "trained", "trained"),
        )
    ),
    PaperFigure(
        31,
        "Initialisations",
        "One architecture from other first weights: what training leaves open, noise"
        " included, the initialisation decides; below, whether the printed recipe,"
        " neither clipped nor rescaled, trains at all.",
        "CNNs by initialisation: different minimisers, different bias.",
        plates.schemes,
        needs=("schemes-depth-*",),
        also=("printed-depth-*",),
    ),
    PaperFigure(
        32,
        "Optimisers",
        "Optimisers and rates that all fit the image differ off it; rates too small to"
        " fit it are named below.",
        "CNNs by optimiser: different minimisers, different bias.",
        plates.optimisers,
        needs=("optimiser-*-depth-*",),
    ),
    *(
        PaperFigure(
            number,
            f"{words} fully connected networks by squared error",
            "The error to the constant falls with depth at all similarities, the one to"
            f" the identity is small only near the training image{more}.",
            f"Heat maps of mean squared error, {words} FCNs.",
            plates.connected_errors,
            needs=(f"fcn-{words.lower()}-depth-*",),
            sections=MAPPED,
        )
        for number, words, more in (
            (33, "Linear", ""),
            (34, "ReLU", ", and sooner than in linear ones"),
        )
    ),
    PaperFigure(
        35,
        "Squared error by depth and similarity",
        "The message of figure 4, less clear: errors also count the size of outputs.",
        "Heat maps of mean squared error, CNNs.",
        partial(plates.depth_map, errors=True),
        sections=MAPPED,
    ),
    PaperFigure(
        36,
        "Other seeds",
        "Other initial weights tell the same story at every depth.",
        "CNNs from other seeds.",
        curves.seeds,
        sections=("curve",),
    ),
    PaperFigure(
        37,
        "Other digits to train on",
        "Whatever the one training digit, networks of a depth behave alike.",
        "CNNs trained on other digits.",
        plates.digits,
        needs=("digits-depth-*",),
    ),
    *(
        PaperFigure(
            number,
            f"{words} images to train on",
            "Below outputs stand the coefficients of the mixture of training images that"
            " is closest to them, and the share of the output that it explains, means"
            " over seeds.",
            f"CNNs trained on {words.lower()} examples: deep ones output mixtures of the"
            " training images.",
            plates.mixtures,
            needs=(f"images-{count}-depth-*",),
            sections=("predictions",),
        )
        for number, count, words in ((38, 2, "Two"), (39, 3, "Three"))
    ),
    PaperFigure(
        40,
        "Trained on many digits, all images",
        "As figure 1, on every unseen image.",
        "The whole table behind figure 1.",
        partial(plates.many, only=None),
        needs=("many-*",),
    ),
    PaperFigure(
        41,
        "Residual networks",
        "Blocks that add their input lean to the identity, with more noise in deeper"
        " networks.",
        "Residual FCNs by depth.",
        plates.depths,
        needs=("residual-depth-*",),
    ),
    *(
        PaperFigure(
            number,
            f"Colour, the {words} image",
            "One image in colour teaches what a grey one did, convolutional networks and"
            f" fully connected ones{more}.",
            f"CNNs and FCNs of width 3072 on {what} of CIFAR-10.",
            partial(plates.colour, index=number - 42),
            needs=("colour-cnn-*", "colour-fcn-*"),
        )
        for number, words, more, what in (
            (42, "first", "", "a dog"),
            (43, "second", ", whatever the image", "an aeroplane"),
        )
    ),
)
