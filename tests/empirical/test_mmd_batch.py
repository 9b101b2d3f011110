"""Records of learnt initialisations: their parts, their runs, going on after a stop."""

import json
import math
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from empirical.data import sources
from empirical.mmd_init import networks, records, study
from empirical.mmd_init.experiments import (
    NOISES,
    Configuration,
    Variant,
    configurations,
)
from empirical.mmd_init.faults import FAULTS
from empirical.mmd_init.finetuning import FinetuneRecipe
from empirical.mmd_init.networks import classifier
from empirical.mmd_init.recipes import Recipe
from empirical.testbed import stopping, telling
from empirical.testbed.engine import Engine
from empirical.testbed.records import RunRecord
from empirical.testbed.runner import run_batch
from empirical.testbed.study import CPU

NET = classifier((16, 8, 6, 2))
NORMED = classifier((16, 8, 6, 2), batch_norm=True)
TINY = Configuration(
    name="tiny",
    network=NET,
    recipe=Recipe(steps=7, window=3, batch=8, perturbations=8, reference=8, rate=3e-3),
    variants=(Variant(), Variant(s2=2.0, lam=0.0, xi=0.0)),
    seeds=(0, 1),
    shots=(1, 2),
    tasks=3,
    finetune=FinetuneRecipe(epochs=2, batch=8),
    minibatches=4,
    embedded=True,
    side=4,
)
LIGHT = replace(TINY, variants=(Variant(),), shots=(), minibatches=2)


IMAGES = cache(study.images)


@pytest.fixture(autouse=True)
def read_once(monkeypatch):
    """Digits are read and shrunk once."""
    monkeypatch.setattr(study, "images", IMAGES)


def run(configuration=TINY, **given):
    """A record as it is read from its file, its parts by name."""
    record = study.run_configuration(configuration, **given)
    return shown(RunRecord.of(json.loads(record.text())))


def shown(record):
    """The parts of a record by name."""
    return {
        **record.facts,
        "name": record.name,
        "seconds": record.seconds,
        "runs": [parts(draw) for draw in record.draws],
    }


def parts(draw):
    """Key, facts and numbers of a draw, ``a/b`` inside ``a``."""
    found = {**draw.keys, **draw.facts, "status": draw.status}
    for name, values in draw.arrays.items():
        *outer, last = name.split("/")
        place = found
        for part in outer:
            place = place.setdefault(part, {})
        place[last] = values.tolist()
    return found


def leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def check_shares(found, *shape):
    for part in ("mean", "std"):
        values = np.array(found[part])
        assert values.shape == shape
        assert ((values >= 0.0) & (values <= 1.0)).all()


def check_finetuned(finetuned):
    assert set(finetuned) == {"1", "2"}
    for accuracies in finetuned.values():
        assert len(accuracies) == 3
        # Of a thousand test images.
        thousandths = 1000.0 * np.array(accuracies)
        np.testing.assert_allclose(thousandths, thousandths.round(), atol=1e-9)
        assert ((thousandths >= 0) & (thousandths <= 1000)).all()


TERMS = {"loss", "uniformity", "degeneracy", "detachment", "constant"}


