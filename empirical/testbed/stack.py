"""Replicates in training, as tensors with the replicates in front.

A *replicate* is one network of a stack: its own start, data order and rate. Replicates
share one batched computation and nothing else, so that who trains beside whom moves no
number beyond the rounding of batched products.
"""

import copy
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from empirical.testbed import modules as nets
from empirical.testbed.modules import Params as Params
from empirical.testbed.writing import Array

CACHED = 12 * 2**20
"""Bytes that a few updates in a row find in a CPU's cache. Measured with square layers:
of replicates of 0.3 to 4 MiB as many as fit in take 0.5 to 0.8 of the time of one by one,
of 8 to 20 MiB one by one takes two thirds of the time of all together."""


def along(factors: Tensor, like: Tensor) -> Tensor:
    """Return `factors`, shape (replicates,), so that it multiplies `like` row by row.

    Examples
    --------
    >>> along(torch.ones(2), torch.ones(2, 3, 4)).shape
    torch.Size([2, 1, 1])
    """
    return factors.view(-1, *[1] * (like.ndim - 1))


class Stack:
    """Parameters, optimiser's moments and learning rates of the replicates in training.

    Parameters
    ----------
    params : sequence of Tensor, shape (replicates, ...)
        First parameters; copied. Their dtype and device are those of training.
    rates : array, shape () or (replicates,)
        Learning rates.
    buffers : sequence of Tensor, shape (replicates, ...), optional
        What a forward pass updates by itself (running statistics); copied.
    learnt : sequence of int, optional
        Which parameters are trained, by index; all by default.

    Attributes
    ----------
    params, buffers : tuple of Tensor
        As they are now, of the replicates still in training.
    rows : Tensor of int64, shape (replicates,)
        Which replicates these are, in the order in which training began.
    rates : Tensor, shape (replicates,)
        Learning rates now; see `set_rates`.
    clock : Tensor, shape (replicates,)
        Updates made.
    state : dict of str to tuple of Tensor
        What an optimiser keeps of each replicate, e.g. momenta.

    Raises
    ------
    ValueError
        If there is no replicate, parameters differ in their number or dtype or are not
        real numbers, values are not finite (buffers may be infinite, as masks are), a
        rate is not positive, or `learnt` names no parameter.

    Examples
    --------
    >>> stack = Stack([torch.zeros(3, 2)], rates=[0.1, 0.2, 0.4])
    >>> stack.leave([1])
    >>> stack.rows.tolist(), stack.params[0].shape
    ([0, 2], torch.Size([2, 2]))
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        *,
        rates: npt.ArrayLike,
        buffers: Sequence[Tensor] = (),
        learnt: Sequence[int] | None = None,
    ) -> None:
        _check(params, buffers)
        # Strides are kept: autograd's gradients have those of the parameters.
        self.params: Params = tuple(p.detach().clone() for p in params)
        self.buffers: Params = tuple(b.detach().clone() for b in buffers)
        self.learnt = tuple(range(len(params)) if learnt is None else learnt)
        once, every = {*self.learnt}, {*range(len(params))}
        if not once or not once <= every or len(once) < len(self.learnt):
            raise ValueError(
                f"Stack: `learnt` must be positions among the {len(params)} parameters, "
                "from 0 on, each once and at least one, but they are "
                f"{list(self.learnt)}"
            )
        first, replicates = self.params[0], len(params[0])
        self.rows = torch.arange(replicates, device=first.device)
        self.rates = torch.zeros(replicates, dtype=first.dtype, device=first.device)
        # In half precision it would stop: 256 + 1 is 256 there.
        counts = torch.promote_types(first.dtype, torch.float32)
        self.clock = torch.zeros_like(self.rates, dtype=counts)
        self.state: dict[str, tuple[Tensor, ...]] = {}
        self.set_rates(checked_rates(rates, replicates, "Stack"))
        if not bool((torch.isfinite(self.rates) & (self.rates > 0.0)).all()):
            raise ValueError(
                f"Stack: `rates` must be positive and finite in {first.dtype}, but they "
                f"are {self.rates.tolist()}"
            )
        self._whole: tuple[Stack, slice] | None = None
        self._selected: dict[int, tuple[Tensor, Tensor]] = {}

    @classmethod
    def of(
        cls,
        module: nn.Module,
        generators: Sequence[torch.Generator],
        *,
        rates: npt.ArrayLike,
    ) -> "Stack":
        """Return replicates of a module, each initialised anew by its own generator.

        Parameters
        ----------
        module : nn.Module
            Not changed. What has no ``requires_grad`` is not trained. In training mode,
            batch normalisation's running statistics are the stack's buffers; see
            `empirical.testbed.supervised` for its training, of recurrent modules, too.
        generators : sequence of torch.Generator
            On the CPU, one a replicate.
        rates : array, shape () or (replicates,)

        Raises
        ------
        ValueError
            If the module can't be stacked: the message says what to do instead.

        Examples
        --------
        >>> seeds = [torch.Generator().manual_seed(i) for i in range(8)]
        >>> stack = Stack.of(nn.Linear(3, 2), seeds, rates=0.1)
        >>> stack
        <Stack of 8 replicates, rates 0.1, parameters (2, 3), (2,)>
        >>> [tuple(p.shape) for p in stack.params]
        [(8, 2, 3), (8, 2)]
        """
        params, buffers = nets.drawn(module, generators)
        return cls(params, rates=rates, buffers=buffers, learnt=nets.learnt(module))

    @classmethod
    def of_modules(
        cls, modules: Sequence[nn.Module], *, rates: npt.ArrayLike
    ) -> "Stack":
        """Return a stack of modules of one kind, which keep their own values; see `of`.

        Examples
        --------
        >>> len(Stack.of_modules([nn.Linear(3, 2) for _ in range(8)], rates=0.1))
        8
        """
        params, buffers = nets.stacked(modules)
        return cls(params, rates=rates, buffers=buffers, learnt=nets.learnt(modules[0]))

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        """Return how many replicates of what shapes, and their rates."""
        rates = sorted(set(self.rates.tolist()))
        span = f"{rates[0]:.3g} to {rates[-1]:.3g}" if rates[1:] else f"{rates[0]:.3g}"
        shapes = ", ".join(str(tuple(p.shape[1:])) for p in self.params)
        return f"<Stack of {len(self)} replicates, rates {span}, parameters {shapes}>"

    @property
    def common_rate(self) -> float | None:
        """The rate that all replicates of the stack, or of its whole, have now."""
        return self._common if self._whole is None else self._whole[0].common_rate

    @property
    def trained(self) -> Params:
        """The parameters that are trained."""
        return tuple(self.params[index] for index in self.learnt)

    @property
    def bytes(self) -> int:
        """Memory of one replicate: parameters and what the optimiser keeps."""
        tensors = _listed([self.params, self.buffers, self.state])
        return sum(t[0].numel() * t.element_size() for t in tensors)

    @property
    def cached(self) -> int | None:
        """How many replicates to update together on a CPU; None on a GPU, for all."""
        return None if self.rates.is_cuda else max(1, CACHED // self.bytes)

    def set_rates(self, rates: npt.ArrayLike) -> None:
        """Set the learning rates of the replicates in training, shape (replicates,).

        Raises
        ------
        ValueError
            If they are not one for each, finite and not negative.
        """
        sizes = np.asarray(rates, dtype=np.float64)
        if sizes.shape != (len(self),) or not ((sizes >= 0.0) & (sizes < np.inf)).all():
            raise ValueError(
                f"Stack.set_rates: `rates` must be finite and not negative, one for each "
                f"of {len(self)} replicates, but they are {sizes.tolist()}"
            )
        self.rates.copy_(torch.from_numpy(sizes))
        self._compare_rates()

    def select(self, data: Tensor) -> Tensor:
        """Return the rows of `data` that belong to these replicates.

        `data` has all replicates of the start in front, or one row that all share. The
        selection is made once for as long as the same replicates are in training.
        """
        if len(data) == 1:
            return data
        if id(data) not in self._selected:
            if self._whole is None:
                mine = data if len(data) == len(self.rows) else data[self.rows]
            else:
                whole, part = self._whole
                mine = whole.select(data)[part]
            self._selected[id(data)] = (data, mine)
        return self._selected[id(data)][1]

    def examples(self, chosen: Tensor) -> Tensor:
        """Return each replicate's examples, (replicates, batch), of what was drawn.

        Parameters
        ----------
        chosen : Tensor of int64, shape (batch,) or (replicates of the start, batch)
            See `batches.Batches.draw`.
        """
        if chosen.ndim == 1:
            return chosen.expand(len(self), -1)
        return chosen if len(chosen) == len(self) else chosen[self.rows]

    def leave(self, columns: Sequence[int]) -> None:
        """Drop the replicates in these columns; refuse columns that are none."""
        if not {*columns} <= {*range(len(self))}:
            raise ValueError(
                f"Stack.leave: `columns` must lie in 0..{len(self) - 1}, but they are "
                f"{list(columns)}"
            )
        stay = np.setdiff1d(np.arange(len(self)), np.asarray(columns, dtype=np.int64))
        self.keep(torch.from_numpy(stay).to(self.rows.device))

    def keep(self, columns: Tensor) -> None:
        """Drop all replicates but those in `columns`, int64."""
        self._take(columns)
        self._compare_rates()

    def parts(self, together: int | None) -> list["Stack"]:
        """Divide the stack into views of at most `together` replicates each."""
        if together is None or together >= len(self):
            return [self]
        count = math.ceil(len(self) / together)
        edges = np.linspace(0, len(self), count + 1).round().astype(int).tolist()
        return [self._part(slice(a, b)) for a, b in pairwise(edges)]

    def saved(self) -> dict[str, object]:
        """Return the stack's state for a checkpoint."""
        return {
            "params": list(self.params),
            "buffers": list(self.buffers),
            "state": {name: list(tensors) for name, tensors in self.state.items()},
            "rows": self.rows,
            "rates": self.rates,
            "clock": self.clock,
        }

    def load(self, saved: Mapping[str, object]) -> None:
        """Restore what `saved` returned for a stack of the same start.

        Raises
        ------
        ValueError
            If tensors are absent, or of other shapes or dtypes.
        """
        mine, theirs = _listed(self.saved()), _listed(saved)
        # All of them have replicates in front, and the saved ones may be fewer.
        wanted = [(t.shape[1:], t.dtype) for t in mine]
        if wanted != [(t.shape[1:], t.dtype) for t in theirs]:
            raise ValueError(
                "Stack.load: `saved` must have the stack's shapes and dtypes, "
                f"{[tuple(t.shape) for t in mine]}, but they are "
                f"{[tuple(t.shape) for t in theirs]}"
            )
        (rows,) = _listed(saved["rows"])
        self.keep(rows)
        for target, source in zip(_listed(self.saved()), theirs, strict=True):
            target.copy_(source)
        self.set_rates(self.rates.double().cpu().numpy())

    def _compare_rates(self) -> None:
        # As rounded to the dtype: a checkpoint holds no other.
        values = set(self.rates.tolist())
        self._common = values.pop() if len(values) == 1 else None

    def _part(self, columns: slice) -> "Stack":
        mine = copy.copy(self)
        mine._take(columns)
        mine._whole = (self, columns)
        return mine

    def _take(self, columns: Tensor | slice) -> None:
        self.params = tuple(p[columns] for p in self.params)
        self.buffers = tuple(b[columns] for b in self.buffers)
        self.state = {k: tuple(t[columns] for t in v) for k, v in self.state.items()}
        self.rows, self.rates = self.rows[columns], self.rates[columns]
        self.clock, self._selected = self.clock[columns], {}


