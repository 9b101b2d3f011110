"""Independent, named random streams from one seed.

A stream is addressed by names (``"weights"``, ``"batches"``, a width, a replicate).
Adding a stream moves no other, and no global state is read or written.
"""

import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch

Key = TypeVar("Key", bound=Hashable)
Made = TypeVar("Made")

Seed = int | np.random.SeedSequence
"""What starts every stream: a non-negative integer or a `SeedSequence`."""


def _words(name: str | int) -> tuple[int, ...]:
    # The type is part of the address: stream 7 is not stream "7".
    text = f"{type(name).__name__}:{name}".encode()
    return tuple(np.frombuffer(hashlib.sha256(text).digest()[:16], "<u4").tolist())


def seed_sequence(seed: Seed, *names: str | int) -> np.random.SeedSequence:
    """Return the seed sequence of the stream `names` of `seed`.

    Each name contributes 128 bits of its SHA-256 to the spawn key, so that streams with
    different addresses are independent in the sense of `numpy.random.SeedSequence`.

    Parameters
    ----------
    seed : int or SeedSequence
        Not changed: unlike `SeedSequence.spawn` this has no memory.
    *names : str or int
        The address. ``("a", "b")`` is the stream ``"b"`` of the stream ``"a"``.

    Raises
    ------
    ValueError
        If `seed` is negative or no whole number.
    TypeError
        If a name is neither text nor an integer.

    Examples
    --------
    >>> a = seed_sequence(7, "weights")
    >>> b = seed_sequence(seed_sequence(7), "weights")
    >>> bool((a.generate_state(4) == b.generate_state(4)).all())
    True
    """
    for name in names:
        # Callers may not be type-checked.
        if isinstance(name, bool) or not isinstance(name, str | int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                "seed_sequence: `names` must be text or integers, but one is "
                f"{name!r}. Turn it into text, e.g. with repr."
            )
    if isinstance(seed, np.random.SeedSequence):
        root = seed
    # Not 7.5 for 7.
    elif not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(
            "seed_sequence: `seed` must be non-negative and a whole number, but it is "
            f"{seed!r}"
        )
    else:
        root = np.random.SeedSequence(int(seed))
    key = tuple(root.spawn_key) + tuple(w for name in names for w in _words(name))
    return np.random.SeedSequence(root.entropy, spawn_key=key, pool_size=root.pool_size)


def numpy_generator(seed: Seed, *names: str | int) -> np.random.Generator:
    """Return a fresh NumPy generator for the stream `names` of `seed`.

    Examples
    --------
    >>> x = numpy_generator(7, "data").standard_normal(3)
    >>> y = numpy_generator(7, "data").standard_normal(3)
    >>> z = numpy_generator(7, "weights").standard_normal(3)
    >>> bool((x == y).all()), bool((x == z).any())
    (True, False)
    """
    return np.random.default_rng(seed_sequence(seed, *names))


def torch_generator(
    seed: Seed, *names: str | int, device: torch.device | str = "cpu"
) -> torch.Generator:
    """Return a fresh PyTorch generator for the stream `names` of `seed`.

    The generator lives on `device`, and the numbers differ between kinds of device: a
    result is reproducible for a seed *and* a kind of device. PyTorch's CPU generator
    keeps only 32 bits of its seed, so two given streams coincide with probability
    2**-32.

    Examples
    --------
    >>> g, h = torch_generator(7, "weights"), torch_generator(7, "weights")
    >>> bool(torch.equal(torch.randn(3, generator=g), torch.randn(3, generator=h)))
    True
    """
    state = seed_sequence(seed, *names).generate_state(1, np.uint64)
    # 63 bits: the widest range that every PyTorch release accepts without sign.
    generator = torch.Generator(device=torch.device(device))
    return generator.manual_seed(int(state[0]) >> 1)


def shared(keys: Iterable[Key], make: Callable[[Key], Made]) -> list[Made]:
    """Return what is made of each key, seed or generator; of equal ones it is the same.

    Examples
    --------
    >>> one, other, again = shared((7, 8, 7), torch_generator)
    >>> one is again, one is other
    (True, False)
    """
    keys = tuple(keys)
    made = {key: make(key) for key in dict.fromkeys(keys)}
    return [made[key] for key in keys]


class Drawing:
    """What may draw from generators of its own, as a checkpoint keeps it.

    Attributes
    ----------
    generators : sequence of torch.Generator
    told : tuple of str
        Names of the settings by which a checkpoint is compared, beside its generators'
        seeds.
    """

    told: ClassVar[tuple[str, ...]] = ()
    generators: Sequence[torch.Generator] = ()

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint: of the generators, if there are any."""
        states = [g.get_state() for g in self.generators]
        return {"generators": states} if states else {}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        each = zip(self.generators, state.get("generators", ()), strict=True)
        for generator, numbers in each:
            generator.set_state(numbers.cpu())
