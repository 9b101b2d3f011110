import pytest
import torch

from empirical import devices


def test_resolve():
    assert devices.resolve("cpu") == torch.device("cpu")
    assert devices.resolve("auto").type in ("cpu", "cuda")


@pytest.mark.parametrize("device", ["tpu!", "meta", ""])
def test_unknown_devices(device):
    with pytest.raises(ValueError, match="`device` must be auto, cpu or cuda"):
        devices.resolve(device)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_absent_cuda():
    with pytest.raises(ValueError, match="PyTorch sees no CUDA device"):
        devices.resolve("cuda")