class TestRecord:
    @pytest.mark.parametrize(
        "configuration",
        [
            TINY,
            replace(TINY, method="none"),
            replace(TINY, method="labels"),
            replace(TINY, method="none", network=NORMED),
            replace(TINY, method="labels", network=NORMED),
        ],
        ids=["mmd", "none", "labels", "none-bn", "labels-bn"],
    )
    def test_of_each_method(self, configuration):
        c = configuration
        record = run(c)
        assert record["name"] == "tiny"
        assert record["parameters"] == c.network.parameters
        assert record["images"]["train"] == 4000
        assert np.array(record["tasks"]).shape == (3, 10)
        assert record["seconds"]["all"] >= record["seconds"]["pretraining"] > 0.0
        numbers = [v for v in leaves(record) if isinstance(v, float)]
        assert np.isfinite(numbers).all()
        runs = record["runs"]
        named = [(r["s2"], r["lam"], r["xi"], r["uni"], r["seed"]) for r in runs]
        assert named == [(v.s2, v.lam, v.xi, v.uni, seed) for v, seed in c.runs]
        for r in runs:
            check_finetuned(r["finetuned"])
            assert r["status"] == "finished"
            assert ("jacobian" in r) == (c.network.norm is None)
            if c.network.norm is not None:
                continue
            check_shares(r["constant"])
            check_shares(r["dead"], 2)
            assert len(r["jacobian"]) == 3
            assert min(r["jacobian"]) > 0.0
            assert r["detachment"] >= 0.0
            assert {"densities", "snapshots", "distances"}.isdisjoint(r)

    def test_of_pretraining(self):
        for r in run(replace(TINY, shots=()))["runs"]:
            assert r["status"] == "finished"
            # The last window is not finished.
            assert r["best"] in (3, 6)
            assert r["degenerate"] is None
            assert r["escalations"]["count"] >= 0
            for part, length in (("windows", 2), ("first", 3)):
                assert set(r[part]) == TERMS
                assert {len(v) for v in r[part].values()} == {length}
            for name in TERMS:
                mean = sum(r["first"][name]) / 3
                # Numbers of seven digits.
                assert r["windows"][name][0] == pytest.approx(mean, rel=1e-6, abs=1e-9)

    def test_of_random_labels(self):
        for r in run(replace(TINY, method="labels", shots=()))["runs"]:
            assert r["status"] == "finished"
            assert len(r["windows"]["loss"]) == 2
            best = int(np.argmin(r["windows"]["loss"])) + 1
            assert r["best"] == 3 * best

    def test_terms_that_no_run_asks_for_are_absent(self):
        only = replace(LIGHT, variants=(Variant(uni=0.0, lam=0.0),))
        for r in run(only)["runs"]:
            assert set(r["windows"]) == set(r["first"]) == {"loss", "detachment"}

    def test_of_densities(self):
        runs = run(replace(LIGHT, densities=20))["runs"]
        for r in runs:
            assert set(r["densities"]) == {"before", "after"}
            for part in r["densities"].values():
                for name in ("distances", "spread", "medians"):
                    values = np.array(part[name])
                    assert values.shape == (4,)
                    assert ((values > 0.0) & (values < 1.0)).all()
                # Densities are of the first seed alone.
                assert ("over_noise" in part) == (r["seed"] == 0)
                for name in ("over_noise", "over_inputs"):
                    if name not in part:
                        continue
                    values = np.array(part[name])
                    assert values.shape == (4, 20)
                    assert ((values >= 0.0) & (values <= 1.0)).all()
                    assert (np.diff(values) >= 0.0).all()
        shown = runs[0]["densities"]["after"]
        steps = np.arange(21) / 20
        for values, distance, inside, spread, median in zip(
            np.array(shown["over_noise"]),
            shown["distances"],
            np.array(shown["over_inputs"]),
            shown["spread"],
            shown["medians"],
            strict=True,
        ):
            # Numbers of four decimals, of which a median is the lower middle.
            by_hand = max((steps[1:] - values).max(), (values - steps[:-1]).max())
            assert distance == pytest.approx(by_hand, abs=1e-4)
            assert spread == pytest.approx(inside.std(ddof=1), abs=1e-4)
            assert median == pytest.approx(inside[9], abs=1e-4)

    def test_densities_before_are_of_the_start(self):
        c = replace(LIGHT, densities=20)
        scratch = run(replace(c, method="none"))["runs"]
        for learnt, start in zip(run(c)["runs"], scratch, strict=True):
            # Of the same inputs under the same noise.
            assert start["densities"]["before"] == start["densities"]["after"]
            assert learnt["densities"]["before"] == start["densities"]["before"]
            assert learnt["densities"]["after"] != start["densities"]["before"]

    def test_of_snapshots(self):
        record = run(replace(LIGHT, snapshots=4))
        for r in record["runs"]:
            # Evenly in the logarithm: 1, 7^(1/3), 7^(2/3) and 7, and the start.
            assert r["snapshots"]["step"] == [0, 1, 2, 4, 7]
            assert min(r["snapshots"]["here"]) >= 0.0
            around = r["snapshots"]["around"]
            assert set(around) == {str(s2) for s2 in NOISES}
            assert {np.shape(v) for v in around.values()} == {(5, 8)}
            assert min(leaves(around)) >= 0.0
        # Snapshot 0 is the start, on the first 256 inputs.
        c = replace(LIGHT, method="none")
        start = study._starts(c, "cpu")
        few = study.images_of(c).inputs[:256]
        expected = records.measures.detachment(NET, start, few).tolist()
        assert [r["snapshots"]["here"][0] for r in record["runs"]] == pytest.approx(
            expected, rel=1e-6
        )

    def test_of_distances(self):
        c = replace(TINY, method="none", tasks=1, shots=(2,), distances=True)
        for r in run(c)["runs"]:
            # Two epochs of 20 examples in batches of 8.
            assert len(r["distances"]) == 7
            assert r["distances"][0] == 0.0
            # The first step of Adam moves each parameter with a slope by its rate.
            longest = 1e-3 * math.sqrt(NET.parameters)
            assert 0.1 * longest < r["distances"][1] <= 1.001 * longest

    def test_of_accuracies_after_equal_updates(self):
        # Of 10 examples by 8 two epochs make 4 updates, of 20 they make 6.
        c = replace(TINY, variants=(Variant(),), reached=(1, 4, 5))
        usual = run(replace(c, reached=()))["runs"]
        for r, plain in zip(run(c)["runs"], usual, strict=True):
            assert r["finetuned"] == plain["finetuned"]
            assert set(r["reached"]) == {"1", "2"}
            for values in map(np.array, r["reached"].values()):
                assert values.shape == (3, 3)
                assert ((values >= 0.0) & (values <= 1.0)).all()
                assert len(np.unique(values, axis=1).T) > 1

    def test_of_networks_trained_wrongly(self):
        c = replace(TINY, variants=(Variant(),), shots=(2,))
        start = run(replace(c, method="none", shots=()))["runs"]
        for r, s in zip(run(FAULTS["untrained"](c))["runs"], start, strict=True):
            assert r["constant"] == s["constant"]
            assert r["jacobian"] == s["jacobian"]
        labels = study.images_of(c).labels.tolist()
        seen = []

        def split(labels, *_given):
            seen.append(labels.tolist())
            raise KeyboardInterrupt

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(study, "draw_splits", split)
            for each in (c, FAULTS["shuffled"](c)):
                with pytest.raises(KeyboardInterrupt):
                    study.run_configuration(each)
        assert seen[0] == labels
        assert sorted(seen[1]) == sorted(labels)
        # A tenth stays by chance.
        assert np.mean(np.array(seen[1]) == labels) < 0.2

    def test_a_divergence_is_on_record(self):
        wild = replace(TINY, recipe=replace(TINY.recipe, rate=1e30), shots=())
        runs = run(wild)["runs"]
        assert {r["status"] for r in runs} == {"diverged"}
        # What is measured is what is kept: the start, where no window went well.
        assert {r["best"] for r in runs} == {0}
        scratch = run(replace(wild, method="none"))["runs"]
        for r, s in zip(runs, scratch, strict=True):
            assert r["jacobian"] == s["jacobian"]

    def test_images_of_another_size_are_refused(self):
        with pytest.raises(ValueError, match="16 features, but it has 25"):
            study.run_configuration(replace(LIGHT, side=5))


