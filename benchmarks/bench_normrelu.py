"""Time of an update with NormReLU, over plain ReLU's, beside batch and layer normalisation.

``python benchmarks/bench_normrelu.py``: least processor time of some updates in turn, so
that a busy machine hits all alike; ratios to plain ReLU.
"""

import argparse
import time

import torch

from empirical.randomness import torch_generator
from verify.claims.deep_conditioning.normrelu.overhead import network

KINDS: tuple[str, ...] = ("relu", "normrelu", "layer", "batch")


def seconds(*, width: int, depth: int, batch: int, rounds: int) -> dict[str, float]:
    """Return the least processor time of an update of each kind of network."""
    networks = {kind: network(kind, width=width, depth=depth) for kind in KINDS}
    x = torch.randn(batch, width, generator=torch_generator(1, "inputs"))
    found = dict.fromkeys(KINDS, float("inf"))
    for _ in range(rounds):
        for kind, net in networks.items():
            start = time.process_time()
            net(x).square().mean().backward()
            found[kind] = min(found[kind], time.process_time() - start)
    return found


def main() -> None:
    """Print a table of ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--depth", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=30)
    options = vars(parser.parse_args())
    print(f"| width | {' | '.join(KINDS)} |")
    for width in (128, 256, 512, 1024):
        found = seconds(width=width, **options)
        ratios = [f"{found[kind] / found['relu']:.2f}" for kind in KINDS]
        print(f"| {width} | {' | '.join(ratios)} |", flush=True)


if __name__ == "__main__":
    main()
