"""Pre-training: resuming, stacks, what is kept, degenerate runs, what is refused."""

import re
import warnings
from collections import OrderedDict
from dataclasses import replace

import numpy as np
import pytest
import torch
from drawing import interrupt_at, one_of
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from empirical.mmd_init import networks
from empirical.mmd_init.networks import classifier
from empirical.mmd_init.pretraining import (
    DegenerateStartWarning,
    UnstandardisedWarning,
    pretrain,
    pretrain_stack,
)
from empirical.mmd_init.recipes import Recipe
from empirical.networks import joined
from empirical.randomness import torch_generator
from empirical.testbed.checkpoints import UnreadableCheckpointWarning

NET = classifier((6, 10, 8, 2))
# Windows of 7 steps end within epochs of 7 steps and a rest of 4 inputs, and the last one
# is cut short.
SHORT = Recipe(steps=31, window=7, batch=8, perturbations=8, reference=8, rate=3e-3)
DATA = torch.randn(60, 6, generator=torch_generator(7, "data"), dtype=torch.float64)


def start(*, net=NET, draws=1):
    generators = [torch_generator(7, "start", k) for k in range(draws)]
    return networks.start(net, "he", generators, dtype=torch.float64)


def learnt(recipe=SHORT, *, net=NET, data=DATA, state=None, name="run", **given):
    made = start(net=net) if state is None else state
    g = torch_generator(7, name)
    return pretrain(net, data, recipe, generator=g, params=made, **given)


def same(one, other):
    """To the last bit."""
    for name in ("params", "start", "last"):
        assert all(map(torch.equal, getattr(one, name), getattr(other, name))), name
    assert one.names == other.names
    for name, values in one.history.items():
        np.testing.assert_array_equal(other.history[name], values, err_msg=name)
    for name in ("best", "status", "degenerate", "escalations"):
        assert getattr(one, name) == getattr(other, name), name


def close(one, other):
    """Up to the rounding of stacks of other sizes."""
    assert one.best == other.best
    # 1e-16 of rounding, which grows tenfold a few times in 31 steps of 3e-3, and Adam's
    # division by small slopes; another batch or number differs by 1e-3.
    np.testing.assert_allclose(one.history["loss"], other.history["loss"], rtol=1e-8)
    torch.testing.assert_close(one.last, other.last, rtol=1e-8, atol=1e-9)


