"""Command line: learn one initialisation, or run the tables' and figures' batch."""

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from empirical.checks import check_choice, check_counts
from empirical.testbed import before, command, telling
from empirical.testbed.ending import FORMATS, Curve, Ending, draw, say
from empirical.testbed.options import add_options, among, helping, made
from empirical.testbed.study import Setting, remove_checkpoints
from empirical.testbed.writing import save_tensors, whole, write_json

if TYPE_CHECKING:
    from torch import Tensor

    from empirical.mmd_init.pretraining import Pretrained

NAMED = {"name": "--data", "rates": "--rate", "widths": "--hidden` and `--classes"}
"""Options of parameters that are called otherwise."""

SAMPLE = "mnist-sample"
"""Digits of MNIST that are always at hand, asked for by their name alone."""


def _add(parser: argparse.ArgumentParser) -> None:
    # Loaded here, as below: they load PyTorch.
    from empirical.data import NAMES
    from empirical.mmd_init.classifiers import STARTS
    from empirical.mmd_init.recipes import Recipe

    number: dict[str, Any] = {"type": int, "metavar": "N"}
    text = "your own inputs, a .npy or .pt file, one input a row"
    parser.add_argument("--inputs", type=Path, metavar="FILE", help=text)
    text = f"inputs of a data set; {SAMPLE} is 4,000 digits that need no download"
    text, every = helping(text, "mnist"), among((*NAMES, SAMPLE))
    parser.add_argument("--data", metavar=every, default="mnist", help=text)
    parser.add_argument("--side", help="shrink images to this edge", **number)
    hidden = [392] * 3
    text = helping("units of each hidden layer", tuple(hidden))
    parser.add_argument("--hidden", nargs="+", default=hidden, help=text, **number)
    text = helping("outputs of the network", 2)
    parser.add_argument("--classes", default=2, help=text, **number)
    text = helping("initialisation that the learning starts from", "he")
    parser.add_argument("--start", choices=STARTS, default="he", help=text)
    text = helping("seed of first weights and noise", 0)
    parser.add_argument("--seed", default=0, help=text, **number)
    text = (
        "file for torch.load: `state`, of a torch.nn.Sequential of Linear and ReLU, and"
        " `inputs`, with the mean and deviation that they were standardised by"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", required=True, help=text)
    text = "file of the losses on the way, JSON"
    parser.add_argument("--record", type=Path, metavar="FILE", help=text)
    text = f"draw the losses, to a {', '.join(FORMATS)} file"
    parser.add_argument("--figure", type=Path, metavar="FILE", help=text)
    text = "stop when most perturbed networks are constant"
    parser.add_argument("--stop-degenerate", action="store_true", help=text)
    add_options(parser.add_argument_group("recipe"), Recipe())


def _inputs(
    options: argparse.Namespace, setting: Setting
) -> "tuple[Tensor, dict[str, Any]]":
    """Return standardised inputs, of a file or a data set, and what is said of them."""
    import torch
    from torch import Tensor

    from empirical.data import NAMES
    from empirical.mmd_init import binary_tasks, inputs

    path: Path | None = options.inputs
    if path is None:
        check_choice("pretrain", "data", options.data, (*NAMES, SAMPLE))
        sample = options.data == SAMPLE
        found = binary_tasks.images(
            "mnist" if sample else options.data,
            side=options.side,
            directory=None if sample else setting.data_folder,
            allow_unverified=setting.allow_unverified,
            cached=not sample,
        )
        source = found.source["source"]
        if "embedded" in source and not sample:
            raise ValueError(
                f"pretrain: `--data {options.data}` must be at hand, but there are only"
                f" {len(found.inputs)} {source}. Fetch it with `python -m empirical.data"
                f" fetch {options.data}`, or say `--data {SAMPLE}`"
            )
        x, mean, std = found.inputs, found.mean, found.std
        return x, _about(source, x, mean, std)
    before.check_used(options, {"data": "mnist", "side": None}, "with `--inputs`")
    given = _read(path)
    if (
        not isinstance(given, Tensor)
        or given.layout is not torch.strided
        or given.is_meta
        or given.ndim < 2
        or not len(given)
    ):
        raise ValueError(
            f"pretrain: `--inputs` must hold an array of inputs, one a row, but {path} "
            "does not"
        )
    if given.is_complex():
        raise ValueError(f"pretrain: `--inputs` must be real, but {path} is complex")
    # Far from zero, single precision has no digits left for what they differ in.
    x = given.detach().flatten(1).double()
    inputs.check_unlabelled(x)
    mean, std = float(x.mean()), float(x.std(correction=0))
    if not (math.isfinite(std) and std > 0.0):
        raise ValueError(
            f"pretrain: `--inputs` must be finite and not constant, but the standard "
            f"deviation of {path} is {std}"
        )
    return ((x - mean) / std).float(), _about(str(path), x, mean, std)


def _about(source: str, x: "Tensor", mean: float, std: float) -> dict[str, Any]:
    return {"source": source, "rows": len(x), "mean": mean, "deviation": std}


def _read(path: Path) -> object:
    """Return what a .npy or .pt file holds."""
    import numpy as np
    import torch

    from empirical.mmd_init.inputs import as_tensor

    if path.suffix not in (".npy", ".pt"):
        raise ValueError(
            f"pretrain: `--inputs` must be a .npy or .pt file, but it is {path}"
        )
    if not path.is_file():
        raise ValueError(
            f"pretrain: `--inputs` must be a file, but there is no file {path}"
        )
    try:
        if path.suffix == ".npy":
            return as_tensor(np.load(path, allow_pickle=False))
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


def _files(options: argparse.Namespace, setting: Setting) -> Path:
    """Return where the state on the way lies; see that files can be, and are, apart."""
    output: Path = options.output
    before.check_outputs(output=output, printed=())
    kept = setting.checkpoint or output.with_name(f"{output.name}.checkpoint")
    before.check_outputs(
        output=output,
        record=options.record,
        checkpoint=kept,
        figure=options.figure,
        printed=(),
    )
    every = [p for p in (output, options.record, kept, options.inputs) if p is not None]
    if len({p.resolve() for p in every}) < len(every):
        raise ValueError(
            "pretrain: `--output`, `--record`, `--checkpoint` and `--inputs` must be"
            f" different files, but they are {', '.join(map(str, every))}"
        )
    return kept


def _pretrain(options: argparse.Namespace, setting: Setting) -> int:
    try:
        return _learn(options, setting)
    except ValueError as error:
        if options.inputs is None:
            raise
        # What is said of data is of these inputs, not of a data set.
        raise ValueError(str(error).replace("`data`", "`--inputs`")) from error


def _learn(options: argparse.Namespace, setting: Setting) -> int:
    from empirical.mmd_init import pretraining
    from empirical.mmd_init.networks import classifier, start
    from empirical.mmd_init.recipes import Recipe
    from empirical.randomness import torch_generator

    kept = _files(options, setting)
    # Of a single input every network predicts one class: all would count as degenerate.
    check_counts("pretrain", 2, batch=options.batch)
    recipe = made(Recipe(), options)
    x, about = _inputs(options, setting)
    x = x.to(setting.device)
    network = classifier((x.shape[1], *options.hidden, options.classes))
    source = torch_generator(options.seed, "start")
    first = start(network, options.start, [source], device=setting.device)
    about["steps"] = recipe.updates(len(x))
    sys.stderr.write(
        f"{about['rows']} inputs of {about['source']}, mean {about['mean']:.4g} and"
        f" deviation {about['deviation']:.4g}; {about['steps']} steps\n"
    )

    def run() -> "Pretrained":
        return pretraining.pretrain(
            network,
            x,
            recipe,
            generator=torch_generator(options.seed, "noise"),
            params=first,
            on_degenerate="stop" if options.stop_degenerate else "record",
            progress=lambda done, last, means: telling.tell(done, last, **means),
            checkpoint=kept,
        )

    # Opened ahead of the work, and put in place behind it.
    with whole(options.output) as partial:
        partial.touch()
        found = command.alone(run, "pretrain", options.minutes, checkpoint=kept)
        _record(options, found, about)
        shown = _ending(found, network.widths)
        if not found.best:
            say(shown.said, sys.stdout)
            remove_checkpoints(kept)
            raise RuntimeError(
                "pretrain: nothing is learnt, and nothing written: no window of"
                f" {recipe.window} steps has a finite loss. Lower --rate."
            )
        state = {name: tensor.cpu() for name, tensor in found.state.items()}
        save_tensors({"state": state, "inputs": about, "best": found.best}, partial)
    remove_checkpoints(kept)
    where = f"The start, a PyTorch state dict, is in {options.output}."
    if options.record is not None:
        where += f" Its record is in {options.record}."
    if options.figure is not None:
        draw(shown, options.figure)
        where += f" The figure is in {options.figure}."
    say((*shown.said, where), sys.stdout)
    return 0 if found.status == "finished" else 1


def _record(
    options: argparse.Namespace, found: "Pretrained", about: dict[str, Any]
) -> None:
    if options.record is not None:
        record = {
            "status": found.status,
            "inputs": about,
            "best": found.best,
            "degenerate": found.degenerate,
            "history": {name: v.tolist() for name, v in found.history.items()},
        }
        write_json(options.record, record)


def _ending(found: "Pretrained", widths: Sequence[int]) -> Ending:
    """Say how pre-training ended, and which start of it is kept."""
    import numpy as np

    shown, history = "-".join(map(str, widths)), found.history
    steps = np.arange(len(history["loss"]))
    window = min(100, len(steps))
    means = {name: float(v[-window:].mean()) for name, v in history.items()}
    one_class = means.pop("constant", math.nan)
    last = [f"{name} {v:.4g}" for name, v in means.items() if math.isfinite(v)]
    kept = f"; the one kept is that after update {found.best}" if found.best else ""
    said = [
        (
            f"Learnt a start for networks {shown} in {len(steps)} updates:"
            f" {found.status}{kept}."
        )
    ]
    if last:
        said.append(f"Means over the last {window} updates: {', '.join(last)}.")
    if math.isfinite(one_class):
        said.append(
            f"Of the perturbed networks {100.0 * one_class:.3g} % predict one class for"
            " all inputs of a batch."
        )
    said += _spread(history["uniformity"])
    if found.degenerate is not None:
        advice = "Raise --lam or lower --s."
        if widths[-1] > 2:
            advice = "Lower --s; of three classes and more --lam favours a constant."
        said.append(
            f"It is degenerate from step {found.degenerate}: most perturbed networks"
            f" predict one class. {advice}"
        )
    curves = [
        Curve("share of one class" if name == "constant" else name, steps, v)
        for name, v in history.items()
        if np.isfinite(v).any()
    ]
    return Ending(said=tuple(said), curves=tuple(curves), x="update", y="loss, terms")


def _spread(uniformity: Any) -> list[str]:
    """Say what the uniformity loss means for networks that are trained from the start."""
    # Two windows of their own: one that is compared with itself has gained nothing.
    window = min(100, len(uniformity) // 2)
    if window == 0:
        return []
    first, last = (float(v.mean()) for v in (uniformity[:window], uniformity[-window:]))
    if not (math.isfinite(first) and math.isfinite(last)):
        return []
    if last < first:
        means = (
            "networks drawn around this start spread more evenly over all answers than"
            " around the first one, so that more of the labellings of the inputs are near:"
            " what the paper learns a start for"
        )
    else:
        means = (
            "networks drawn around it spread no more evenly over the answers than around"
            " the first one: nothing is gained yet; try more `--steps` or another `--rate`"
        )
    went = (
        f"The uniformity loss went from {first:.3g}, the mean of the first {window}"
        f" updates, to {last:.3g}, that of the last: {means}."
    )
    return [went]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; see `command.main`. Divergence in pre-training is 1."""
    about = "learn one initialisation, as a PyTorch state dict"
    return command.main(
        "empirical.mmd_init",
        [command.Single("pretrain", about, _add, _pretrain)],
        argv,
        about="Learn initialisations from unlabelled inputs.",
        named=NAMED,
    )


if __name__ == "__main__":
    sys.exit(main())
