"""Convolutions of many networks at once, each with its own kernels."""

from torch import Tensor
from torch.nn import functional


def convolved(
    weight: Tensor, bias: Tensor | None, images: Tensor, stride: int
) -> Tensor:
    """Convolve each replicate's images with its own kernels, zero padded.

    Parameters
    ----------
    weight : Tensor, shape (replicates, out, in, K, K)
    bias : Tensor, shape (replicates, out), optional
    images : Tensor, shape (replicates, n, in, H, W), (1, n, in, H, W) or (n, in, H, W)
    stride : int

    Returns
    -------
    Tensor, shape (n, replicates * out, H', W')
        As it lies in memory.
    """
    replicates, fan_out, fan_in, _, _ = weight.shape
    if images.ndim == 5 and len(images) == 1:
        images = images[0]
    # Libraries pad few output channels to a block of them: measured at 32 to 1
    # channels, the second way is six times as fast, at 128 to 1 more than twenty times.
    if 4 * fan_out <= fan_in and stride == 1:
        each = images.expand(replicates, *images.shape[-4:])
        out = _by_scattering(weight, each).transpose(0, 1).flatten(1, 2)
        return out if bias is None else out + bias.view(1, -1, 1, 1)
    # All replicates may look at the same images: then it is one wide convolution.
    shared = images.ndim == 4
    return functional.conv2d(
        images if shared else images.transpose(0, 1).flatten(1, 2),
        weight.flatten(0, 1),
        None if bias is None else bias.flatten(),
        stride=stride,
        padding=weight.shape[-1] // 2,
        groups=1 if shared else replicates,
    )


def _by_scattering(weight: Tensor, images: Tensor) -> Tensor:
    """One matrix product for all taps, then each tap's image added where it belongs."""
    replicates, n, fan_in, height, width = images.shape
    kernel = weight.shape[-1]
    # Scattering is the adjoint of gathering, so the kernel turns by 180 degrees.
    taps = weight.flip(-2, -1).permute(0, 1, 3, 4, 2).reshape(replicates, 1, -1, fan_in)
    parts = taps @ images.flatten(3)
    out = functional.fold(
        parts.flatten(0, 1), (height, width), kernel, padding=kernel // 2
    )
    return out.reshape(replicates, n, -1, height, width)
