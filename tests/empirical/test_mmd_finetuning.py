"""Random binary tasks, fine-tuning by stacks, pre-training on random labels."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from drawing import interrupt_at, one_of
from torch.nn import functional

from empirical.data import load
from empirical.mmd_init import networks
from empirical.mmd_init.binary_tasks import (
    Images,
    Split,
    draw_splits,
    images,
    random_tasks,
)
from empirical.mmd_init.finetuning import FineTuned, FinetuneRecipe, finetune
from empirical.mmd_init.networks import classifier
from empirical.mmd_init.random_labels import pretrain_random_labels
from empirical.mmd_init.recipes import Recipe
from empirical.randomness import numpy_generator, torch_generator
from empirical.testbed import optimisers
from empirical.testbed.stack import Stack
from empirical.testbed.supervised import Classify

RUNS, TASKS, N = 2, 3, 5
DIGITS = images(side=8, limit=200, tests=60, cached=False, dtype=torch.float64)
LABELLINGS = random_tasks(TASKS, numpy_generator(7, "tasks"))
SPLIT = draw_splits(DIGITS.labels, TASKS, N, numpy_generator(7, "splits"))
# 50 examples by 15: an epoch's last batch is smaller.
SHORT = FinetuneRecipe(epochs=3, rate=5e-3, batch=15)
# Rounding, 1e-16, grows with each of 12 steps, at most tenfold every other one, say. Ahead
# of batch normalisation biases have no gradient but rounding, at most 1e-15, of which Adam
# makes steps of 5e-3 * 1e-15 / eps = 5e-10 at most. An example more, or another order,
# moves losses by more than 1e-3.
SAME = {"rtol": 1e-9, "atol": 1e-12}


def start(*, batch_norm=False, runs=RUNS, dtype=torch.float64, widths=(64, 12, 10, 2)):
    net = classifier(widths, batch_norm=batch_norm)
    generators = [torch_generator(7, "start", run) for run in range(runs)]
    return net, networks.start(net, "he", generators, dtype=dtype)


def orders(runs=range(RUNS), tasks=range(TASKS)):
    return [torch_generator(7, "order", r, t) for r in runs for t in tasks]


def tuned(net, state, images=DIGITS, **changes) -> FineTuned:
    arguments = {"generators": orders(), "recipe": SHORT} | changes
    return finetune(net, state, images, LABELLINGS, SPLIT, **arguments)


def same(one: FineTuned, other: FineTuned, *, rows=...):
    for name in ("test_accuracy", "validation_loss", "train_loss", "distances"):
        wanted, found = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(found[rows], wanted[rows], **SAME, err_msg=name)
    np.testing.assert_array_equal(other.best_epoch[rows], one.best_epoch[rows])


def usual(net, state, run, task):
    """Fine-tune one network as one would write it down with PyTorch's parts."""
    module = networks.as_module(net, state, replicate=run)
    first = [p.detach().clone() for p in module.parameters()]
    optimiser = torch.optim.Adam(module.parameters(), lr=SHORT.rate, foreach=False)
    labels = torch.from_numpy(LABELLINGS[task]).long()
    (generator,) = orders([run], [task])
    training, validation, distances, best = [], [], [0.0], (np.inf, 0, None)
    for epoch in range(1, SHORT.epochs + 1):
        module.train()
        rows = torch.from_numpy(SPLIT.train[task])
        rows = rows[torch.randperm(len(rows), generator=generator)]
        total = 0.0
        for part in rows.split(SHORT.batch):
            optimiser.zero_grad()
            logits = module(DIGITS.inputs[part])
            loss = functional.cross_entropy(logits, labels[DIGITS.labels[part]])
            loss.backward()
            optimiser.step()
            total += float(loss.detach()) * len(part)
            now = [p.detach() for p in module.parameters()]
            moved = zip(now, first, strict=True)
            distances.append(
                sum(float((p - s).square().sum()) for p, s in moved) ** 0.5
            )
        training.append(total / len(rows))
        module.eval()
        with torch.no_grad():
            rows = torch.from_numpy(SPLIT.validation[task])
            wanted = labels[DIGITS.labels[rows]]
            loss = float(functional.cross_entropy(module(DIGITS.inputs[rows]), wanted))
            right = module(DIGITS.test_inputs).argmax(1) == labels[DIGITS.test_labels]
        validation.append(loss)
        if loss < best[0]:
            best = (loss, epoch, float(right.double().mean()))
    return training, validation, distances, best


