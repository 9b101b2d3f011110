"""Which trained networks count for a claim, and by which replicates it is decided."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from empirical.testbed.records import Draw, Draws, RunRecord
from verify.claims.square_loss import ends, observations
from verify.claims.square_loss._runs import (
    DECAYED,
    NETWORKS,
    NORMALISED,
    fits,
    learnt,
    log_ratio,
    norm_rests,
    rests,
)
from verify.ledger import load
from verify.trained import NotLearnt, Run, given


def network(scale: float = 0.1, seed: int = 10, **changes: Any) -> Draw:
    """Return a network that has learnt its examples and is at rest, but for changes."""
    last: dict[str, Any] = {
        "loss": 1e-3,
        "error": 0.0,
        "rho": 2.0,
        "rho_eq": 2.0,
        "nu": 4.0,
        "residual": np.full(4, 1e-3),
        "margins": np.full(100, 0.5),
    }
    status = changes.pop("status", "finished")
    facts = {"test_error": changes.pop("test_error", 0.1), "interpolated": 3}
    last |= changes
    arrays = {
        name: np.asarray(value) if name == "margins" else np.stack([value, value])
        for name, value in last.items()
    }
    return Draw(
        keys={"scale": scale, "seed": seed}, status=status, facts=facts, arrays=arrays
    )


@pytest.mark.parametrize(
    ("changes", "penalty", "wanted"),
    [
        ({}, 0.8, True),
        ({}, 0.0, True),
        ({"error": 0.0099}, 0.8, True),
        ({"error": 0.0101}, 0.8, False),
        ({"loss": 0.3}, 0.8, True),
        ({"loss": 0.049}, 0.0, True),
        ({"loss": 0.051}, 0.0, False),
        ({"rho": 2.09}, 0.8, True),
        ({"rho": 2.11}, 0.8, False),
        ({"rho": 2.11}, 0.0, True),
        ({"rho_eq": -1.0}, 0.8, False),
        ({"status": "one-class"}, 0.8, False),
        ({"status": "diverged"}, 0.0, False),
    ],
)
def test_a_network_fits(changes: Any, penalty: float, wanted: bool) -> None:
    assert fits(network(**changes), penalty) is wanted


def test_norms_and_directions_rest() -> None:
    # |e| = sqrt(100 * 1e-3); along the layer |nu / rho| = 2, across it r_k.
    across = 2.0 / np.sqrt(0.1)
    edge = 0.2 / np.sqrt(1.0 - 0.2**2)
    for factor, wanted in ((0.99, True), (1.01, False)):
        residual = np.array([0.0, factor * edge * across, 0.0, 0.0])
        assert rests(network(residual=residual), 0.8) is wanted
    one = network(status="one-class", error=0.5)
    assert norm_rests(one, 0.8)
    assert rests(one, 0.8)
    assert not rests(network(rho=2.2), 0.8)
    assert not norm_rests(network(status="dead"), 0.8)


def record(family: str, draws: list[Draw]) -> tuple[Run, RunRecord]:
    run = Run(NETWORKS, family, "small")
    decay = NETWORKS.configuration(family, "small").recipe.weight_decay
    made = RunRecord(configuration={"name": family}, schema=1, device="cpu", code="")
    return run, replace(made, facts={"penalty": 80.0 * decay}, draws=Draws(draws))


def test_networks_of_a_seed_are_paired_and_seeds_that_did_not_learn_left_out() -> None:
    seeds = range(10, 18)
    low = [network(0.1, s, rho=1.0 + s, rho_eq=1.0 + s) for s in seeds]
    high = [network(5.0, s, rho=2.0 + 2 * s, rho_eq=2.0 + 2 * s) for s in seeds]
    # One seed did not fit from one of its starts; order does not matter.
    high[3] = network(5.0, 13, error=0.5)
    found = dict([record(DECAYED, [*reversed(high), *low])])
    with given(found):
        above, below = learnt((DECAYED, -1), (DECAYED, 0), scale="small", data="mnist")
        assert above.key("seed") == below.key("seed") == [10, 11, 12, 14, 15, 16, 17]
        effect = log_ratio(
            "rho", (DECAYED, -1), (DECAYED, 0), scale="small", data="mnist"
        )
        assert effect.treated - effect.baseline == pytest.approx(np.log(2.0), rel=1e-12)


def test_a_claim_says_nothing_where_more_than_a_quarter_have_not_learnt() -> None:
    draws = [network(s, seed) for s in (0.1, 5.0) for seed in range(8)]
    for missing in range(4):
        draws[missing] = network(0.1, missing, error=0.5)
        with given(dict([record(DECAYED, draws)])):
            if missing < 2:
                assert (
                    len(learnt((DECAYED, 0), scale="small", data="mnist")[0])
                    == 7 - missing
                )
            else:
                with pytest.raises(NotLearnt, match=r"those of \d of 8 seeds"):
                    learnt((DECAYED, 0), scale="small", data="mnist")


def test_a_spread_is_that_of_each_seed() -> None:
    # Both starts of a seed end alike, seeds far apart: no spread.
    draws = [
        network(s, seed, rho=2.0**seed, rho_eq=2.0**seed)
        for s in (0.1, 5.0)
        for seed in range(4)
    ]
    measure = ends.LEAST_NORM.measure
    assert measure is not None
    with given(dict([record(DECAYED, draws)])):
        assert measure(scale="small", data="mnist").treated.tolist() == [0.0] * 4
    errors = {0.1: 0.1, 5.0: 0.2}
    pair = [
        network(s, seed, test_error=errors[s]) for s in (5.0, 0.1) for seed in range(4)
    ]
    measure = ends.SMALLER_ERROR.measure
    assert measure is not None
    with given(dict([record(NORMALISED, pair)])):
        found = measure(scale="small", data="mnist")
        assert (found.treated - found.baseline).tolist() == pytest.approx([0.1] * 4)


def test_rest_is_compared_before_either_rate_falls() -> None:
    # Of 1,200 epochs; the rate of those with decay falls after 720.
    epochs = np.array([0.0, 700.0, 800.0, 1200.0])
    found: dict[Run, RunRecord] = {}
    for family, residuals in (("wn", (1, 0.4, 0.4, 0.4)), ("wn-decay", (1, 0.1, 0, 0))):
        draws = [network(0.1, seed) for seed in range(3)]
        layers = np.stack([np.array(residuals), np.zeros(4)], axis=1)
        draws = [replace(d, arrays={**d.arrays, "residual": layers}) for d in draws]
        run, made = record(family, draws)
        found[run] = replace(made, arrays={"epochs": epochs})
    assert ends.REST.measure is not None
    with given(found):
        effect = ends.REST.measure(scale="small", data="mnist")
    assert effect.treated == pytest.approx(np.log10([0.4] * 3), rel=1e-12)
    assert effect.baseline == pytest.approx(np.log10([0.1] * 3), rel=1e-12)


def test_a_scale_that_falls_on_its_way_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    case: Any = {"widths": [3, 1], "examples": 1, "seed": 0, "weight_decay": 0.0}
    path = {"rho": np.array([0.1, 0.2, 0.15, 0.3]), "equilibrium": np.ones(4)}
    monkeypatch.setattr(observations, "_path", lambda *_, **_case: path)
    rising, tracking = observations.OBS_1.measure, observations.TRACKING.measure
    assert rising is not None
    assert tracking is not None
    assert rising(**case) == pytest.approx(-0.05)
    # It never meets its equilibrium: there is nothing to follow.
    with pytest.raises(ValueError, match="does not meet"):
        tracking(**case)


SECTIONS = {"1", "1.1", "1.2", "2", "2.1", "3", "4", "4.1"}
"""Every numbered section of the paper."""


def test_sources_name_sections_that_the_paper_has():
    cited = {
        number
        for claim in load()
        if claim.paper == "sl"
        for places in re.findall(r"[Ss]ections? ([\d., and]+)", claim.source.where)
        for number in re.findall(r"\d+(?:\.\d+)*", places)
    }
    assert cited
    assert cited <= SECTIONS