def without_time(record):
    return {k: v for k, v in record.items() if k not in ("seconds", "environment")}


class TestRuns:
    def test_two_are_identical(self):
        c = replace(TINY, snapshots=2, densities=8)
        before = torch.get_rng_state()
        assert without_time(run(c)) == without_time(run(c))
        assert torch.equal(before, torch.get_rng_state())

    @pytest.mark.parametrize("method", ["mmd", "labels", "none"])
    def test_one_in_a_stack_is_as_it_is_alone(self, method):
        c = replace(TINY, method=method, densities=64)
        together = run(c)["runs"]
        for (variant, seed), mine in zip(c.runs, together, strict=True):
            (alone,) = run(replace(c, variants=(variant,), seeds=(seed,)))["runs"]
            for part in ("windows", "first") if method == "mmd" else ():
                # In the stack there are also the terms that others ask for.
                for name, values in alone[part].items():
                    # Rounding of float32, 1e-7, a few updates of it: other noise or
                    # another minibatch makes a hundredth and more.
                    assert mine[part][name] == pytest.approx(
                        values, rel=1e-3, abs=1e-5
                    ), name
            if method == "labels":
                assert mine["windows"]["loss"] == pytest.approx(
                    alone["windows"]["loss"], rel=1e-5
                )
            assert mine.get("best") == alone.get("best")
            assert mine["jacobian"] == pytest.approx(alone["jacobian"], rel=1e-3)
            assert mine["detachment"] == pytest.approx(alone["detachment"], rel=1e-3)
            # One of 8 units on a minibatch may switch, one of 64 networks, a few of a
            # thousand test images.
            assert mine["dead"]["mean"] == pytest.approx(
                alone["dead"]["mean"], abs=1 / 24
            )
            assert mine["constant"]["mean"] == pytest.approx(
                alone["constant"]["mean"], abs=1 / 128
            )
            for shots, accuracies in alone["finetuned"].items():
                assert mine["finetuned"][shots] == pytest.approx(accuracies, abs=0.005)

    def test_variants_of_a_seed_see_the_same(self):
        # The same variant twice, as float32 has it: the same numbers.
        near = Variant(lam=float(np.nextafter(Variant().lam, 1.0)))
        c = replace(TINY, variants=(Variant(), near), densities=8)
        runs = [{**each, "lam": None} for each in run(c)["runs"]]
        assert runs[0] == runs[2]
        assert runs[1] == runs[3]
        assert runs[0]["first"]["loss"] != runs[1]["first"]["loss"]
        # Other weights: the first minibatch and its noise are still the same.
        runs = run(replace(TINY, shots=()))["runs"]
        again = run(replace(TINY, variants=(Variant(lam=1.0),), shots=()))["runs"]
        for name in ("uniformity", "degeneracy", "constant"):
            first = [r["first"][name][0] for r in (runs[0], runs[1])]
            assert [r["first"][name][0] for r in again] == pytest.approx(
                first, rel=1e-5
            )

    def test_starts_of_a_seed_are_the_same_in_every_configuration(self):
        made = configurations("small")
        starts = {}
        for c in made:
            weights = networks.pairs(c.network, study._starts(c, "cpu"))
            for index, (_, seed) in enumerate(c.runs):
                one = [w[index] for w, _ in weights]
                known = starts.setdefault((c.start, seed), one)
                assert all(torch.equal(a, b) for a, b in zip(one, known, strict=True))
                assert not any(bool(b[index].any()) for _, b in weights)
        assert len({float(one[0][0, 0]) for one in starts.values()}) == len(starts)
        assert {(s, seed) for s in ("he", "xavier") for seed in (0, 1)} <= set(starts)

    def test_tasks_are_the_same_in_every_configuration(self):
        expected = run(LIGHT)["tasks"]
        assert len({tuple(t) for t in expected}) == 3
        for other in (
            replace(LIGHT, method="labels", network=NORMED, start="he", seeds=(5,)),
            replace(LIGHT, method="none", variants=(Variant(s2=2.0),), name="other"),
        ):
            assert run(other)["tasks"] == expected

    def test_splits_and_orders_are_of_the_seed_alone(self):
        # The same starts, however they came about.
        c = replace(TINY, method="none", seeds=(1, 0))
        tuned = {
            (r["s2"], r["seed"]): r["finetuned"]
            for r in run(c)["runs"]
            + run(replace(c, variants=(Variant(s2=1.0),)))["runs"]
        }
        for seed in (0, 1):
            assert tuned[0.5, seed] == tuned[2.0, seed]
            for shots, accuracies in tuned[0.5, seed].items():
                # In another stack: rounding may tip a few of a thousand images.
                assert tuned[1.0, seed][shots] == pytest.approx(accuracies, abs=0.005)
        assert tuned[0.5, 0] != tuned[0.5, 1]


