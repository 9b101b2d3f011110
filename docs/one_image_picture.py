"""Draw the README's picture: one layer's closed form beside the layer that was trained.

``python docs/one_image_picture.py`` writes ``docs/pictures/one-layer.png``.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from empirical.identity_map import copier, images
from empirical.identity_map.recipes import Recipe
from empirical.identity_map.training import train
from empirical.randomness import torch_generator
from theory import identity_map as idm
from verify.figures.style import settled, styled

SIDE = 14


def main() -> None:
    """Train one linear layer on one digit, predict it, and draw both."""
    seven = images.chosen((7,)).fitted((1, SIDE, SIDE))
    others = images.chosen((3, 0)).fitted((1, SIDE, SIDE))
    stripes = images.patterns(
        (1, SIDE, SIDE), generator=torch_generator(7), names=("rows", "disc")
    )
    shown = torch.cat([seven.pixels, others.pixels, stripes.pixels]).double()
    x = seven.pixels.double()

    network = copier(kind="fcn", shape=(1, SIDE, SIDE), layers=1, activation="linear")
    w0 = np.random.default_rng(7).standard_normal((SIDE**2, SIDE**2)) / SIDE
    params = network.load([w0])
    # The mean loss of a standardised digit has curvature 2 or so: the paper's recipe.
    recipe = Recipe(rate=0.1, momentum=0.9, steps=2000, schedule=())
    trained = train(network, params, x, recipe)
    found = network.apply(trained.final, shown)[0, :, 0].numpy()

    rows = shown.flatten(1).numpy()
    predicted = idm.one_layer_prediction(rows, x.flatten().numpy(), w0)
    predicted = predicted.reshape(-1, SIDE, SIDE)
    gap = float(np.abs(predicted - found).max() / np.abs(found).max())
    draw(shown[:, 0].numpy(), predicted, found, gap)


def draw(inputs: Any, predicted: Any, found: Any, gap: float) -> None:
    """Lay out inputs, predictions and outputs in three rows."""
    from matplotlib.figure import Figure

    with styled():
        figure = Figure(figsize=(7.0, 4.4), layout="constrained", facecolor="white")
        plots = figure.subplots(3, len(inputs))
        names = ("trained on", "unseen", "unseen", "unseen", "unseen")
        for row, (label, pictures) in enumerate(
            (("input", inputs), ("closed form", predicted), ("trained", found))
        ):
            for column, picture in enumerate(pictures):
                ax = plots[row, column]
                ax.imshow(picture, cmap="gray", vmin=-1.5, vmax=2.5)
                ax.set(xticks=[], yticks=[])
                ax.grid(visible=False)
                for spine in ax.spines.values():
                    spine.set_visible(False)
                if row == 0:
                    ax.set_title(names[column], fontweight="normal", loc="center")
            plots[row, 0].set_ylabel(label, fontsize=10)
        figure.supxlabel(
            "One linear layer, one image. Largest difference of the two rows:"
            f" {gap:.0e} of the output.",
            fontsize=9.5,
        )
        path = Path(__file__).parent / "pictures" / "one-layer.png"
        settled(figure).savefig(path, dpi=110)
    print(f"{path.name}: largest relative difference {gap:.1e}")


if __name__ == "__main__":
    main()
