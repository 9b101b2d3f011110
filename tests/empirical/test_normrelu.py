"""NormReLU's modules and its experiments, against plain PyTorch."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from empirical.activations import NormReLU, normalize
from empirical.networks import Norm
from empirical.normrelu import ARMS, Configuration, configurations, run_configuration
from empirical.normrelu import __main__ as command
from empirical.normrelu.ending import ending
from empirical.normrelu.experiments import RESIDUAL
from empirical.normrelu.networks import KINK
from empirical.normrelu.recipes import PLAIN, Recipe
from empirical.normrelu.study import STUDY, examples_of, problem_of
from empirical.normrelu.training import Augmentation, Examples, hidden_signals, trained
from empirical.randomness import torch_generator
from empirical.testbed import stopping
from empirical.testbed.faults import FAULTS
from empirical.testbed.stack import Stack
from empirical.testbed.study import Setting
from theory import activations as act

TINY = Configuration(
    name="tiny",
    arm="normrelu",
    depth=2,
    width=12,
    rates=(0.003, 0.01),
    epochs=2,
    batch=16,
    per_class=8,
    tests=2,
    held_out=2,
    seeds=(5, 6),
)


# --- modules


@pytest.mark.parametrize("c", [-2.5, KINK, -0.3, 0.0, 1.0])
def test_normrelu_is_theorys(c):
    x = torch.linspace(-4.0, 4.0, 81, dtype=torch.float64)
    expected = act.normrelu(c)(x.numpy())
    np.testing.assert_allclose(NormReLU(c)(x).numpy(), expected, rtol=0, atol=1e-13)


def test_its_kink_is_that_of_selus_slope():
    assert act.normrelu().kinks == (KINK,)


@pytest.mark.parametrize("make", [NormReLU, lambda: normalize(torch.tanh)])
def test_outputs_of_gaussian_inputs_are_standard(make):
    x = torch.randn(400_000, generator=torch_generator(7), dtype=torch.float64)
    y = make()(x)
    # Five standard errors.
    assert abs(float(y.mean())) < 5.0 / 632.0
    assert abs(float(y.var()) - 1.0) < 5.0 * 3.0 / 632.0


def test_a_module_traces_and_follows_autocast_and_dtypes():
    net = nn.Sequential(nn.Linear(4, 8), NormReLU(), nn.Linear(8, 2))
    x = torch.ones(3, 4)
    compiled = torch.compile(net, backend="aot_eager")
    torch.testing.assert_close(compiled(x), net(x))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low = net(x)
    assert low.dtype is torch.bfloat16
    torch.testing.assert_close(low.float(), net(x), rtol=0.05, atol=0.05)
    for dtype in (torch.float16, torch.float32, torch.float64):
        assert NormReLU()(x.to(dtype)).dtype is dtype
    assert list(NormReLU().parameters()) == []


@pytest.mark.parametrize("c", [float("nan"), float("inf")])
def test_a_kink_must_be_finite(c):
    with pytest.raises(ValueError, match="`c` must be finite"):
        NormReLU(c)


def test_an_activation_must_have_a_variance():
    with pytest.raises(ValueError, match="variance"):
        normalize(torch.zeros_like)
    with pytest.raises(ValueError, match="variance"):
        normalize(lambda x: torch.exp(x * x))


# --- arms


DENSE = [name for name in ARMS if name not in ("fixup", "tanh")]


@pytest.mark.parametrize("name", DENSE)
def test_arms_start_with_the_variance_they_state(name):
    arm = ARMS[name]
    network = arm.network(inputs=196, width=160, depth=3)
    generators = [torch_generator(seed, "w") for seed in range(4)]
    grouped = network.grouped(arm.init(network, generators))
    for index, own in enumerate(grouped):
        weight = own["weight"]
        gain = 1.0 if index == 3 else arm.gain
        found = float(weight.square().mean()) * weight.shape[2] / gain
        assert found == pytest.approx(1.0, abs=5.0 * (2.0 / weight.numel()) ** 0.5)
        assert ("gain" in own) == (arm.norm is not None and index < 3)


@pytest.mark.parametrize("name", RESIDUAL)
def test_residual_arms_start_with_the_variance_they_state(name):
    arm = ARMS[name]
    network = arm.residual(shape=(3, 8, 8), width=8, depth=20)
    assert network.layers == 20
    assert network.widths == (8, 16, 32)
    params = arm.init(network, [torch_generator(seed, "w") for seed in range(4)])
    grouped = network.grouped(params)
    for index, (layer, own) in enumerate(zip(network.plan, grouped, strict=True)):
        weight = own["weight"]
        wanted = (1.0 if index == 19 else arm.gain) / math.prod(weight.shape[2:])
        if name == "fixup":
            # Fixup's own: W_1 at B^(-1/2), W_2 and the readout at 0.
            inner = layer.start
            wanted *= 0.0 if inner == 0.0 else (1 / 9 if inner != 1.0 else 1.0)
        elif layer.skip and name != "batch":
            wanted /= 9
        found = float(weight.square().mean())
        tolerance = 6.0 * (2.0 / weight.numel()) ** 0.5
        assert found == pytest.approx(wanted, rel=tolerance), index


@pytest.mark.parametrize("name", RESIDUAL)
def test_residual_networks_are_trained_and_measured(name):
    tiny = Configuration(
        name="x",
        arm=name,
        network="residual",
        depth=8,
        width=4,
        rates=(0.01, 1e4),
        epochs=1,
        per_class=10,
        tests=3,
        held_out=4,
        seeds=(5, 6),
    )
    record = run_configuration(tiny)
    assert record.draws.series("lengths").shape == (2, 2, 7)
    assert record.draws.series("test_accuracy").shape == (2, 2)
    assert record.fact("rate") == 0.01 or name == "batch"


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_planted_in_the_networks_that_count(fault):
    common = {"arm": "normrelu", "depth": 2, "width": 12, "rates": (0.05,)}
    common |= {"epochs": 3, "per_class": 20, "tests": 5, "held_out": 5, "batch": 20}
    right = Configuration(name="x", seeds=(5, 6), **common)
    wrong = STUDY.faults[fault](right)
    assert (wrong.name, wrong.fault) == ("x", fault)
    ends = {}
    for c in (right, wrong):
        record = run_configuration(c)
        ends[c.fault] = record.draws.series("train_loss")
        assert record.fact("rate") == 0.05
    start, end = ends[fault][:, 0], ends[fault][:, -1]
    if fault == "untrained":
        assert end.tolist() == start.tolist()
    else:
        # Something is learnt, less than without the fault.
        assert (end < start).all()
        assert (end > ends[""][:, -1]).all()


def test_frozen_residual_networks_train_their_whole_readout():
    # Fixup's has a bias and a number beside its weight, which is zero at the start.
    frozen = Configuration(
        name="x",
        arm="fixup",
        network="residual",
        depth=8,
        width=4,
        rates=(0.05,),
        epochs=2,
        per_class=10,
        tests=3,
        held_out=4,
        seeds=(5, 6),
        fault="frozen",
    )
    draws = run_configuration(frozen).draws
    losses, lengths = draws.series("train_loss"), draws.series("lengths")
    assert (losses[:, -1] < losses[:, 0]).all()
    np.testing.assert_array_equal(lengths[:, -1], lengths[:, 0])


def test_the_shortest_training_makes_an_update():
    sizes = {"per_class": 4, "tests": 2, "held_out": 1, "epochs": 1, "rates": (0.01,)}
    short = Configuration(name="x", arm="selu", depth=1, fault="short", **sizes)
    assert set(run_configuration(short).draws.status) == {"finished"}


class Plain(nn.Module):
    """The same network by the framework's own layers."""

    def __init__(self, arm, sizes):
        super().__init__()
        act_of = {"selu": nn.SELU, "relu": nn.ReLU}
        layers = []
        for fan_in, out in itertools.pairwise(sizes[:-1]):
            layers.append(nn.Linear(fan_in, out, bias=False))
            if arm.norm == Norm(over="batch"):
                layers.append(nn.BatchNorm1d(out))
            if arm.norm == Norm(over="layer"):
                layers.append(nn.LayerNorm(out))
            given = arm.activation
            layers.append(act_of[given]() if isinstance(given, str) else given)
        layers.append(nn.Linear(sizes[-2], sizes[-1], bias=False))
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)