class TestResuming:
    @pytest.mark.parametrize("noise", ["auto", "gram", "explicit"])
    @pytest.mark.parametrize("classes", [2, 3])
    @pytest.mark.usefixtures("eager")
    def test_goes_on_as_if_it_had_not_stopped(self, tmp_path, noise, classes):
        recipe = replace(SHORT, noise=noise)
        net = classifier((6, 10, 8, classes))
        whole = learnt(recipe, net=net)
        kept = {"net": net, "checkpoint": tmp_path / "run.pt"}
        for step in (7, 21):
            with pytest.raises(KeyboardInterrupt):
                learnt(recipe, progress=interrupt_at(step), **kept)
        seen = []
        again = learnt(recipe, progress=lambda t, *_: seen.append(t), **kept)
        assert seen == [28, 31]
        same(whole, again)
        # Nothing is left to do.
        seen.clear()
        same(whole, learnt(recipe, progress=lambda t, *_: seen.append(t), **kept))
        assert seen == []

    def test_repeats_what_was_not_written(self, tmp_path):
        path = tmp_path / "run.pt"
        with pytest.raises(KeyboardInterrupt):
            learnt(progress=interrupt_at(7), checkpoint=path)
        written = path.read_bytes()
        with pytest.raises(KeyboardInterrupt):
            learnt(progress=interrupt_at(21), checkpoint=path)
        # As a process leaves it that is killed on the spot.
        path.write_bytes(written)
        same(learnt(), learnt(checkpoint=path))
        assert [p.name for p in tmp_path.iterdir()] == ["run.pt"]

    def test_what_is_interrupted_is_kept_however_soon(self, tmp_path):
        path, seen = tmp_path / "run.pt", []

        def one_window(done, *_):
            seen.append(done)
            raise KeyboardInterrupt

        for _ in range(5):
            with pytest.raises(KeyboardInterrupt):
                learnt(progress=one_window, checkpoint=path)
        assert seen == [7, 14, 21, 28, 31]
        same(learnt(), learnt(checkpoint=path))

    def test_snapshots_and_float32(self, tmp_path):
        # Snapshots within windows, and a rate that float32 rounds.
        recipe = replace(SHORT, rate=2e-4)
        given = {"state": tuple(v.float() for v in start())}
        given |= {"snapshots": (0, 3, 9, 31), "recipe": recipe}
        whole = learnt(**given)
        with pytest.raises(KeyboardInterrupt):
            learnt(progress=interrupt_at(14), checkpoint=tmp_path / "run.pt", **given)
        again = learnt(checkpoint=tmp_path / "run.pt", **given)
        same(whole, again)
        assert list(whole.snapshots) == list(again.snapshots) == [0, 3, 9, 31]
        for at, taken in whole.snapshots.items():
            assert all(map(torch.equal, taken, again.snapshots[at]))
        assert all(map(torch.equal, whole.snapshots[31], whole.last))

    def test_an_unreadable_file_is_set_aside(self, tmp_path):
        path = tmp_path / "run.pt"
        path.write_bytes(b"")
        with pytest.warns(UnreadableCheckpointWarning, match="training starts anew"):
            same(learnt(checkpoint=path), learnt())
        assert (tmp_path / "run.pt.unreadable").read_bytes() == b""

    def test_goes_on_with_what_was_suspected(self, tmp_path):
        recipe, state = TestDegenerate.STUCK, TestDegenerate().state()
        given = {"recipe": recipe, "state": state, "on_degenerate": "record"}
        given["checkpoint"] = tmp_path / "run.pt"
        with pytest.raises(KeyboardInterrupt):
            learnt(progress=interrupt_at(14), **given)
        assert learnt(**given).degenerate == 21

    @pytest.mark.parametrize(
        "changes",
        [
            {"recipe": replace(SHORT, lam=0.3)},
            {"data": DATA + 1e-9},
            {"name": "another"},
            {"state": one_of(start(draws=2), 1)},
        ],
    )
    @pytest.mark.usefixtures("eager")
    def test_refuses_that_of_other_arguments(self, tmp_path, changes):
        path = tmp_path / "run.pt"
        with pytest.raises(KeyboardInterrupt):
            learnt(progress=interrupt_at(7), checkpoint=path)
        with pytest.raises(ValueError, match="`checkpoint` must be of the same `"):
            learnt(checkpoint=path, **changes)


RECIPES = [
    SHORT,
    replace(SHORT, s=0.3, lam=0.0),
    replace(SHORT, uni=0.0, xi=0.5),
    replace(SHORT, s=1.2, lam=1.0, xi=0.0),
]


def stack(state, recipes=RECIPES, classes=2, **given):
    generators = [torch_generator(7, "run", k) for k in range(len(recipes))]
    net = classifier((*NET.widths[:-1], classes))
    return pretrain_stack(
        net, DATA, recipes, params=state, generators=generators, **given
    )


