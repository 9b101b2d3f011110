"""Measurements for deep conditioning: condition numbers, lengths, correlations.

Pure functions of inputs, activations (any entrywise callable on tensors), sizes and a
generator. `EXPERIMENTS` wraps them for ``python -m empirical.conditioning``, which runs
one experiment or the resumable batch.
"""

from typing import TYPE_CHECKING

from empirical._lazily import names_of

if TYPE_CHECKING:
    from empirical.conditioning.activations import (
        NAMES,
        Standardised,
        gaussian_mean,
        named,
        shifted_relu,
        standardised,
    )
    from empirical.conditioning.chains import (
        LayerStatistics,
        PairChains,
        gram_chain,
        layer_statistics,
        pair_chains,
    )
    from empirical.conditioning.experiments import EXPERIMENTS, inputs
    from empirical.conditioning.grid import Configuration, configurations
    from empirical.conditioning.interpolation import (
        DigitProblem,
        Interpolation,
        accuracy,
        digit_problem,
        minimum_norm,
        with_label_noise,
    )
    from empirical.conditioning.spectra import (
        DepthCurves,
        Spectrum,
        condition_by_depth,
        normalised,
        spectrum,
    )
    from empirical.conditioning.study import run_configuration
    from empirical.conditioning.widths import (
        Slope,
        WidthCurves,
        error_slope,
        kernels_by_width,
    )

__all__ = [
    "EXPERIMENTS",
    "NAMES",
    "Configuration",
    "DepthCurves",
    "DigitProblem",
    "Interpolation",
    "LayerStatistics",
    "PairChains",
    "Slope",
    "Spectrum",
    "Standardised",
    "WidthCurves",
    "accuracy",
    "condition_by_depth",
    "configurations",
    "digit_problem",
    "error_slope",
    "gaussian_mean",
    "gram_chain",
    "inputs",
    "kernels_by_width",
    "layer_statistics",
    "minimum_norm",
    "named",
    "normalised",
    "pair_chains",
    "run_configuration",
    "shifted_relu",
    "spectrum",
    "standardised",
    "with_label_noise",
]

__getattr__ = names_of(
    __name__,
    *("activations", "chains", "experiments", "interpolation", "spectra", "study"),
    "widths",
)
