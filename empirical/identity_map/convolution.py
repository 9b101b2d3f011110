"""Convolutions of many networks at once, each with its own kernels."""

from torch import Tensor
from torch.nn import functional


def convolve(weight: Tensor, images: Tensor) -> Tensor:
    """Convolve each draw's images with its own kernels, zero padded, stride 1.

    Parameters
    ----------
    weight : Tensor, shape (draws, out, in, K, K)
    images : Tensor, shape (draws, n, in, H, W) or (1, n, in, H, W)

    Returns
    -------
    Tensor, shape (draws, n, out, H, W)
    """
    images = images.expand(len(weight), -1, -1, -1, -1)
    _, fan_out, fan_in, _, _ = weight.shape
    # Libraries pad few output channels to a block of them: measured at 32 to 1
    # channels, the second way is six times as fast, at 128 to 1 more than twenty times.
    narrow = 4 * fan_out <= fan_in
    return _by_scattering(weight, images) if narrow else _by_groups(weight, images)


def _by_groups(weight: Tensor, images: Tensor) -> Tensor:
    """One grouped convolution, a group for each draw."""
    draws, n, fan_in, height, width = images.shape
    kernel = weight.shape[-1]
    out = functional.conv2d(
        images.transpose(0, 1).reshape(n, draws * fan_in, height, width),
        weight.reshape(-1, fan_in, kernel, kernel),
        padding=kernel // 2,
        groups=draws,
    )
    return out.reshape(n, draws, -1, height, width).transpose(0, 1)


def _by_scattering(weight: Tensor, images: Tensor) -> Tensor:
    """One matrix product for all taps, then each tap's image added where it belongs."""
    draws, n, fan_in, height, width = images.shape
    kernel = weight.shape[-1]
    # Scattering is the adjoint of gathering, so the kernel turns by 180 degrees.
    taps = weight.flip(-2, -1).permute(0, 1, 3, 4, 2).reshape(draws, 1, -1, fan_in)
    parts = taps @ images.flatten(3)
    out = functional.fold(
        parts.flatten(0, 1), (height, width), kernel, padding=kernel // 2
    )
    return out.reshape(draws, n, -1, height, width)