class TestStack:
    @pytest.mark.parametrize("classes", [2, 3])
    def test_equals_its_members(self, classes):
        net = classifier((*NET.widths[:-1], classes))
        states = start(net=net, draws=4)
        together = stack(states, classes=classes)
        for k, recipe in enumerate(RECIPES):
            g = torch_generator(7, "run", k)
            alone = pretrain(net, DATA, recipe, generator=g, params=one_of(states, k))
            close(together[k], alone)

    def test_terms_add_up(self):
        for made, recipe in zip(stack(start(draws=4)), RECIPES, strict=True):
            h = made.history
            total = (
                recipe.uni * h["uniformity"]
                + recipe.lam * h["degeneracy"]
                + recipe.xi * h["detachment"]
            )
            np.testing.assert_allclose(h["loss"], total, rtol=1e-12)

    @pytest.mark.usefixtures("eager")
    def test_resumes(self, tmp_path):
        states = start(draws=4)
        kept = {"checkpoint": tmp_path / "run.pt"}
        whole = stack(states)
        with pytest.raises(KeyboardInterrupt):
            stack(states, progress=interrupt_at(14), **kept)
        for one, other in zip(whole, stack(states, **kept), strict=True):
            same(one, other)

    def test_a_divergence_stops_only_that_run(self):
        states = start(draws=4)
        fine = stack(states)
        states[0][1] *= 1e300
        found = stack(states)
        assert [r.status for r in found] == ["finished", "diverged", *["finished"] * 2]
        for k in (0, 2, 3):
            close(found[k], fine[k])
            # It leaves at the end of the first window.
            first = fine[k].history["loss"][:7]
            np.testing.assert_array_equal(found[k].history["loss"][:7], first)
        assert found[1].best == 0
        assert not np.isfinite(found[1].history["loss"]).any()
        assert len(found[1].history["loss"]) == 31
        assert torch.equal(found[1].params[0][0], states[0][1])

    @pytest.mark.parametrize(
        ("changes", "match"),
        [
            ({"recipes": RECIPES[:3]}, "of the same length, but they are 3, 3 and 4"),
            (
                {"recipes": [*RECIPES[:3], replace(SHORT, rate=0.1)]},
                "`recipes` must be alike but for `s`",
            ),
        ],
    )
    def test_refuses(self, changes, match):
        with pytest.raises(ValueError, match=match):
            stack(start(draws=4), **changes)


class TestKept:
    def test_the_window_of_least_loss(self):
        # So high a rate leaves the good ones again.
        recipe = replace(SHORT, steps=70, rate=0.05, lam=0.0)
        made = learnt(recipe, on_degenerate="record")
        means = made.history["loss"].reshape(10, 7).mean(axis=1)
        assert made.best == 7 * (1 + int(np.argmin(means)))
        assert made.best < 70
        shorter = learnt(replace(recipe, steps=made.best), on_degenerate="record")
        assert all(map(torch.equal, shorter.last, made.params))
        assert not torch.equal(made.params[0], made.last[0])

    def test_a_window_must_be_finished(self):
        # Its start would be handed back as if it were learnt.
        with pytest.raises(ValueError, match=r"at least a window of 32.*there are 31"):
            learnt(replace(SHORT, window=32))
        few = replace(SHORT, steps=None, epochs=2, window=15)
        with pytest.raises(ValueError, match=r"there are 14 of 60 inputs\. Give more"):
            learnt(few)
        assert learnt(replace(few, window=14)).best == 14

    @pytest.mark.parametrize("noise", ["gram", "explicit"])
    def test_all_but_the_last_layer_can_stay(self, noise):
        made = learnt(replace(SHORT, noise=noise, frozen=True))
        *hidden, weight, bias = zip(made.start, made.last, strict=True)
        assert all(torch.equal(a, b) for a, b in hidden)
        assert not torch.equal(*weight)
        assert not torch.equal(*bias)

    def test_the_last_layer_is_the_one_that_makes_the_logits(self):
        class Backwards(nn.Module):
            def __init__(self):
                super().__init__()
                self.readout, self.inner = nn.Linear(10, 2), nn.Linear(6, 10)

            def forward(self, x):
                return self.readout(self.inner(x).tanh())

        recipe = replace(SHORT, noise="explicit", frozen=True)
        net = Backwards().double()
        made = pretrain(net, DATA, recipe, generator=torch_generator(7))
        pairs = zip(made.names, made.start, made.last, strict=True)
        moved = {name for name, a, b in pairs if not torch.equal(a, b)}
        assert moved == {"readout.weight", "readout.bias"}

    def test_terms_that_no_weight_asks_for_are_absent(self):
        made = learnt(replace(SHORT, uni=0.0, lam=0.0))
        for name in ("uniformity", "degeneracy", "constant"):
            assert np.isnan(made.history[name]).all()
        np.testing.assert_array_equal(made.history["loss"], made.history["detachment"])
        assert made.status == "finished"
        assert np.isnan(learnt(replace(SHORT, xi=0.0)).history["detachment"]).all()

    def test_learns(self):
        recipe = replace(SHORT, steps=150, window=50, perturbations=32, rate=1e-2)
        h = learnt(recipe).history["uniformity"]
        # From about 0.5 to a tenth of it; it is 0.1 or so by chance from step to step.
        assert h[-50:].mean() < 0.5 * h[:10].mean()

    def test_reports_progress(self):
        seen = []
        made = learnt(progress=lambda t, total, means: seen.append((t, total, means)))
        assert [(t, total) for t, total, _ in seen] == [
            (t, 31) for t in (7, 14, 21, 28, 31)
        ]
        assert seen[0][2]["loss"] == pytest.approx(made.history["loss"][:7].mean())
        assert set(seen[0][2]) == set(made.history)


