"""At 28 x 28, with biases and without: claims shown from published records.

Twenty layers of 32 channels take a network five minutes of one core, so that they are
trained by hand (``results/full/README.md``) and read here. What is tried, by how much at
least and on how many networks stands in ``docs/identity-map.md``.
"""

from typing import Any

from verify.claim import Claim, grid
from verify.claims.identity_map._runs import (
    NETWORKS,
    Array,
    Limits,
    contrast,
    curve,
    effect,
    fitted,
    looks,
    named,
    probe,
    stated,
    within,
)
from verify.compare import Contrast
from verify.trained import Run

FULL = grid(scale=("full",))
ASSUMPTIONS = (
    "28 x 28, 32 channels, 5,000 updates, gradients clipped at 0.5",
    "the paper: 128 channels, two million updates, not clipped",
)


def _full(claim: Any, *args: Any, **parts: Any) -> Claim:
    cases = parts.pop("larger", FULL)
    return claim(
        *args, cases=(), larger_cases={"full": cases}, assumptions=ASSUMPTIONS, **parts
    )


def biased(layers: int) -> Any:
    """Return the arm with biases."""
    return named(f"biased-depth-{layers}")


def plain(layers: int) -> Any:
    """Return the arm without."""
    return named(f"cnn-depth-{layers}")


# --- biases -----------------------------------------------------------------------------

LEAST = {"orthogonal": 0.2, "gaussian": 0.05, "digits": 0.1}


def _least(*, scale: str, probes: str) -> Limits:
    return LEAST[probes], None


def _none(*, scale: str, probes: str) -> Limits:
    """Let biases do nothing, or the reverse."""
    return None, 0.0


def _with_and_without(*, scale: str, probes: str) -> Contrast:
    number = probe(probes, "constant")
    return Contrast(*(number(arm(20)(scale), scale) for arm in (biased, plain)))


def _look_at_both(*, scale: str, probes: str) -> tuple[Run, ...]:
    return looks(biased(20), plain(20))(scale=scale)


BIASES = _full(
    effect,
    id="id/bias-constant",
    items=("Bias", "Fig3", "Fig4"),
    title="With biases twenty layers learn the constant, without them in part",
    statement=(
        r"\overline{\cos}(f(x),\hat x),\ 20\text{ layers: with}-\text{without biases}"
        r"\ge 0.2,\ 0.05,\ 0.1\ (x\perp\hat x;\ \text{Gaussian; digits})"
    ),
    where="Section 3.2 and appendix H.1",
    larger=grid(scale=("full",), probes=tuple(LEAST)),
    runs=_look_at_both,
    measure=_with_and_without,
    predict=_least,
    must_refute=_none,
    uses=("id/bias-forgets", "id/bias-homogeneous"),
)

NOT_RESCALING = _full(
    contrast,
    "id/bias-not-rescaling",
    probe("orthogonal", "constant"),
    named("rescaled-depth-20"),
    plain(20),
    items=("Bias",),
    title="Biases bring the constant, not how gradients are treated on the plateau",
    statement=(
        r"\cos(f(x),\hat x)\text{ at }x\perp\hat x,\text{ rescaled in both arms:}"
        r"\ \text{with}-\text{without biases}\ge 0.2"
    ),
    where="Section 3.2 and appendix H.1",
    **stated(0.2),
    uses=("id/bias-constant",),
)

# --- depth ------------------------------------------------------------------------------

CONSTANT = _full(
    contrast,
    "id/Fig3-full",
    curve("constant"),
    biased(20),
    biased(5),
    items=("Fig3", "Fig4", "Fig36"),
    title="At 28 x 28, with biases, depth moves networks to the constant",
    statement=r"\overline{\cos}(f(x),\hat x):\ 20\text{ layers}-5\text{ layers}\ge 0.1",
    where="Figures 3, 4 and 36",
    **stated(0.1),
)


