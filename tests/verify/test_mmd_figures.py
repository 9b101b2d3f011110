"""Figures and tables of the paper on learnt initialisations show the records' numbers."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from empirical.mmd_init.experiments import Configuration, configurations
from empirical.mmd_init.study import run_configuration
from empirical.testbed.records import Draw, Draws, RunRecord, identity
from theory import mmd
from verify import figures
from verify.claims.mmd_init import _printed as reference
from verify.figures import __main__ as command
from verify.figures.mmd_init import FIGURES, TABLES, bounds, content
from verify.figures.mmd_init.runs import Stack, remarks
from verify.figures.runs import Missing
from verify.figures.style import styled
from verify.figures.tables import DASH, Cell, Table

Records = dict[str, RunRecord]


def _tiny(c: Configuration) -> Configuration:
    """Shrink everything but names, variants, starts and methods."""
    hidden = (6,) * (len(c.network.widths) - 2)
    return replace(
        c,
        network=replace(c.network, widths=(16, *hidden, 2)),
        recipe=replace(c.recipe, steps=12, window=4, perturbations=8, reference=8),
        seeds=(0, 1) if c.name == "sweep" else (0, 1, 2),
        shots=(5, 10) if len(c.shots) > 1 else c.shots,
        reached=(),
        tasks=3,
        finetune=replace(c.finetune, epochs=1),
        snapshots=min(c.snapshots, 4),
        densities=min(c.densities, 20),
        minibatches=3,
        side=4,
    )


@pytest.fixture(scope="module")
def made() -> Records:
    """Records as pre-training and fine-tuning leave them."""
    chosen = [c for c in configurations("small") if c.tables or c.figures]
    found = [run_configuration(_tiny(c)) for c in chosen]
    return {record.name: record for record in found}


def _altered(record: RunRecord, change: Callable[[Draw], Draw]) -> RunRecord:
    return replace(record, draws=Draws(change(draw) for draw in record.draws))


def _numbers(draw: Draw, arrays: dict[str, Any]) -> Draw:
    return replace(draw, arrays={**draw.arrays, **arrays})


def _configured(record: RunRecord, **entries: Any) -> RunRecord:
    return replace(record, configuration={**record.configuration, **entries})


def _drawn(number: int, records: Records) -> Any:
    with styled():
        return FIGURES[number](records)


def _said(figure: Any) -> str:
    return " ".join(text.get_text() for text in figure.texts).replace("\n", " ")


def _y(line: Any) -> list[float]:
    return np.array(line.get_ydata(), dtype=float).tolist()


def _run(record: RunRecord, seed: int = 0, **variant: float) -> Draw:
    (found,) = record.where(seed=seed, **variant)
    return found


# --- figures --------------------------------------------------------------------------


def test_laws_show_the_first_seeds_predictions(made: Records) -> None:
    run = _run(made["uniform-xavier"], lam=0.0, xi=0.0)
    figure = _drawn(1, made)
    grid = np.array(figure.axes).reshape(5, 4)
    for index in range(4):
        for row, law in ((0, "over_noise"), (3, "over_inputs")):
            ax, below = grid[row, index], grid[row + 1, index]
            for line, when in zip(ax.lines, ("before", "after"), strict=False):
                p = run.series(f"densities/{when}/{law}")[index]
                assert line.get_xdata().tolist() == [0.0, *sorted(p), 1.0]
                # The distribution function: after k points, k of them.
                shares = np.arange(len(p) + 1) / len(p)
                assert _y(line) == [*shares.tolist(), 1.0]
            # Densities integrate to one, by the width of a bin.
            for patch in below.patches:
                assert patch.get_data().values.mean() == pytest.approx(1.0, rel=1e-12)
        words = [grid[row, index].texts[0].get_text() for row in (0, 3)]
        for text, number, symbol in zip(
            words, ("distances", "spread"), ("D", "sd"), strict=True
        ):
            before, after = (
                run.series(f"densities/{when}/{number}")[index]
                for when in ("before", "after")
            )
            assert text == f"{symbol}: {before:.3f} → {after:.3f}"
    # Both blocks say which p is where.
    for ax in (*grid[1], *grid[4]):
        assert ax.xaxis.get_tick_params()["labelbottom"]
    # The diagonal is what (a) is compared with; nothing is what (b) should be.
    assert [len(ax.lines) for ax in grid[0]] == [3] * 4
    assert [len(ax.lines) for ax in grid[3]] == [2] * 4


def test_detachment_is_shown_at_the_start_and_around(made: Records) -> None:
    record = made["detachment"]
    axes = _drawn(2, made).axes
    assert [ax.get_title(loc="left") for ax in axes] == [
        f"s² = {s}" for s in (0.2, 0.5, 1, 2)
    ]
    for ax, level in zip(axes, ("0.2", "0.5", "1.0", "2.0"), strict=True):
        for lines, run in zip(np.reshape(ax.lines, (3, 2)), record.draws, strict=True):
            here, around = lines
            assert here.get_xdata().tolist() == run.series("snapshots/step").tolist()
            assert _y(here) == run.series("snapshots/here").tolist()
            means = run.series(f"snapshots/around/{level}").mean(axis=1)
            assert _y(around) == pytest.approx(means.tolist(), rel=1e-12)
        (band,) = ax.collections
        top = band.get_paths()[0].vertices[:, 1].max()
        each = record.draws[0].series(f"snapshots/around/{level}")
        most = max(np.mean(e) + np.std(e, ddof=1) for e in each)
        assert top == pytest.approx(most, rel=1e-12)
        assert ax.get_yscale() == "log"


def test_uniformity_is_steps_and_then_windows(made: Records) -> None:
    axes = _drawn(3, made).axes
    for ax, s2 in zip(axes, (0.2, 0.5, 1.0, 2.0), strict=True):
        _, *lines = ax.lines
        for line, lam in zip(lines, (0.2, 0.4, 1.0), strict=True):
            runs = [_run(made["sweep"], seed, s2=s2, lam=lam) for seed in (0, 1)]
            wanted = [
                [*run.series("first/uniformity"), *run.series("windows/uniformity")[1:]]
                for run in runs
            ]
            # Windows of 4 steps: bins of one step each, then middles 6.5 and 10.5.
            assert line.get_xdata().tolist() == [1.0, 2.0, 3.0, 4.0, 6.5, 10.5]
            assert _y(line) == pytest.approx(np.mean(wanted, axis=0).tolist())
        assert len(ax.collections) == 3
    assert [text.get_text() for text in axes[0].figure.legends[0].get_texts()] == [
        "λ = 0.2",
        "λ = 0.4",
        "λ = 1",
    ]


def test_bins_average_every_step_of_the_first_window(records: Records) -> None:
    steps = {
        "first/uniformity": np.arange(1.0, 101.0),
        "windows/uniformity": np.array([0.0, 7.0]),
    }
    sweep = _altered(records["sweep"], lambda draw: _numbers(draw, steps))
    recipe = {**sweep.entry("recipe"), "window": 100}
    records["sweep"] = _configured(sweep, recipe=recipe)
    line = _drawn(3, records).axes[0].lines[1]
    # A bin's mean step is its place, so that the identity stays one.
    assert _y(line)[:-1] == line.get_xdata().tolist()[:-1]
    assert (line.get_xdata()[-1], _y(line)[-1]) == (150.5, 7.0)
    assert line.get_xdata()[:4].tolist() == [1.0, 2.0, 3.0, 4.0]


def test_one_run_has_no_band(records: Records) -> None:
    sweep = records["sweep"]
    one = replace(sweep, draws=sweep.where(seed=0))
    records["sweep"] = _configured(one, seeds=[0])
    figure = _drawn(3, records)
    assert not any(ax.collections for ax in figure.axes)
    assert "1 run (4)" in _said(figure)


@pytest.mark.parametrize("number", list(FIGURES))
def test_a_figure_says_which_record_is_missing(number: int, records: Records) -> None:
    (name,) = FIGURES[number].needs
    del records[name]
    made = rf"python -m empirical.mmd_init batch --figures {number} --out DIR` makes"
    wanted = rf"figure {number}: no record of {name}; `{made}"
    with pytest.raises(Missing, match=wanted):
        FIGURES[number](records)


@pytest.mark.parametrize(
    ("number", "name", "key"),
    [
        (1, "uniform-xavier", "densities"),
        (2, "detachment", "snapshots"),
        (3, "sweep", "first"),
    ],
)
def test_a_figure_says_which_part_is_missing(
    number: int, name: str, key: str, records: Records
) -> None:
    def without(draw: Draw) -> Draw:
        left = {k: v for k, v in draw.arrays.items() if not k.startswith(f"{key}/")}
        return replace(draw, arrays=left)

    records[name] = _altered(records[name], without)
    has = rf"the record {name} has no series '{key}.*--rerun --only {name}"
    wanted = rf"figure {number}: {has}"
    with pytest.raises(Missing, match=wanted):
        FIGURES[number](records)


@pytest.mark.parametrize("number", [1, 2])
def test_a_figure_of_which_nothing_is_left_says_so(
    number: int, records: Records
) -> None:
    name = FIGURES[number].needs[0]
    records[name] = _altered(records[name], lambda d: replace(d, status="diverged"))
    with pytest.raises(Missing, match=rf"figure {number}: every run .* diverged"):
        FIGURES[number](records)


def test_a_run_that_diverged_is_left_out_and_named(records: Records) -> None:
    lost = _run(records["sweep"], 1, s2=0.5, lam=0.4)
    records["sweep"] = _altered(
        records["sweep"], lambda d: replace(d, status="diverged") if d is lost else d
    )
    figure = _drawn(3, records)
    kept = _run(records["sweep"], 0, s2=0.5, lam=0.4)
    line = figure.axes[1].lines[2]
    assert _y(line)[:4] == kept.series("first/uniformity").tolist()
    said = "Runs that diverged, left out: sweep (s² = 0.5, λ = 0.4, ξ = 1, seed 1)."
    assert said in _said(figure)
    (note,) = [n for n in TABLES[5](records).notes if "diverged" in n]
    assert f"{note}." == said


# --- tables ---------------------------------------------------------------------------


def _cells(table: Table) -> dict[tuple[str, ...], list[str]]:
    return {names: [cell.text for cell in cells] for names, cells in table.rows}


def test_accuracy_stands_beside_the_papers(made: Records) -> None:
    table = TABLES[1](made)
    assert table.groups[0] == ("N = 5", ("paper", "here"))
    cells = _cells(table)
    assert len(cells) == 10
    assert cells["FCN", "Xavier", "Ours"][::2] == [
        "82.42 ± 0.72",
        "85.98 ± 0.65",
        "90.07 ± 0.17",
        "92.48 ± 0.57",
    ]
    for row, name in (
        (("FCN", "Xavier", "Ours"), "mmd-xavier"),
        (("FCN+BN", "He", "R.label"), "labels-bn-he"),
    ):
        runs = [_run(made[name], seed, xi=1.0) for seed in range(3)]
        each = [100.0 * np.mean(run.series("finetuned/10")) for run in runs]
        wanted = f"{np.mean(each):.2f} ± {np.std(each, ddof=1):.2f}"
        assert cells[row][3] == wanted
        # These records have N = 5 and 10 alone.
        assert cells[row][5::2] == [DASH, DASH]
    assert f"{DASH}: no record has N = 20, 40" in table.notes


def test_spread_is_that_of_tasks(made: Records) -> None:
    cells = _cells(TABLES[2](made))
    assert cells["FCN", "He", "none"][0] == "5.74 ± 0.81"
    runs = [_run(made["none-he"], seed) for seed in range(3)]
    each = [100.0 * np.std(run.series("finetuned/5"), ddof=1) for run in runs]
    wanted = f"{np.mean(each):.2f} ± {np.std(each, ddof=1):.2f}"
    assert cells["FCN", "He", "none"][1] == wanted


@pytest.mark.parametrize(("number", "best"), [(1, max), (2, min)])
def test_the_best_of_each_start_is_bold(
    number: int, best: Any, records: Records
) -> None:
    for rank, name in enumerate(map(content.configuration, reference.ROWS)):
        five = {"finetuned/5": np.array([0.5, 0.6 + 0.02 * rank, 0.7 + 0.03 * rank])}
        records[name] = replace(
            records[name],
            draws=Draws(_numbers(draw, five) for draw in records[name].draws),
        )
    rows = TABLES[number](records).rows
    for block in (rows[:5], rows[5:]):
        for column in range(4):
            marked = [cells[column].strong for _, cells in block]
            values = [float(cells[column].text.split()[0]) for _, cells in block]
            assert [v == best(values) for v in values] == marked
        # Later rows are given more accuracy and more spread.
        assert [cells[1].strong for _, cells in block].index(True) == (
            4 if number == 1 else 0
        )


def test_shares_are_pooled_over_runs(made: Records) -> None:
    table, layers = _cells(TABLES[3](made)), _cells(TABLES[4](made))
    assert table["0.4", "1"][0] == "1.39 ± 0.62"
    assert layers["0", "0"][::2] == ["52.11 ± 3.07", "63.88 ± 1.30", "80.08 ± 0.61"]
    for (lam, xi), name in (
        ((0.0, 0.0), "uniform-xavier"),
        ((0.4, 1.0), "mmd-xavier"),
    ):
        runs = [_run(made[name], seed, lam=lam, xi=xi) for seed in range(3)]
        key = (f"{lam:g}", f"{xi:g}")
        mean = 100.0 * np.mean([run.series("constant/mean") for run in runs])
        std = 100.0 * np.mean([run.series("constant/std") ** 2 for run in runs]) ** 0.5
        assert table[key][1] == f"{mean:.2f} ± {std:.2f}"
        last = [100.0 * run.series("dead/mean")[2] for run in runs]
        assert layers[key][5].startswith(f"{np.mean(last):.2f} ± ")
    assert ("0", "1") not in layers


def test_detachment_is_the_worst_layers(made: Records) -> None:
    table = TABLES[5](made)
    cells = _cells(table)["2", "1"]
    assert cells[::2] == ["16.93 ± 7.63", "34.12 ± 9.02"]
    runs = [_run(made["sweep"], seed, s2=2.0, lam=1.0) for seed in (0, 1)]
    worst = [100.0 * run.series("dead/mean").max() for run in runs]
    assert cells[-1] == f"{np.mean(worst):.2f} ± {np.std(worst, ddof=1):.2f}"
    assert len(table.rows) == 12


def test_a_mean_of_one_run_has_no_deviation(records: Records) -> None:
    sweep = records["sweep"]
    records["sweep"] = replace(sweep, draws=sweep.where(seed=0))
    share = 100.0 * _run(sweep, s2=0.2, lam=0.2).series("constant/mean")
    assert _cells(TABLES[5](records))["0.2", "0.2"][1] == f"{share:.2f}"


def test_runs_whose_fine_tuning_diverged_are_left_out(records: Records) -> None:
    def lost(draw: Draw) -> Draw:
        found = draw.series("finetuned/5").copy()
        found[1] = found[1] if draw.seed == 2 else np.nan
        return _numbers(draw, {"finetuned/5": found})

    records["none-he"] = _altered(records["none-he"], lost)
    left = 100.0 * records["none-he"].draws[2].series("finetuned/5").mean()
    assert _cells(TABLES[1](records))["FCN", "He", "none"][1] == f"{left:.2f}"


@pytest.mark.parametrize("number", list(TABLES))
def test_a_table_says_which_record_is_missing(number: int, records: Records) -> None:
    first = TABLES[number].needs[0]
    del records[first]
    wanted = rf"table {number}: no record of {first}; .* batch --only {first} --out DIR"
    with pytest.raises(Missing, match=wanted):
        TABLES[number](records)
    with pytest.raises(
        Missing, match=r"empirical.mmd_init batch --out DIR` makes what is missing"
    ):
        TABLES[1]({})


def test_sizes_that_are_not_the_papers_are_named(made: Records) -> None:
    stacks = {name: Stack(made[name]) for name in ("mmd-he", "none-he")}
    (said,) = remarks(stacks)
    assert said == (
        "Sizes are not the paper's, which stand in brackets: images of 16 pixels (784),"
        " 4,000 of them to train with (60,000), network 16-6-6-6-2"
        " (784-392-392-392-2), 12 steps of pre-training (9,375), rate"
        f" {made['mmd-he'].entry('recipe/rate'):g} (0.0002), 8 perturbations a step (256),"
        " 3 runs (4)"
    )
    ours = TABLES[1](made).notes[0]
    assert ours.startswith(said.split(", network")[0])
    assert ours.endswith(" 3 tasks (20), 3 runs (4)")


def test_the_papers_own_sizes_need_no_remark(records: Records) -> None:
    (found,) = [c for c in configurations("paper") if c.name == "mmd-he"]
    own = identity(found, device="cpu", schema=1)["configuration"]
    mine = replace(records["mmd-he"], facts={"images": {"train": 60_000}})
    mine = replace(mine, configuration={**own, "tasks": mine.entry("tasks")})
    names = ("images", "training", "network", "steps", "rate", "perturbations")
    assert remarks({"mmd-he": Stack(mine)}, (*names, "minibatches")) == []
    # But for eight runs, which decide where four do not.
    assert remarks({"mmd-he": Stack(mine)}, ("runs",)) != []


def test_rows_and_configurations_belong_together() -> None:
    known = {c.name: c for c in configurations("paper")}
    every = [content.configuration(row) for row in reference.ROWS]
    assert sorted(every) == sorted({*content.BY_TASK, *content.NORMALISED})
    for row, name in zip(reference.ROWS, every, strict=True):
        c = known[name]
        assert (c.network.norm is not None) == (row[0] == "FCN+BN")
        assert c.start == row[1].lower()
        assert c.method == {"Ours": "mmd", "none": "none", "R.label": "labels"}[row[2]]
    assert len(set(every)) == 10
    for number, kind in (
        *((n, "tables") for n in TABLES),
        *((n, "figures") for n in FIGURES),
    ):
        entry: Any = {"tables": TABLES, "figures": FIGURES}[kind][number]
        serving = {name for name, c in known.items() if number in getattr(c, kind)}
        assert {*entry.needs, *getattr(entry, "also", ())} == serving


def test_rows_without_a_record_are_empty(records: Records) -> None:
    del records["labels-bn-xavier"], records["none-bn-he"]
    table, whole = TABLES[1](records), _cells(TABLES[1](records))
    for row in reference.ROWS:
        gone = content.configuration(row) in ("labels-bn-xavier", "none-bn-he")
        assert (whole[row][1] == DASH) == gone
    said = (
        f"{DASH}: no record of labels-bn-xavier, none-bn-he;"
        " `python -m empirical.mmd_init batch --out DIR` makes what is missing"
    )
    assert said in table.notes


def test_reference_numbers_keep_the_papers_orderings() -> None:
    gains = {
        start: [
            ours[0] - scratch[0]
            for ours, scratch in zip(
                reference.ACCURACY["FCN", start, "Ours"],
                reference.ACCURACY["FCN", start, "none"],
                strict=True,
            )
        ]
        for start in reference.STARTS
    }
    assert gains["Xavier"] == pytest.approx([2.79, 2.28, 2.53, 1.57], abs=1e-9)
    assert gains["He"] == pytest.approx([3.10, 3.05, 1.73, 1.27], abs=1e-9)
    spread = {
        (start, made): reference.SPREAD["FCN", start, made][0][0]
        for start in reference.STARTS
        for made in ("Ours", "none", "R.label")
    }
    assert spread["Xavier", "Ours"] < spread["Xavier", "R.label"]
    assert spread["Xavier", "R.label"] < spread["Xavier", "none"]
    assert spread["He", "Ours"] < spread["He", "none"] < spread["He", "R.label"]


# --- of theory ------------------------------------------------------------------------


def test_the_floor_is_the_constants_and_below_the_classifiers() -> None:
    with styled():
        (ax,) = figures.named("mmd_degeneracy_floor")().axes
    single, balanced, floor, centroid, _ = ax.lines
    classes = np.arange(2, 21)
    # A few eps: both are sums of at most 20 terms.
    wanted = (np.sqrt(classes - 1.0) - 1.0) / np.sqrt(classes)
    assert _y(floor) == pytest.approx(wanted.tolist(), abs=1e-14)
    assert _y(centroid) == pytest.approx(_y(floor), abs=1e-14)
    gap = np.array(_y(balanced)) - np.array(_y(floor))
    assert gap[0] == pytest.approx(0.0, abs=1e-14)
    assert (gap[1:] > 0.1).all()
    assert (np.array(_y(single)) > np.array(_y(balanced))).all()
    assert any("0.239 < 0.365" in text.get_text() for text in ax.texts)


def test_the_tail_lies_below_every_bound() -> None:
    with styled():
        near, far = figures.named("mmd_vacuous_tail")().axes
    for ax in (near, far):
        tail, step, sharp, printed, _ = ax.lines
        for line in (step, sharp, printed):
            bound = np.interp(tail.get_xdata(), line.get_xdata(), line.get_ydata())
            assert (bound >= np.array(_y(tail))).all()
        r = np.array(sharp.get_xdata())
        for line in (sharp, printed):
            assert set(np.array(_y(line))[r <= 392.6]) == {1.0}
    assert _y(far.lines[2])[-1] == 0.0
    assert "392.6" in " ".join(text.get_text() for text in far.texts)
    assert "24.31" in " ".join(text.get_text() for text in near.texts)


def test_drawn_lengths_have_the_noises_moments() -> None:
    noise = mmd.noise_rule((16, 6, 2))
    squares = bounds.drawn_lengths(noise) ** 2
    # Five standard errors of the mean; of the variance, whose relative error is
    # sqrt(kurtosis / draws), the kurtosis at most that of one chi-square, 15.
    error = np.sqrt(2.0 * noise.square_energy / bounds.DRAWS)
    assert squares.mean() == pytest.approx(noise.energy, abs=5.0 * error)
    relative = 5.0 * np.sqrt(15.0 / bounds.DRAWS)
    assert squares.var() == pytest.approx(2.0 * noise.square_energy, rel=relative)


# --- where they are shown -------------------------------------------------------------


def test_all_pictures_are_of_the_topic() -> None:
    names = {p.name for p in figures.PICTURES if p.topic == "mmd/"}
    wanted = {f"mmd_figure_{n}" for n in FIGURES} | {f"mmd_table_{n}" for n in TABLES}
    assert names == wanted | {"mmd_degeneracy_floor", "mmd_vacuous_tail"}


@pytest.mark.parametrize(
    "picture",
    [p for p in figures.PICTURES if p.topic == "mmd/" and p.from_runs],
    ids=lambda p: p.name,
)
def test_every_picture_has_markup(picture: figures.Picture, made: Records) -> None:
    text = picture.markup(runs=made)
    assert text == picture.markup(runs=made)
    assert text.count(f'id="{picture.name}"') == 1
    assert ("<table" in text) == ("table" in picture.name)
    assert ("<svg" in text) != ("table" in picture.name)
    with pytest.raises(Missing, match="no record of"):
        picture.markup(runs={})


def test_the_report_shows_a_table_twice_with_one_id(
    made: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    from verify.report.html import pictures

    chosen = tuple(figures.named(f"mmd_table_{n}") for n in (1, 3))
    monkeypatch.setattr(figures, "PICTURES", chosen)
    runs = {n: made[n] for n in ("mmd-xavier", "uniform-xavier")}
    accuracy, shares = pictures.draw((), runs=runs).gallery
    assert "not all of which are there" in accuracy.body
    assert shares.whole().count('id="mmd_table_3"') == 1
    assert 'id="' not in shares.again()
    assert "<table" in shares.again()


def test_the_command_draws_figures_and_writes_tables(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = ["mmd", "--records", str(folder), "--out", str(out), "--format", "png"]
    assert command.main(arguments) == 0
    names = sorted(path.name for path in out.iterdir())
    assert names == [*(f"figure-0{n}.png" for n in FIGURES), "index.md"]
    page = (out / "index.md").read_text(encoding="utf-8")
    for number in TABLES:
        assert f"## Table {number}: {TABLES[number].title}" in page
    assert "82.42 ± 0.72" in page
    capsys.readouterr()
    (folder / "sweep.json").unlink()
    assert command.main(arguments) == 2
    said = capsys.readouterr().err
    assert "figure 3: no record of sweep" in said
    assert "table 5: no record of sweep" in said
    assert f"empirical.mmd_init batch --scale small --out {folder}" in said
    assert not (out / "figure-03.png").exists()
    assert "## Table 5" not in (out / "index.md").read_text(encoding="utf-8")
    # Who chooses figures wants no tables, and is not told what they lack.
    assert command.main([*arguments, "--only", "2"]) == 0
    assert "## Table" not in (out / "index.md").read_text(encoding="utf-8")


# --- tables of any paper --------------------------------------------------------------


def test_a_tables_headings_are_one_row_or_two() -> None:
    two = Table(
        heads=("a", "b"),
        groups=(("g", ("x", "y")), ("h", ("z",))),
        rows=((("1", "2"), (Cell("3"), Cell("4 < 5", strong=True), Cell())),),
        notes=("So it is",),
    )
    text = two.html(name="t", title="All & sundry")
    assert text.count("<tr>") == 3
    assert text.count('rowspan="2"') == 2
    assert 'scope="colgroup" colspan="2"' in text
    assert "<strong>4 &lt; 5</strong>" in text
    assert 'aria-label="All &amp; sundry"' in text
    assert text.endswith('<p class="where">So it is.</p>')
    assert two.markdown().splitlines()[-1] == "So it is."
    one = Table(heads=("a",), groups=(("g", ("",)),), rows=((("1",), (Cell("3"),)),))
    text = one.html(name="t", title="")
    assert text.count("<tr>") == 2
    assert "rowspan" not in text
    assert one.markdown().splitlines()[0] == "| a | g |"


def test_a_table_refuses_ragged_rows() -> None:
    with pytest.raises(ValueError, match=r"1 names and 2 entries each, but .* 1 and 1"):
        Table(heads=("a",), groups=(("g", ("x", "y")),), rows=((("1",), (Cell(),)),))
