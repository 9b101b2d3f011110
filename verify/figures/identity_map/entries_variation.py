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
        title="Kernels and what they see",
        caption=(
            "The constant takes over as one layer comes to see the whole image, which"
            " corners do later than the centre."
        ),
        paper="Kernels 5 to 57 at other depths.",
        needs=("kernel-*-depth-*",),
        sections=("curve", "cover"),
        plate=plates.kernel_curves,
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
    *(
        PaperFigure(
            number=number,
            title=f"Channels, all images: {words}",
            caption=f"Every unseen image at each depth, {words} of channels.",
            paper=f"Outputs of CNNs with {count} channels.",
            needs=("channels-*-depth-*",),
            sections=PREDICTED,
            plate=plate,
            companions=True,
        )
        for number, words, count, plate in (
            (28, "the least number", "3", plates.channels_least),
            (29, "the usual number", "128", plates.channels_usual),
            (30, "the largest number", "1,024", plates.channels_most),
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
    PaperFigure(
        number=33,
        title="Fully connected networks by squared error",
        caption=(
            "The error to the constant falls with depth at all similarities, the one to"
            " the identity is small only near the training image."
        ),
        paper="FCNs, ReLU, appendix heat maps.",
        needs=("fcn-relu-depth-*",),
        sections=MAPPED,
        plate=plates.relu_both,
    ),
    PaperFigure(
        number=34,
        title="Linear networks by width",
        caption="Width hardly matters: depth decides, and the identity never generalises.",
        paper="FCNs, linear, appendix heat maps.",
        needs=("fcn-linear-depth-*",),
        sections=MAPPED,
        plate=plates.linear_widths,
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
                "Below outputs stands how much of each training image they hold: the"
                " deeper a network, the more of its output this mixture explains."
            ),
            paper=f"CNNs trained on {words.lower()} examples.",
            needs=(f"images-{count}-depth-*",),
            sections=PREDICTED,
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
    PaperFigure(
        number=42,
        title="Colour, convolutional",
        caption="One image in colour teaches what a grey one did.",
        paper="CNNs on CIFAR-10 images.",
        needs=("colour-cnn-*",),
        sections=PREDICTED,
        plate=plates.depths_few,
    ),
    PaperFigure(
        number=43,
        title="Colour, fully connected",
        caption="Fully connected networks treat colour as they do grey.",
        paper="FCNs of width 3072 on CIFAR-10 images.",
        needs=("colour-fcn-*",),
        sections=PREDICTED,
        plate=plates.depths_few,
    ),
)
