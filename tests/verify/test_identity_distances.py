"""Which networks that copy images are replicates, and distances between their kinds."""

from dataclasses import replace

import numpy as np
import pytest

from empirical.testbed.records import Draw, Draws, RunRecord
from verify.claims.identity_map._runs import NETWORKS
from verify.claims.identity_map.distances import beside, distance, excess, pseudo
from verify.claims.identity_map.sweeps import COLOUR_FCN
from verify.compare import Contrast, EffectWithin, Outcome
from verify.trained import Run, given


def outputs(
    generator: np.random.Generator, *, apart: float, kinds: int = 4, seeds: int = 5
) -> np.ndarray:
    """Outputs (kinds, seeds, 2, 400): an own part of each kind, and of each seed."""
    common = generator.standard_normal(400)
    own = apart * generator.standard_normal((kinds, 1, 2, 400))
    # Networks of one seed share a part of their noise, as starts share random numbers.
    shared = generator.standard_normal((1, seeds, 2, 400))
    noise = generator.standard_normal((kinds, seeds, 2, 400))
    return 3.0 * common + own + shared + noise


def judged(values: np.ndarray, least: float | None, most: float | None) -> Outcome:
    found = Contrast.alone(pseudo(excess(values)))
    return EffectWithin(paired=True).judge((least, most), found).outcome


def test_distance_is_that_of_the_outputs_over_their_size() -> None:
    one, other = np.array([[1.0, 2.0], [0.0, 3.0]]), np.array([[1.0, 0.0], [4.0, 0.0]])
    want = ((4.0 / 3.0) ** 0.5 + (25.0 / 12.5) ** 0.5) / 2.0
    assert distance(one, other) == pytest.approx(want, rel=1e-15)
    assert distance(one, one) == 0.0
    assert distance(one, -one) == pytest.approx(2.0, rel=1e-15)


def test_kinds_that_differ_in_nothing_are_not_farther_apart() -> None:
    found = [judged(outputs(g, apart=0.0), 0.05, None) for g in _generators(40)]
    assert Outcome.HOLDS not in found
    assert found.count(Outcome.REFUTED) > 30


def test_kinds_that_differ_are_farther_apart() -> None:
    found = [judged(outputs(g, apart=2.0), 0.05, None) for g in _generators(40)]
    assert found == [Outcome.HOLDS] * 40


def test_networks_of_one_seed_are_never_compared() -> None:
    values = outputs(np.random.default_rng(7), apart=0.0)
    alike = np.broadcast_to(values[:1], values.shape)
    # Whatever the kind, a seed is the same network: two seeds are all that differ.
    assert np.nanmax(np.abs(excess(alike))) < 1e-12
    assert np.isnan(np.diag(excess(values))).all()


def test_pseudo_values_keep_the_mean_and_cover_it() -> None:
    """The interval leaves a true mean of pairs out about as often as it says."""
    missed = 0
    for generator in _generators(400):
        # Pairs of independent seeds: a mean of two parts, whose expectation is 1.
        parts = 1.0 + generator.standard_normal(6)
        pairs = (parts[:, None] + parts) / 2.0
        np.fill_diagonal(pairs, np.nan)
        values = pseudo(pairs)
        assert values.mean() == pytest.approx(np.nanmean(pairs), rel=1e-12, abs=1e-12)
        verdict = EffectWithin(paired=True).judge((1.0, None), Contrast.alone(values))
        missed += verdict.outcome is Outcome.HOLDS
    # One-sided level 0.01: four of 400 expected, twelve in one of a thousand runs.
    assert missed <= 12


def test_artefacts_are_the_part_off_the_plane() -> None:
    generator = np.random.default_rng(7)
    x, seven, y = generator.standard_normal((3, 50))
    basis = np.linalg.qr(np.stack([x, seven], axis=1))[0]
    want = 1.0 - np.sum((basis.T @ y) ** 2) / np.sum(y**2)

    def cosine(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.asarray(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    got = beside(cosine(y, x), cosine(y, seven), cosine(x, seven))
    assert float(got) == pytest.approx(want, rel=1e-12)


def _generators(count: int) -> list[np.random.Generator]:
    return [np.random.default_rng([7, k]) for k in range(count)]


def copied(
    name: str, constant: dict[int, tuple[float, float]]
) -> tuple[Run, RunRecord]:
    """Return the networks of two images, by seed their cosines with the training image."""
    draws = [
        Draw(
            keys={"labels": [image], "seed": seed},
            status="finished",
            facts={"final_loss": 0.01},
            arrays={
                "losses": np.array([1.0, 0.01]),
                "heatmap/constant": np.array([[cosines[image], 1.0]]),
            },
        )
        for image in (0, 1)
        for seed, cosines in constant.items()
    ]
    made = RunRecord(configuration={"name": name}, schema=1, device="cpu", code="")
    made = replace(made, facts={"heatmap": {"rhos": [0.0, 1.0]}}, draws=Draws(draws))
    return Run(NETWORKS, name, "small"), made


def test_networks_of_one_start_are_one_replicate_whatever_their_images() -> None:
    shallow = copied("colour-fcn-1", {0: (0.1, 0.3), 1: (0.5, 0.7)})
    deep = copied("colour-fcn-4", {0: (0.9, 0.7), 1: (1.0, 0.8)})
    assert COLOUR_FCN.measure is not None
    with given(dict([shallow, deep])):
        found = COLOUR_FCN.measure(scale="small")
    assert found.treated == pytest.approx([0.8, 0.9], rel=1e-12)
    assert found.baseline == pytest.approx([0.2, 0.6], rel=1e-12)
