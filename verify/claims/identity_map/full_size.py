"""At 28 x 28, with biases and without: claims shown from published records.

Twenty layers of 32 channels take a network five minutes of one core, so that they are
trained by hand (``results/full/README.md``) and read here. What is tried, by how much at
least and on how many networks stands in ``docs/identity-map.md``.
"""

from typing import Any

from verify.claim import Claim, grid
from verify.claims._predictors import Limits, stated
from verify.claims.identity_map._runs import (
    Array,
    contrast,
    curve,
    effect,
    looks,
    named,
    probe,
)
from verify.compare import Contrast
from verify.trained import Run

FULL = grid(scale=("full",))
ASSUMPTIONS = (
    "28 x 28, 32 channels, gradients clipped at 0.5; 20 layers with biases 5,000 updates",
    "others 2,000; the paper: 128 channels, two million updates, not clipped",
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
    """Biases that do nothing, or the reverse."""
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
    title=(
        "With biases, CNNs of 20 layers learn the constant map; without, only in part"
    ),
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
    finding=(
        "On images orthogonal to the digit the cosine is 0.45 to 0.97 with biases and"
        " -0.00 to 0.15 without, although the networks without biases reach a smaller"
        " loss."
    ),
)

# --- depth ------------------------------------------------------------------------------

CONSTANT = _full(
    contrast,
    "id/Fig3-full",
    curve("constant"),
    biased(20),
    biased(5),
    items=("Fig3", "Fig4", "Fig36"),
    title=(
        "At 28 x 28 with biases, depth moves convolutional networks towards the"
        " constant map"
    ),
    statement=r"\overline{\cos}(f(x),\hat x):\ 20\text{ layers}-5\text{ layers}\ge 0.1",
    where="Figures 3, 4 and 36",
    **stated(0.1),
)


def _digits(layers: int, field: str, *, scale: str) -> Array:
    return probe("digits", field)(f"biased-depth-{layers}", scale)


def _five_on_digits(*, scale: str) -> Contrast:
    return Contrast.alone(_digits(5, "identity", scale=scale))


IDENTITY = _full(
    effect,
    id="id/identity-depths",
    items=("Identity5",),
    title="CNNs of five layers learn the identity fairly accurately",
    statement=r"\overline{\cos}(f(x),x)\ge0.9\text{ on digits, }5\text{ layers}",
    where="Section 3.2 and the abstract",
    runs=looks(biased(5)),
    paired=True,
    measure=_five_on_digits,
    # As Gaussian probes have it.
    **stated(0.9, wrong=(None, 0.8)),
    version=2,
    finding=(
        "On digits. On Gaussian and uniform noise the cosine is smaller: the result"
        " depends on the test images."
    ),
)