class TestImages:
    @pytest.mark.parametrize("side", [None, 8])
    def test_pixels_of_all_training_images_have_mean_0_and_variance_1(self, side):
        made = images(side=side, cached=False, dtype=torch.float64)
        count = made.inputs.numel()
        # Sums of `count` terms of size 1 by pairs: far below a rounding of each term.
        assert abs(float(made.inputs.mean())) < 2.3e-16 * count**0.5
        assert float(made.inputs.square().mean()) == pytest.approx(1.0, abs=1e-12)
        assert made.inputs.shape == (4000, 784 if side is None else 64)
        assert made.test_inputs.shape[0] == 1000
        assert np.bincount(made.test_labels).tolist() == [100] * 10

    def test_tests_are_moved_by_the_same_numbers(self):
        made = images(side=8, cached=False, dtype=torch.float64)
        black = (0.0 - made.mean) / made.std
        # Corners are black in training and test images alike.
        assert float(made.inputs.min()) == pytest.approx(black, rel=1e-14)
        assert float(made.test_inputs.min()) == pytest.approx(black, rel=1e-14)
        assert abs(float(made.test_inputs.mean())) > 1e-6

    def test_refuses(self, monkeypatch):
        with pytest.raises(ValueError, match="`side` must be at least 1, but it is 0"):
            images(side=0, cached=False)
        with pytest.raises(ValueError, match=r"`count` must lie in 1\.\.4000"):
            images(limit=4001, cached=False)
        grey = replace(
            load("mnist", cached=False).head(30),
            images=np.full((30, 28, 28), 1, dtype=np.uint8),
        )
        monkeypatch.setattr(
            "empirical.mmd_init.binary_tasks.load", lambda *_, **__: grey
        )
        for side in (None, 5):
            with pytest.raises(ValueError, match="pixels must not all be equal, but"):
                images(side=side, cached=False)

    @pytest.mark.parametrize(
        ("changes", "match"),
        [
            ({"inputs": torch.zeros(0, 4)}, r"`inputs` must be a table"),
            ({"inputs": torch.zeros(3)}, r"`inputs` must be a table"),
            ({"test_inputs": torch.full((2, 4), torch.nan)}, "8 of 8 entries are not"),
            ({"labels": torch.tensor([0, 1])}, r"`labels` must be .* of shape \(3,\)"),
            ({"test_labels": torch.tensor([0, -1])}, "from 0 on, .* from -1 to 0"),
            # A mask to an index.
            ({"labels": torch.tensor([0, 1, 2]).byte()}, "int64, but .* torch.uint8"),
            ({"test_inputs": torch.zeros(2, 5)}, "`test_inputs` must have as many"),
        ],
    )
    def test_refuses_what_does_not_fit(self, changes, match):
        fields = {
            "inputs": torch.zeros(3, 4),
            "labels": torch.tensor([0, 1, 2]),
            "test_inputs": torch.zeros(2, 4),
            "test_labels": torch.tensor([0, 1]),
        }
        with pytest.raises(ValueError, match=match):
            Images(**(fields | changes), source={}, mean=0.0, std=1.0)


class TestTasks:
    def test_all_tasks_are_drawn_once(self):
        made = random_tasks(1022, numpy_generator(7))
        assert len(np.unique(made, axis=0)) == 1022
        assert not made.all(axis=1).any()
        assert made.any(axis=1).all()

    def test_each_task_is_as_likely(self):
        # 4,000 draws of 2 of the 6 tasks on 3 classes: each comes 1333 times in the mean,
        # with a standard deviation of 29.8. False alarms: |z| > 4.9 six times, 6e-6.
        made = [random_tasks(2, numpy_generator(7, i), classes=3) for i in range(4000)]
        codes = np.concatenate(made) @ [1, 2, 4]
        counts = np.bincount(codes, minlength=8)
        assert counts[[0, 7]].tolist() == [0, 0]
        assert np.abs(counts[1:7] - 4000 / 3).max() < 4.9 * 29.8

    @pytest.mark.parametrize(
        ("arguments", "match"),
        [
            ({"count": 0}, "`count` must lie in 1..1022"),
            ({"count": 1023}, "`count` must lie in 1..1022"),
            ({"count": 1, "classes": 1}, "`classes` must lie in 2..30, but it is 1"),
        ],
    )
    def test_refuses(self, arguments, match):
        with pytest.raises(ValueError, match=match):
            random_tasks(**arguments, generator=numpy_generator(7))