class TestDegenerate:
    STUCK = replace(SHORT, steps=35, rate=1e-9, grace=1)

    def state(self):
        """Logits 20 apart: all perturbed networks predict the one class."""
        made = start()
        made[5][0] += torch.tensor([10.0, -10.0])
        return made

    def test_warns(self):
        # Two windows past the grace of one: the first that is late is the third.
        with pytest.warns(DegenerateStartWarning, match="after 21 steps 100% of pert"):
            made = learnt(self.STUCK, state=self.state())
        assert (made.status, made.degenerate) == ("finished", 21)
        assert (made.history["constant"] == 1.0).all()

    def test_of_three_classes_those_that_predict_one(self):
        net = classifier((6, 10, 8, 3))
        recipe = replace(self.STUCK, degenerate=0.5)
        state = networks.start(net, "he", [torch_generator(7)], dtype=torch.float64)
        # Most miss a class of a batch of eight, few predict one alone.
        made = learnt(recipe, net=net, state=state, on_degenerate="record")
        assert made.degenerate is None
        state[5][0] += torch.tensor([10.0, -10.0, -10.0])
        with pytest.warns(DegenerateStartWarning, match="more a constant minimises"):
            learnt(recipe, net=net, state=state)

    def test_stops(self):
        made = learnt(self.STUCK, state=self.state(), on_degenerate="stop")
        assert (made.status, made.degenerate) == ("degenerate", 21)
        assert len(made.history["loss"]) == 21

    def test_records(self):
        made = learnt(self.STUCK, state=self.state(), on_degenerate="record")
        assert (made.status, made.degenerate) == ("finished", 21)
        fine = learnt(replace(self.STUCK, degenerate=0.99), on_degenerate="record")
        assert fine.degenerate is None

    def test_grace(self):
        recipe = replace(self.STUCK, grace=3)
        made = learnt(recipe, state=self.state(), on_degenerate="record")
        assert made.degenerate == 35
        recipe = replace(self.STUCK, grace=4)
        made = learnt(recipe, state=self.state(), on_degenerate="record")
        assert made.degenerate is None

    def both(self, on_degenerate):
        return pretrain_stack(
            NET,
            DATA,
            [self.STUCK] * 2,
            params=joined([self.state(), start()]),
            generators=[torch_generator(7, k) for k in range(2)],
            on_degenerate=on_degenerate,
        )

    def test_warns_whoever_called(self):
        with pytest.warns(DegenerateStartWarning) as told:
            self.both("warn")
        assert [w.filename for w in told] == [__file__]

    def test_stops_one_of_a_stack(self):
        found = self.both("stop")
        assert found[0].status == "degenerate"
        assert found[1].status == "finished"
        # All of a stack have its steps: nan after a run's end.
        for made, end in zip(found, (21, 35), strict=True):
            finite = np.isfinite(made.history["loss"])
            assert finite.tolist() == [True] * end + [False] * (35 - end)


