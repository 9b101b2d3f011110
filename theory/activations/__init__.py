"""Activations: Hermite coefficients, duals, and everything that follows from them.

The catalogue is a set of values (``relu``, ``tanh``, ...) and factories (``leaky_relu``,
``elu``, ``hermite``, ``normrelu``); `from_function` takes any other function.
"""

from theory.activations.affine import Affine as Affine
from theory.activations.base import Activation as Activation
from theory.activations.base import pair as pair
from theory.activations.catalogue import CATALOGUE as CATALOGUE
from theory.activations.catalogue import absolute as absolute
from theory.activations.catalogue import arctan as arctan
from theory.activations.catalogue import asinh as asinh
from theory.activations.catalogue import cos as cos
from theory.activations.catalogue import elu as elu
from theory.activations.catalogue import erf as erf
from theory.activations.catalogue import exp as exp
from theory.activations.catalogue import gaussian_bump as gaussian_bump
from theory.activations.catalogue import gelu as gelu
from theory.activations.catalogue import hard_tanh as hard_tanh
from theory.activations.catalogue import hermite as hermite
from theory.activations.catalogue import identity as identity
from theory.activations.catalogue import leaky_relu as leaky_relu
from theory.activations.catalogue import mish as mish
from theory.activations.catalogue import relu as relu
from theory.activations.catalogue import relu_squared as relu_squared
from theory.activations.catalogue import selu as selu
from theory.activations.catalogue import sigmoid as sigmoid
from theory.activations.catalogue import sign as sign
from theory.activations.catalogue import silu as silu
from theory.activations.catalogue import sin as sin
from theory.activations.catalogue import softplus as softplus
from theory.activations.catalogue import softsign as softsign
from theory.activations.catalogue import step as step
from theory.activations.catalogue import tanh as tanh
from theory.activations.custom import from_function as from_function
from theory.activations.normrelu import NormReLUConstants as NormReLUConstants
from theory.activations.normrelu import normrelu as normrelu
from theory.activations.normrelu import normrelu_constants as normrelu_constants
from theory.activations.piecewise import PiecewisePolynomial as PiecewisePolynomial
from theory.activations.smooth import HermiteMixture as HermiteMixture
from theory.activations.smooth import Smooth as Smooth

abs = abs_ = absolute  # the field's name; `act.abs` shadows nothing here