class TestSplits:
    @pytest.mark.parametrize("n", [5, 10])
    def test_balanced_and_disjoint(self, n):
        made = draw_splits(DIGITS.labels, 4, n, numpy_generator(7))
        assert made.train.shape == (4, 10 * n)
        assert made.validation.shape == (4, 2 * n)
        for train, validation in zip(made.train, made.validation, strict=True):
            assert np.bincount(DIGITS.labels[train]).tolist() == [n] * 10
            assert np.bincount(DIGITS.labels[validation]).tolist() == [n // 5] * 10
            assert len(np.union1d(train, validation)) == 12 * n

    @pytest.mark.parametrize("n", [1, 7])
    def test_other_numbers_validate_on_any(self, n):
        made = draw_splits(DIGITS.labels, 2, n, numpy_generator(7))
        assert made.validation.shape == (2, 2 * n)
        for train, validation in zip(made.train, made.validation, strict=True):
            assert np.bincount(DIGITS.labels[train]).tolist() == [n] * 10
            assert len(np.union1d(train, validation)) == 12 * n

    def test_tasks_have_their_own_and_do_not_depend_on_how_many(self):
        few = draw_splits(DIGITS.labels, 2, 5, numpy_generator(7))
        more = draw_splits(DIGITS.labels, 4, 5, numpy_generator(7))
        np.testing.assert_array_equal(more.train[:2], few.train)
        np.testing.assert_array_equal(more.validation[:2], few.validation)
        assert len({tuple(sorted(rows)) for rows in more.train}) == 4

    def test_every_example_may_be_used(self):
        # 20 of each digit, N = 15: 15 + 3; at N = 17, 17 of each and 34 of the 30 left.
        assert draw_splits(DIGITS.labels, 1, 15, numpy_generator(7)).train.size == 150
        with pytest.raises(ValueError, match="must have 204 examples"):
            draw_splits(DIGITS.labels, 1, 17, numpy_generator(7))
        with pytest.raises(
            ValueError, match=r"must have 24 .* 20 to learn .* class 0 has 20"
        ):
            draw_splits(DIGITS.labels, 1, 20, numpy_generator(7))

    def test_refuses(self):
        with pytest.raises(ValueError, match="`per_class` must be at least 1"):
            draw_splits(DIGITS.labels, 1, 0, numpy_generator(7))
        with pytest.raises(ValueError, match="`tasks` must be at least 1"):
            draw_splits(DIGITS.labels, 0, 5, numpy_generator(7))
        rows = np.zeros((2, 3), dtype=np.int64)
        for kind in (np.float64, np.bool_):
            with pytest.raises(ValueError, match="`validation` must be whole numbers"):
                Split(train=rows, validation=(rows + 1).astype(kind))
        apart = np.array([[1, 2, 3], [1, 2, 0]])
        said = "disjoint from `train`, but 1 of task 1 are in both, e.g. 0"
        with pytest.raises(ValueError, match=said):
            Split(train=rows, validation=apart)
        with pytest.raises(ValueError, match="alike, but the shapes are"):
            Split(train=rows, validation=rows[:1])
        with pytest.raises(ValueError, match="must not be empty"):
            Split(train=rows, validation=rows[:, :0])


class TestFinetune:
    @pytest.mark.parametrize("batch_norm", [False, True])
    def test_equals_pytorchs_parts(self, batch_norm):
        net, state = start(batch_norm=batch_norm)
        done = tuned(net, state, recorded=True)
        for run in range(RUNS):
            for task in range(TASKS):
                training, validation, distances, best = usual(net, state, run, task)
                at = run, task
                np.testing.assert_allclose(done.train_loss[at], training, **SAME)
                np.testing.assert_allclose(done.validation_loss[at], validation, **SAME)
                np.testing.assert_allclose(done.distances[at], distances, **SAME)
                assert done.best_epoch[at] == best[1]
                assert done.test_accuracy[at] == best[2]
        # Not all alike, or indices could be mixed up.
        assert len(np.unique(done.train_loss.round(6))) == done.train_loss.size

    @pytest.mark.parametrize("batch_norm", [False, True])
    def test_accuracies_after_updates_are_those_of_the_state_then(self, batch_norm):
        net, state = start(batch_norm=batch_norm)
        # 50 examples by 15: four updates an epoch, three epochs.
        done = tuned(net, state, reached=(0, 4, 8, 12))
        for run in range(RUNS):
            for task in range(TASKS):
                at = run, task
                best = int(done.best_epoch[at])
                assert done.reached[at][best] == done.test_accuracy[at]
        assert len(np.unique(done.reached)) > 4
        assert tuned(net, state).reached is None

    @pytest.mark.parametrize("wrong", [(13,), (4, 4), (5, 4), (-1, 3)])
    def test_refuses_updates_that_are_not_made(self, wrong):
        net, state = start()
        with pytest.raises(ValueError, match=r"`reached` must be updates in 0\.\.12"):
            tuned(net, state, reached=wrong)

    def test_all_but_the_last_layer_can_stay(self):
        net, state = start()
        frozen = replace(SHORT, frozen=True)
        stay, move = (
            tuned(net, state, recipe=r, recorded=True) for r in (frozen, SHORT)
        )
        # Weight and bias of 10 units: steps of the rate at most in each of 22.
        assert stay.distances[..., 1].max() <= 1.001 * SHORT.rate * 22**0.5
        assert move.distances[..., 1].min() > 2.0 * SHORT.rate * 22**0.5

    def test_the_last_layer_is_its_weight_where_it_has_no_bias(self):
        bare = replace(classifier((64, 12, 10, 2)), bias=False)
        assert [*bare.of_layer(-1)] == [2]

    @pytest.mark.parametrize("batch_norm", [False, True])
    def test_stacked_equals_looped(self, batch_norm):
        net, state = start(batch_norm=batch_norm)
        stacked = tuned(net, state, recorded=True)
        alone = finetune(
            net,
            tuple(t[1:] for t in state),
            DIGITS,
            LABELLINGS[2:],
            Split(train=SPLIT.train[2:], validation=SPLIT.validation[2:]),
            generators=orders([1], [2]),
            recipe=SHORT,
            recorded=True,
        )
        np.testing.assert_allclose(
            alone.distances[0, 0], stacked.distances[1, 2], **SAME
        )
        assert alone.test_accuracy[0, 0] == stacked.test_accuracy[1, 2]

    def test_tells_how_far_it_is(self):
        seen, (net, state) = [], start()
        made = tuned(net, state, progress=lambda *told: seen.append(told))
        # Three epochs of four updates.
        assert [told[:2] for told in seen] == [(4 * k, 12) for k in range(1, 4)]
        means = made.train_loss.mean(axis=(0, 1))
        np.testing.assert_allclose([told[2] for told in seen], means)

    @pytest.mark.parametrize("stop", [1, 2])
    def test_goes_on_from_a_checkpoint(self, stop, tmp_path):
        net, state = start(batch_norm=True)
        options = {"recorded": True}
        whole = tuned(net, state, **options)
        options["checkpoint"] = tmp_path / "run.checkpoint"
        with pytest.raises(KeyboardInterrupt):
            tuned(net, state, progress=interrupt_at(4 * stop), **options)
        seen = []
        again = tuned(net, state, progress=lambda t, *_: seen.append(t), **options)
        # Distances are recorded at every update, and each of them is a pause.
        assert seen == list(range(4 * stop + 1, 13))
        for name in ("test_accuracy", "validation_loss", "train_loss", "distances"):
            np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
        np.testing.assert_array_equal(again.best_epoch, whole.best_epoch)
        # Nothing is left to do.
        done = tuned(net, state, progress=interrupt_at(0), **options)
        np.testing.assert_array_equal(done.train_loss, whole.train_loss)
        assert [p.name for p in tmp_path.iterdir()] == ["run.checkpoint"]
        with pytest.raises(ValueError, match="`checkpoint` must be of the same `"):
            tuned(net, state, **(options | {"recorded": False}))

    def test_a_checkpoint_is_of_the_updates_that_are_looked_at(self, tmp_path):
        net, state = start()
        kept = tmp_path / "run.checkpoint"
        options = {"checkpoint": kept, "progress": interrupt_at(4)}
        with pytest.raises(KeyboardInterrupt):
            tuned(net, state, reached=(1, 12), **options)
        with pytest.raises(ValueError, match="be of the same `observers`, but"):
            tuned(net, state, reached=(2, 12), checkpoint=kept)
        others = replace(DIGITS, test_inputs=DIGITS.test_inputs + 1e-9)
        with pytest.raises(ValueError, match="be of the same `fingerprint`, but"):
            tuned(net, state, others, reached=(1, 12), checkpoint=kept)

    def test_accuracy_is_that_of_the_best_epoch(self):
        net, state = start()
        long = replace(SHORT, epochs=30, rate=2e-2)
        done = tuned(net, state, recipe=long)
        assert len(np.unique(done.best_epoch)) > 1
        for at, epoch in np.ndenumerate(done.best_epoch):
            assert epoch == 1 + done.validation_loss[at].argmin()
            stopped = tuned(net, state, recipe=replace(long, epochs=int(epoch)))
            assert done.test_accuracy[at] == stopped.test_accuracy[at]

    def test_leaves_the_start_as_it_was(self):
        net, state = start(batch_norm=True)
        before = tuple(t.clone() for t in state)
        tuned(net, state)
        assert all(map(torch.equal, state, before))

    def test_runs_may_have_splits_of_their_own(self):
        net, state = start()
        other = draw_splits(DIGITS.labels, TASKS, N, numpy_generator(7, "others"))
        both = Split(
            train=np.stack([SPLIT.train, other.train]),
            validation=np.stack([SPLIT.validation, other.validation]),
        )
        done = finetune(
            net,
            state,
            DIGITS,
            LABELLINGS,
            both,
            generators=orders(),
            recipe=SHORT,
            recorded=True,
        )
        shared = tuned(net, state, recorded=True)
        same(shared, done, rows=0)
        assert np.abs(done.train_loss[1] - shared.train_loss[1]).min() > 1e-6

    def test_a_replicate_that_diverges_stops_no_other(self):
        net, state = start(dtype=torch.float32)
        wild = tuple(t.clone() for t in state)
        for weight, _ in networks.pairs(net, wild):
            weight[0] *= 1e20
        done, calm = tuned(net, wild), tuned(net, state)
        assert done.diverged.tolist() == [[True] * TASKS, [False] * TASKS]
        assert np.isnan(done.test_accuracy[0]).all()
        assert done.best_epoch[0].tolist() == [0] * TASKS
        assert np.isnan(done.mean).tolist() == [True, False]
        # Float32, 12 steps: 6e-8 grown as above.
        np.testing.assert_allclose(done.train_loss[1], calm.train_loss[1], rtol=1e-4)

    def test_numbers_of_the_tables(self):
        net, state = start()
        done = tuned(net, state)
        for run in range(RUNS):
            values = [float(v) for v in done.test_accuracy[run]]
            mean = sum(values) / TASKS
            assert done.mean[run] == pytest.approx(mean, rel=1e-14)

    @pytest.mark.gpu
    @pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
    def test_a_gpu_makes_the_same_numbers(self):
        net, state = start(batch_norm=True)
        moved = tuple(t.cuda() for t in state)
        there = tuned(net, moved, recorded=True)
        same(tuned(net, state, recorded=True), there)

    @pytest.mark.parametrize(
        ("change", "match"),
        [
            (
                {"generators": []},
                "`generators` must be 6, one for each of 2 runs and 3",
            ),
            ({"reached": [0.5]}, "finetune: `reached` must be a whole number"),
            (
                {"buffers": (torch.zeros(2, 64),)},
                r"`buffers` must .* of shapes \[\], but",
            ),
            ({"tasks": LABELLINGS | True}, "must have both labels, but 3 of 3 do not"),
            ({"tasks": LABELLINGS.astype(int)}, "`tasks` must be a bool array"),
            ({"tasks": LABELLINGS[:, :9]}, "the classes 0..9 of the images"),
            ({"tasks": LABELLINGS[:2]}, r"`splits.train` must be \(2, n\)"),
            (
                {"splits": replace(SPLIT, validation=SPLIT.validation + 200)},
                "`splits.validation` must lie in 0..199, but 30 of 30 entries do not",
            ),
        ],
    )
    def test_refuses(self, change, match):
        net, state = start()
        arguments = {
            "images": DIGITS,
            "tasks": LABELLINGS,
            "splits": SPLIT,
            "generators": orders(),
        }
        with pytest.raises(ValueError, match=match):
            finetune(net, state, **(arguments | change))

    def test_refuses_states_that_are_not_the_networks(self):
        net, state = start()
        bad = (state[0].clone(), *state[1:])
        bad[0][0, 0, 0] = torch.inf
        with pytest.raises(
            ValueError, match=r"params\[0\]` must be finite, but 1 of 1536 entries are"
        ):
            tuned(net, bad)
        with pytest.raises(ValueError, match="`params` must have the shapes"):
            tuned(net, tuple(p[0] for p in state))
        with pytest.raises(ValueError, match="`params` must have the shapes"):
            tuned(net, state[:-1])
        with pytest.raises(ValueError, match="`network` must have 64 inputs"):
            tuned(*start(widths=(63, 4, 2)))

    @pytest.mark.parametrize("batch", [1, 7, 49])
    def test_refuses_to_normalise_a_batch_of_one(self, batch):
        net, state = start(batch_norm=True)
        with pytest.raises(ValueError, match="leave no batch of 1"):
            tuned(net, state, recipe=replace(SHORT, batch=batch))

    @pytest.mark.parametrize(
        ("changes", "match"),
        [
            ({"epochs": 0}, "`epochs` must be at least 1"),
            ({"batch": 0}, "`batch` must be at least 1"),
            ({"rate": np.inf}, "`rate` must be positive and finite, but it is inf"),
            ({"eps": 0.0}, "`eps` must be positive"),
            ({"betas": (0.9, 1.0)}, r"`betas` must lie in \[0, 1\)"),
            ({"betas": (0.9,)}, "`betas` must be 2 values"),
        ],
    )
    def test_recipes_refuse(self, changes, match):
        with pytest.raises(ValueError, match=f"FinetuneRecipe: {match}"):
            FinetuneRecipe(**changes)


class TestRandomLabels:
    RECIPE = Recipe(steps=23, batch=30, rate=5e-3, window=5)

    def made(self, net, state, *, recipe=RECIPE, runs=range(RUNS), **changes):
        generators = [torch_generator(7, "labels", run) for run in runs]
        arguments = {"generators": generators, "recipe": recipe} | changes
        return pretrain_random_labels(net, state, DIGITS.inputs, **arguments)

    @pytest.mark.parametrize("batch_norm", [False, True])
    def test_equals_pytorchs_parts(self, batch_norm):
        net, state = start(batch_norm=batch_norm)
        done = self.made(net, state)
        for run in range(RUNS):
            module = networks.as_module(net, state, replicate=run)
            optimiser = torch.optim.Adam(module.parameters(), lr=5e-3, foreach=False)
            generator, losses, states = torch_generator(7, "labels", run), [], []
            while len(losses) < 23:
                order = torch.randperm(200, generator=generator)[:180]
                labels = torch.randint(2, (180,), generator=generator)
                for rows, wanted in zip(order.split(30), labels.split(30), strict=True):
                    optimiser.zero_grad()
                    loss = functional.cross_entropy(module(DIGITS.inputs[rows]), wanted)
                    loss.backward()
                    optimiser.step()
                    losses.append(float(loss.detach()))
                    every = (*module.parameters(), *module.buffers())
                    states.append([t.detach().clone() for t in every if t.ndim])
            # 20 of the 23 steps: four windows.
            windows = np.reshape(losses[:20], (4, 5)).mean(axis=1)
            np.testing.assert_allclose(done.losses[run], windows, **SAME)
            best = int(windows.argmin())
            assert done.best_window[run] == best + 1
            kept = states[5 * best + 4]
            found = (*done.params, *done.buffers)
            for mine, theirs in zip(found, kept, strict=True):
                # Adam turns gradients that are rounding alone, of biases ahead of batch
                # normalisation, into steps of up to 1e-15 / eps of the rate.
                torch.testing.assert_close(mine[run], theirs, rtol=1e-8, atol=1e-9)

    def test_stacked_equals_looped(self):
        net, state = start()
        stacked = self.made(net, state)
        for run in range(RUNS):
            alone = self.made(net, tuple(p[[run]] for p in state), runs=[run])
            np.testing.assert_allclose(stacked.losses[[run]], alone.losses, **SAME)
            mine = tuple(p[[run]] for p in stacked.params)
            torch.testing.assert_close(mine, alone.params, rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("stop", [5, 15])
    def test_goes_on_from_a_checkpoint(self, stop, tmp_path):
        net, state = start(batch_norm=True)
        whole = self.made(net, state)
        options = {"checkpoint": tmp_path / "run.checkpoint"}
        with pytest.raises(KeyboardInterrupt):
            self.made(net, state, progress=interrupt_at(stop), **options)
        seen = []
        again = self.made(net, state, progress=lambda t, *_: seen.append(t), **options)
        assert seen[0] > stop
        np.testing.assert_array_equal(again.losses, whole.losses)
        assert all(map(torch.equal, again.params, whole.params))
        assert all(map(torch.equal, again.buffers, whole.buffers))

    def test_tells_how_far_it_is(self):
        seen, (net, state) = [], start()
        made = self.made(net, state, progress=lambda *told: seen.append(told))
        # Windows of 5 of 23 updates; the last three are in none.
        assert [told[:2] for told in seen] == [(k, 23) for k in (5, 10, 15, 20, 23)]
        means = made.losses.mean(axis=0)
        np.testing.assert_allclose([t[2] for t in seen], [*means, means[-1]])

    def test_a_replicate_that_diverges_keeps_its_start(self):
        net, state = start(dtype=torch.float32)
        for weight, _ in networks.pairs(net, state):
            weight[0] *= 1e20
        done = self.made(net, state)
        assert done.diverged.tolist() == [True, False]
        assert done.best_window[0] == 0
        assert done.best_window[1] > 0
        assert all(map(torch.equal, one_of(done.params, 0), one_of(state, 0)))

    def test_labels_are_not_learnt(self):
        # 500 steps of 100 labels: what is left of the loss is at least log 2 up to its
        # standard error. Predictions p differ from 1/2 by at most about 0.2 here, so a
        # loss varies by log(p/(1-p)) / 2 < 0.45 about its mean: 0.45 / 100 over a window
        # of 10,000 labels. 4.9 of these, one-sided: 5e-7 for each of two.
        net, state = start()
        recipe = Recipe(steps=500, batch=100, rate=2e-3)
        done = self.made(net, state, recipe=recipe)
        assert done.losses.shape == (RUNS, 5)
        assert (done.losses[:, -1] > np.log(2.0) - 4.9 * 0.0045).all()
        # And it has come down to it.
        assert (done.losses[:, -1] < done.losses[:, 0]).all()

    def test_epochs_are_whole_batches(self):
        net, state = start()
        recipe = Recipe(epochs=2, batch=30, window=4)
        # 200 inputs: 6 batches of 30 an epoch, 12 steps, 3 windows.
        assert self.made(net, state, recipe=recipe).losses.shape == (RUNS, 3)

    @pytest.mark.parametrize(
        ("changes", "match"),
        [
            ({"batch": 201}, "`inputs` must be at least a batch of 201"),
            ({"steps": 4}, "`steps` must be at least a window of 5, or .* are 4 of"),
            ({"batch": 1}, "`batch` must be at least 2 with batch normalisation"),
        ],
    )
    def test_refuses_recipes_that_do_not_fit(self, changes, match):
        net, state = start(batch_norm=True)
        with pytest.raises(ValueError, match=match):
            self.made(net, state, recipe=replace(self.RECIPE, **changes))

    @pytest.mark.parametrize(
        ("inputs", "match"),
        [
            (torch.zeros(0, 64), "`inputs` must be a table"),
            (torch.full((40, 64), torch.inf), "`inputs` must be finite, but 2560 of"),
            (torch.zeros(40, 63), "`inputs` must have 64 features"),
        ],
    )
    def test_refuses_inputs(self, inputs, match):
        net, state = start()
        with pytest.raises(ValueError, match=match):
            pretrain_random_labels(
                net, state, inputs, generators=orders([0, 1], [0]), recipe=self.RECIPE
            )

    def test_refuses_another_number_of_generators(self):
        net, state = start()
        with pytest.raises(ValueError, match="`generators` must be 2, one each"):
            self.made(net, state, runs=range(3))


class TestLayout:
    @pytest.mark.parametrize("batch_norm", [False, True])
    def test_nothing_is_copied_for_the_update(self, batch_norm):
        # It goes through memory: copies of the gradients would cost as much as it does.
        net, state = start(batch_norm=batch_norm)
        rows = torch.arange(40).view(2, 20)
        task = Classify(net, DIGITS.inputs, rows, rows % 2)
        stack = Stack(net.arranged(state), rates=1e-3, buffers=net.running(state))
        _, gradients = task.losses_and_slopes(stack, None)
        for gradient, param in zip(gradients, stack.trained, strict=True):
            assert optimisers._in_memory(param).is_contiguous()
            ordered = optimisers._in_order_of(param, gradient)
            assert ordered.data_ptr() == gradient.data_ptr()