class TestModules:
    def test_gives_the_modules_own_state(self):
        parts = OrderedDict(
            flat=nn.Flatten(),
            first=nn.Linear(6, 10),
            on=nn.ReLU(),
            last=nn.Linear(10, 3),
        )
        module = nn.Sequential(parts).double()
        before = {k: v.clone() for k, v in module.state_dict().items()}
        x = DATA.view(60, 2, 3)
        made = pretrain(module, x, SHORT, generator=torch_generator(7))
        assert all(torch.equal(v, before[k]) for k, v in module.state_dict().items())
        assert all(map(torch.equal, (v[0] for v in made.start), before.values()))
        assert not any(v.requires_grad for v in made.state.values())
        module.load_state_dict(made.state)
        assert torch.equal(
            module.get_parameter("first.weight"), made.state["first.weight"]
        )
        assert not torch.equal(made.state["first.weight"], before["first.weight"])
        assert module(x).shape == (60, 3)

    def test_changes_neither_start_nor_data_nor_global_numbers(self):
        state, x = start(), DATA.clone()
        copies = tuple(v.clone() for v in state)
        before = torch.get_rng_state()
        own = np.random.get_state()[1].copy()  # noqa: NPY002
        made = learnt(state=state, data=x)
        assert torch.equal(torch.get_rng_state(), before)
        assert np.array_equal(np.random.get_state()[1], own)  # noqa: NPY002
        assert torch.equal(x, DATA)
        assert all(map(torch.equal, state, copies))
        assert all(map(torch.equal, made.start, copies))
        # All numbers come from the generator.
        same(made, learnt())
        assert not torch.equal(learnt(name="other").last[0], made.last[0])

    def test_few_inputs_repeated_ones_and_arrays(self):
        few = DATA[:5].repeat(2, 1)
        made = learnt(data=few.numpy())
        assert made.status == "finished"
        assert made.escalations.count == 0
        same(made, learnt(data=few))
        # In the other order of bytes, too.
        same(made, learnt(data=few.numpy().astype(">f8")))
        with pytest.raises(ValueError, match="at least a batch of 8, but there are 5"):
            learnt(data=few[:5])

    @pytest.mark.parametrize("noise", ["gram", "explicit"])
    def test_in_the_precision_of_the_start(self, noise):
        state = tuple(v.float() for v in start())
        made = learnt(replace(SHORT, noise=noise), state=state)
        assert {v.dtype for v in made.params} == {torch.float32}
        wanted = learnt(replace(SHORT, noise=noise)).history["detachment"][0]
        assert made.history["detachment"][0] == pytest.approx(wanted, rel=1e-5)


def module(*parts):
    return nn.Sequential(*parts).double()


FINE = module(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 2))


