"""What is trained for each table and figure of the learnt initialisations."""

import math
from dataclasses import replace

import pytest

from empirical.mmd_init.experiments import (
    NOISES,
    Configuration,
    Variant,
    configurations,
)
from empirical.mmd_init.faults import FAULTS
from empirical.mmd_init.networks import classifier
from empirical.mmd_init.recipes import Recipe
from empirical.mmd_init.study import STUDY
from empirical.testbed.faults import FAULTS as ALL_FAULTS
from empirical.testbed.study import SCALES

NET = classifier((16, 8, 2))
BASE = Configuration(name="x", network=NET)


def by_name(scale):
    return {c.name: c for c in configurations(scale)}


class TestConfiguration:
    @pytest.mark.parametrize(
        ("changes", "match"),
        [
            ({"name": "a/b"}, "`name` must be letters.*it is 'a/b'"),
            ({"name": ""}, "`name` must be letters"),
            ({"method": "mmds"}, "`method` must be one of none, mmd, labels.*'mmds'"),
            ({"start": "lecun"}, "`start` must be one of he, xavier.*'lecun'"),
            ({"data": "minst"}, "`data` must be one of mnist.*'minst'"),
            ({"variants": ()}, "`variants` must differ from each other, at least one"),
            ({"seeds": ()}, "`seeds` must differ from each other, at least one"),
            ({"seeds": (2, 2)}, "`seeds` must differ from each other"),
            ({"minibatches": 1}, "`minibatches` must be at least 2, but it is 1"),
            ({"tasks": 0}, "`tasks` must be at least 1, but it is 0"),
        ],
    )
    def test_refuses(self, changes, match):
        with pytest.raises(ValueError, match=match):
            replace(BASE, **changes)

    @pytest.mark.parametrize("method", ["none", "labels"])
    def test_other_methods_may_normalise(self, method):
        net = classifier((16, 8, 2), batch_norm=True)
        assert replace(BASE, method=method, network=net).network.norm

    def test_a_recipe_for_each_run(self):
        base = Recipe(steps=7, rate=0.01, perturbations=9)
        variants = (Variant(), Variant(s2=2.0, lam=0.1, xi=0.2, uni=0.3))
        c = replace(BASE, recipe=base, variants=variants, seeds=(4, 5, 6))
        assert [seed for _, seed in c.runs] == [4, 5, 6] * 2
        assert [v for v, _ in c.runs] == [variants[0]] * 3 + [variants[1]] * 3
        made = c.recipes()
        assert len(made) == 6
        other = replace(base, s=math.sqrt(2.0), lam=0.1, xi=0.2, uni=0.3)
        # By default a variant is the paper's own loss.
        assert made == [base] * 3 + [other] * 3

    def test_a_variant_must_be_a_loss(self):
        nothing = replace(BASE, variants=(Variant(lam=0.0, xi=0.0, uni=0.0),))
        with pytest.raises(
            ValueError, match="one of `uni`, `lam` and `xi` must be pos"
        ):
            nothing.recipes()


class TestFaults:
    def test_there_are_those_of_every_study(self):
        assert set(STUDY.faults) == set(ALL_FAULTS)

    @pytest.mark.parametrize("fault", FAULTS)
    def test_leaves_the_name_and_the_seeds(self, fault):
        for c in configurations("small"):
            made = FAULTS[fault](c)
            assert made != c
            assert (made.name, made.seeds, made.variants) == (
                c.name,
                c.seeds,
                c.variants,
            )

    def test_what_they_change(self):
        c = by_name("paper")["mmd-he"]
        slow = FAULTS["slow"](c)
        assert slow.recipe.rate == pytest.approx(2e-6, rel=1e-15)
        assert slow.finetune.rate == pytest.approx(1e-5, rel=1e-15)
        short = FAULTS["short"](c)
        assert (short.recipe.updates(60_000), short.finetune.epochs) == (625, 1)
        assert short.reached == (1, 2, 3, 6)
        frozen = FAULTS["frozen"](c)
        assert frozen.recipe.frozen
        assert frozen.finetune.frozen
        assert FAULTS["shuffled"](c).shuffled

    def test_a_short_run_still_has_a_window(self):
        c = FAULTS["short"](by_name("small")["mmd-he"])
        assert c.recipe.steps == c.recipe.window == 26


