"""Figures 25 to 43: kernels, channels, procedures, other images."""

from verify.figures.identity_map import plates
from verify.figures.identity_map.paper import PaperFigure

CNN, PREDICTED, MAPPED = ("cnn-depth-*",), ("curve", "predictions"), ("heatmap",)

ENTRIES = (
    PaperFigure(
        number=25,
        title="Kernels by similarity",
        caption=(
            "Larger kernels take agreement from the identity to the constant, at all"
            " similarities."
        ),
        paper="Heat maps by kernel.",
        needs=("kernel-*-depth-*",),
        sections=MAPPED,
        plate=plates.kernel_maps,
        companions=True,
    ),
    PaperFigure(
        number=26,
        title="Kernels, all images",
        caption="As figure 9, on every unseen image: blurred, then the training image.",
        paper="Outputs by filter size.",
        needs=("kernel-*-depth-*",),
        sections=PREDICTED,
        plate=plates.kernels_all,
        companions=True,
    ),
    PaperFigure(
        number=27,
        title="Channels by similarity",
        caption=(
            "Depth decides between identity and constant; the number of "
            "channels changes little."
        ),
        paper="Heat maps by number of channels.",
        needs=("channels-*-depth-*",),
        sections=MAPPED,
        plate=plates.channels_maps,
        companions=True,
    ),
    PaperFigure(
        number=28,
        title="Channels, all images: the least number",
        caption="Every unseen image at each depth, the least number of channels.",
        paper="CNNs of 3 channels at every depth: beyond 8 layers they fail to converge.",
        needs=("channels-*-depth-*",),
        sections=PREDICTED,
        plate=plates.channels_least,
        companions=True,
    ),
    *(
        PaperFigure(
            number=number,
            title=f"Inside networks of few and of more channels, {words}",
            caption=(
                "Five layers of two networks: singular vector, channel most like the"
                f" input, and first channel of each layer, {words}."
            ),
            paper=f"Layers of a 3- and a 128-channel 5-layer CNN, {words}.",
            needs=("channels-*-depth-5",),
            sections=("pictures",),
            plate=plate,
            companions=True,
        )
        for number, words, plate in (
            (29, "as first drawn", plates.channels_untrained),
            (30, "trained", plates.channels_trained),
        )
    ),
    PaperFigure(
        number=31,
        title="Initialisations",
        caption=(
            "One architecture from other first weights: what training leaves open, "
            "noise included, the initialisation decides; below, whether the printed "
            "recipe, neither clipped nor rescaled, trains at all."
        ),
        paper=("CNNs by initialisation: different minimisers, different bias."),
        needs=("schemes-depth-*",),
        also=("printed-depth-*",),
        sections=PREDICTED,
        plate=plates.schemes,
    ),
    PaperFigure(
        number=32,
        title="Optimisers",
        caption=(
            "Optimisers and rates that all fit the image differ off it; "
            "rates too small to fit it are named below."
        ),
        paper=("CNNs by optimiser: different minimisers, different bias."),
        needs=("optimiser-*-depth-*",),
        sections=PREDICTED,
        plate=plates.optimisers,
    ),
    *(
        PaperFigure(
            number=number,
            title=f"{words} fully connected networks by squared error",
            caption=(
                "The error to the constant falls with depth at all similarities, the one"
                f" to the identity is small only near the training image{more}."
            ),
            paper=f"Heat maps of mean squared error, {words} FCNs.",
            needs=(f"fcn-{activation}-depth-*",),
            sections=MAPPED,
            plate=plates.connected_errors,
        )
        for number, words, activation, more in (
            (33, "Linear", "linear", ""),
            (34, "ReLU", "relu", ", and sooner than in linear ones"),
        )
    ),
    PaperFigure(
        number=35,
        title="Squared error by depth and similarity",
        caption=(
            "The message of figure 4, less clear: errors also count the size of outputs."
        ),
        paper="Heat maps of mean squared error, CNNs.",
        needs=CNN,
        sections=MAPPED,
        plate=plates.depth_errors,
    ),
    PaperFigure(
        number=36,
        title="Other seeds",
        caption="Other initial weights tell the same story at every depth.",
        paper="CNNs from other seeds.",
        needs=CNN,
        sections=("curve",),
        plate=plates.seeds,
    ),
    PaperFigure(
        number=37,
        title="Other digits to train on",
        caption="Whatever the one training digit, networks of a depth behave alike.",
        paper="CNNs trained on other digits.",
        needs=("digits-depth-*",),
        sections=PREDICTED,
        plate=plates.digits,
    ),
    *(
        PaperFigure(
            number=number,
            title=f"{words} images to train on",
            caption=(
                "Below outputs stand the coefficients of the mixture of training images"
                " that is closest to them, and the share of the output that it explains,"
                " means over seeds."
            ),
            paper=(
                f"CNNs trained on {words.lower()} examples: deep ones output mixtures of"
                " the training images."
            ),
            needs=(f"images-{count}-depth-*",),
            sections=("predictions",),
            plate=plates.mixtures,
        )
        for number, count, words in ((38, 2, "Two"), (39, 3, "Three"))
    ),
    PaperFigure(
        number=40,
        title="Trained on many digits, all images",
        caption="As figure 1, on every unseen image.",
        paper="The whole table behind figure 1.",
        needs=("many-*",),
        sections=PREDICTED,
        plate=plates.many_all,
    ),
    PaperFigure(
        number=41,
        title="Residual networks",
        caption=(
            "Blocks that add their input lean to the identity, with more noise in deeper"
            " networks."
        ),
        paper="Residual FCNs by depth.",
        needs=("residual-depth-*",),
        sections=PREDICTED,
        plate=plates.residual,
    ),
    *(
        PaperFigure(
            number=number,
            title=f"Colour, the {words} image",
            caption=(
                "One image in colour teaches what a grey one did, convolutional networks"
                f" and fully connected ones{more}."
            ),
            paper=f"CNNs and FCNs of width 3072 on {what} of CIFAR-10.",
            needs=("colour-cnn-*", "colour-fcn-*"),
            sections=PREDICTED,
            plate=plate,
        )
        for number, words, more, what, plate in (
            (42, "first", "", "a dog", plates.colour_first),
            (
                43,
                "second",
                ", whatever the image",
                "an aeroplane",
                plates.colour_second,
            ),
        )
    ),
)