PRACTICE = Recipe(schedule=(0.4, 0.8), decay=0.05)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inputs": torch.full((6, 9), torch.nan)}, "trained: `inputs` must be finite"),
        ({"inputs": torch.zeros(6, 8)}, r"`inputs` must have shape \(n, 9\)"),
        ({"classes": torch.arange(6) + 5}, "trained: `classes` must be.*from 0 to 9"),
        ({"classes": torch.arange(5)}, r"trained: `classes` must be.*\(6,\)"),
        ({"test_classes": -torch.arange(6)}, "trained: `test_classes`.*from -5 to 0"),
        ({"seeds": ()}, r"trained: `rates` and `seeds` must .* \[0.02\] and \[\]"),
        ({"epochs": 0}, "trained: `epochs` must be at least 1"),
        ({"fault": "late"}, "trained: `fault` must be one of slow"),
    ],
)
def test_examples_that_do_not_fit_are_refused(changes, message):
    arm, x, classes = ARMS["normrelu"], torch.ones(6, 9), torch.arange(6)
    given = {"inputs": x, "classes": classes, "test_inputs": x, "test_classes": classes}
    common = {"rates": (0.02,), "seeds": (4,), "epochs": 1, "batch": 3}
    examples = {k: changes.get(k, v) for k, v in given.items()}
    others = {k: v for k, v in changes.items() if k not in given}
    network = arm.network(inputs=9, width=12, depth=2)
    with pytest.raises(ValueError, match=message):
        trained(arm, network, Examples(**examples), **(common | others))


