"""Train networks to copy one image, and see which function the training chooses.

The test-bed of Zhang, Bengio, Hardt, Mozer, Singer 2020, "Identity Crisis":
networks from images to images, initialised, trained and measured many at once.
``python -m empirical.identity_map`` trains any of them and prints what it learnt.
"""

from typing import TYPE_CHECKING

from empirical._lazily import names_of

if TYPE_CHECKING:
    from empirical.identity_map.networks import copier as copier
    from empirical.identity_map.recipes import Recipe as Recipe
    from empirical.identity_map.training import Trained as Trained
    from empirical.identity_map.training import train as train

__getattr__ = names_of(__name__)
