"""Initialisations learnt from unlabelled inputs, and what they are worth.

`pretrain` moves a start to where small perturbations predict anything; `finetune` trains
stacks of networks on random binary tasks. ``python -m empirical.mmd_init`` does both.
Source: Lee and Cho, *Unsupervised Learning of Initialization in Deep Neural Networks
via Maximum Mean Discrepancy* (2023).
"""

from typing import TYPE_CHECKING

from empirical._lazily import names_of

if TYPE_CHECKING:
    from empirical.mmd_init.networks import classifier as classifier
    from empirical.mmd_init.networks import start as start
    from empirical.mmd_init.pretraining import Pretrained as Pretrained
    from empirical.mmd_init.pretraining import pretrain as pretrain
    from empirical.mmd_init.pretraining import pretrain_stack as pretrain_stack
    from empirical.mmd_init.recipes import Recipe as Recipe

__getattr__ = names_of(__name__)
