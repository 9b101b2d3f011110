"""Stacked training: against closed forms, loops, interruptions and explosions."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from drawing import normal

from empirical.data import load
from empirical.identity_map import copier
from empirical.identity_map.images import chosen
from empirical.identity_map.recipes import RATES, Recipe
from empirical.identity_map.task import Copy
from empirical.identity_map.training import (
    budget_of,
    optimiser_of,
    recorded_times,
    train,
)
from empirical.randomness import torch_generator
from empirical.testbed import loop
from empirical.testbed import stack as stacks
from empirical.testbed.observers import Snapshots
from empirical.testbed.stack import Stack

F64 = torch.float64

PLAIN = Recipe(steps=60, schedule=(), check=7)


def digit(size=28):
    digits = load("mnist", "train", cached=False)
    image = digits.images[int(np.flatnonzero(digits.labels == 7)[0])]
    pixels = torch.from_numpy((image / 255 - 0.1307) / 0.3081)[None, None]
    if size == 28:
        return pixels
    return torch.nn.functional.interpolate(
        pixels, size=(size, size), mode="bilinear", antialias=True
    )


def small(kind="cnn", layers=3, size=6):
    width = {"fcn": 20, "cnn": 6, "residual": None}[kind]
    shape = (1, size, size)
    return copier(kind=kind, shape=shape, layers=layers, width=width, kernel=3)


def course(net, params, images, recipe):
    """Every recorded time's weights."""
    kept = Snapshots(recorded_times(recipe.longest).tolist())
    learnt = [0] if recipe.trained == "bottom" else None
    loop.train(
        Copy(network=net, images=images, targets=images, loss=recipe.loss),
        Stack(params, rates=recipe.learning_rate, learnt=learnt),
        optimiser_of(recipe),
        steps=recipe.longest,
        check=recipe.check,
        observers=[*budget_of(recipe), kept],
    )
    return kept.taken


