"""Measurements for deep conditioning: condition numbers, lengths, correlations.

Pure functions of inputs, activations (any entrywise callable on tensors), sizes and a
generator. `EXPERIMENTS` wraps them for ``python -m empirical.conditioning``.
"""

from typing import TYPE_CHECKING

from empirical._lazily import names_of

if TYPE_CHECKING:
    from empirical.conditioning.activations import NAMES as NAMES
    from empirical.conditioning.activations import named as named
    from empirical.conditioning.activations import shifted_relu as shifted_relu
    from empirical.conditioning.activations import standardised as standardised
    from empirical.conditioning.chains import gram_chain as gram_chain
    from empirical.conditioning.chains import layer_statistics as layer_statistics
    from empirical.conditioning.chains import pair_chains as pair_chains
    from empirical.conditioning.experiments import EXPERIMENTS as EXPERIMENTS
    from empirical.conditioning.experiments import inputs as inputs
    from empirical.conditioning.interpolation import DigitProblem as DigitProblem
    from empirical.conditioning.interpolation import accuracy as accuracy
    from empirical.conditioning.interpolation import digit_problem as digit_problem
    from empirical.conditioning.interpolation import minimum_norm as minimum_norm
    from empirical.conditioning.interpolation import (
        with_label_noise as with_label_noise,
    )
    from empirical.conditioning.spectra import condition_by_depth as condition_by_depth
    from empirical.conditioning.spectra import normalised as normalised
    from empirical.conditioning.spectra import spectrum as spectrum
    from empirical.conditioning.widths import WidthCurves as WidthCurves
    from empirical.conditioning.widths import error_slope as error_slope
    from empirical.conditioning.widths import kernels_by_width as kernels_by_width

__getattr__ = names_of(__name__)
