"""What tests of training draw, and how they interrupt it."""

import torch

from empirical.randomness import torch_generator


def normal(*shape, name="x", dtype=torch.float64):
    """Draw standard normal numbers; others of another name."""
    return torch.randn(*shape, generator=torch_generator(7, name), dtype=dtype)


def streams(count, name="noise"):
    """Return so many generators of a name."""
    return [torch_generator(7, name, k) for k in range(count)]


def one_of(params, index):
    """Return one replicate, with an axis of replicates."""
    return tuple(p[index : index + 1].clone() for p in params)


def interrupt_at(step):
    """Return what interrupts training, as Ctrl-C does, when it tells of so many steps."""

    def progress(done, *_):
        if done >= step:
            raise KeyboardInterrupt

    return progress