@pytest.mark.parametrize(
    ("name", "recipe"),
    [*((name, PLAIN) for name in DENSE), ("normrelu", PRACTICE), ("batch", PRACTICE)],
)
def test_training_is_that_of_the_frameworks_layers(name, recipe):
    arm, sizes = ARMS[name], (9, 12, 12, 10)
    network = arm.network(inputs=9, width=12, depth=2)
    generator = torch_generator(3, "data")
    x = torch.randn(23, 9, generator=generator)
    classes = torch.arange(23) % 10
    examples = Examples(
        inputs=x, classes=classes, test_inputs=x[:7], test_classes=classes[:7]
    )
    common = {"rates": (0.02,), "seeds": (4, 5), "epochs": 3, "batch": 8}
    found = trained(arm, network, examples, **common, recipe=recipe)
    for column, seed in enumerate((4, 5)):
        weights = network.grouped(
            arm.init(network, [torch_generator(seed, "normrelu", "weights")])
        )
        net = Plain(arm, sizes)
        linear = [m for m in net.layers if isinstance(m, nn.Linear)]
        with torch.no_grad():
            for module, own in zip(linear, weights, strict=True):
                module.weight.copy_(own["weight"][0])
        optimiser = torch.optim.SGD(
            net.parameters(), lr=0.02, momentum=0.9, weight_decay=recipe.decay
        )
        # 0.4 and 0.8 of nine updates, rounded.
        times = [4, 7] if recipe.schedule else []
        schedule = torch.optim.lr_scheduler.MultiStepLR(optimiser, times)
        orders = torch_generator(seed, "normrelu", "batches")
        for epoch in range(4):
            net.eval()
            with torch.no_grad():
                outputs = net(x)
                loss = functional.cross_entropy(outputs, classes)
                right = (net(x[:7]).argmax(1) == classes[:7]).double().mean()
            assert found.series["train_loss"][epoch, column] == pytest.approx(
                float(loss), rel=2e-4
            )
            assert found.series["test_accuracy"][epoch, column] == float(right)
            if epoch == 3:
                break
            net.train()
            # Uneven: the last batch has 7 examples.
            for batch in torch.randperm(23, generator=orders).split(8):
                optimiser.zero_grad()
                functional.cross_entropy(net(x[batch]), classes[batch]).backward()
                optimiser.step()
                schedule.step()


