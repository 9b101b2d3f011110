"""Command line: learn one initialisation, or run the tables' and figures' batch."""

import argparse
import dataclasses
import math
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical import command
from empirical.data import NAMES
from empirical.mmd_init import batch
from empirical.mmd_init.experiments import SCALES, configurations
from empirical.mmd_init.networks import STARTS, Network, draw
from empirical.mmd_init.noise import WAYS
from empirical.mmd_init.pretraining import Pretrained, pretrain
from empirical.mmd_init.recipes import Recipe
from empirical.mmd_init.tasks import images
from empirical.mmd_init.uniformity import ESTIMATORS
from empirical.randomness import torch_generator
from empirical.testbed.writing import whole

_CHOICES = {"noise": WAYS, "estimator": ESTIMATORS}
_WHOLE = {
    "perturbations",
    "reference",
    "batch",
    "steps",
    "epochs",
    "window",
    "grace",
}
"""Fields of the recipe that are counts."""


def _add_recipe(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("recipe")
    group.add_argument("--s2", type=float, default=0.5, help="s^2 of the noise; 0.5")
    text = "compare two classes with a sample, not with the uniform law itself"
    group.add_argument("--sampled", action="store_true", help=text)
    for field in dataclasses.fields(Recipe):
        if field.name in ("s", "closed"):
            continue
        given: dict[str, Any] = {"type": int if field.name in _WHOLE else float}
        if field.name in _CHOICES:
            given = {"choices": _CHOICES[field.name]}
        text = f"default: {'off' if field.default is None else field.default}"
        option = "--" + field.name
        group.add_argument(option, default=field.default, help=text, **given)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m empirical.mmd_init",
        description="Learn initialisations from unlabelled inputs.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    common = command.common_options()
    one = commands.add_parser(
        "pretrain",
        help="one initialisation, as a PyTorch state dict",
        description="Writes the state dict of a torch.nn.Sequential of Linear and ReLU.",
        parents=[common],
    )
    text = "your own inputs: .npy or .pt, one a row; default: a data set's"
    one.add_argument("--inputs", type=Path, help=text)
    one.add_argument("--data", default="mnist", help=f"{', '.join(NAMES)}; mnist")
    one.add_argument("--side", type=int, help="shrink images to this edge")
    text = "units of each hidden layer; 392 392 392"
    one.add_argument("--hidden", nargs="+", type=int, default=[392] * 3, help=text)
    one.add_argument("--classes", type=int, default=2, help="2")
    one.add_argument("--start", choices=STARTS, default="he", help="he")
    one.add_argument("--seed", type=int, default=0, help="0")
    text = "file of the state dict"
    one.add_argument("--output", type=Path, required=True, help=text)
    one.add_argument("--record", type=Path, help="file of the losses on the way, JSON")
    one.add_argument("--checkpoint", type=Path, help="go on from here after a kill")
    text = "stop when most perturbed networks are constant"
    one.add_argument("--stop-degenerate", action="store_true", help=text)
    _add_recipe(one)
    many = commands.add_parser(
        "batch", help="all configurations without a record", parents=[common]
    )
    command.add_batch_options(many)
    command.add_deadline(many)
    listed = commands.add_parser("list", help="print the configurations' names")
    for each in (many, listed):
        command.add_choice(each, SCALES, "small")
        command.add_figures(each)
    return parser


def _inputs(options: argparse.Namespace) -> Tensor:
    """Return standardised inputs, of a file or a data set."""
    path: Path | None = options.inputs
    if path is None:
        return images(
            options.data,
            side=options.side,
            directory=options.directory,
            allow_unverified=options.allow_unverified,
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


def _pretrain(options: argparse.Namespace, device: str) -> int:
    # Not found out after hours of training.
    for path in (options.output, options.record, options.checkpoint):
        if path is not None and not path.absolute().parent.is_dir():
            raise ValueError(
                f"pretrain: the folder of {path} must exist, but it does not"
            )
    x = _inputs(options).to(device)
    network = Network(widths=(x.shape[1], *options.hidden, options.classes))
    start = network.init(
        options.start, [torch_generator(options.seed, "start")], device=device
    )
    given = {
        f.name: getattr(options, f.name)
        for f in dataclasses.fields(Recipe)
        if hasattr(options, f.name)
    }
    if not (math.isfinite(options.s2) and options.s2 > 0.0):
        raise ValueError(f"pretrain: `--s2` must be positive, but it is {options.s2}")
    recipe = Recipe(s=math.sqrt(options.s2), closed=not options.sampled, **given)
    bar = command.Bar(1)
    shown: AbstractContextManager[Any] = (
        bar.bar if sys.stderr.isatty() else nullcontext()
    )

    def terms(done: int, last: int, means: dict[str, float]) -> None:
        bar.steps(done, last, **means)

    with shown:
        found = pretrain(
            network,
            x,
            recipe,
            generator=torch_generator(options.seed, "noise"),
            state=draw(start, 0),
            on_degenerate="stop" if options.stop_degenerate else "record",
            progress=terms,
            checkpoint=options.checkpoint,
        )
    _write(options, found, network)
    if options.checkpoint is not None:
        options.checkpoint.unlink(missing_ok=True)
    return 0 if found.status == "finished" else 1


def _write(options: argparse.Namespace, found: Pretrained, network: Network) -> None:
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
        command.put(record, options.record)
    window = min(100, len(found.history["loss"]))
    last = {name: float(v[-window:].mean()) for name, v in found.history.items()}
    widths = "-".join(map(str, network.widths))
    said = [f"{widths}: {found.status}, kept after step {found.best}"]
    said += [f"{n} {v:.4f}" for n, v in last.items() if math.isfinite(v)]
    sys.stderr.write(", ".join(said) + "\n")
    if found.degenerate is not None:
        sys.stderr.write(
            f"degenerate from step {found.degenerate}: most perturbed networks predict "
            "one class. Raise --lam or lower --s2.\n"
        )


def _batch(options: argparse.Namespace, device: str) -> int:
    chosen = command.chosen(configurations(options.scale), options)
    return command.run_chosen(chosen, batch.run_batch, options, device)


def _list(options: argparse.Namespace) -> int:
    for c in command.chosen(configurations(options.scale), options):
        served = [
            f"{name} {' '.join(map(str, numbers))}"
            for name, numbers in (("tables", c.tables), ("figures", c.figures))
            if numbers
        ]
        sys.stdout.write("  ".join([c.name, f"{len(c.runs)} runs", *served]) + "\n")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line: 0, 1 on failure or divergence, 2 on misuse, 130 Ctrl-C."""
    options = _parser().parse_args(argv)
    by_name: dict[str, Callable[[argparse.Namespace, str], int]] = {
        "pretrain": _pretrain,
        "batch": _batch,
    }

    def run() -> int:
        if options.command == "list":
            return _list(options)
        return by_name[options.command](options, command.resolved(options))

    return command.guarded(run)


if __name__ == "__main__":
    sys.exit(main())
