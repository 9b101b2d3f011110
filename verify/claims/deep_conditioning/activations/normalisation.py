"""Batch and layer normalisation make the activation's normalisation free (section 6).

Replacing an activation s by (s - t)/c, c > 0, changes nothing behind a normalisation.
Predictions are plain NumPy networks, measurements are PyTorch's own normalisation
layers on the same weights and inputs.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from verify.claim import grid, numeric
from verify.claims._predictors import changed, mistake
from verify.claims.deep_conditioning._sources import ours, quoted
from verify.claims.deep_conditioning._subjects import normalised, subject
from verify.compare import AgreesTo, Array

_WIDTH, _BATCH, _LAYERS = 50, 16, 3


def _draws(seed: int) -> tuple[Array, list[Array], Array]:
    """Return inputs (batch, width), hidden weights and a readout, standard Gaussian."""
    rng = np.random.default_rng(seed)
    inputs = rng.standard_normal((_BATCH, _WIDTH))
    weights = [rng.standard_normal((_WIDTH, _WIDTH)) for _ in range(_LAYERS)]
    return inputs, weights, rng.standard_normal(_WIDTH)


# --- predicted: NumPy ----------------------------------------------------------------


def _standardised(z: Array, axis: int, eps: float = 0.0) -> Array:
    centred = z - z.mean(axis=axis, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=axis, keepdims=True) + eps)


def _network(
    activation: Callable[[Array], Array],
    seed: int,
    *,
    normalise_output: bool = True,
    eps: float = 0.0,
    hidden_sign: float = 1.0,
) -> Array:
    # The paper's order: activation, linear map, normalisation of the pre-activations.
    z, weights, readout = _draws(seed)
    for layer, weight in enumerate(weights):
        z = _standardised(z @ weight / math.sqrt(_WIDTH), 0, eps)
        if layer:
            z = hidden_sign * z
        z = np.asarray(activation(z))
    output = hidden_sign * (z @ readout) / math.sqrt(_WIDTH)
    return _standardised(output, 0, eps) if normalise_output else output


def _predict_batch(
    *, activation: str, seed: int, normalise_output: bool = True, **_: Any
) -> Array:
    # Whatever shift and scale: the network of the normalised activation.
    return _network(normalised(activation), seed, normalise_output=normalise_output)


def _affine_draws(seed: int) -> tuple[Array, Array]:
    """Return gains (of both signs) and biases, one a unit."""
    rng = np.random.default_rng(seed + 1)
    return rng.standard_normal(_WIDTH), rng.standard_normal(_WIDTH)


def _predict_affine(*, activation: str, shift: float, scale: float, seed: int) -> Array:
    z, weights, _ = _draws(seed)
    hidden = np.asarray(normalised(activation)(z @ weights[0])) @ weights[1]
    gain, bias = _affine_draws(seed)
    return gain * _standardised(hidden, 0) + bias


def _wrong_affine(*, activation: str, shift: float, scale: float, seed: int) -> Array:
    """The bias scaled with the activation."""
    _, bias = _affine_draws(seed)
    found = _predict_affine(activation=activation, shift=shift, scale=scale, seed=seed)
    return found - bias + bias / scale


def _predict_layer(
    *, activation: str, seed: int, norm: bool = True, **_case: Any
) -> Array:
    z, weights, _ = _draws(seed)
    out = np.asarray(normalised(activation)(z @ weights[0]))
    return _standardised(out, 1) if norm else out


_HIDDEN_PRINTED = changed(
    _predict_batch,
    "No change, as where the output is normalised too.",
    normalise_output=False,
)


def _predict_hidden_corrected(*, activation: str, seed: int) -> Array:
    # Raw = c * normalised + t at the last activation, which no normalisation follows.
    a, found = subject(activation), _HIDDEN_PRINTED(**locals())
    readout = _draws(seed)[2].sum() / math.sqrt(_WIDTH)
    return math.sqrt(a.variance) * found + a.mean * readout


def _predict_sign_printed(*, activation: str, scale: float, seed: int) -> Array:
    """No change of sign."""
    return _network(subject(activation), seed)


def _predict_sign_corrected(*, activation: str, scale: float, seed: int) -> Array:
    # A negative scale flips every unit that a normalisation follows.
    return _network(subject(activation), seed, hidden_sign=math.copysign(1.0, scale))


def _predict_eps_printed(*, activation: str, eps: float, seed: int, **_: Any) -> Array:
    """The same epsilon for the scaled activation."""
    return _network(subject(activation), seed, eps=eps)


def _predict_eps_corrected(
    *, activation: str, scale: float, eps: float, seed: int
) -> Array:
    # Var(s/c) + eps = (Var s + c^2 eps) / c^2. The first layer sees the inputs, not s.
    z, weights, readout = _draws(seed)
    for layer, weight in enumerate(weights):
        own = eps if layer == 0 else eps * scale**2
        z = _standardised(z @ weight / math.sqrt(_WIDTH), 0, own)
        z = np.asarray(subject(activation)(z))
    return _standardised(z @ readout / math.sqrt(_WIDTH), 0, eps * scale**2)


# --- measured: PyTorch ---------------------------------------------------------------

# PyTorch's batch normalisation refuses zero; this vanishes beside any variance.
_NO_EPS = 1e-300

_TORCH: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "gelu": functional.gelu,
}


def _torch_network(
    activation: str,
    seed: int,
    *,
    shift: float,
    scale: float,
    normalise_output: bool,
    eps: float,
) -> Array:
    inputs, weights, readout = _draws(seed)
    z = torch.from_numpy(inputs)
    for weight in weights:
        z = z @ torch.from_numpy(weight) / math.sqrt(_WIDTH)
        z = functional.batch_norm(z, None, None, training=True, eps=eps)
        z = (_TORCH[activation](z) - shift) / scale
    output = (z @ torch.from_numpy(readout) / math.sqrt(_WIDTH))[:, None]
    if normalise_output:
        output = functional.batch_norm(output, None, None, training=True, eps=eps)
    return output[:, 0].numpy()


def _measure_affine(*, activation: str, shift: float, scale: float, seed: int) -> Array:
    inputs, weights, _ = _draws(seed)
    z = torch.from_numpy(inputs) @ torch.from_numpy(weights[0])
    shifted = (_TORCH[activation](z) - shift) / scale @ torch.from_numpy(weights[1])
    gain, bias = (torch.from_numpy(v) for v in _affine_draws(seed))
    return functional.batch_norm(
        shifted, None, None, gain, bias, training=True, eps=_NO_EPS
    ).numpy()


def _measure_layer(*, activation: str, shift: float, scale: float, seed: int) -> Array:
    inputs, weights, _ = _draws(seed)
    z = torch.from_numpy(inputs) @ torch.from_numpy(weights[0])
    shifted = (_TORCH[activation](z) - shift) / scale
    return functional.layer_norm(shifted, (_WIDTH,), eps=0.0).numpy()


# Rounding: each of 4 standardisations divides by a spread of at least 1/10 of its
# input's size and sums 50 products, whose errors are independent, so an output of size
# one carries 4 * 10 * sqrt(50) * 2.2e-16 = 6e-14; a kink at zero is continuous.
_EXACT = AgreesTo(absolute=6e-14)


_SHIFTED = partial(
    grid, activation=("relu", "tanh", "gelu"), shift=(0.0, -2.5), scale=(0.1, 1.0, 7.0)
)

LEM_21 = numeric(
    id="dc/lem2.1",
    items=("Lem2.1", "Eq5"),
    title="Batch normalisation absorbs the shift and scale of an activation",
    statement=r"\mathrm{BN}(w \cdot \tilde\sigma(z_i)) = \mathrm{BN}(w \cdot \sigma(z_i)),"
    r" \quad \tilde\sigma = (\sigma - t) / s,\ s > 0",
    assumptions=(
        "s > 0, no epsilon",
        "biased standard deviation over the batch",
        "the output is normalised too",
    ),
    source=quoted("Lemma 2.1 and equation 5"),
    cases=_SHIFTED(seed=1),
    predict=_predict_batch,
    measure=partial(_torch_network, normalise_output=True, eps=_NO_EPS),
    compare=_EXACT,
    must_refute=mistake(
        "The shift and the scale seen at an output without normalisation.",
        normalise_output=False,
    ),
)

APP_B = numeric(
    id="dc/lem2.1-affine",
    items=("AppB", "Lem2.1"),
    title="Batch normalisation with learned gain and bias also absorbs shift and scale",
    statement=r"\gamma\, \mathrm{BN}(w \cdot \tilde\sigma(z_i)) + \beta ="
    r" \gamma\, \mathrm{BN}(w \cdot \sigma(z_i)) + \beta",
    assumptions=LEM_21.assumptions[:2],
    source=quoted("Appendix B, standard batch normalisation"),
    cases=_SHIFTED(seed=6),
    predict=_predict_affine,
    measure=_measure_affine,
    # As dc/lem2.1, times gains below four.
    compare=AgreesTo(absolute=2.4e-13),
    must_refute=_wrong_affine,
    uses=("dc/lem2.1",),
)

EQ6 = numeric(
    id="dc/eq6",
    items=("Lem2.1", "Eq6"),
    title="Layer normalisation of an activation's outputs absorbs its shift and scale",
    statement=r"\mathrm{LN}(\tilde\sigma(z)) = \mathrm{LN}(\sigma(z))",
    assumptions=("s > 0, no epsilon", "over the units of one input"),
    source=quoted("Lemma 2.1 and equation 6"),
    cases=_SHIFTED(seed=2),
    predict=_predict_layer,
    measure=_measure_layer,
    compare=_EXACT,
    must_refute=mistake(
        "The normalised activation without layer normalisation.", norm=False
    ),
)

E8_HIDDEN = numeric(
    id="dc/lem2.1-hidden-only",
    items=("E8", "Lem2.1"),
    title="If the output is not normalised, shift and scale change it by an affine map",
    statement=r"f_{\tilde\sigma}(x) = (f_{\sigma}(x) - t\, w \cdot 1) / s",
    assumptions=("batch normalisation before each activation, none at the output",),
    source=ours("Lemma 2.1 (its hypothesis is needed)"),
    cases=grid(activation=("relu", "gelu"), seed=3),
    predict=_predict_hidden_corrected,
    measure=partial(
        _torch_network, shift=0.0, scale=1.0, normalise_output=False, eps=_NO_EPS
    ),
    compare=_EXACT,
    must_refute=_HIDDEN_PRINTED,
    uses=("dc/lem2.1",),
)

E8_SIGN = replace(
    E8_HIDDEN,
    id="dc/lem2.1-negative-scale",
    title="A negative scale of the activation flips the sign of every batch-normalised"
    " unit",
    statement=r"s < 0 \;\Rightarrow\; \mathrm{BN}(w \cdot \tilde\sigma(z))"
    r" = -\mathrm{BN}(w \cdot \sigma(z))",
    assumptions=("s < 0",),
    cases=grid(activation=("relu", "gelu"), scale=(-1.0, -0.2), seed=4),
    predict=_predict_sign_corrected,
    measure=partial(_torch_network, shift=0.3, normalise_output=True, eps=_NO_EPS),
    must_refute=_predict_sign_printed,
)

E8_EPSILON = replace(
    E8_HIDDEN,
    id="dc/lem2.1-epsilon",
    title="With a positive epsilon, batch normalisation absorbs a scale if epsilon is"
    " rescaled",
    statement=r"f_{\tilde\sigma}(x; \epsilon / s^2) = f_{\sigma}(x; \epsilon)",
    assumptions=(
        "epsilon = 1e-5 or 1e-3",
        "the first normalisation, of the inputs' layer, keeps its epsilon",
    ),
    cases=grid(activation=("relu", "tanh"), scale=0.5, eps=(1e-5, 1e-3), seed=5),
    predict=_predict_eps_corrected,
    measure=partial(_torch_network, shift=0.3, normalise_output=True),
    must_refute=_predict_eps_printed,
)
