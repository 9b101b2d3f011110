"""One update recorded as a CUDA graph: one launch in the place of hundreds."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

# Updates before a capture, so that libraries have chosen their kernels.
_WARMUP = 3


def captured(
    update: Callable[[], Tensor], mutable: Sequence[Tensor]
) -> Callable[[], Tensor]:
    """Return a function that does what `update` does by replaying a captured graph.

    Parameters
    ----------
    update : callable
        Works on tensors whose memory stays where it is, and never waits for the device.
        It is the eager twin: both do the same arithmetic.
    mutable : sequence of Tensor
        What it changes in place; as before the call when this returns.

    Returns
    -------
    callable
        Its result is overwritten by the next call.
    """
    before = [tensor.clone() for tensor in mutable]
    device = mutable[0].device
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        for _ in range(_WARMUP):
            update()
    torch.cuda.current_stream(device).wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = update()
    for tensor, value in zip(mutable, before, strict=True):
        tensor.copy_(value)

    def replay() -> Tensor:
        graph.replay()
        return result

    return replay
