"""`theory.plots` draws what `theory` computes, and loads Matplotlib only then."""

import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from theory import activations as act
from theory import kernels, plots
from theory.phase.diagram import Diagram


@pytest.fixture
def ax():
    return Figure().subplots()


def test_dual_curves_are_the_duals(ax):
    relu, tanh = act.relu.normalized(), act.tanh.normalized()
    assert plots.dual(relu, tanh, ax=ax, points=5) is ax
    first, second, diagonal = ax.lines
    rho = np.linspace(-1.0, 1.0, 5)
    np.testing.assert_array_equal(first.get_ydata(), relu.dual(rho))
    np.testing.assert_array_equal(second.get_ydata(), tanh.dual(rho))
    np.testing.assert_array_equal(diagonal.get_ydata(), rho)


def test_depth_maps_are_the_kernels(ax):
    relu = act.relu.normalized()
    plots.depth_map(relu, (1, 7), ax=ax, points=5)
    rho = np.linspace(-1.0, 1.0, 5)
    for line, depth in zip(ax.lines, (1, 7), strict=True):
        values = kernels.nngp_map(rho, relu, depth)
        np.testing.assert_array_equal(line.get_ydata(), values)
    assert [line.get_label() for line in ax.lines] == ["1 layer", "7 layers"]


def test_a_kernel_is_drawn_with_zero_in_the_middle(ax):
    matrix = np.array([[2.0, -0.5], [-0.5, 2.0]])
    (image,) = plots.kernel(matrix, ax=ax).images
    np.testing.assert_array_equal(np.asarray(image.get_array()), matrix)
    assert image.get_clim() == (-2.0, 2.0)


@pytest.mark.parametrize("count", [1, 3, 4, 40])
def test_ticks_of_a_kernel_are_inputs(ax, count):
    plots.kernel(np.eye(count), ax=ax)
    ticks = np.concatenate([ax.get_xticks(), ax.get_yticks()])
    np.testing.assert_array_equal(ticks, np.round(ticks))


def test_a_kernel_of_zeros_has_colours(ax):
    (image,) = plots.kernel(np.zeros((2, 2)), ax=ax).images
    assert image.get_clim() == (-1.0, 1.0)


def test_the_edge_and_both_phases_are_in_a_diagram(ax):
    plots.phase_diagram(act.erf, (0.0, 4.0), points=16, ax=ax)
    (image,) = ax.images
    depth = image.get_array()
    # Low weights are ordered within a layer, whatever the biases.
    assert (depth[:, 0] == 1.0).all()
    places = {text.get_text(): text.get_position()[0] for text in ax.texts}
    assert places["ordered"] < places["chaotic"]
    label = ax.get_legend().get_texts()[0].get_text()
    assert label.startswith("edge of chaos")


def test_the_one_critical_point_of_relu_is_marked(ax):
    plots.phase_diagram(act.relu, (0.0, 4.0), (0.0, 1.0), points=8, ax=ax)
    (point,) = ax.lines
    assert (list(point.get_xdata()), list(point.get_ydata())) == ([2.0], [0.0])
    # Variances grow without bound beyond it: nothing to show.
    masked = np.ma.getmaskarray(ax.images[0].get_array())
    assert masked[:, 4:].all()
    assert not masked[:, :4].any()


@pytest.mark.parametrize("width", [8, 30])
def test_names_of_phases_stay_within_their_regions(ax, width):
    """A narrow region is named upwards."""
    phases = np.full((100, 100), "chaotic", dtype="U9")
    phases[:, :60] = "ordered"
    phases[:, 100 - width :] = "divergent"
    ones = np.ones((100, 100))
    plots.draw_diagram(Diagram("", (0.0, 1.0), (0.0, 1.0), ones, phases, ()), ax=ax)
    found = {t.get_text(): (t.get_position()[0], t.get_rotation()) for t in ax.texts}
    # To one of a hundred cells, where several are as far from the border.
    assert found["ordered"] == (pytest.approx(0.3, abs=0.01), 0.0)
    turned = 90.0 if width == 8 else 0.0
    assert found["divergent"] == (pytest.approx(1.0 - width / 200, abs=0.01), turned)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: plots.dual(), "`activations` must be at least one"),
        (lambda: plots.dual("relu"), "must be a theory Activation, got 'relu'"),
        (lambda: plots.dual([act.relu]), "`activations` must be a theory Activation"),
        (lambda: plots.depth_map("relu"), "`activation` must be a theory Activation"),
        (lambda: plots.depth_map(act.relu, 3), "`depths` must list depths, got 3"),
        (lambda: plots.depth_map(act.relu, (0, 1)), "`depths` must be at least 1"),
        (lambda: plots.phase_diagram("erf"), "`activation` must be a theory Activ"),
        (lambda: plots.dual(act.relu, points=1), "`points` must be at least 2"),
        (lambda: plots.dual(act.relu, points=2.5), "`points` must be a whole number"),
        (lambda: plots.dual(act.relu, points=10**9), "`points` must be at most"),
        (
            lambda: plots.depth_map(act.relu, points="many"),
            "`points` must be a whole number",
        ),
        (lambda: plots.depth_map(act.relu, ()), "`depths` must be at least one"),
        (lambda: plots.depth_map(act.relu, (0.5,)), "depth"),
        (
            lambda: plots.depth_map(act.relu, (1, 2000), points=3),
            r"^plots.depth_map: at depth 2000, `depth` must keep the kernel within",
        ),
        (lambda: plots.kernel([1.0, 2.0]), "two axes"),
        (lambda: plots.kernel([[1.0, np.nan]]), "1 of 2 entries"),
        (lambda: plots.phase_diagram(act.erf, (2.0, 1.0)), "`weight_var` must be"),
        (lambda: plots.phase_diagram(act.erf, 2.0), "`weight_var` must be two num"),
        (lambda: plots.phase_diagram(act.erf, ("a", "b")), "`weight_var` must be real"),
        (lambda: plots.phase_diagram(act.erf, points=1), "`points` must be at least 2"),
    ],
)
def test_bad_input_is_named(call, text):
    with pytest.raises((ValueError, TypeError), match=text):
        call()


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match="plots"):
        plots.dual(act.relu)


def test_duals_are_told_apart_without_colour(ax):
    plots.dual(act.relu, act.tanh, act.gelu, ax=ax, points=3)
    assert len({line.get_linestyle() for line in ax.lines[:3]}) == 3


def test_the_colour_bar_of_a_kernel_says_what_colours_are(ax):
    (image,) = plots.kernel(np.eye(2), ax=ax).images
    assert image.colorbar.ax.get_ylabel() == "entry of the kernel"


def test_the_legend_of_a_diagram_hides_no_edge(ax):
    """An edge that ends in the upper right corner, as that of tanh."""
    biases = np.linspace(0.0, 1.0, 50)
    phases = np.full((100, 100), "ordered", dtype="U9")
    edges = ((0.9 * biases, biases),)
    made = Diagram("", (0.0, 1.0), (0.0, 1.0), np.ones((100, 100)), phases, edges)
    plots.draw_diagram(made, ax=ax)
    ax.figure.draw_without_rendering()
    legend = ax.get_legend().get_window_extent()
    places = ax.transData.transform(np.column_stack(edges[0]))
    assert legend.count_contains(places) == 0
    (name,) = ax.texts
    assert not legend.overlaps(name.get_window_extent())