@pytest.mark.parametrize("kinds", [(), ("crop",), ("flip",), ("crop", "flip")])
def test_images_are_moved_and_mirrored_by_a_stream_of_their_own(kinds):
    seeds = (4, 5, 4)
    streams = {seed: torch_generator(seed, "a") for seed in seeds}
    augmentation = Augmentation(kinds, [streams[seed] for seed in seeds])
    stack = Stack([torch.zeros(3, 1)], rates=0.1)
    stack.leave([0])  # What others see is the same without it.
    images = torch.arange(2 * 6 * 2 * 16 * 18.0).view(2, 6, 2, 16, 18)
    seen = augmentation(images, stack)
    border = 2 if "crop" in kinds else 0
    for column, seed in enumerate((5, 4)):
        g = torch_generator(seed, "a")
        shifts = torch.randint(2 * border + 1, (6, 2), generator=g).tolist()
        mirrored = torch.randint(2, (6, 1), generator=g).flatten().tolist()
        for place, ((down, across), mirror) in enumerate(
            zip(shifts, mirrored, strict=True)
        ):
            wide = np.pad(images[column, place].numpy(), [(0, 0), *[(border,) * 2] * 2])
            wanted = wide[:, down : down + 16, across : across + 18]
            if mirror and "flip" in kinds:
                wanted = wanted[..., ::-1]
            assert np.array_equal(seen[column, place].numpy(), wanted)


def test_augmented_images_train_other_networks():
    common = {"arm": "batch", "network": "residual", "depth": 8, "width": 4}
    common |= {"rates": (0.01,), "epochs": 2, "batch": 20}
    common |= {"per_class": 10, "tests": 3, "held_out": 4, "seeds": (5, 6)}
    ends = [
        run_configuration(Configuration(name="x", recipe=recipe, **common))
        .draws.series("train_loss")[:, -1]
        .tolist()
        for recipe in (PLAIN, Recipe(augmentation=("flip",)), PLAIN)
    ]
    assert ends[0] == ends[2]
    assert set(ends[0]).isdisjoint(ends[1])


def stop_at(last):
    """Return a progress that asks for a stop when it is told for the `last` time."""
    told = []

    def tell(*said):
        told.append(said)
        if len(told) == last:
            stopping.request()

    return tell


@pytest.mark.parametrize("last", [1, 2, 4])
def test_an_interrupted_run_goes_on(tmp_path, last):
    # Told twice while rates are tried, then three times: in the middle of either.
    c = Configuration(
        name="x",
        arm="batch",
        network="residual",
        depth=8,
        width=4,
        recipe=Recipe(augmentation=("crop", "flip")),
        rates=(0.003, 0.01),
        epochs=4,
        batch=20,
        per_class=10,
        tests=3,
        held_out=4,
        seeds=(5, 6),
    )
    whole = run_configuration(c)
    kept = Setting(checkpoint=tmp_path / "x.checkpoint")
    try:
        with pytest.raises(stopping.Stopped):
            run_configuration(c, replace(kept, progress=stop_at(last)))
    finally:
        stopping.withdraw()
    told = []
    again = run_configuration(
        c, replace(kept, progress=lambda *said: told.append(said))
    )
    assert again.facts == whole.facts
    for one, other in zip(again.draws, whole.draws, strict=True):
        assert one.status == other.status
        for name, values in other.arrays.items():
            np.testing.assert_array_equal(one.series(name), values)
    fresh = []
    run_configuration(c, Setting(progress=lambda *said: fresh.append(said)))
    assert len(told) < len(fresh)


