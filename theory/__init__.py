"""Closed forms of deep-learning theory, by topic.

=================  ==========================================================
activations        Hermite coefficients, dual activations, mu, for any function
kernels            NNGP and tangent kernels of deep networks
conditioning       how depth separates inputs: bounds on correlations, kernels
lengths            squared lengths off the unit sphere, NormReLU
phase              networks with biases: fixed points, depth scales, edge of chaos
spectrum           eigenvalues of deep kernels on the sphere
width              corrections of order 1/width
regression         what infinitely wide networks predict
optimization       rates of gradient descent, statistical queries, overfitting
identity_map       residual and convolutional networks trained on the identity
square_loss        gradient flow, equilibria and generalisation of square loss
neural_collapse    NC1 to NC4 of features, labels and weights
mmd                maximum mean discrepancy and what it bounds
plots              curves and heat maps of all of these
=================  ==========================================================

Below these, and by themselves where they are of use:

=================  ==========================================================
hermite            Hermite polynomials and coefficients
gaussian           Gaussian tails, expectations of functions with kinks
duals              dual activations: closed forms, series, quadratures
depth_maps         layers as maps of correlations, composed to any depth
kernel_maps        kernels of unit inputs, as functions of their correlation
matrices           kernel matrices, filled by panels
grids              functions tabulated on the leading bits of a distance
meshes             panels on which a function is resolved
=================  ==========================================================

``import theory`` is enough: a topic is loaded when it is asked for.
"""

import importlib
import pkgutil
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """Return a topic, loaded now."""
    if name in __dir__():
        return importlib.import_module(f"theory.{name}")
    near = "" if name.startswith("_") else _meant(name)
    hint = f": did you mean {near}?" if near else ""
    raise AttributeError(f"module 'theory' has no attribute {name!r}{hint}")


def _meant(name: str) -> str:
    """Return the topic, or the name in one, that a name was most likely meant for."""
    from theory._naming import nearest

    topics = {t: importlib.import_module(f"theory.{t}") for t in __dir__()}
    each = [(t, n) for t in topics for n in getattr(topics[t], "__all__", ())]
    at = {n: f"theory.{t}.{n}" for t, n in reversed(each)} | {
        t: f"theory.{t}" for t in topics
    }
    return at.get(name if name in at else nearest(name, at), "")


def __dir__() -> list[str]:
    """Return every topic."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    return sorted(name for name in names if not name.startswith("_"))
