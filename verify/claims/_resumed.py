"""Training that stops half-way and goes on from its checkpoint, for closed claims."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from unittest import mock

from empirical.testbed import loop

Found = TypeVar("Found")


class _Stop(Exception):
    """In the place of Ctrl-C."""


def resumed(
    train: Callable[..., Found], *, after: int | None
) -> tuple[Found, dict[int, Any]]:
    """Stop a training after so many updates, two or more, and let it go on.

    ``train(checkpoint=..., progress=...)`` makes anew all that it trains. Returned is what
    it returns in the end, and what is told after how many updates, in both calls. With
    None it is trained in one go, without a checkpoint, and nothing is told.
    """
    told: dict[int, Any] = {}
    if after is None:
        return train(), told

    def stop(made: int, steps: int, loss: Any) -> None:
        del steps
        told[made] = loss
        if made == after:
            raise _Stop

    def go_on(made: int, steps: int, loss: Any) -> None:
        assert after <= made <= steps, "not from the checkpoint"
        told[made] = loss

    # Told of after every update, as if each took seconds: it can stop behind any.
    with TemporaryDirectory() as folder, mock.patch.object(loop, "RESTS", -1.0):
        path = Path(folder) / "checkpoint"
        try:
            train(checkpoint=path, progress=stop)
        except _Stop:
            return train(checkpoint=path, progress=go_on), told
    raise ValueError(
        f"resumed: `after` must be an update on the way, but it is {after}"
    )
