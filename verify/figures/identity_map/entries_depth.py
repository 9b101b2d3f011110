"""Figures 1 to 24: depth, layers, sizes of test images."""

from functools import partial

from verify.figures.identity_map import plates
from verify.figures.identity_map.paper import MAPPED, PaperFigure

BELOW = (
    "Outputs are of the first seed, cosines with the input below them means over seeds."
)

ENTRIES = (
    PaperFigure(
        1,
        "Trained on many digits",
        "Off the digits, fully connected networks answer with noise or strokes; a"
        " convolutional one, once it has learnt, copies most of what it is given.",
        "60,000 examples, a 20-layer CNN and FCNs of 10 layers and of 1: only the CNN"
        " copies off the digits.",
        plates.many,
        needs=("many-*",),
    ),
    PaperFigure(
        2,
        "One digit, fully connected",
        "Shallow networks return noise for what they have not seen, deep ones the"
        " training image.",
        "One example, FCNs by depth.",
        plates.depths,
        needs=("fcn-relu-depth-*",),
    ),
    PaperFigure(
        3,
        "One digit, convolutional",
        "Depth turns what one image teaches from the identity over something like"
        " edges into the constant.",
        "One example, CNNs by depth: identity up to 5 layers, then edges, constant"
        " from about 15.",
        plates.depths,
    ),
    PaperFigure(
        4,
        "Correlation by depth and similarity",
        "Deep networks agree with the constant even for inputs that are orthogonal to"
        " the training image; shallow ones agree with their input.",
        "Heat maps of correlation to constant and identity, CNNs.",
        plates.depth_map,
        sections=MAPPED,
    ),
    PaperFigure(
        5,
        "What layers still know of the class",
        "Errors of an averaging classifier on each layer's output, means and, thin,"
        " seeds: the last layer of a trained shallow network recovers what its middle"
        " lost, that of a deep one does not.",
        "Layer-wise error, untrained and trained; 20 untrained layers wash the class"
        " out by layer 6 to 8.",
        plates.errors,
        sections=("layer-error",),
    ),
    PaperFigure(
        6,
        "A shallow network at other sizes",
        "A network that learnt nearly the identity at one size, on images scaled to"
        f" others. {BELOW}",
        "The 5-layer CNN at 7 to 112 pixels: the identity holds on larger images,"
        " breaks on smaller ones.",
        partial(plates.sizes, rules=("resized",)),
        sections=("sizes",),
    ),
    PaperFigure(
        7,
        "A deep network at other sizes",
        "What a deep network learnt as a constant is one only at the size it was"
        f" trained at; elsewhere shapes grow from the boundary. {BELOW}",
        "The 20-layer CNN at 7 to 112 pixels: the constant holds robustly.",
        plates.sizes_deepest,
        sections=("sizes",),
    ),
    PaperFigure(
        8,
        "Size of the training image",
        "At equal depth, the smaller the training image, the closer to the constant.",
        "CNNs trained on images of several sizes: the smaller, the more constant.",
        partial(plates.varied, key="size", words="{0} × {0}"),
        needs=("size-*-depth-*",),
        companions=True,
    ),
    PaperFigure(
        9,
        "Kernels",
        "Wider kernels blur, and come close to the constant as one of them covers the"
        " image.",
        "Five layers, kernels 5 to 57.",
        partial(plates.least_deep, key="kernel", words="{0} × {0}"),
        needs=("kernel-*-depth-*",),
        companions=True,
    ),
    PaperFigure(
        10,
        "Channels",
        "At equal depth, networks of any number of channels do much the same: depth"
        " decides.",
        "3, 128 and 1,024 channels: three fail, 1,024 do not overfit, 20 layers are"
        " constant at any number.",
        partial(plates.varied, key="width", words="{0} ch."),
        needs=("channels-*-depth-*",),
        companions=True,
    ),
    PaperFigure(
        11,
        "Linear networks",
        "Depth, much more than width, drives linear networks to the constant.",
        "Multi-layer linear networks by depth and width.",
        plates.linear_grid,
        needs=("fcn-linear-depth-*",),
    ),
    PaperFigure(
        12,
        "Two layers, one or both trained",
        "With the bottom layer alone, unseen images give noise; with both they lean to"
        " the training image.",
        "Two-layer ReLU networks of 2,048 and 16,384 units.",
        plates.two_layers,
        needs=("two-layer-bottom-*", "two-layer-all-*"),
    ),
    PaperFigure(
        13,
        "One digit, fully connected, all images",
        "As figure 2, on every unseen image: noise first, then the digit.",
        "The whole table behind figure 2.",
        partial(plates.depths, only=None),
        needs=("fcn-relu-depth-*",),
    ),
    PaperFigure(
        14,
        "Fully connected networks by depth and similarity",
        "Nothing agrees with the identity at correlation 0, whatever the depth, and"
        " ReLU networks reach the constant sooner than linear ones.",
        "Heat maps of FCNs, ReLU and linear.",
        plates.connected_map,
        needs=("fcn-relu-depth-*", "fcn-linear-depth-*"),
        sections=MAPPED,
    ),
    PaperFigure(
        15,
        "Layer by layer",
        "Each layer's leading singular vector as an image: a deep network loses the"
        " input in its middle and makes it anew.",
        "Pictures per layer, trained and not.",
        plates.layers,
        sections=("pictures",),
    ),
    PaperFigure(
        16,
        "Layer by layer, shallow",
        "Singular vector, channel most like the input, and first channel, for the"
        " training image and an unseen one: the input stays visible throughout.",
        "Layers of the 7-layer CNN.",
        partial(plates.inside, layers=plates.SHALLOW),
        sections=("pictures",),
    ),
    PaperFigure(
        17,
        "Layer by layer, in between",
        "Singular vector, channel most like the input, and first channel, for the"
        " training image and an unseen one.",
        "Layers of the 14-layer CNN.",
        partial(plates.inside, layers=plates.MIDDLE),
        sections=("pictures",),
    ),
    PaperFigure(
        18,
        "Layer by layer, deep",
        "Singular vector, channel most like the input, and first channel: the last"
        " layers draw the training image whatever was put in.",
        "Layers of the 20-layer CNN.",
        partial(plates.inside, layers=plates.DEEP),
        sections=("pictures",),
    ),
    PaperFigure(
        19,
        "How far weights moved",
        "Weights move most in the last layer, relative to where they started, and"
        " less, but not by nothing, below; bars are means, points seeds.",
        "Largest at the top, small but not zero below, near 0 in the lower five of 11"
        " hidden layers of an FCN.",
        plates.changes,
        needs=("cnn-depth-*", "fcn-relu-depth-*"),
        sections=("change",),
    ),
    PaperFigure(
        20,
        "A shallow network at other sizes, more of them",
        f"As figure 6, and images of one size on black of several. {BELOW}",
        "Inputs and outputs of the 5-layer CNN at more sizes.",
        plates.sizes,
        sections=("sizes",),
    ),
    PaperFigure(
        21,
        "Inside a deep network at other sizes",
        "Leading singular vectors of layers, for one unseen image at several sizes:"
        " what will be the output grows from the boundary. Black and white are each"
        " picture's own.",
        "Intermediate layers of the 20-layer CNN at several sizes.",
        plates.sizes_layers,
        sections=("sizes",),
    ),
    PaperFigure(
        22,
        "The last layer alone, by depth",
        "Images put straight into the last layer of networks of every depth; beside"
        " them the cosine with the training image.",
        "The top layer of CNNs of every depth: a clear break at 15 layers.",
        partial(plates.upper_by_depth, count=1),
        sections=("upper",),
    ),
    PaperFigure(
        23,
        "The last two layers alone, by depth",
        "The same, put into the last layer but one.",
        "The top two layers of CNNs of every depth.",
        partial(plates.upper_by_depth, count=2),
        sections=("upper",),
    ),
    PaperFigure(
        24,
        "Upper layers of a deep network alone",
        "An image is put in before the last layers, beside the cosine with the"
        " training image: the more layers, the more of the digit they make.",
        "The last 3, 6 and 10 layers of the 20-layer CNN: half of it makes the digit"
        " from nothing.",
        plates.upper_deep,
        sections=("upper",),
    ),
)
