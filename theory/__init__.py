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

``import theory`` is enough: a topic is loaded when it is asked for.
"""

import importlib
import pkgutil
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """Return a topic, loaded now."""
    if name not in __dir__():
        raise AttributeError(f"module 'theory' has no attribute {name!r}")
    return importlib.import_module(f"theory.{name}")


def __dir__() -> list[str]:
    """Return every topic."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    return sorted(name for name in names if not name.startswith("_"))
