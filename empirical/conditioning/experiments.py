"""The measurements as the command line and the batch run them: numbers in, JSON out.

Each experiment is a function of keyword arguments that JSON can carry; its results are
lists and numbers. Streams of random numbers are named after what they are for, so that
one seed fixes a result on one kind of device.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor

from empirical import devices
from empirical.checks import check_choice, check_positive, check_weights
from empirical.conditioning.activations import named
from empirical.conditioning.chains import layer_statistics, pair_chains
from empirical.conditioning.descent import step_sizes, train_all_layers, train_top_layer
from empirical.conditioning.interpolation import (
    accuracy,
    digit_problem,
    minimum_norm,
    with_label_noise,
)
from empirical.conditioning.rates import slowest_rates, steps_to
from empirical.conditioning.spectra import condition_by_depth, condition_numbers
from empirical.conditioning.widths import kernels_by_width
from empirical.data import (
    assumption_a_inputs,
    assumption_b_inputs,
    largest_correlation,
    pair_inputs,
    planar_cluster,
)
from empirical.declared import Count, OneOf, Several
from empirical.digest import code_digest
from empirical.kernels import gram, nngp_ntk
from empirical.networks import FullyConnected
from empirical.randomness import numpy_generator, torch_generator
from empirical.testbed.checkpoints import Stopwatch
from empirical.testbed.records import RunRecord, identity
from empirical.testbed.study import CPU, Setting
from empirical.testbed.writing import Array

Result = dict[str, Any]

DATA = ("a", "b", "arc", "digits")
"""Kinds of inputs; see `inputs`."""
Data = Annotated[str, OneOf(DATA)]


def inputs(
    data: str, *, n: int, delta: float, seed: int, directory: Path | str | None = None
) -> Array:
    """Return n unit inputs of a kind.

    Parameters
    ----------
    data : {"a", "b", "arc", "digits"}
        Random points whose closest pair has correlation 1 - delta (Assumption A); with
        smallest Gram eigenvalue delta (Assumption B); on an arc, neighbours with
        correlation 1 - delta; handwritten digits, which have the delta they have.
    n : int
    delta : float
    seed : int
    directory : str, optional
        Of the full set of digits; by default as `empirical.data.load` looks.

    Examples
    --------
    >>> x = inputs("b", n=5, delta=0.1, seed=7)
    >>> round(float(np.linalg.eigvalsh(x @ x.T)[0]), 12)
    0.1
    """
    check_choice("inputs", "data", data, DATA)
    generator = numpy_generator(seed, "inputs", data)
    if data == "a":
        # So many dimensions that random points leave room for any usual delta.
        return assumption_a_inputs(n, max(64, 8 * n), delta, generator=generator)
    if data == "b":
        return assumption_b_inputs(n, delta, generator=generator)
    if data == "arc":
        return planar_cluster(n, delta)
    return digit_problem(n, 1, directory=directory).inputs


def depth(
    *,
    data: Data = "a",
    n: Several = 32,
    delta: float = 0.05,
    activation: str = "relu",
    width: Count = 512,
    depths: Sequence[int] = (0, 1, 2, 4, 8, 16, 32),
    draws: Count = 4,
    tangent: bool = False,
    units: bool = False,
    seed: int = 7,
    device: str = "cpu",
    directory: Path | str | None = None,
) -> Result:
    """Condition numbers of the kernels against depth."""
    x = inputs(data, n=n, delta=delta, seed=seed, directory=directory)
    curves = condition_by_depth(
        torch.from_numpy(x).to(device),
        activation=named(activation),
        width=width,
        depths=depths,
        draws=draws,
        generator=torch_generator(seed, "weights", device=device),
        tangent=tangent,
        units=units,
    )
    result: Result = {
        "source": _source(data, n, directory),
        "depths": curves.depths.tolist(),
        "delta": 1.0 - largest_correlation(x),
        "smallest_input_eigenvalue": float(np.linalg.eigvalsh(x @ x.T)[0]),
        "largest_correlations": curves.largest_correlations.tolist(),
    }
    for kind, spectrum in (("nngp", curves.nngp), ("ntk", curves.ntk)):
        if spectrum is not None:
            result |= _lists(spectrum, f"{kind}_")
    return result


def width(
    *,
    data: Data = "a",
    n: Several = 8,
    delta: float = 0.05,
    activation: str = "relu",
    widths: Sequence[Count] = (64, 128, 256, 512),
    depth: Count = 3,
    draws: Count = 32,
    seed: int = 7,
    device: str = "cpu",
    directory: Path | str | None = None,
) -> Result:
    """Mean kernels and their spread against width."""
    x = inputs(data, n=n, delta=delta, seed=seed, directory=directory)
    found = kernels_by_width(
        torch.from_numpy(x).to(device),
        activation=named(activation),
        widths=widths,
        depth=depth,
        draws=draws,
        generator=torch_generator(seed, "weights", device=device),
    )
    result: Result = {
        "source": _source(data, n, directory),
        "gram": (x @ x.T).tolist(),
        "widths": list(widths),
    }
    for kind, curves in found.items():
        result |= _lists(curves, f"{kind}_")
    return result


def norms(
    *,
    activation: str = "tanh",
    rho: float = 0.9,
    squared_norms: Sequence[float] = (2.0, 0.5),
    width: Count = 512,
    depth: Count = 16,
    draws: Count = 16,
    seed: int = 7,
    device: str = "cpu",
) -> Result:
    """Lengths and cosine of two non-unit inputs at every layer of drawn networks."""
    for each in squared_norms:
        check_positive("norms", squared_norms=each)
    x = pair_inputs(rho) * np.sqrt(np.asarray(squared_norms, dtype=float))[:, None]
    statistics = layer_statistics(
        FullyConnected.uniform(
            inputs=2, width=width, depth=depth, activation=named(activation)
        ),
        torch.from_numpy(x).to(device),
        draws=draws,
        generator=torch_generator(seed, "weights", device=device),
    )
    return _means(
        squared_norms=statistics.squared_norms,
        correlations=statistics.correlations[:, :, 0, 1],
    )


def chain(
    *,
    activation: str = "relu",
    rho: float = 0.5,
    width: Count = 64,
    depth: Count = 40,
    chains: Count = 1000,
    seed: int = 7,
    device: str = "cpu",
) -> Result:
    """Correlation of two inputs through random deep networks of fixed width."""
    runs = pair_chains(
        rho,
        activation=named(activation),
        width=width,
        depth=depth,
        chains=chains,
        generator=torch_generator(seed, "units", device=device),
        project=True,
    )
    return _means(
        correlations=runs.correlations, squared_correlations=runs.correlations**2
    )


def train(
    *,
    layers: Annotated[str, OneOf(("top", "all"))] = "top",
    data: Data = "a",
    n: Several = 16,
    delta: float = 0.2,
    activation: str = "tanh",
    width: Count = 512,
    depth: Count = 4,
    draws: Count = 4,
    steps: Count = 200,
    every: Count = 1,
    seed: int = 7,
    device: str = "cpu",
    directory: Path | str | None = None,
) -> Result:
    """Gradient descent on random signs: loss curves, rates and condition numbers.

    The top layer takes steps n / lambda_max of its kernel, all layers together
    2n / (lambda_min + lambda_max) of the tangent kernel at initialisation.
    """
    check_choice("train", "layers", layers, ("top", "all"))
    x = torch.from_numpy(
        inputs(data, n=n, delta=delta, seed=seed, directory=directory)
    ).to(device)
    signs = numpy_generator(seed, "targets").choice((-1.0, 1.0), size=(n, 1))
    targets = torch.from_numpy(signs).to(device)
    network = FullyConnected.uniform(
        inputs=x.shape[1], width=width, depth=depth, activation=named(activation)
    )
    params = network.init(
        replicates=draws, generator=torch_generator(seed, "weights", device=device)
    )
    if layers == "top":
        with torch.no_grad():
            features = network.features(params, x)[-1]
        kernels = gram(features)
        sizes = step_sizes(kernels, rule="largest")
        curves = train_top_layer(
            features, targets, step=sizes, steps=steps, every=every
        )
    else:
        kernels = nngp_ntk(network, params, x).ntk
        sizes = step_sizes(kernels, rule="balanced")
        curves = train_all_layers(
            network, params, x, targets, step=sizes, steps=steps, every=every
        )
    values = np.linalg.eigvalsh(kernels.cpu().numpy())
    return _lists(curves) | {
        "slowest_rates": slowest_rates(curves).tolist(),
        "steps_to_1e-6": steps_to(curves, 1e-6).tolist(),
        "source": _source(data, n, directory),
        # Not normalised to unit diagonal: the rate is that of the kernel as it is.
        "conditions": condition_numbers(values).tolist(),
    }


def digits(
    *,
    n: Several = 200,
    tests: Count = 100,
    activation: str = "relu",
    width: Count = 512,
    depths: Sequence[int] = (1, 2, 4, 8, 16),
    draws: Count = 4,
    noise: float = 0.0,
    seed: int = 7,
    device: str = "cpu",
    directory: Path | str | None = None,
) -> Result:
    """Minimum-norm interpolation of digits with kernels averaged over drawn networks.

    The width times the draws must exceed n, or no kernel has full rank.
    """
    check_weights("digits", noise=noise)
    # The kernel of depth 0 would be the last one.
    if not depths or depths[0] < 1 or sorted(set(depths)) != list(depths):
        raise ValueError(
            f"digits: `depths` must be increasing, from 1 on, but it is {tuple(depths)}"
        )
    if width * draws <= n:
        raise ValueError(
            f"digits: `width` times `draws` must exceed `n` = {n}, but it is "
            f"{width * draws}"
        )
    problem = digit_problem(n, tests, directory=directory)
    every = np.concatenate([problem.inputs, problem.test_inputs])
    kernels = _mean_kernels(
        torch.from_numpy(every).to(device),
        FullyConnected.uniform(
            inputs=784, width=width, depth=max(depths), activation=named(activation)
        ),
        draws=draws,
        generator=torch_generator(seed, "weights", device=device),
    )
    targets = with_label_noise(
        problem.targets, deviation=noise, generator=numpy_generator(seed, "noise")
    )
    rows: list[Result] = []
    for at in depths:
        k = kernels[at - 1].cpu().numpy()
        fit = minimum_norm(k[:n, :n], targets, cross=k[n:, :n])
        error = np.mean(np.sum((fit.predictions - problem.test_targets) ** 2, axis=1))
        rows.append(
            {
                "depth": at,
                "condition": fit.condition,
                "residual": fit.residual,
                "squared_norm": float(fit.squared_norms.sum()),
                "test_accuracy": accuracy(fit.predictions, problem.test_labels),
                "test_error": float(error),
            }
        )
    return {"rows": rows, "source": problem.source}


EXPERIMENTS: Mapping[str, Callable[..., Result]] = {
    run.__name__: run for run in (depth, width, norms, chain, train, digits)
}
"""What the command line can run."""


def recorded(
    kind: str, arguments: Mapping[str, Any], setting: Setting = CPU
) -> RunRecord:
    """Run one of `EXPERIMENTS` and return its record, with the fact ``result``.

    Examples
    --------
    >>> found = recorded("chain", {"depth": 1, "chains": 2, "width": 2, "seed": 7})
    >>> len(found.fact("result")["correlations"])
    2
    """
    stopwatch, function = Stopwatch(setting.device), EXPERIMENTS[kind]
    where: dict[str, Any] = {"device": setting.device}
    if "directory" in inspect.signature(function).parameters:
        where["directory"] = setting.data_folder
    result = function(**arguments, **where)
    seconds = {"all": stopwatch.lap()}
    made = {"name": kind, "kind": kind, "arguments": dict(arguments)}
    return RunRecord(
        **identity(made, device=setting.device, schema=2),
        code=code_digest(__name__),
        environment=devices.describe(setting.device),
        seconds=seconds,
        facts={"result": result},
    )


def _source(data: str, n: int, directory: Path | str | None) -> dict[str, Any]:
    """Return what a record says about its inputs."""
    if data == "digits":
        return dict(digit_problem(n, 1, directory=directory).source["train"])
    return {"name": data, "source": "synthetic", "examples": n}


def _mean_kernels(
    x: Tensor, network: FullyConnected, *, draws: int, generator: torch.Generator
) -> list[Tensor]:
    totals = [torch.zeros((len(x),) * 2, dtype=x.dtype, device=x.device)] * (
        network.depth
    )
    with torch.no_grad():
        for _ in range(draws):
            layers = network.stream_features(x, generator=generator)
            totals = [k + gram(h) / draws for k, h in zip(totals, layers, strict=True)]
    return totals


def _means(**samples: Array) -> Result:
    result: Result = {}
    for name, values in samples.items():
        count = len(values)
        result[name] = values.mean(axis=0).tolist()
        # One draw does not say how far another is.
        deviation = values.std(axis=0, ddof=1) if count > 1 else values[0] * np.nan
        result[f"{name}_standard_errors"] = (deviation / np.sqrt(count)).tolist()
    return result


def _lists(arrays: Any, before: str = "") -> Result:
    """Return the arrays of a dataclass as lists, by name."""
    return {before + name: values.tolist() for name, values in vars(arrays).items()}
