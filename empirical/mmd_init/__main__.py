"""Command line: learn one initialisation, or run the tables' and figures' batch."""

import argparse
import math
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from empirical.testbed import command, telling
from empirical.testbed.ending import FORMATS, Curve, Ending, draw
from empirical.testbed.options import add_options, made
from empirical.testbed.study import Setting, remove_checkpoints
from empirical.testbed.writing import whole, write_json

if TYPE_CHECKING:
    from torch import Tensor

    from empirical.mmd_init.pretraining import Pretrained


def _add(parser: argparse.ArgumentParser) -> None:
    # Loaded here, as below: they load PyTorch.
    from empirical.data import NAMES
    from empirical.mmd_init.classifiers import STARTS
    from empirical.mmd_init.recipes import Recipe

    text = "your own inputs: .npy or .pt, one a row; default: a data set's"
    parser.add_argument("--inputs", type=Path, help=text)
    text = f"{', '.join(NAMES)}; default: mnist"
    parser.add_argument("--data", default="mnist", help=text)
    parser.add_argument("--side", type=int, help="shrink images to this edge")
    text = "units of each hidden layer; default: 392 392 392"
    parser.add_argument("--hidden", nargs="+", type=int, default=[392] * 3, help=text)
    parser.add_argument("--classes", type=int, default=2, help="default: 2")
    parser.add_argument("--start", choices=STARTS, default="he", help="default: he")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    text = "file of the state dict of a torch.nn.Sequential of Linear and ReLU"
    parser.add_argument("--output", type=Path, required=True, help=text)
    text = "file of the losses on the way, JSON"
    parser.add_argument("--record", type=Path, help=text)
    text = f"draw the losses, to a {', '.join(FORMATS)} file"
    parser.add_argument("--figure", type=Path, metavar="FILE", help=text)
    text = "stop when most perturbed networks are constant"
    parser.add_argument("--stop-degenerate", action="store_true", help=text)
    add_options(parser.add_argument_group("recipe"), Recipe())


def _inputs(options: argparse.Namespace, setting: Setting) -> "Tensor":
    """Return standardised inputs, of a file or a data set."""
    from torch import Tensor

    from empirical.mmd_init import tasks

    path: Path | None = options.inputs
    if path is None:
        return tasks.images(
            options.data,
            side=options.side,
            directory=setting.data_folder,
            allow_unverified=setting.allow_unverified,
        ).inputs
    found = _read(path)
    if not isinstance(found, Tensor) or found.ndim < 2 or not len(found):
        raise ValueError(
            f"pretrain: `--inputs` must hold an array of inputs, one a row, but {path} "
            "does not"
        )
    if found.is_complex():
        raise ValueError(f"pretrain: `--inputs` must be real, but {path} is complex")
    x = found.flatten(1).float()
    std = float(x.std(correction=0))
    if not (math.isfinite(std) and std > 0.0):
        raise ValueError(
            f"pretrain: `--inputs` must be finite and not constant, but the standard "
            f"deviation of {path} is {std}"
        )
    return (x - x.mean()) / std


def _read(path: Path) -> object:
    """Return what a .npy or .pt file holds."""
    import numpy as np
    import torch

    if path.suffix not in (".npy", ".pt"):
        raise ValueError(
            f"pretrain: `--inputs` must be a .npy or .pt file, but it is {path}"
        )
    try:
        if path.suffix == ".npy":
            return torch.from_numpy(np.load(path, allow_pickle=False))
        return torch.load(path, weights_only=True)
    except OSError:
        raise
    # What is raised for bytes of another kind depends on the bytes.
    except Exception as error:
        first = str(error).partition("\n")[0]
        raise ValueError(
            f"pretrain: `--inputs` must be a {path.suffix} file of numbers, but {path} "
            f"cannot be read as one ({type(error).__name__}: {first})"
        ) from error


def _pretrain(options: argparse.Namespace, setting: Setting) -> int:
    from empirical.mmd_init import pretraining
    from empirical.mmd_init.networks import classifier, start
    from empirical.mmd_init.recipes import Recipe
    from empirical.randomness import torch_generator

    outputs = (options.output, options.record, setting.checkpoint)
    command.check_outputs(*outputs, figure=options.figure)
    recipe = made(Recipe(), options)
    x = _inputs(options, setting).to(setting.device)
    network = classifier((x.shape[1], *options.hidden, options.classes))
    source = torch_generator(options.seed, "start")
    first = start(network, options.start, [source], device=setting.device)

    def run() -> "Pretrained":
        return pretraining.pretrain(
            network,
            x,
            recipe,
            generator=torch_generator(options.seed, "noise"),
            params=first,
            on_degenerate="stop" if options.stop_degenerate else "record",
            progress=lambda done, last, means: telling.tell(done, last, **means),
            checkpoint=setting.checkpoint,
        )

    found = command.alone(run, "pretrain", options.minutes)
    _write(options, found, network.widths)
    if setting.checkpoint is not None:
        remove_checkpoints(setting.checkpoint)
    return 0 if found.status == "finished" else 1


def _write(
    options: argparse.Namespace, found: "Pretrained", widths: Sequence[int]
) -> None:
    import torch

    kept = {name: tensor.cpu() for name, tensor in found.state.items()}
    with whole(options.output) as partial:
        torch.save(kept, partial)
    if options.record is not None:
        record = {
            "status": found.status,
            "best": found.best,
            "degenerate": found.degenerate,
            "history": {name: v.tolist() for name, v in found.history.items()},
        }
        write_json(options.record, record)
    shown = _ending(found, widths)
    if options.figure is not None:
        draw(shown, options.figure)
    where = f"The start, a PyTorch state dict, is in {options.output}."
    if options.record is not None:
        where += f" Its record is in {options.record}."
    if options.figure is not None:
        where += f" The figure is in {options.figure}."
    for sentence in (*shown.said, where):
        sys.stdout.write(textwrap.fill(sentence, 88, break_on_hyphens=False) + "\n")


def _ending(found: "Pretrained", widths: Sequence[int]) -> Ending:
    """Say how pre-training ended, and which start of it is kept."""
    import numpy as np

    shown, history = "-".join(map(str, widths)), found.history
    steps = np.arange(len(history["loss"]))
    window = min(100, len(steps))
    means = {name: float(v[-window:].mean()) for name, v in history.items()}
    last = [f"{name} {v:.4f}" for name, v in means.items() if math.isfinite(v)]
    said = [
        (
            f"Learnt a start for networks {shown} in {len(steps)} updates: {found.status},"
            f" kept after step {found.best}."
        )
    ]
    if last:
        said.append(f"Means over the last {window} updates: {', '.join(last)}.")
    if found.degenerate is not None:
        said.append(
            f"It is degenerate from step {found.degenerate}: most perturbed networks"
            " predict one class. Raise --lam or lower --s."
        )
    curves = [
        Curve(name, steps, v) for name, v in history.items() if np.isfinite(v).any()
    ]
    return Ending(said=tuple(said), curves=tuple(curves), x="update", y="loss, terms")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; see `command.main`. Divergence in pre-training is 1."""
    about = "learn one initialisation, as a PyTorch state dict"
    return command.main(
        "empirical.mmd_init",
        [command.Single("pretrain", about, _add, _pretrain)],
        argv,
        about="Learn initialisations from unlabelled inputs.",
    )


if __name__ == "__main__":
    sys.exit(main())