class TestRefuses:
    @pytest.mark.parametrize(
        ("data", "match"),
        [
            (DATA[:0], r"`data` must be inputs, one a row, but the shape is \(0, 6\)"),
            (DATA[0], r"`data` must be inputs.*\(6,\)"),
            (DATA[:, :0], r"`data` must be inputs.*\(60, 0\)"),
            (DATA[:, :5], "must have the network's 6 features, but it has 5"),
            (
                DATA.clone().index_fill_(0, torch.tensor([3, 9]), torch.nan),
                "`data` must be finite, but 12 of 360 entries are not",
            ),
            (torch.full((9, 6), torch.inf), "must be finite, but 54 of 54 entries"),
            (DATA[:1].expand(9, -1), "must hold different inputs, but all 9 are equal"),
        ],
    )
    def test_data(self, data, match):
        with pytest.raises(ValueError, match=match):
            pretrain(FINE, data, SHORT, generator=torch_generator(7))

    @pytest.mark.parametrize(
        ("data", "error", "match"),
        [
            (
                (DATA, DATA[:, 0]),
                TypeError,
                "such as inputs and labels. Give the inputs",
            ),
            (TensorDataset(DATA, DATA[:, 0]), TypeError, "it is a TensorDataset. Give"),
            (DataLoader(TensorDataset(DATA)), TypeError, "it is a DataLoader. Give"),
            (np.array([["a"] * 6] * 9), TypeError, "must be numbers, but they are <U1"),
            (DATA + 1j, TypeError, "must be real"),
            (torch.eye(6).repeat(9, 1), ValueError, "look like labels: one 1 a row"),
        ],
    )
    def test_what_is_no_table_of_inputs(self, data, error, match):
        with pytest.raises(error, match=match):
            pretrain(FINE, data, SHORT, generator=torch_generator(7))

    @pytest.mark.parametrize("generator", [0, None])
    def test_generators(self, generator):
        with pytest.raises(ValueError, match=r"`generator` must be torch\.Generator"):
            pretrain(FINE, DATA, SHORT, generator=generator)

    def test_warns_of_what_is_not_standardised(self):
        for x in (100.0 * DATA, DATA + 5.0, 0.1 * DATA):
            with pytest.warns(UnstandardisedWarning, match="meant for 0 and 1"):
                learnt(data=x)

    def test_networks(self):
        g = torch_generator(7)
        for made, error, match in (
            (
                module(nn.Linear(6, 2)),
                ValueError,
                r"must have a hidden layer.*\(6, 2\)",
            ),
            (
                module(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 1)),
                ValueError,
                "at least 2 classes",
            ),
            (module(nn.Linear(6, 4), nn.GELU(), nn.Linear(4, 2)), TypeError, "a GELU"),
            (
                module(nn.Linear(6, 4).requires_grad_(False), *FINE[1:]),
                ValueError,
                "but 0.weight, 0.bias have no `requires_grad`. Set it",
            ),
            (
                nn.LSTM(6, 2),
                TypeError,
                "Sequential or a FullyConnected, but it is a LSTM",
            ),
            (
                module(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)),
                TypeError,
                "module 1 is a BatchNorm1d. Build it as torch.nn.Sequential",
            ),
        ):
            with pytest.raises(error, match=match):
                pretrain(made, DATA, SHORT, generator=g)
        normed = classifier(NET.widths, batch_norm=True)
        with pytest.raises(ValueError, match="without batch normalisation: with it"):
            learnt(net=normed)
        # They would be trained as what they are not.
        for other in ({"activation": "tanh"}, {"parametrisation": "ntk"}):
            with pytest.raises(ValueError, match="must be one that `mmd_init"):
                learnt(net=replace(NET, **other), state=start())
        broken = start()
        broken[3][0, 1] = torch.nan
        with pytest.raises(ValueError, match="`params` must be finite"):
            learnt(state=broken)
        with pytest.raises(ValueError, match="`params` must be given for a FullyC"):
            pretrain(NET, DATA, SHORT, generator=g)
        with pytest.raises(ValueError, match="`params` must be left out for a torc"):
            pretrain(FINE, DATA, SHORT, generator=g, params=start())

    def test_a_median_of_zero(self):
        stuck = start()
        stuck[5][0] += torch.tensor([1e4, -1e4])
        with pytest.raises(ValueError, match="the median distance must be positive"):
            learnt(replace(SHORT, reference=2), state=stuck)

    @pytest.mark.parametrize(
        ("name", "value", "match"),
        [
            ("s", -0.5, "`s` must be positive and finite, but it is -0.5"),
            ("s", 0.0, "`s` must be positive"),
            ("s", float("nan"), "`s` must be positive"),
            ("lam", -0.4, "`lam` must not be negative, but it is -0.4"),
            ("xi", -1.0, "`xi` must not be negative"),
            ("xi", float("inf"), "`xi` must not be negative, but it is inf"),
            ("uni", -1.0, "`uni` must not be negative"),
            ("rate", 0.0, "`rate` must be positive"),
            ("degenerate", 0.0, "`degenerate` must be positive"),
            ("batch", 0, "`batch` must be at least 1"),
            ("steps", 0, "`steps` must be at least 1"),
            ("epochs", 0, "`epochs` must be at least 1"),
            ("window", 0, "`window` must be at least 1"),
            ("grace", -1, "`grace` must be at least 0"),
            ("perturbations", 1, "`perturbations` must be at least 2"),
            ("reference", 1, "`reference` must be at least 2"),
            ("noise", "none", "`noise` must be one of .*gram"),
            ("estimator", "v", "`estimator` must be one of unbiased, biased"),
        ],
    )
    def test_recipes(self, name, value, match):
        with pytest.raises(ValueError, match=f"Recipe: {match}"):
            Recipe(**{name: value})

    def test_a_recipe_without_a_loss(self):
        with pytest.raises(ValueError, match=re.escape("one of `uni`, `lam` and `xi`")):
            Recipe(uni=0.0, lam=0.0, xi=0.0)


def test_updates():
    assert Recipe().updates(60000) == 9375
    assert Recipe(epochs=2, batch=32).updates(5) == 2
    assert Recipe(steps=3).updates(60000) == 3


def test_no_warning_is_left_to_chance():
    """A run that is fine says nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learnt(replace(SHORT, grace=0, degenerate=0.99))