def _digits(layers: int, field: str, *, scale: str) -> Array:
    return probe("digits", field)(f"biased-depth-{layers}", scale)


def _five_on_digits(*, scale: str) -> Contrast:
    return within(_digits(5, "identity", scale=scale))


IDENTITY = _full(
    effect,
    id="id/identity-depths",
    items=("Identity5",),
    title="CNNs of five layers are fairly accurate identities",
    statement=r"\overline{\cos}(f(x),x)\ge0.9\text{ on digits, }5\text{ layers}",
    where="Section 3.2 and the abstract",
    runs=looks(biased(5)),
    paired=True,
    measure=_five_on_digits,
    # As Gaussian probes have it.
    **stated(0.9, rival=(None, 0.8)),
    version=2,
    finding="On digits; on Gaussian and uniform noise it is less: the probe decides.",
)


def _neither(*, scale: str, field: str) -> Contrast:
    return within(_digits(13, field, scale=scale))


def _look_at_13(*, scale: str, field: str) -> tuple[Run, ...]:
    return (Run(NETWORKS, "biased-depth-13", scale),)


NEITHER = _full(
    effect,
    id="id/Fig3-neither",
    items=("Edges",),
    title="CNNs of middle depth are neither the identity nor the constant",
    statement=(
        r"\overline{\cos}(f(x),x),\ \overline{\cos}(f(x),\hat x)\le 0.9\text{ on digits,}"
        r"\ 13\text{ layers}"
    ),
    where="Section 3.2",
    larger=grid(scale=("full",), field=("identity", "constant")),
    runs=_look_at_13,
    paired=True,
    measure=_neither,
    **stated(None, 0.9, rival=(0.95, None)),
)

# --- classes, layers --------------------------------------------------------------------


def _errors(layers: int, *, scale: str, which: str = "trained") -> Array:
    return fitted(f"biased-depth-{layers}", scale).series(f"layer-error/{which}")


def _at_the_output(*, scale: str) -> Contrast:
    return within(_errors(20, scale=scale)[:, -1])


WASHED_OUT = _full(
    effect,
    id="id/Fig5-full",
    items=("Fig5", "Layer"),
    title="At 28 x 28, with biases, twenty layers do not find the classes again",
    statement=r"\mathrm{err}_{20} \ge 0.7;\ \text{chance is } 0.9",
    where="Figure 5",
    runs=looks(biased(20)),
    paired=True,
    measure=_at_the_output,
    # As on pixels.
    **stated(0.7, rival=(None, 0.4)),
)


def _bottom(*, scale: str) -> Contrast:
    """Errors of the first five layers, untrained and trained."""
    both = (_errors(20, scale=scale, which=w) for w in ("untrained", "trained"))
    return Contrast(*(each[:, 1:6].mean(axis=1) for each in both))


BOTTOM = _full(
    effect,
    id="id/Fig5-bottom",
    items=("Fig5Bottom",),
    title="Bottom layers of a trained deep network classify a little better than random",
    statement=r"\overline{\mathrm{err}}_{1..5}:\ \text{untrained}-\text{trained}>0",
    where="Section 3.2, Figure 5",
    runs=looks(biased(20)),
    paired=True,
    measure=_bottom,
    **stated(0.0, rival=(None, -0.05)),
    version=2,
)


def _upper_ten(name: str, scale: str) -> Array:
    """Constant made from an unseen image by the last ten layers."""
    return fitted(name, scale).series("upper/constant")[:, -1, -1]


BREAK = _full(
    contrast,
    "id/Fig22-break",
    _upper_ten,
    biased(20),
    biased(13),
    items=("Break", "Fig22", "Fig24"),
    title="The last ten layers draw the digit in a network of twenty, not of thirteen",
    statement=r"\cos(f_{L-9..L}(x),\hat x):\ L=20\text{ less }L=13\ge 0.2",
    where="Appendix H.2",
    **stated(0.2),
    version=2,
)