class TestScales:
    def test_refuses(self):
        with pytest.raises(ValueError, match=r"`scale` must be one of small.*'medium'"):
            configurations("medium")

    @pytest.mark.parametrize("scale", SCALES)
    def test_names_are_unique(self, scale):
        made = configurations(scale)
        assert len(by_name(scale)) == len(made)
        # Of file systems that do not tell capitals from small letters, too.
        assert len({c.name.lower() for c in made}) == len(made)

    def test_every_scale_has_the_same(self):
        served = [
            {
                name: (c.method, c.start, c.variants, c.tables, c.figures)
                for name, c in m
                if name != "ablation-he"
            }
            for m in (by_name(scale).items() for scale in SCALES)
        ]
        assert served[0] == served[1] == served[2]

    def test_small_networks_try_the_loss_that_all_depends_on(self):
        lost = {scale: by_name(scale)["ablation-he"].variants for scale in SCALES}
        assert lost["full"] == lost["paper"] == (Variant(uni=0.0), Variant(lam=0.0))
        assert lost["small"] == lost["full"][:1]

    @pytest.mark.parametrize("scale", SCALES)
    def test_every_table_and_figure_is_served(self, scale):
        made = configurations(scale)
        assert {n for c in made for n in c.tables} == {1, 2, 3, 4, 5}
        assert {n for c in made for n in c.figures} == {1, 2, 3}

    @pytest.mark.parametrize("scale", SCALES)
    def test_equal_updates_are_of_what_is_compared(self, scale):
        named = by_name(scale)
        assert {n for n, c in named.items() if c.reached} == {
            "mmd-he",
            "mmd-xavier",
            "none-he",
            "none-xavier",
        }

    @pytest.mark.parametrize("scale", SCALES)
    def test_tables_1_and_2_have_a_run_for_each_row(self, scale):
        made = configurations(scale)
        rows = [
            (c.method, c.network.norm is not None, c.start)
            for c in made
            if 1 in c.tables
        ]
        wanted = [("mmd", False)]
        wanted += [
            (method, bn) for method in ("none", "labels") for bn in (False, True)
        ]
        assert sorted(rows) == sorted(
            (*row, start) for row in wanted for start in ("he", "xavier")
        )
        for c in made:
            assert (1 in c.tables) == (2 in c.tables)
            if 1 in c.tables:
                assert c.shots == ((5, 40) if scale == "small" else (5, 10, 20, 40))
                assert c.variants[0] == Variant(s2=0.5, lam=0.4, xi=1.0, uni=1.0)

    @pytest.mark.parametrize("scale", SCALES)
    def test_tables_3_and_4_compare_the_four_losses(self, scale):
        for table in (3, 4):
            pairs = [
                (v.lam, v.xi)
                for c in configurations(scale)
                if table in c.tables
                for v in c.variants
            ]
            assert sorted(pairs) == [(0.0, 0.0), (0.0, 1.0), (0.4, 0.0), (0.4, 1.0)]

    @pytest.mark.parametrize("scale", SCALES)
    def test_table_5_and_figure_3_have_a_grid_of_twelve(self, scale):
        (sweep,) = (c for c in configurations(scale) if 5 in c.tables)
        assert sweep.figures == (3,)
        grid = [(v.s2, v.lam) for v in sweep.variants]
        assert sorted(grid) == [
            (s2, lam) for s2 in (0.2, 0.5, 1.0, 2.0) for lam in (0.2, 0.4, 1.0)
        ]
        assert {(v.xi, v.uni) for v in sweep.variants} == {(1.0, 1.0)}
        # A root and a square, of 2^-53 each.
        squares = sorted({r.s**2 for r in sweep.recipes()})
        assert squares == pytest.approx(NOISES, rel=1e-15)

    @pytest.mark.parametrize("scale", SCALES)
    def test_figures_1_and_2_minimise_one_term_alone(self, scale):
        made = by_name(scale).values()
        (first,) = (c for c in made if 1 in c.figures)
        assert Variant(lam=0.0, xi=0.0) in first.variants
        assert first.densities == 1024
        (second,) = (c for c in made if 2 in c.figures)
        assert second.variants == (Variant(uni=0.0, lam=0.0),)
        assert second.snapshots >= 10

    @pytest.mark.parametrize("scale", SCALES)
    def test_configurations_differ_in_no_more_than_they_compare(self, scale):
        made = [c for c in configurations(scale) if 1 in c.tables]
        for name in (
            "seeds",
            "shots",
            "tasks",
            "finetune",
            "minibatches",
            "side",
            "data",
        ):
            assert len({getattr(c, name) for c in made}) == 1, name
        assert len({c.recipe for c in made}) == 1
        assert len({c.network.widths for c in made}) == 1

    @pytest.mark.parametrize("scale", SCALES)
    def test_networks_fit_the_images(self, scale):
        for c in configurations(scale):
            assert c.network.widths[0] == (c.side or 28) ** 2
            assert c.network.widths[-1] == 2
            assert len(c.network.widths) == 5


class TestPaper:
    """Section 5 and appendix B of Lee and Cho 2023."""

    def test_pretraining(self):
        for c in configurations("paper"):
            assert c.network.widths == (784, 392, 392, 392, 2)
            assert (c.data, c.side) == ("mnist", None)
            assert c.recipe.updates(60_000) == 9375
            assert (c.recipe.perturbations, c.recipe.reference) == (256, 256)
            assert (c.recipe.batch, c.recipe.rate, c.recipe.window) == (32, 2e-4, 100)
            assert c.minibatches == 128
            for recipe in c.recipes():
                assert replace(recipe, s=1.0, lam=1.0, xi=1.0, uni=1.0) == replace(
                    c.recipe, s=1.0, lam=1.0, xi=1.0, uni=1.0
                )

    def test_twice_the_papers_four_runs(self):
        for c in configurations("paper"):
            if c.tables or c.figures:
                assert len(c.seeds) == (4 if c.name == "sweep" else 8)

    def test_finetuning(self):
        tuned = [c for c in configurations("paper") if c.tables and c.shots]
        assert len(tuned) == 10
        for c in tuned:
            assert c.shots == (5, 10, 20, 40)
            assert c.tasks == 20
            f = c.finetune
            assert (f.epochs, f.batch, f.rate) == (10, 50, 1e-3)

    def test_distances(self):
        c = by_name("paper")["distance"]
        assert c.distances
        assert (c.method, len(c.seeds), c.tasks, len(c.shots)) == ("none", 10, 1, 1)
        # 400 examples in batches of 50: some hundred steps to tell log t from sqrt t.
        assert c.finetune.epochs * 10 * c.shots[0] // c.finetune.batch >= 500