class TestBatch:
    CHOSEN = tuple(replace(LIGHT, name=f"c{i}", seeds=(i,)) for i in range(2))

    def batch(self, folder, chosen=CHOSEN):
        with Engine(workers=1) as engine:
            return run_batch(study.STUDY, chosen, folder=folder, engine=engine)

    def stopped(self, folder, chosen, monkeypatch, last):
        """Run until something was told for the `last` time; return all that was."""
        seen = []

        def tell(*said):
            seen.append(said[:2])
            if len(seen) == last:
                stopping.request()

        with monkeypatch.context() as patched:
            patched.setattr(telling, "tell", tell)
            outcomes = self.batch(folder, chosen)
        return seen, outcomes

    def test_all_digits_are_not_replaced_by_those_at_hand(self, tmp_path, monkeypatch):
        monkeypatch.setattr(sources, "cache_directory", lambda: tmp_path / "empty")
        c = replace(self.CHOSEN[0], embedded=False)
        outcomes = self.batch(tmp_path / "out", [c])
        assert outcomes["c0"].startswith("failed: load: mnist (train) is in none of:")
        # A record that was made elsewhere can be read without them.
        assert study.STUDY.identity(c, CPU)["data"] is None

    @pytest.mark.usefixtures("eager")
    def test_goes_on_after_a_stop(self, tmp_path, monkeypatch):
        chosen = [replace(c, snapshots=3) for c in self.CHOSEN]
        whole = [without_time(run(c)) for c in chosen]
        seen, outcomes = self.stopped(tmp_path, chosen, monkeypatch, last=7)
        # Three windows of the first and a snapshot, of the second two windows.
        each = [(t, 7) for t in (1, 3, 6, 7)]
        assert seen == [*each, *each[:3]]
        assert outcomes["c1"].startswith("stopped")
        record, state = sorted(p.name for p in tmp_path.iterdir())
        assert record == "c0.json"
        assert re.fullmatch(r"c1\.[0-9a-f]{16}\.checkpoint", state)
        seen, outcomes = self.stopped(tmp_path, chosen, monkeypatch, last=0)
        assert outcomes == {"c0": "kept", "c1": "done"}
        assert seen == [(7, 7)]
        assert sorted(p.name for p in tmp_path.iterdir()) == ["c0.json", "c1.json"]
        for c, expected in zip(chosen, whole, strict=True):
            found = shown(RunRecord.read(tmp_path / f"{c.name}.json"))
            assert without_time(found) == expected

    @pytest.mark.parametrize("method", ["mmd", "labels", "none"])
    def test_what_is_learnt_need_not_be_learnt_again_for_its_tasks(
        self, method, tmp_path, monkeypatch
    ):
        c = replace(self.CHOSEN[0], shots=(1,), method=method)
        whole = without_time(run(c))
        learnt = [] if method == "none" else [3, 6, 7]
        last = len(learnt) + 1
        seen, _ = self.stopped(tmp_path, [c], monkeypatch, last=last)
        # Two epochs on ten examples, eight at a time.
        assert seen == [*((t, 7) for t in learnt), (2, 4)]
        seen, _ = self.stopped(tmp_path, [c], monkeypatch, last=0)
        assert seen == [(4, 4)]
        assert [p.name for p in tmp_path.iterdir()] == ["c0.json"]
        found = shown(RunRecord.read(tmp_path / "c0.json"))
        assert without_time(found) == whole
