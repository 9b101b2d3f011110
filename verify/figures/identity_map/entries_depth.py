"""Figures 1 to 24: depth, layers, sizes of test images."""

from verify.figures.identity_map import plates
from verify.figures.identity_map.paper import PaperFigure

CNN, PREDICTED, MAPPED = ("cnn-depth-*",), ("curve", "predictions"), ("heatmap",)

BELOW = (
    "Outputs are of the first seed, cosines with the input below them means over seeds."
)

ENTRIES = (
    PaperFigure(
        number=1,
        title="Trained on many digits",
        caption=(
            "Off the digits, fully connected networks answer with noise or strokes; a"
            " convolutional one, once it has learnt, copies most of what it is given."
        ),
        paper=(
            "60,000 examples, a 20-layer CNN and FCNs of 10 layers and of"
            " 1: only the CNN copies off the digits."
        ),
        needs=("many-*",),
        sections=PREDICTED,
        plate=plates.many_few,
    ),
    PaperFigure(
        number=2,
        title="One digit, fully connected",
        caption=(
            "Shallow networks return noise for what they have not seen, deep ones the"
            " training image."
        ),
        paper="One example, FCNs by depth.",
        needs=("fcn-relu-depth-*",),
        sections=PREDICTED,
        plate=plates.depths_few,
    ),
    PaperFigure(
        number=3,
        title="One digit, convolutional",
        caption=(
            "Depth turns what one image teaches from the identity over something like"
            " edges into the constant."
        ),
        paper=(
            "One example, CNNs by depth: identity up to 5 layers, then "
            "edges, constant from about 15."
        ),
        needs=CNN,
        sections=PREDICTED,
        plate=plates.depths_few,
    ),
    PaperFigure(
        number=4,
        title="Correlation by depth and similarity",
        caption=(
            "Deep networks agree with the constant even for inputs that are orthogonal"
            " to the training image; shallow ones agree with their input."
        ),
        paper="Heat maps of correlation to constant and identity, CNNs.",
        needs=CNN,
        sections=MAPPED,
        plate=plates.depth_map,
    ),
    PaperFigure(
        number=5,
        title="What layers still know of the class",
        caption=(
            "Errors of an averaging classifier on each layer's output, "
            "means and, thin, seeds: the last layer of a trained shallow "
            "network recovers what its middle lost, that of a deep one "
            "does not."
        ),
        paper=(
            "Layer-wise error, untrained and trained; 20 untrained layers"
            " wash the class out by layer 6 to 8."
        ),
        needs=CNN,
        sections=("layer-error",),
        plate=plates.errors,
    ),
    PaperFigure(
        number=6,
        title="A shallow network at other sizes",
        caption=(
            "A network that learnt nearly the identity at one size, on images scaled to"
            f" others. {BELOW}"
        ),
        paper=(
            "The 5-layer CNN at 7 to 112 pixels: the identity holds on "
            "larger images, breaks on smaller ones."
        ),
        needs=CNN,
        sections=("sizes",),
        plate=plates.sizes_shallow,
    ),
    PaperFigure(
        number=7,
        title="A deep network at other sizes",
        caption=(
            "What a deep network learnt as a constant is one only at the "
            "size it was trained at; elsewhere shapes grow from the "
            f"boundary. {BELOW}"
        ),
        paper="The 20-layer CNN at 7 to 112 pixels: the constant holds robustly.",
        needs=CNN,
        sections=("sizes",),
        plate=plates.sizes_deep,
    ),
    PaperFigure(
        number=8,
        title="Size of the training image",
        caption=(
            "At equal depth, the smaller the training image, the closer to the constant."
        ),
        paper=(
            "CNNs trained on images of several sizes: the smaller, the more constant."
        ),
        needs=("size-*-depth-*",),
        sections=PREDICTED,
        plate=plates.training_sizes,
        companions=True,
    ),
    PaperFigure(
        number=9,
        title="Kernels",
        caption=(
            "Wider kernels blur, and come close to the constant as one of them covers the"
            " image."
        ),
        paper="Five layers, kernels 5 to 57.",
        needs=("kernel-*-depth-*",),
        sections=PREDICTED,
        plate=plates.kernels,
        companions=True,
    ),
    PaperFigure(
        number=10,
        title="Channels",
        caption=(
            "At equal depth, networks of any number of channels do much "
            "the same: depth decides."
        ),
        paper=(
            "3, 128 and 1,024 channels: three fail, 1,024 do not overfit,"
            " 20 layers are constant at any number."
        ),
        needs=("channels-*-depth-*",),
        sections=PREDICTED,
        plate=plates.channels_grid,
        companions=True,
    ),
    PaperFigure(
        number=11,
        title="Linear networks",
        caption="Depth, much more than width, drives linear networks to the constant.",
        paper="Multi-layer linear networks by depth and width.",
        needs=("fcn-linear-depth-*",),
        sections=PREDICTED,
        plate=plates.linear_grid,
    ),
    PaperFigure(
        number=12,
        title="Two layers, one or both trained",
        caption=(
            "With the bottom layer alone, unseen images give noise; with both they lean"
            " to the training image."
        ),
        paper="Two-layer ReLU networks of 2,048 and 16,384 units.",
        needs=("two-layer-bottom-*", "two-layer-all-*"),
        sections=PREDICTED,
        plate=plates.two_layers,
    ),
    PaperFigure(
        number=13,
        title="One digit, fully connected, all images",
        caption="As figure 2, on every unseen image: noise first, then the digit.",
        paper="The whole table behind figure 2.",
        needs=("fcn-relu-depth-*",),
        sections=PREDICTED,
        plate=plates.depths_all,
    ),
    PaperFigure(
        number=14,
        title="Fully connected networks by depth and similarity",
        caption=(
            "Nothing agrees with the identity at correlation 0, whatever the depth, and"
            " ReLU networks reach the constant sooner than linear ones."
        ),
        paper="Heat maps of FCNs, ReLU and linear.",
        needs=("fcn-relu-depth-*", "fcn-linear-depth-*"),
        sections=MAPPED,
        plate=plates.connected_map,
    ),
    PaperFigure(
        number=15,
        title="Layer by layer",
        caption=(
            "Each layer's leading singular vector as an image: a deep network loses the"
            " input in its middle and makes it anew."
        ),
        paper="Pictures per layer, trained and not.",
        needs=CNN,
        sections=("pictures",),
        plate=plates.layers_all,
    ),
    PaperFigure(
        number=16,
        title="Layer by layer, shallow",
        caption=(
            "Singular vector, channel most like the input, and first channel, for the"
            " training image and an unseen one: the input stays visible throughout."
        ),
        paper="Layers of the 7-layer CNN.",
        needs=CNN,
        sections=("pictures",),
        plate=plates.layers_shallow,
    ),
    PaperFigure(
        number=17,
        title="Layer by layer, in between",
        caption=(
            "Singular vector, channel most like the input, and first channel, for the"
            " training image and an unseen one."
        ),
        paper="Layers of the 14-layer CNN.",
        needs=CNN,
        sections=("pictures",),
        plate=plates.layers_middle,
    ),
    PaperFigure(
        number=18,
        title="Layer by layer, deep",
        caption=(
            "Singular vector, channel most like the input, and first channel: the last"
            " layers draw the training image whatever was put in."
        ),
        paper="Layers of the 20-layer CNN.",
        needs=CNN,
        sections=("pictures",),
        plate=plates.layers_deep,
    ),
    PaperFigure(
        number=19,
        title="How far weights moved",
        caption=(
            "Weights move most in the last layer, relative to where they "
            "started, and less, but not by nothing, below; bars are "
            "means, points seeds."
        ),
        paper=(
            "Largest at the top, small but not zero below, near 0 in the "
            "lower five of 11 hidden layers of an FCN."
        ),
        needs=("cnn-depth-*", "fcn-relu-depth-*"),
        sections=("change",),
        plate=plates.changes,
    ),
    PaperFigure(
        number=20,
        title="A shallow network at other sizes, more of them",
        caption=(f"As figure 6, and images of one size on black of several. {BELOW}"),
        paper="Inputs and outputs of the 5-layer CNN at more sizes.",
        needs=CNN,
        sections=("sizes",),
        plate=plates.sizes_more,
    ),
    PaperFigure(
        number=21,
        title="Inside a deep network at other sizes",
        caption=(
            "Leading singular vectors of layers, for one unseen image at several sizes:"
            " what will be the output grows from the boundary. Black and white are each"
            " picture's own."
        ),
        paper="Intermediate layers of the 20-layer CNN at several sizes.",
        needs=CNN,
        sections=("sizes",),
        plate=plates.sizes_layers,
    ),
    PaperFigure(
        number=22,
        title="The last layer alone, by depth",
        caption=(
            "Images put straight into the last layer of networks of every depth; beside"
            " them the cosine with the training image."
        ),
        paper="The top layer of CNNs of every depth: a clear break at 15 layers.",
        needs=CNN,
        sections=("upper",),
        plate=plates.upper_one,
    ),
    PaperFigure(
        number=23,
        title="The last two layers alone, by depth",
        caption="The same, put into the last layer but one.",
        paper="The top two layers of CNNs of every depth.",
        needs=CNN,
        sections=("upper",),
        plate=plates.upper_two,
    ),
    PaperFigure(
        number=24,
        title="Upper layers of a deep network alone",
        caption=(
            "An image is put in before the last layers, beside the cosine with the"
            " training image: the more layers, the more of the digit they make."
        ),
        paper=(
            "The last 3, 6 and 10 layers of the 20-layer CNN: half of it makes the"
            " digit from nothing."
        ),
        needs=CNN,
        sections=("upper",),
        plate=plates.upper_deep,
    ),
)