@pytest.mark.parametrize("start", ["he", "glorot"])
@pytest.mark.parametrize("kind", ["dense", "residual"])
def test_starts_of_practice_have_their_variance(start, kind):
    arm = ARMS["tanh"]
    network = arm.network(inputs=50, width=40, depth=3)
    if kind == "residual":
        arm = ARMS["batch"]
        network = arm.residual(shape=(3, 8, 8), width=8, depth=8)
    params = arm.init(network, [torch_generator(s, "w") for s in range(4)], start)
    grouped = network.grouped(params)
    for index, own in enumerate(grouped):
        weight = own["weight"]
        _, out, into, *spots = weight.shape
        inward, outward = (n * math.prod(spots) for n in (into, out))
        wanted = 2 / inward if start == "he" else 2 / (inward + outward)
        if start == "he" and index == len(grouped) - 1:
            wanted = 1 / inward
        tolerance = 6.0 * (2.0 / weight.numel()) ** 0.5
        assert float(weight.square().mean()) == pytest.approx(wanted, rel=tolerance)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"recipe": Recipe(augmentation=("crop",))}, "`augmentation` must have"),
        (
            {"arm": "fixup", "network": "residual", "depth": 8},
            "must have its own `start`",
        ),
        ({"kink": math.nan}, "`kink` must be finite"),
        ({"network": "residual"}, "from 8 on, but they are normrelu and 2"),
    ],
)
def test_recipes_that_do_not_fit_are_refused(wrong, message):
    given = {"arm": "normrelu", "depth": 2, "recipe": Recipe(start="he"), **wrong}
    with pytest.raises(ValueError, match=message):
        Configuration(name="x", **given)


@pytest.mark.parametrize(
    "wrong",
    [
        {"schedule": (0.8, 0.4)},
        {"decay": -1.0},
        {"decay": 1e39},
        {"augmentation": ("turn",)},
        {"start": "uniform"},
    ],
)
def test_recipes_name_what_is_wrong_in_them(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"^Recipe: .*`{name}`"):
        Recipe(**wrong)


def test_signals_are_means_over_pairs_and_entries():
    h = torch.tensor([[[3.0, 4.0], [4.0, 3.0], [1.0, 0.0], [0.0, 2.0]]])
    found = hidden_signals((h, -2.0 * h))
    assert found["cosines"].tolist() == [[pytest.approx(0.48)] * 2]
    assert found["lengths"][0].tolist() == pytest.approx([55.0 / 8.0, 4.0 * 55.0 / 8.0])


def test_pairs_without_a_direction_have_no_cosine():
    """A layer whose units are off would seem to part all inputs at right angles."""
    h = torch.tensor([[[3.0, 4.0], [4.0, 3.0], [0.0, 0.0], [0.0, 2.0]]])
    # As it is, all off, tiny, and diverged.
    found = hidden_signals((h, 0.0 * h, 1e-30 * h, h / 0.0))["cosines"][0]
    np.testing.assert_allclose(found, [0.96, np.nan, 0.96, np.nan])


# --- runs


def test_a_record_says_what_the_grid_chose():
    record = run_configuration(TINY)
    grid = np.array(record.fact("grid"))
    assert grid.shape == (2, 2)
    assert record.fact("rate") == TINY.rates[int(grid.mean(axis=1).argmax())]
    assert record.fact("stable") == 0.01
    for name, shape in (("train_accuracy", (2, 3)), ("cosines", (2, 3, 2))):
        series = record.draws.series(name)
        assert series.shape == shape
        assert ((series >= 0.0) & (series <= 1.0)).all()
    assert record.draws.key("seed") == [5, 6]


def test_networks_that_diverge_choose_no_rate():
    hot = replace(TINY, rates=(0.003, 1e6), arm="relu")
    record = run_configuration(hot)
    assert record.fact("grid")[1] == [0.0, 0.0]
    assert (record.fact("rate"), record.fact("stable")) == (0.003, 0.003)


