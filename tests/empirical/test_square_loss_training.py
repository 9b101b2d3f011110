"""Training of stacks: steps, divergence, records, resuming."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from empirical.randomness import torch_generator
from empirical.square_loss import (
    Problem,
    Recipe,
    classifier,
    measures,
    networks,
    problem,
    train,
)
from empirical.square_loss.classifiers import FAMILIES
from empirical.square_loss.recipes import recorded_epochs

TWO = problem(side=8, constant=0.25, per_class=15, tests=5, cached=False)
CONV = problem(side=8, per_class=15, tests=5, cached=False)
THREE = problem(
    labels=(0, 1, 2), side=8, constant=0.25, per_class=8, tests=5, cached=False
)


def start(family="bn", scales=(0.5, 1.0, 2.0), *, shape=(65,), outputs=1):
    net = classifier(family, shape=shape, widths=(8, 6), outputs=outputs)
    generators = [torch_generator(7, i) for i in range(len(scales))]
    return net, networks.start(net, scales, generators)


def order():
    return torch_generator(7, "order")


def usual(net, params, learnt, recipe, rate):
    """Train one draw with the library's optimiser; return parameters and losses."""
    leaves = [p.detach().clone().requires_grad_() for p in params]
    groups = [{"params": leaves, "weight_decay": recipe.weight_decay}]
    if recipe.decayed == "last":
        last = len(leaves) - (2 if net.weighting == "rows" else 1)
        others = [p for i, p in enumerate(leaves) if i != last]
        groups = [
            {"params": [leaves[last]], "weight_decay": recipe.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ]
    optimiser = torch.optim.SGD(groups, lr=rate, momentum=recipe.momentum)
    y = learnt.targets(learnt.classes)
    generator, losses = order(), []
    size = recipe.batch or len(learnt.inputs)
    for epoch in range(recipe.epochs):
        for group in optimiser.param_groups:
            group["lr"] = rate * recipe.drop ** sum(epoch >= t for t in recipe.drops)
        rows = torch.arange(len(learnt.inputs))
        if recipe.batch is not None:
            rows = torch.randperm(len(rows), generator=generator)
        for part in rows.split(size):
            optimiser.zero_grad()
            g = net.run(tuple(leaves), learnt.inputs[part])
            errors = g.outputs[0] - y[part]
            loss = errors.square().sum(dim=1).mean()
            loss.backward()
            losses.append(float(loss.detach()))
            optimiser.step()
    return leaves, losses


class TestSteps:
    @pytest.mark.parametrize("family", FAMILIES)
    @pytest.mark.parametrize("batch", [None, 12])
    @pytest.mark.parametrize("decayed", ["all", "last"])
    def test_equals_the_librarys_optimiser(self, family, batch, decayed):
        net, params = start(family, (0.5, 2.0))
        recipe = Recipe(
            epochs=6,
            rate=0.02,
            weight_decay=0.1,
            decayed=decayed,
            batch=batch,
            schedule=(0.5,),
        )
        rates = [0.02, 0.01]
        done = train(net, params, TWO, recipe, rates=rates, generator=order())
        for draw, rate in enumerate(rates):
            single = [p[draw : draw + 1] for p in params]
            wanted, losses = usual(net, single, TWO, recipe, rate)
            for mine, theirs in zip(done.final, wanted, strict=True):
                torch.testing.assert_close(
                    mine[draw], theirs[0].detach(), rtol=1e-8, atol=1e-10
                )
            first = done.series["loss"][0, draw]
            if batch is None:
                assert first == pytest.approx(losses[0], rel=1e-12)

    def test_convolutions_and_several_classes(self):
        for learnt, shape, outputs in ((CONV, (1, 8, 8), 1), (THREE, (65,), 3)):
            net, params = start("bn", (1.0,), shape=shape, outputs=outputs)
            recipe = Recipe(epochs=5, rate=0.02, weight_decay=0.01)
            done = train(net, params, learnt, recipe)
            wanted, _ = usual(net, params, learnt, recipe, 0.02)
            for mine, theirs in zip(done.final, wanted, strict=True):
                torch.testing.assert_close(mine, theirs.detach(), rtol=1e-8, atol=1e-10)

    def test_a_stack_equals_its_members(self):
        net, params = start()
        recipe = Recipe(epochs=30, rate=0.02, batch=12)
        together = train(net, params, TWO, recipe, generator=order())
        for draw in range(3):
            alone = train(
                net,
                tuple(p[draw : draw + 1] for p in params),
                TWO,
                recipe,
                generator=order(),
            )
            assert together.series["rho"][:, draw] == pytest.approx(
                alone.series["rho"][:, 0], rel=1e-8
            )

    def test_cross_entropy_is_the_librarys(self):
        for learnt, outputs in ((TWO, 1), (THREE, 3)):
            net, params = start("bn", (1.0, 2.0), outputs=outputs)
            recipe = Recipe(epochs=1, rate=0.02, momentum=0.0, loss="entropy")
            done = train(net, params, learnt, recipe)
            for draw in range(2):
                leaves = [p[draw : draw + 1].clone().requires_grad_() for p in params]
                g = net.run(tuple(leaves), learnt.inputs).outputs[0]
                if outputs == 1:
                    y = learnt.classes[:, None].double()
                    loss = torch.nn.functional.binary_cross_entropy_with_logits(g, y)
                else:
                    loss = torch.nn.functional.cross_entropy(g, learnt.classes)
                assert done.series["loss"][0, draw] == pytest.approx(
                    float(loss.detach())
                )
                slopes = torch.autograd.grad(loss, leaves)
                for mine, first, s in zip(done.final, leaves, slopes, strict=True):
                    torch.testing.assert_close(
                        mine[draw], (first - 0.02 * s)[0].detach(), rtol=1e-10, atol=0
                    )

    def test_noise_moves_labels_by_its_size_and_nothing_in_the_mean(self):
        # One example a step: g at rest stays where labels are exact, and goes both ways.
        net, params = start("none", (1.0,))
        with torch.no_grad():
            g = net.run(params, TWO.inputs).outputs[0, :, 0]
        steps = []
        for seed in range(40):
            recipe = Recipe(epochs=1, rate=1e-3, momentum=0.0, batch=len(g), noise=0.5)
            made = train(
                net, params, TWO, recipe, generator=torch_generator(seed, "noise")
            )
            steps.append((made.final[-1] - params[-1]).flatten())
        exact = train(net, params, TWO, replace(recipe, noise=0.0, batch=None))
        wanted = (exact.final[-1] - params[-1]).flatten()
        spread = torch.stack(steps).std(dim=0) / 40**0.5
        off = (torch.stack(steps).mean(dim=0) - wanted).abs()
        assert bool((spread > 0.0).any())
        # Six units; one in 2,000 lies beyond four deviations of 40 draws.
        assert bool((off <= 4.0 * spread + 1e-15).all())

    def test_replicates_have_noise_of_their_own(self):
        net, params = start("bn", (1.0, 1.0, 1.0))
        same = tuple(p[:1].expand(3, *p.shape[1:]).clone() for p in params)
        recipe = Recipe(epochs=5, rate=0.02, batch=12, noise=0.5)
        one, two = torch_generator(7, "one"), torch_generator(7, "two")
        done = train(net, same, TWO, recipe, generator=[one, two, one])
        rho = done.series["rho"][-1]
        assert rho[0] == rho[2] != rho[1]
        alone = train(
            net,
            tuple(p[:1] for p in same),
            TWO,
            recipe,
            generator=torch_generator(7, "two"),
        )
        assert alone.series["rho"][-1, 0] == pytest.approx(rho[1], rel=1e-9)

    def test_recording_changes_nothing(self):
        net, params = start()
        recipe = Recipe(epochs=20, batch=12)
        a, b = (
            train(net, params, TWO, recipe, generator=order(), recorded=kept)
            for kept in (True, False)
        )
        assert all(torch.equal(x, y) for x, y in zip(a.final, b.final, strict=True))
        assert np.isnan(b.series["rho"][:-1]).all()
        assert np.array_equal(a.series["rho"][-1], b.series["rho"][-1])


class TestCourse:
    def test_a_divergence_stops_only_that_run(self):
        net, params = start("none", (30.0, 1.0, 1.2))
        recipe = Recipe(epochs=60, rate=0.05, check=10)
        done = train(net, params, TWO, recipe)
        assert done.status == ("diverged", "finished", "finished")
        assert done.diverged.tolist()[1:] == [-1, -1]
        assert 0 < done.diverged[0] < 10
        # Noticed at the next pause.
        assert done.diverged[0] < done.steps[0] <= 10
        assert done.steps.tolist()[1:] == [60, 60]
        assert np.isnan(done.series["rho"][-1, 0])
        keep = torch.tensor([1, 2])
        others = train(net, tuple(p[keep] for p in params), TWO, recipe)
        for name in ("rho", "loss", "nc1"):
            assert done.series[name][:, [1, 2]] == pytest.approx(
                others.series[name], rel=1e-9
            )

    def test_networks_that_all_diverge_leave_nothing_to_record_at_the_end(self):
        net, params = start("none", (30.0,))
        recipe = Recipe(epochs=60, rate=0.05, check=10)
        done = train(net, params, TWO, recipe, recorded=False)
        assert done.status == ("diverged",)
        assert done.series == {}
        assert done.steps.tolist() == [10]

    def test_a_dead_network_is_told_from_a_trained_one(self):
        net, params = start("none", (1.0, 30.0))
        done = train(net, params, TWO, Recipe(epochs=20, rate=0.05))
        assert done.status == ("finished", "dead")
        assert done.series["loss"][-1, 1] == 1.0

    def test_a_network_silent_on_a_class_is_told_from_one_that_answers(self):
        # Directions that see examples of the second class alone, but for rounding.
        x = torch.eye(4, dtype=torch.float64)
        four = Problem(
            inputs=x,
            classes=torch.tensor([0, 0, 1, 1]),
            test_inputs=x,
            test_classes=torch.tensor([0, 0, 1, 1]),
            source={},
        )
        net = classifier("none", shape=(4,), widths=(2,))
        sees = torch.tensor([[[1e-31, 1e-31, 1.0, 1.0]] * 2], dtype=torch.float64)
        ahead = torch.ones(1, 1, 2, dtype=torch.float64)
        done = train(net, (sees, ahead), four, Recipe(epochs=1, rate=1e-30))
        assert done.status == ("one-class",)
        assert done.series["error"][-1].tolist() == [0.5]
        assert done.interpolated.tolist() == [-1]
        both = torch.tensor([[[-1.0, -1.0, 1.0, 1.0], [1.0, 1.0, -1.0, -1.0]]]).double()
        signs = torch.tensor([[[1.0, -1.0]]]).double()
        done = train(net, (both, signs), four, Recipe(epochs=1, rate=1e-30))
        assert done.status == ("finished",)
        assert done.series["error"][-1].tolist() == [0.0]

    @pytest.mark.parametrize("family", FAMILIES)
    def test_frozen_hidden_layers_stay_as_they_start(self, family):
        net, params = start(family, (0.5, 1.0))
        recipe = Recipe(epochs=20, rate=0.02, weight_decay=0.01, decayed="last")
        done = train(net, params, TWO, replace(recipe, frozen=True))
        first, last = net.weights(done.initial), net.weights(done.final)
        for before, after in zip(first[:-1], last[:-1], strict=True):
            assert torch.equal(before, after)
        assert not torch.equal(first[-1], last[-1])
        # The last layer decays as it would beside others that learn.
        free = train(net, params, TWO, replace(recipe, epochs=1))
        held = train(net, params, TWO, replace(recipe, epochs=1, frozen=True))
        torch.testing.assert_close(
            net.weights(free.final)[-1], net.weights(held.final)[-1], rtol=1e-12, atol=0
        )

    def test_the_step_of_the_divergence(self):
        net, params = start("none", (30.0,))
        recipe = Recipe(epochs=8, rate=0.05, check=10, exploded=10.0)
        done = train(net, params, TWO, recipe)
        _, losses = usual(net, params, TWO, recipe, 0.05)
        bad = [not loss <= 10.0 * losses[0] for loss in losses]
        assert done.diverged.tolist() == [bad.index(True)]

    @pytest.mark.parametrize("batch", [None, 12])
    def test_the_first_epoch_without_errors(self, batch):
        net, params = start("bn", (0.3,))
        recipe = Recipe(epochs=60, rate=0.01, batch=batch, check=7)
        done = train(net, params, TWO, recipe, generator=order())
        leaves, y = [p.detach().clone() for p in params], TWO.targets(TWO.classes)
        moments = [torch.zeros_like(p) for p in leaves]
        generator, first = order(), None
        for epoch in range(recipe.epochs):
            rows = torch.arange(len(y))
            if batch is not None:
                rows = torch.randperm(len(rows), generator=generator)
            wrong = 0
            for part in rows.split(batch or len(rows)):
                for p in leaves:
                    p.requires_grad_()
                g = net.run(tuple(leaves), TWO.inputs[part]).outputs[0]
                wrong += int((g * y[part] <= 0).sum())
                loss = (g - y[part]).square().mean()
                slopes = torch.autograd.grad(loss, leaves)
                with torch.no_grad():
                    for p, m, s in zip(leaves, moments, slopes, strict=True):
                        m.mul_(0.9).add_(s)
                        p -= 0.01 * m
            if not wrong and first is None:
                first = epoch
        assert first is not None
        assert done.interpolated.tolist() == [first]

    def test_the_rule_for_rates(self):
        net, params = start("none", (1.0, 5.0, 15.0))
        recipe = Recipe(epochs=1, rate=0.1, stable=1.0)
        done = train(net, params, TWO, recipe)
        for draw in range(3):
            leaves = [p[draw : draw + 1].requires_grad_() for p in params]
            total = 0.0
            for x in TWO.inputs:
                g = net.run(tuple(leaves), x[None]).outputs.sum()
                slopes = torch.autograd.grad(g, leaves)
                total += 2.0 * sum(float(s.square().sum()) for s in slopes)
            curvature = total / len(TWO.inputs)
            assert done.rates[draw] == pytest.approx(min(0.1, 1.0 / curvature))
        assert done.rates[0] > 100 * done.rates[2]

    def test_equilibrium_with_decay(self):
        net, params = start("wn", (0.5, 2.0))
        recipe = Recipe(
            epochs=1000,
            rate=0.3,
            weight_decay=0.1,
            decayed="last",
            schedule=(0.5, 0.8),
        )
        done = train(net, params, TWO, recipe)
        rho, wanted = done.series["rho"][-1], done.series["rho_eq"][-1]
        assert rho == pytest.approx(wanted, rel=1e-3)
        without = done.series["B"][-1] / done.series["S"][-1]
        assert not np.allclose(rho, without, rtol=0.1)


class TestResuming:
    @pytest.mark.parametrize(("batch", "noise"), [(None, 0.0), (12, 0.0), (12, 0.3)])
    @pytest.mark.parametrize("after", [1, 3, 6])
    @pytest.mark.usefixtures("eager")
    def test_a_killed_run_goes_on_as_if_nothing_had_happened(
        self, tmp_path, batch, noise, after
    ):
        # One of the draws leaves on the way.
        net, params = start("none", (30.0, 1.0, 1.2))
        recipe = Recipe(
            epochs=50, rate=0.05, batch=batch, noise=noise, check=7, schedule=(0.5,)
        )
        whole = train(net, params, TWO, recipe, generator=order())
        assert whole.status == ("diverged", "finished", "finished")
        path, calls = tmp_path / "c", []

        def killed(done, _total, _loss):
            calls.append(done)
            if len(calls) == after + 1:
                raise KeyboardInterrupt

        given = {"checkpoint": path}
        with pytest.raises(KeyboardInterrupt):
            train(net, params, TWO, recipe, generator=order(), progress=killed, **given)
        assert path.exists()
        seen = []
        again = train(
            net,
            params,
            TWO,
            recipe,
            generator=order(),
            progress=lambda done, _total, _loss: seen.append(done),
            **given,
        )
        # No update is made twice; the state is kept for whoever writes the record.
        assert seen[0] > calls[-1]
        assert path.exists()
        assert again.status == whole.status
        for name in ("steps", "diverged", "interpolated"):
            assert np.array_equal(getattr(again, name), getattr(whole, name))
        assert set(again.series) == set(whole.series)
        for name, values in whole.series.items():
            assert np.array_equal(again.series[name], values, equal_nan=True), name
        for a, b in zip(again.final, whole.final, strict=True):
            assert a.numpy().tobytes() == b.numpy().tobytes()

    @pytest.mark.usefixtures("eager")
    def test_another_runs_checkpoint_is_refused(self, tmp_path):
        net, params = start()
        path = tmp_path / "c"

        def killed(*_args):
            if path.exists():
                raise KeyboardInterrupt

        given = {"checkpoint": path}
        recipe = Recipe(epochs=50, check=5)
        with pytest.raises(KeyboardInterrupt):
            train(net, params, TWO, recipe, progress=killed, **given)
        with pytest.raises(ValueError, match="must be of the same `stack`"):
            train(net, params, TWO, replace(recipe, rate=0.2), **given)


class TestRecipes:
    def test_epochs_are_few_and_spread(self):
        for epochs in (1, 2, 8, 100, 1000, 6000, 100_000):
            times = recorded_epochs(epochs)
            assert times[0] == 0
            assert times[-1] == epochs
            assert len(times) <= max(8, epochs // 40)
            assert (np.diff(times) > 0).all()
            # No gap of more than a decade.
            assert (times[2:] <= 10 * times[1:-1] + 1).all()

    @pytest.mark.parametrize(
        ("changes", "match"),
        [
            ({"epochs": 0}, "`epochs` must be at least 1"),
            ({"rate": 0.0}, "`rate` must be positive"),
            ({"rate": float("nan")}, "`rate` must be positive"),
            ({"momentum": 1.0}, "`momentum` must lie in"),
            ({"weight_decay": -0.1}, "`weight_decay` must not be negative"),
            ({"decayed": "some"}, "`decayed` must be one of"),
            ({"schedule": (0.8, 0.6)}, "`schedule` must be increasing"),
            ({"stable": -1.0}, "`stable` must be positive"),
            ({"loss": "hinge"}, "`loss` must be one of"),
            ({"noise": -0.1, "batch": 2}, "`noise` must not be negative"),
            ({"noise": 0.1}, "`noise` must be zero but for"),
            ({"noise": 0.1, "batch": 2, "loss": "entropy"}, "`noise` must be zero but"),
            ({"exploded": 1.0}, "`exploded` must be greater than 1"),
        ],
    )
    def test_refusals(self, changes, match):
        with pytest.raises(ValueError, match=match):
            Recipe(**({"epochs": 10} | changes))

    @pytest.mark.parametrize(
        ("changes", "match"),
        [
            ({"inputs": torch.full((4, 4), torch.nan)}, "`inputs` must be finite"),
            (
                {"test_inputs": torch.full((4, 4), torch.inf)},
                "`test_inputs` must be fin",
            ),
            ({"classes": torch.tensor([0, 1, -1, 0])}, "`classes` must.*from -1 to 1"),
            ({"classes": torch.tensor([0, 1, 1])}, r"`classes` must.*shape \(3,\)"),
            ({"classes": torch.tensor([0.0, 1.0, 0.0, 1.0])}, "`classes`.*float32"),
            ({"classes": torch.tensor([0, 0, 0, 0])}, "`classes` must be two at least"),
            ({"test_classes": torch.tensor([0, 1, 2, 0])}, "`test_classes`.*0 to 1"),
        ],
    )
    def test_refusals_of_problems(self, changes, match):
        x, classes = torch.eye(4), torch.tensor([0, 0, 1, 1])
        given = {"inputs": x, "classes": classes, "test_inputs": x}
        given |= {"test_classes": classes}
        with pytest.raises(ValueError, match=f"Problem: {match}"):
            Problem(**(given | changes), source={})

    def test_refusals_of_training(self):
        net, params = start()
        one = Recipe(epochs=1)
        nan = (params[0] * torch.nan, *params[1:])
        shifted = replace(net, bias=True)
        drawn = shifted.init(generator=torch_generator(7))
        for arguments, match in (
            ((shifted, drawn, TWO, one), "must have no biases"),
            ((net, nan, TWO, one), "`params` must be finite"),
            ((net, params, THREE, one), "one output for two classes"),
            ((net, params, TWO, Recipe(epochs=1, batch=10)), "`generator` must be"),
            ((net, params, TWO, Recipe(epochs=1, batch=29)), "no batch of one"),
            (
                (*start(outputs=3), THREE, Recipe(epochs=1, batch=6, noise=0.1)),
                "`noise` must be zero for a network of several outputs",
            ),
        ):
            generator = order() if "batch of" in match else None
            with pytest.raises(ValueError, match=match):
                train(*arguments, generator=generator)
        for rates in ([0.1], [0.1, 0.1, -0.1], [0.1, 0.1, np.nan]):
            with pytest.raises(ValueError, match="`rates` must be positive"):
                train(net, params, TWO, one, rates=rates)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("learnt", [TWO, CONV])
def test_a_gpu_makes_the_same_numbers(family, learnt):
    net, params = start(family, (0.5, 2.0), shape=tuple(learnt.inputs.shape[1:]))
    recipe = Recipe(epochs=10, rate=0.02, weight_decay=0.1, batch=12)
    here, there = (
        train(
            net,
            tuple(p.to(device) for p in params),
            learnt,
            recipe,
            generator=order(),
        )
        for device in ("cpu", "cuda")
    )
    for name in ("rho", "loss", "S", "B", "residual", "nc1"):
        assert there.series[name] == pytest.approx(here.series[name], rel=1e-7), name


def test_levels_include_the_ends():
    assert measures.LEVELS[0] == measures.CLASS_LEVELS[0] == 0.0
    assert measures.LEVELS[-1] == measures.CLASS_LEVELS[-1] == 1.0
