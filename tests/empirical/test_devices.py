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


def test_timed_counts_calls():
    calls = []
    timing = devices.timed(lambda: calls.append(1), repeats=4, warmup=2)
    assert len(calls) == 6
    assert timing.repeats == 4
    with pytest.raises(ValueError, match="`repeats` must be at least 1"):
        devices.timed(lambda: None, repeats=0)
