"""Devices: choosing one, waiting for it, describing it."""

import os
import platform
import re
from datetime import UTC, datetime
from pathlib import Path

import torch


def resolve(device: str | torch.device = "auto") -> torch.device:
    """Return the device meant by `device`.

    Parameters
    ----------
    device : {"auto", "cpu", "cuda", "cuda:<i>"} or torch.device
        ``"auto"`` is a CUDA device where there is one, otherwise the CPU.

    Raises
    ------
    ValueError
        If the device is unknown, or CUDA is asked for and absent.

    Examples
    --------
    >>> resolve("cpu")
    device(type='cpu')
    """
    if str(device) == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError:
        chosen = None
    # Others have no float64.
    if chosen is None or chosen.type not in ("cpu", "cuda"):
        raise ValueError(
            f"resolve: `device` must be auto, cpu or cuda, but it is {device!r}"
        )
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            "resolve: `device` must be present, but PyTorch sees no CUDA device. "
            "Use 'cpu' or 'auto'."
        )
    return chosen


def synchronise(device: str | torch.device) -> None:
    """Wait until `device` has finished what was queued; nothing to do on the CPU."""
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)


def describe(device: str | torch.device) -> dict[str, str | int]:
    """Return what a record says about where and on which day (UTC) it was made.

    Examples
    --------
    >>> sorted(describe("cpu"))
    ['cores', 'device', 'hardware', 'made', 'python', 'threads', 'torch']
    """
    chosen = torch.device(device)
    name = torch.cuda.get_device_name(chosen) if chosen.type == "cuda" else _processor()
    return {
        "made": datetime.now(UTC).date().isoformat(),
        "device": chosen.type,
        "hardware": name,
        "cores": os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
    }


def _processor() -> str:
    """Return the processor's name and architecture, as far as the system tells."""
    found = platform.processor()
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        named = re.search(r"^model name\s*:\s*(.+)$", listing.read_text(), flags=re.M)
        found = named[1].strip() if named else found
    return ", ".join(
        dict.fromkeys(part for part in (found, platform.machine()) if part)
    )