def checked_rates(
    rates: npt.ArrayLike, replicates: int, who: str = "train", name: str = "rates"
) -> Array:
    """Return learning rates, one a replicate.

    Raises
    ------
    ValueError
        If they are no numbers, not positive and finite, or not one for each or for all.
    """
    try:
        if np.asarray(rates).dtype.kind in "SUb":
            raise TypeError("text and truth values would become numbers")
        sizes = np.asarray(rates, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{who}: `{name}` must be numbers, but they are {rates!r}"
        ) from error
    fine = np.isfinite(sizes) & (sizes > 0.0)
    if sizes.shape not in ((), (replicates,)) or not fine.all():
        raise ValueError(
            f"{who}: `{name}` must be positive and finite, one for each of the "
            f"{replicates} replicates, but they are {sizes.tolist()}"
        )
    return np.broadcast_to(sizes, (replicates,)).copy()


def _check(params: Sequence[Tensor], buffers: Sequence[Tensor]) -> None:
    lengths = {len(p) if p.ndim else 0 for p in (*params, *buffers)}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(
            "Stack: `params` and `buffers` must have the same replicates in front, at "
            f"least one, but their shapes are {[tuple(p.shape) for p in params]}"
        )
    kinds = {p.dtype for p in params}
    if len(kinds) > 1 or not params[0].is_floating_point():
        raise ValueError(
            "Stack: `params` must be of one floating-point dtype, but they are of "
            f"{', '.join(sorted(map(str, kinds)))}"
        )
    # A sum is finite only if all entries are, and needs no memory.
    doubtful = [p for p in params if not bool(torch.isfinite(p.sum()))]
    bad = sum(int((~torch.isfinite(p)).sum()) for p in doubtful)
    if bad:
        raise ValueError(f"Stack: `params` must be finite, but {bad} entries are not")
    # A mask may have infinities.
    bad = sum(int(torch.isnan(b).sum()) for b in buffers)
    if bad:
        raise ValueError(f"Stack: `buffers` must be numbers, but {bad} entries are nan")


def _listed(value: object) -> list[Tensor]:
    """Return the tensors of nested lists and dictionaries, in order."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Mapping):
        return [tensor for key in sorted(value) for tensor in _listed(value[key])]
    if isinstance(value, list | tuple):
        return [tensor for part in value for tensor in _listed(part)]
    raise ValueError(f"Stack.load: `saved` must hold tensors only, but has {value!r}")