class TestClosedForms:
    @pytest.mark.parametrize("loss", ["mean", "half-sum"])
    @pytest.mark.parametrize("momentum", [0.0, 0.9])
    def test_one_linear_layer_at_every_recorded_step(self, loss, momentum):
        net = copier(kind="fcn", shape=(1, 6, 6), layers=1)
        params = net.init("xavier-normal", generator=torch_generator(7), replicates=2)
        x = normal(1, 1, 6, 6)
        flat = x.flatten()
        curvature = float(flat @ flat) * (2 / 36 if loss == "mean" else 1)
        rate = 0.3 / curvature
        recipe = Recipe(
            steps=40, rate=rate, momentum=momentum, loss=loss, schedule=(0.5,)
        )
        done = train(net, params, x, recipe)
        seen = course(net, params, x[None], recipe)
        # W_t = W_0 + (1 - a_t) (I - W_0) x x^T / |x|^2, with the heavy ball's a_t.
        a, b, factors = 1.0, 0.0, [1.0]
        for t in range(40):
            b = momentum * b + curvature * a
            a -= rate * (0.2 if t >= 20 else 1.0) * b
            factors.append(a)
        start = params[0]
        gap = (flat - start @ flat)[:, :, None] * flat / (flat @ flat)
        assert sorted(seen) == recorded_times(40).tolist()
        for t, (w,) in seen.items():
            wanted = start + (1 - factors[t]) * gap
            torch.testing.assert_close(w, wanted, rtol=1e-10, atol=1e-13)
        torch.testing.assert_close(seen[40][0], done.final[0], rtol=1e-12, atol=1e-14)
        assert done.times[-1] == 40
        squares = ((start @ flat - flat) ** 2).sum(1).numpy()
        squares = squares / 36 if loss == "mean" else squares / 2
        wanted = squares[:, None] * np.array(factors)[done.times] ** 2
        np.testing.assert_allclose(done.losses[:, :-1], wanted[:, :-1], rtol=1e-9)
        np.testing.assert_allclose(done.final_losses, wanted[:, -1], rtol=1e-9)

    def test_a_bottom_layer_moves_along_the_image_alone(self):
        net = small("fcn", layers=2)
        params = net.init("xavier-normal", generator=torch_generator(7), replicates=3)
        x = normal(3, 1, *net.input_shape)
        recipe = Recipe(steps=50, trained="bottom", schedule=(), rate=0.1)
        done = train(net, params, x, recipe)
        moved = done.final[0] - params[0]
        unit = x.flatten(2)[:, 0]
        unit = unit / unit.norm(dim=1, keepdim=True)
        along = (moved @ unit[:, :, None]) * unit[:, None, :]
        # In every entry, against the largest: the projection's rounding.
        assert (moved - along).abs().max() <= 1e-10 * moved.abs().max()
        assert moved.abs().max() > 1e-3
        assert torch.equal(done.final[1], params[1])

    @pytest.mark.parametrize(("trained", "learns"), [("bottom", 0), ("top", 2)])
    def test_one_layer_learns_alone_with_its_bias(self, trained, learns):
        net = copier("cnn", shape=(1, 6, 6), layers=3, width=4, kernel=3, bias=True)
        params = net.init(generator=torch_generator(7), dtype=torch.float64)
        recipe = Recipe(steps=5, trained=trained, schedule=())
        done = train(net, params, digit(6), recipe)
        moved = [
            not torch.equal(before, after)
            for before, after in zip(done.initial, done.final, strict=True)
        ]
        assert moved == [index // 2 == learns for index in range(6)]


class TestStacking:
    @pytest.mark.parametrize("optimiser", list(RATES))
    @pytest.mark.parametrize("kind", ["fcn", "residual", "cnn"])
    def test_stacked_equals_looped(self, kind, optimiser):
        net = small(kind, layers=4)
        params = net.init("kaiming-normal", generator=torch_generator(7), replicates=3)
        x = normal(3, 2, *net.input_shape)
        rates = np.array([1.0, 0.5, 0.1]) * RATES[optimiser]
        recipe = Recipe(
            optimiser=optimiser, steps=40, release=0.99, clip=0.5, rescale=True
        )
        together = train(net, params, x, recipe, rates=rates)
        assert len(set(together.status)) >= 1
        for draw in range(3):
            alone = train(
                net,
                tuple(w[draw : draw + 1] for w in params),
                x[draw],
                recipe,
                rates=rates[draw : draw + 1],
            )
            assert alone.status[0] == together.status[draw]
            assert alone.steps[0] == together.steps[draw]
            assert alone.released[0] == together.released[draw]
            # Rounding of batched products, at most 440 steps of it.
            np.testing.assert_allclose(
                alone.losses[0], together.losses[draw], rtol=1e-8
            )
            for one, many in zip(alone.final, together.final, strict=True):
                torch.testing.assert_close(one[0], many[draw], rtol=1e-7, atol=1e-10)

    @pytest.mark.parametrize("optimiser", list(RATES))
    def test_replicates_updated_a_few_at_a_time_are_the_same(self, optimiser):
        net = small("fcn", layers=3)
        params = net.init("kaiming-normal", generator=torch_generator(7), replicates=5)
        x = normal(1, *net.input_shape)
        # The second explodes (or not) and starts again; all have their own release.
        rates = np.array([1, 1e6, 2, 0.5, 3]) * RATES[optimiser]
        recipe = Recipe(optimiser=optimiser, steps=30, release=0.99, check=9, clip=2.0)
        whole = train(net, params, x, recipe, rates=rates, together=5)
        for together in (1, 2):
            parts = train(net, params, x, recipe, rates=rates, together=together)
            assert parts.status == whole.status
            assert parts.starts == whole.starts
            for a, b in zip(parts.final, whole.final, strict=True):
                assert torch.equal(a, b)

    def test_as_many_dense_networks_are_updated_together_as_fit_a_cache(
        self, monkeypatch
    ):
        given = []
        monkeypatch.setattr(
            loop.Stack, "parts", lambda self, n: given.append(n) or [self]
        )
        recipe = Recipe(steps=3)
        for net in (small("fcn"), small("cnn")):
            params = net.init(generator=torch_generator(7), replicates=3)
            # Weights and momenta.
            held = 2 * 8 * net.parameters
            monkeypatch.setattr(stacks, "CACHED", 2 * held + 1)
            train(net, params, normal(1, *net.input_shape), recipe)
        assert given == [2, None]

    @pytest.mark.parametrize("name", list(RATES))
    def test_a_recipes_optimiser_is_pytorchs(self, name):
        weight, rate = normal(1, 2, 3), 0.01
        stack = Stack([weight], rates=rate)
        theirs = weight.clone().requires_grad_()
        rule = optimiser_of(Recipe(optimiser=name, momentum=0.8))
        rule.prepare(stack)
        reference = {
            "sgd": lambda p: torch.optim.SGD(p, lr=rate, momentum=0.8),
            "adagrad": lambda p: torch.optim.Adagrad(p, lr=rate),
            "rmsprop": lambda p: torch.optim.RMSprop(p, lr=rate),
            "adam": lambda p: torch.optim.Adam(p, lr=rate),
            "adamax": lambda p: torch.optim.Adamax(p, lr=rate),
        }[name]([theirs])
        for t in range(20):
            g = normal(1, 2, 3, name=t)
            rule.update(stack, torch.zeros(1), [g])
            stack.clock.add_(1.0)
            theirs.grad = g.clone()
            reference.step()
            torch.testing.assert_close(
                stack.params[0], theirs.detach(), rtol=1e-12, atol=1e-14
            )

    def test_minibatches_are_drawn_by_the_generator(self):
        net = small("fcn", layers=2)
        params = net.init(generator=torch_generator(7))
        x = normal(30, *net.input_shape)
        recipe = Recipe(steps=25, batch=4, rate=0.05, schedule=(), check=10)
        done = train(net, params, x, recipe, generator=torch_generator(1))
        again = train(net, params, x, recipe, generator=torch_generator(1))
        other = train(net, params, x, recipe, generator=torch_generator(2))
        assert torch.equal(done.final[0], again.final[0])
        assert not torch.equal(done.final[0], other.final[0])
        weights = [w[0].clone().requires_grad_() for w in params]
        sgd, g = torch.optim.SGD(weights, lr=0.05, momentum=0.9), torch_generator(1)
        for count in (10, 10, 5):
            for rows in torch.randint(30, (count, 4), generator=g):
                sgd.zero_grad()
                stacked = tuple(w[None] for w in weights)
                out = net.apply(stacked, x[rows])
                (out - x[rows]).square().mean().backward()
                sgd.step()
        torch.testing.assert_close(done.final[1][0], weights[1].detach())
        out = net.apply(done.final, x)
        assert done.final_losses[0] == pytest.approx((out - x).square().mean().item())


class TestEnds:
    def test_clipping_limits_every_step_and_rescaling_fills_it(self):
        net = small("cnn")
        params = net.init(generator=torch_generator(7), replicates=2)
        x = 10 * normal(1, *net.input_shape)
        recipe = Recipe(
            steps=5, momentum=0.0, clip=0.5, rate=0.1, schedule=(), release=0.95
        )
        for rescale in (False, True):
            changed = Recipe(**{**vars(recipe), "rescale": rescale})
            images = x[None] * (0.01 if rescale else 1)
            first, second = list(course(net, params, images, changed).values())[:2]
            for draw in range(2):
                moved = [
                    (b[draw] - a[draw]).square().sum()
                    for a, b in zip(first, second, strict=True)
                ]
                norm = float(torch.stack(moved).sum().sqrt())
                assert norm == pytest.approx(0.05, rel=1e-9)

    def test_the_half_sum_on_a_digit_explodes_and_is_tried_again(self):
        net = copier(kind="fcn", shape=(1, 28, 28), layers=1)
        params = net.init("framework", generator=torch_generator(7))
        x = digit()
        # Stable below 2 (1 + m) / |x|^2; |x|^2 is about a thousand.
        largest = 2 * 1.9 / float(x.square().sum())
        assert largest < 0.01
        recipe = Recipe(loss="half-sum", steps=100, retries=2, exploded=1e3)
        done = train(net, params, x, recipe)
        assert largest > 0.01 / 5
        assert done.status == ("finished",)
        (first, at), (second, never) = done.starts[0]
        assert (first, second, never) == (0.01, 0.002, -1)
        assert 0 < at < 100
        fresh = train(net, params, x, Recipe(loss="half-sum", steps=100, rate=0.002))
        assert torch.equal(fresh.final[0], done.final[0])
        np.testing.assert_array_equal(fresh.losses, done.losses)
        refused = train(net, params, x, Recipe(loss="half-sum", steps=500, retries=0))
        assert refused.status == ("diverged",)
        assert refused.starts[0][0][1] > 0

    def test_an_explosion_touches_no_other_replicate(self):
        # Linear: units of a ReLU network can die of it, at a harmless loss.
        net = copier(
            kind="fcn", shape=(1, 6, 6), layers=2, width=20, activation="linear"
        )
        params = net.init("kaiming-normal", generator=torch_generator(7), replicates=3)
        x = normal(1, *net.input_shape)
        recipe = Recipe(steps=200, schedule=(0.5,), retries=1)
        done = train(net, params, x, recipe, rates=[0.01, 1e4, 0.02])
        assert done.status == ("finished", "diverged", "finished")
        assert len(done.starts[1]) == 2
        assert done.starts[1][1][0] == pytest.approx(2e3)
        assert all(at > 0 for _, at in done.starts[1])
        rows = [0, 2]
        without = train(
            net, tuple(w[rows] for w in params), x, recipe, rates=[0.01, 0.02]
        )
        np.testing.assert_allclose(
            without.final_losses, done.final_losses[rows], rtol=1e-9
        )

    def test_floor_stall_and_release(self):
        net = small("fcn", layers=2)
        params = net.init("kaiming-normal", generator=torch_generator(7))
        x = normal(1, *net.input_shape)
        floor = Recipe(steps=5000, floor=1e-6, patience=100, check=10, schedule=())
        done = train(net, params, x, floor)
        assert done.status == ("floor",)
        assert done.final_losses[0] <= 1e-6
        under = done.times[(done.losses[0] <= 1e-6)]
        assert 100 < done.steps[0] <= under[0] + 111
        # No gradient reaches a network whose last layer and images' layer are zero.
        dead = tuple(torch.zeros_like(w) for w in params)
        waiting = Recipe(steps=20, release=0.95, limit=30, clip=0.5, rescale=True)
        done = train(net, dead, x, waiting)
        assert (done.status, done.steps[0]) == (("stalled",), 30)
        assert (done.released[0], done.final_losses[0]) == (
            -1,
            pytest.approx(x.square().mean().item()),
        )
        done = train(net, params, x, waiting)
        assert done.steps[0] == done.released[0] + 20
        losses = dict(zip(done.times.tolist(), done.losses[0], strict=True))
        at = int(done.released[0])
        assert losses[at] < 0.95 * losses[0] <= losses[at - 1]


class TestResuming:
    @pytest.mark.parametrize("batch", [None, 2])
    def test_an_interrupted_run_ends_as_an_uninterrupted_one(self, tmp_path, batch):
        # Linear: units of a ReLU network can die of an explosion, at a harmless loss.
        net = replace(small("cnn"), activation="linear")
        params = net.init(generator=torch_generator(7), replicates=3)
        x = normal(3, *net.input_shape)
        # The second explodes and ends at a smaller rate, the third explodes always.
        recipe = Recipe(
            steps=90, batch=batch, optimiser="sgd", check=10, retries=2, exploded=1e3
        )
        rates = [0.01, 0.5, 1e6]

        def run(**options):
            generator = torch_generator(3)
            return train(
                net, params, x, recipe, rates=rates, generator=generator, **options
            )

        whole, path = run(), tmp_path / "c"
        assert whole.status == ("finished", "finished", "diverged")
        assert [len(s) for s in whole.starts] == [1, 2, 3]

        def interrupt_at(pause):
            told = iter(range(1, 99))

            def progress(*_):
                if next(told) == pause:
                    raise KeyboardInterrupt

            return progress

        # Pauses of the first start, and in further starts.
        stages = []
        while True:
            try:
                resumed = run(checkpoint=path, progress=interrupt_at(3))
                break
            except KeyboardInterrupt:
                stages.append(sorted(p.name for p in tmp_path.iterdir()))
        assert stages[0] == ["c"]
        assert ["c", "c.1"] in stages
        for again in (resumed, run(checkpoint=path)):
            assert again.status == whole.status
            assert again.starts == whole.starts
            for name in ("losses", "steps", "released", "final_losses"):
                np.testing.assert_array_equal(
                    getattr(again, name), getattr(whole, name)
                )
            for a, b in zip(again.final, whole.final, strict=True):
                assert torch.equal(a.nan_to_num(), b.nan_to_num())

    @pytest.mark.usefixtures("eager")
    def test_a_checkpoint_of_something_else_is_refused(self, tmp_path):
        net, path = small("fcn", layers=2), tmp_path / "c"
        params = net.init(generator=torch_generator(7))
        x = normal(1, *net.input_shape)

        def stop(*_):
            raise KeyboardInterrupt

        def twice(done, *_):
            if done >= 14:
                stop()

        with pytest.raises(KeyboardInterrupt):
            train(net, params, x, PLAIN, progress=twice, checkpoint=path)
        with pytest.raises(ValueError, match="`checkpoint` must be of the same"):
            train(net, params, x + 1, PLAIN, checkpoint=path)


class TestRefusals:
    @pytest.mark.parametrize(
        ("changes", "match"),
        [
            ({"optimiser": "adammax"}, "Did you mean 'adamax'"),
            ({"loss": "sum"}, "`loss` must be one of mean, half-sum"),
            ({"trained": "mid"}, "`trained` must be one of all, bottom, top"),
            ({"rate": -1.0}, "`rate` must be positive"),
            ({"rate": math.nan}, "`rate` must be positive"),
            ({"steps": 0}, "`steps` must be at least 1"),
            ({"steps": None}, "`steps` must be given, but it is None"),
            ({"momentum": 1.0}, r"`momentum` must lie in \[0, 1\)"),
            ({"release": 1.5}, r"`release` must lie in \(0, 1\)"),
            ({"schedule": (0.6, 0.3)}, "`schedule` must be increasing"),
            ({"rescale": True}, "`rescale` must come with `clip`"),
            ({"exploded": 1.0}, "`exploded` must be greater than 1"),
            ({"retries": -1}, "`retries` must be at least 0"),
        ],
    )
    def test_recipes(self, changes, match):
        with pytest.raises(ValueError, match=match):
            Recipe(**changes)

    def test_images(self):
        net = small("cnn")
        params = net.init(generator=torch_generator(7), replicates=2)
        x = normal(1, *net.input_shape)
        hole = x.clone()
        hole[0, 0, 0, 0] = math.inf
        for images, match in (
            (torch.zeros_like(x), "`images` must not be zero, but 1 of 1"),
            (hole, "`images` must be finite"),
            (normal(1, 1, 7, 7), "`images` must have the network's shape"),
            (normal(1, 2, 6, 6), "`inputs` must have shape"),
            (x.float(), "must have the weights' dtype"),
        ):
            with pytest.raises(ValueError, match=match):
                train(net, params, images, PLAIN)
        with pytest.raises(
            ValueError, match="`rates` must be positive and finite, one"
        ):
            train(net, params, x, PLAIN, rates=[0.1, 0.1, 0.1])
        with pytest.raises(ValueError, match="`generator` must be given"):
            train(net, params, x, Recipe(batch=1))


def test_networks_that_die_after_the_plateau_are_not_called_finished():
    network = copier(kind="cnn", shape=(1, 7, 7), layers=8, width=6, kernel=3)
    params = network.init("framework", generator=torch_generator(7), replicates=6)
    x = chosen((7,)).fitted((1, 7, 7)).pixels.double()
    recipe = Recipe(
        rate=1.0, steps=60, release=0.95, limit=600, clip=2.0, rescale=True, schedule=()
    )
    done = train(network, params, x, recipe)
    # Some left it once and are dead since: their output is zero.
    dead = done.final_losses >= 0.95 * done.losses[:, 0]
    assert (dead & (done.released >= 0)).any()
    assert done.status == tuple("stalled" if d else "finished" for d in dead)