def test_what_is_said_of_rates_is_what_was_tried():
    record = run_configuration(replace(TINY, rates=(0.003, 0.01), seeds=(5,)))
    first, second = ending(record).said[:2]
    assert first.startswith("Trained 1 network of the arm ")
    assert "at the rate 0.0" in first
    assert ", the best of 0.003, 0.01 on" in first
    assert "; no network diverged at any rate that was tried." in second
    hot = run_configuration(replace(TINY, rates=(0.003, 1e6), arm="relu"))
    largest = "the largest rate at which no network diverges is 0.003."
    assert largest in ending(hot).said[1]
    (alone, *_) = ending(run_configuration(replace(TINY, rates=(0.003,)))).said
    assert alone.endswith("at the rate 0.003.")


def test_where_all_diverge_the_command_says_so(capsys):
    argv = ["train", "--depth", "2", "--width", "8", "--epochs", "1", "--rates", "1e9"]
    assert command.main([*argv, "--per-class", "60", "--device", "cpu"]) == 1
    assert "diverged at every rate of `--rates 1e+09`" in capsys.readouterr().err


def test_it_offers_no_file_of_weights_for_it_keeps_none(capsys):
    with pytest.raises(SystemExit, match="2"):
        command.main(["train", "--weights", "x"])
    assert "unrecognized arguments: --weights" in capsys.readouterr().err


def test_the_kink_of_another_arm_is_refused(capsys):
    assert command.main(["train", "--arm", "relu", "--kink", "1"]) == 2
    assert "changes nothing of the arm relu" in capsys.readouterr().err


def test_held_out_examples_are_not_trained_on():
    found = problem_of(TINY)
    whole, part = examples_of(TINY, found), examples_of(TINY, found, TINY.held_out)
    assert len(whole.inputs) == len(part.inputs) + len(part.test_inputs) == 80
    torch.testing.assert_close(torch.cat([part.inputs, part.test_inputs]), whole.inputs)
    assert torch.bincount(part.test_classes).tolist() == [2] * 10
    lengths = whole.inputs.square().mean(dim=1)
    torch.testing.assert_close(lengths, torch.ones_like(lengths))


@pytest.mark.parametrize("scale", ["small", "full", "paper"])
def test_every_scale_has_every_arm_at_two_depths(scale):
    found = configurations(scale)
    dense = [c for c in found if c.network == "dense"]
    assert {c.arm for c in dense} == set(DENSE)
    assert len(dense) == 2 * len(DENSE)
    residual = [c for c in found if c.network == "residual"]
    depths = [] if scale == "small" else [20, 32, 110]
    assert [c.depth for c in residual] == depths * len(RESIDUAL)
    assert {c.arm for c in residual} == (set(RESIDUAL) if depths else set())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arm": "gelu"}, "`arm` must be one of normrelu"),
        ({"depth": 0}, "`depth` must be at least 1"),
        ({"rates": ()}, "`rates` must increase, and be one at least"),
        ({"rates": (0.1, float("nan"))}, "`rates` must be positive"),
        ({"rates": (0.1, 0.01)}, "`rates` must increase"),
        ({"held_out": 8}, "`held_out` must lie between"),
        ({"seeds": (0,)}, "none in common"),
        ({"seeds": ()}, "`seeds` must differ from each other, at least one"),
        ({"chosen_by": (1, 1)}, "`chosen_by` must differ from each other"),
        ({"arm": "batch", "batch": 1}, "`batch` must leave no update of a single"),
        ({"arm": "batch", "per_class": 4, "held_out": 2, "batch": 13}, "of 40 images"),
        ({"arm": "batch", "per_class": 4, "held_out": 2, "batch": 19}, "of 20 images"),
        ({"fault": "x"}, "`fault` must be one of slow"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(TINY, **change)
