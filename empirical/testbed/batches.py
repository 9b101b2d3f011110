"""Which examples each update learns from."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from empirical.checks import check_counts, check_generators
from empirical.randomness import Drawing


class Batches(Drawing, ABC):
    """Chooses examples; what it chooses depends on no replicate's course.

    Attributes
    ----------
    examples : int, optional
        How many it chooses among, where that is known: as many as the task must have.
    """

    told: ClassVar[tuple[str, ...]] = ("examples", "batch", "whose", "ordered")
    examples: int | None = None

    @abstractmethod
    def draw(self, start: int, stop: int) -> list[Tensor | None]:
        """Return the examples of updates start, ..., stop - 1, None for all of them.

        Called with consecutive ranges. A tensor of shape (batch,) is shared by all
        replicates; one of shape (replicates, batch) has a row for each of the start.
        """


def drawn_by(
    batches: Batches, start: int, stop: int, replicates: int, examples: int | None
) -> list[Tensor | None]:
    """Return what batches draw for a task of so many examples, where it says it.

    Raises
    ------
    ValueError
        If that is not as `Batches.draw` says, or of other replicates or examples.
    """
    drawn = batches.draw(start, stop)
    if len(drawn) != stop - start:
        raise ValueError(
            f"train: `batches` must draw for each of {stop - start} updates, but it draws"
            f" for {len(drawn)}"
        )
    count = examples if batches.examples is None else None
    for chosen in drawn:
        if chosen is None:
            continue
        # Callers may not be type-checked.
        fits = getattr(chosen, "dtype", None) == torch.int64 and chosen.ndim in (1, 2)
        if not fits or not chosen.numel():
            raise ValueError(
                "train: `batches` must draw int64 tensors of shape (batch,) or "
                f"(replicates, batch), but it draws {chosen!r:.200}"
            )
        if chosen.ndim == 2 and len(chosen) != replicates:
            raise ValueError(
                "train: `batches` must draw for all replicates together or for each "
                f"of the {replicates}, but it draws for {len(chosen)}"
            )
        if count is not None and not bool(((chosen >= 0) & (chosen < count)).all()):
            raise ValueError(
                f"train: `batches` must draw examples from 0 to {count - 1}, as the "
                f"task has {count}, but it draws {chosen.flatten().tolist()}"
            )
    return drawn


class Whole(Batches):
    """Every update learns from all examples."""

    def draw(self, start: int, stop: int) -> list[Tensor | None]:
        """Return None for each update."""
        return [None] * (stop - start)


class Epochs(Batches):
    """Orders of examples drawn anew each epoch, cut into batches.

    Parameters
    ----------
    examples, batch : int
        An epoch's last batch may be smaller than `batch`.
    generators : sequence of torch.Generator
        On the CPU; one, whose order all replicates share, or one a replicate. Replicates
        that are given the same one share its orders.
    order : callable, optional
        Draws an epoch's order, `examples` numbers; by default a permutation of
        0, ..., examples - 1.

    Attributes
    ----------
    per_epoch : int
        Updates.

    Raises
    ------
    ValueError
        If a number is less than 1, there is no generator, or one is none; in training,
        if `order` draws other than `examples` whole numbers.

    Examples
    --------
    >>> orders = Epochs(5, 2, [torch.Generator().manual_seed(7)])
    >>> [len(chosen) for chosen in orders.draw(0, 4)]
    [2, 2, 1, 2]
    """

    def __init__(
        self,
        examples: int,
        batch: int,
        generators: Sequence[torch.Generator],
        *,
        order: Callable[[torch.Generator], Tensor] | None = None,
    ) -> None:
        check_counts("Epochs", examples=examples, batch=batch)
        check_generators("Epochs", generators)
        # An order of one's own may choose among others.
        self.examples = examples if order is None else None
        self.batch = min(batch, examples)
        self.per_epoch = -(-examples // self.batch)
        self.generators = list(dict.fromkeys(generators))
        self.whose = [self.generators.index(g) for g in generators]
        self.ordered = order or (lambda g: torch.randperm(examples, generator=g))
        self.order = torch.zeros((len(generators), examples), dtype=torch.int64)

    def draw(self, start: int, stop: int) -> list[Tensor | None]:
        """Return each update's part of its epoch's order."""
        drawn: list[Tensor | None] = []
        for t in range(start, stop):
            place = t % self.per_epoch
            if place == 0:
                orders = [self.ordered(g) for g in self.generators]
                for each in orders:
                    self._check(each)
                self.order = torch.stack(orders)[self.whose]
            part = self.order[:, place * self.batch : (place + 1) * self.batch]
            drawn.append(part[0] if len(part) == 1 else part)
        return drawn

    def _check(self, order: Tensor) -> None:
        shape = self.order.shape[1:]
        # Callers may not be type-checked.
        if getattr(order, "dtype", None) != torch.int64 or order.shape != shape:
            raise ValueError(
                f"Epochs: `order` must draw an int64 tensor of shape {tuple(shape)}, but it"
                f" draws {order!r:.200}"
            )

    def state(self) -> dict[str, Any]:
        """Return the order of this epoch, and the generators' states."""
        return {"order": self.order, **super().state()}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        super().load(state)
        self.order = state["order"].cpu()


class Afresh(Batches):
    """Examples drawn uniformly and with replacement for each update, shared by all.

    Parameters
    ----------
    examples, batch : int
    generator : torch.Generator
        On the CPU.

    Raises
    ------
    ValueError
        If a number is less than 1, or the generator is none.
    """

    def __init__(self, examples: int, batch: int, generator: torch.Generator) -> None:
        check_counts("Afresh", examples=examples, batch=batch)
        check_generators("Afresh", [generator], "generator")
        self.examples = self._among = examples
        self.batch, self.generators = batch, (generator,)

    def draw(self, start: int, stop: int) -> list[Tensor | None]:
        """Return new numbers for each update."""
        shape = (stop - start, self.batch)
        return list(torch.randint(self._among, shape, generator=self.generators[0]))
