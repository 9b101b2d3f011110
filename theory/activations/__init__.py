"""Activations: Hermite coefficients, duals, and everything that follows from them.

The catalogue is a set of values (``relu``, ``tanh``, ...: `NAMES`) and factories
(``leaky_relu``, ``elu``, ``hermite``, ``normrelu``); `from_function` takes any other
function. Numbers scale and shift them, as in ``2 * sigmoid - 1``; sums and products of two
are functions of one's own: ``from_function(lambda x: relu(x) * tanh(x))``.
"""

from types import ModuleType as _Module

from theory._naming import nearest as _nearest
from theory.activations import definitions as _definitions
from theory.activations.affine import Affine as Affine
from theory.activations.base import Activation as Activation
from theory.activations.base import pair as pair
from theory.activations.custom import from_function as from_function
from theory.activations.definitions import CATALOGUE as CATALOGUE
from theory.activations.definitions import NAMES as NAMES
from theory.activations.definitions import elu as elu
from theory.activations.definitions import hermite as hermite
from theory.activations.definitions import leaky_relu as leaky_relu
from theory.activations.mixture import HermiteMixture as HermiteMixture
from theory.activations.normrelu import NormReLUConstants as NormReLUConstants
from theory.activations.normrelu import normrelu as normrelu
from theory.activations.normrelu import normrelu_constants as normrelu_constants
from theory.activations.piecewise import PiecewisePolynomial as PiecewisePolynomial
from theory.activations.smooth import Closed as Closed
from theory.activations.smooth import Definition as Definition
from theory.activations.smooth import Smooth as Smooth

# Other names in use; `act.abs` shadows nothing here.
_ALIASES = {
    "abs": "absolute",
    "abs_": "absolute",
    "arcsinh": "asinh",
    "atan": "arctan",
    "heaviside": "step",
    "swish": "silu",
}


def __getattr__(name: str) -> Activation:
    """Return a named activation, as `theory.activations.definitions` holds it."""
    known = _ALIASES.get(name, name)
    if known not in NAMES:
        near = _nearest(name, __dir__())
        hint = f": did you mean {near}?" if near else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    return getattr(_definitions, known)


def __dir__() -> list[str]:
    """Return every public name; modules of the package are not what one looks for."""
    own = [
        name
        for name, value in globals().items()
        if not name.startswith("_") and not isinstance(value, _Module)
    ]
    return sorted({*own, *NAMES, *_ALIASES})


globals()["__all__"] = __dir__()  # what `help` shows
