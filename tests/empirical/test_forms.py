"""What functions of tensors make of other types, orders and gradients.

Each call's tensors are given as they stand, spread out in memory, in single
precision, transposed, and with gradients asked for: results are the same digits, in the
type that came or in double precision, and no tensor that was given is changed or handed
back.
"""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from empirical import jacobian, kernels
from empirical.conditioning import spectra
from empirical.identity_map.images import pictures
from empirical.identity_map.measures import edges, similarity, weights
from empirical.identity_map.probes import placed_at, probes
from empirical.mmd_init import classifier, losses, regularisers, uniformity
from empirical.mmd_init import measures as mmd
from empirical.networks import FullyConnected
from empirical.randomness import torch_generator
from empirical.square_loss import measures as square
from empirical.square_loss import networks as norms
from empirical.testbed.supervised import cross_entropy


class Call(NamedTuple):
    """A call by its tensors."""

    function: Callable[..., Any]
    tensors: tuple[Tensor, ...]


def drawn(*shape: int, seed: int = 3) -> Tensor:
    return torch.randn(shape, generator=torch_generator(seed), dtype=torch.float64)


NET = FullyConnected(widths=(3, 5, 4, 1), activation="tanh", bias=True)
PLAIN = FullyConnected(widths=(3, 5, 4, 2), activation="tanh")
RELU = FullyConnected(widths=(3, 5, 1), activation="relu")
TWO = classifier((3, 5, 5, 2))
X, P = drawn(4, 3), drawn(2, 6, seed=4).sigmoid()
IMAGES = drawn(3, 1, 7, 7, seed=5)
SIGNS = torch.tensor([0, 1, 1, 0])
GRAMS = (lambda a: a @ a.mT)(drawn(2, 4, 6))


def params(network: FullyConnected) -> tuple[Tensor, ...]:
    return network.init(replicates=2, generator=torch_generator(7))


def of(network: FullyConnected, function: Callable[..., Any], **more: Any) -> Call:
    """Return the call of a function of network, parameters and inputs."""

    def given(x: Tensor, *own: Tensor) -> Any:
        return function(network, own, x, **more)

    return Call(given, (X, *params(network)))


CALLS = (
    of(PLAIN, kernels.nngp),
    of(PLAIN, kernels.ntk),
    of(PLAIN, kernels.nngp_ntk),
    of(PLAIN, kernels.ntk, outputs="all"),
    of(NET, jacobian.ntk_by_jacobian),
    of(RELU, square.example_gradients),
    of(RELU, lambda n, p, x: square.example_residuals(n, p, x, SIGNS)),
    of(TWO, mmd.jacobian_squares),
    of(TWO, mmd.detachment),
    Call(lambda *p: norms.norms(RELU, p), params(RELU)),
    Call(lambda *p: norms.rho(RELU, p), params(RELU)),
    Call(square.margins, (drawn(2, 4, 1), SIGNS)),
    Call(lambda v: square.quantiles(v, (0.0, 0.5)), (drawn(2, 9),)),
    Call(square.collapse, (drawn(2, 4, 3), SIGNS, drawn(2, 2, 3))),
    Call(spectra.normalised, (GRAMS,)),
    Call(spectra.spectrum, (GRAMS,)),
    Call(lambda v: pictures.resize(v, 5), (IMAGES,)),
    Call(lambda v: pictures.place(v, 9, fill=0.5), (IMAGES,)),
    Call(lambda v: pictures.place(v, 7, fill=0.5), (IMAGES,)),
    Call(edges.sobel, (IMAGES,)),
    Call(similarity.cosine, (IMAGES, IMAGES + 0.5)),
    Call(similarity.mean_squared_error, (IMAGES, IMAGES + 0.5)),
    Call(similarity.shares, (drawn(2, 3, 1, 7, 7), drawn(2, 1, 7, 7, seed=8))),
    Call(lambda a, b: weights.relative_change((a,), (b,)), (drawn(2, 3), drawn(2, 3))),
    Call(lambda v: probes(v, count=2, generator=torch_generator(2)), (IMAGES[0],)),
    Call(lambda n, v: placed_at(n, v, (0.0, 0.5)), (drawn(2, 1, 7, 7), IMAGES[0])),
    Call(mmd.distance_to_uniform, (P,)),
    Call(losses.constant_share, (drawn(2, 3, 4, 2).softmax(-1),)),
    Call(losses.single_share, (drawn(2, 3, 4, 2).softmax(-1),)),
    Call(regularisers.degeneracy, (drawn(2, 3, 4, 2).softmax(-1),)),
    Call(uniformity.closed, (P,)),
    Call(lambda p: uniformity.segment_median(p, 6), (P,)),
    Call(cross_entropy, (drawn(2, 4, 3), SIGNS.repeat(2, 1))),
)


def parts(out: Any) -> Iterator[Any]:
    if is_dataclass(out):
        for f in fields(out):
            yield from parts(getattr(out, f.name))
    elif isinstance(out, (tuple, list)):
        for v in out:
            yield from parts(v)
    elif isinstance(out, dict):
        yield from parts(tuple(out.values()))
    elif isinstance(out, Tensor):
        yield out
    elif isinstance(out, np.ndarray):
        yield torch.from_numpy(out)


def spread(x: Tensor) -> Tensor:
    wide = x.new_full([2 * n for n in x.shape], 7)
    out = wide[tuple(slice(None, None, 2) for _ in x.shape)]
    return out.copy_(x)


def single(x: Tensor) -> Tensor:
    return x.float() if x.is_floating_point() else x


def asking(x: Tensor) -> Tensor:
    return x.clone().requires_grad_() if x.is_floating_point() else x


def transposed(x: Tensor) -> Tensor:
    return x.mT.clone().mT if x.ndim > 1 else x


@pytest.mark.parametrize("form", [spread, single, asking, transposed])
@pytest.mark.parametrize("c", CALLS, ids=[str(k) for k in range(len(CALLS))])
def test_forms(c, form):
    due = list(parts(c.function(*(x.clone() for x in c.tensors))))
    assert due
    given = tuple(map(form, c.tensors))
    before = [x.detach().clone() for x in given]
    found = list(parts(c.function(*given)))
    for a, b in zip(found, due, strict=True):
        assert a.dtype == b.dtype or (form is single and a.dtype == torch.float32)
        tolerance = 2e-5 if form is single else 1e-13
        torch.testing.assert_close(
            a.detach().to(b.dtype), b, rtol=tolerance, atol=tolerance, equal_nan=True
        )
    for x, old in zip(given, before, strict=True):
        assert torch.equal(x.detach(), old)
        own = x.untyped_storage().data_ptr()
        assert all(own != v.untyped_storage().data_ptr() for v in found)


KERNELS = range(5)


@pytest.mark.parametrize("k", KERNELS)
@pytest.mark.parametrize(
    "form", [Tensor.long, lambda x: x.to(torch.complex128), lambda x: x.to("meta")]
)
def test_kernels_are_of_real_floats(k, form):
    with pytest.raises(
        ValueError, match=r"`params` must be floating point, but they are"
    ):
        CALLS[k].function(*map(form, CALLS[k].tensors))
