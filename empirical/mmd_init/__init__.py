"""Initialisations learnt from unlabelled inputs, and what they are worth.

`pretrain` moves a start to where small perturbations predict anything; `finetune` trains
stacks of networks on random binary tasks. ``python -m empirical.mmd_init`` does both.
Source: Lee and Cho, *Unsupervised Learning of Initialization in Deep Neural Networks
via Maximum Mean Discrepancy* (2023).
"""

from typing import TYPE_CHECKING

from empirical._lazily import names_of

if TYPE_CHECKING:
    from empirical.mmd_init.networks import classifier, start
    from empirical.mmd_init.pretraining import Pretrained, pretrain, pretrain_stack
    from empirical.mmd_init.recipes import Recipe

__all__ = [
    "Pretrained",
    "Recipe",
    "classifier",
    "pretrain",
    "pretrain_stack",
    "start",
]

__getattr__ = names_of(__name__, "networks", "pretraining", "recipes")
