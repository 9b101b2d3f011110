"""Sizes of the experiments at three scales."""

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Sizes of the experiments at a scale; defaults are those of the small one."""

    pairs: Mapping[str, tuple[int, int]]
    per_class: int = 80
    tests: int = 100
    side: int | None = 8
    widths: tuple[int, ...] = (24, 24, 24)
    channels: tuple[int, ...] = (8, 8, 8)
    # Seeds 0 to 9 were used to choose these sizes: claims have fresh ones.
    seeds: tuple[int, ...] = tuple(range(10, 28))
    epochs: int = 1200
    conv_epochs: int = 300
    batch: int | None = None
    # Steps that end small: networks that decay then come to rest.
    schedule: tuple[float, ...] = (0.6, 0.8, 0.9)
    classes: tuple[int, ...] = (0, 1, 3, 8)
    dtype: str = "float64"
    starts: tuple[float, ...] = (0.1, 5.0)
    # The paper's 5, 15 and 30, times (24/1024)^(3/8): then outputs, rho times about
    # width^(-3/2), start as large as those of 1,024 units.
    plain: tuple[float, ...] = (1.25, 3.75, 7.5)
    plain_widths: tuple[int, ...] = (24, 24, 24)
    # At the paper's 0.1 one of sixteen such narrow networks ends at one class.
    plain_rate: float = 0.03
    rates: tuple[float, ...] = ()
    deep: tuple[int, ...] = ()
    deep_rates: tuple[float, ...] = ()

    @property
    def updates(self) -> int:
        """Updates that its epochs are of two classes."""
        return self.epochs * (
            1 if self.batch is None else -(-2 * self.per_class // self.batch)
        )


FEW = 8
"""Number of seeds where networks of different seeds agree closely."""

NOISY_BATCH = 20
"""Examples of a step where labels are noisy, and beside that."""

_FULL = Sizes(
    # The paper names no classes; of cats and dogs nothing is learnt from so few.
    pairs={"mnist": (3, 8), "cifar10": (0, 1)},
    per_class=250,
    side=14,
    widths=(64, 64, 64),
    channels=(16, 16, 16),
    seeds=tuple(range(10, 20)),
    epochs=1000,
    conv_epochs=1000,
    batch=128,
    classes=(0, 1, 2, 3, 7, 8),
    starts=(0.1, 1.0, 5.0),
    plain=(1.75, 5.25, 10.5),
    plain_widths=(64, 64, 64),
    plain_rate=0.1,
    rates=(0.001, 0.01, 0.1, 1.0),
    deep=(32,) * 19,
    deep_rates=tuple(0.001 * 2**k for k in range(12)),
)

_PAPER = replace(
    _FULL,
    pairs={"cifar10": (0, 1)},
    # Of the paper's 5,000 and 1,000: no more are in the copy that results are of.
    per_class=2000,
    tests=500,
    side=None,
    # The paper names no widths. Normalised, as many as its rates suffer: at 0.1 networks
    # of 128 units diverge within ten updates, at 0.01 of (32, 64, 64) channels.
    channels=(16, 32, 32),
    seeds=tuple(range(5)),
    # As printed: a constant rate, at which networks that decay never quite rest.
    schedule=(),
    classes=tuple(range(10)),
    dtype="float32",
    # As printed: of so many units, outputs are of order one.
    plain=(5.0, 15.0, 30.0),
    plain_widths=(1024, 1024, 1024),
)

SIZES = {"small": Sizes(pairs={"mnist": (3, 8)}), "full": _FULL, "paper": _PAPER}
"""By the names of the scales."""
