"""How a prediction is judged against a measurement.

Every comparison is tri-state. *Holds* says that a wrong prediction would have been
noticed, *refuted* that this one is wrong, *undecided* that the measurement cannot
tell. Each verdict carries the gap that was seen and the smallest error that would
have been caught (`Verdict.resolves`).
"""

from verify.compare.contrast import EffectWithin
from verify.compare.exact import (
    AgreesTo,
    AtLeast,
    AtMost,
    CertifiedAtLeast,
    CertifiedAtMost,
    Enclosed,
    Identical,
)
from verify.compare.outcomes import (
    FALSE_ALARM_BUDGET,
    Array,
    Comparison,
    Contrast,
    Enclosure,
    Estimate,
    Outcome,
    Verdict,
    flatten,
    small,
)
from verify.compare.statistical import (
    MeanAtMost,
    MeanEquals,
    RarelyAbove,
    SlopeEquals,
)

__all__ = [
    "FALSE_ALARM_BUDGET",
    "AgreesTo",
    "Array",
    "AtLeast",
    "AtMost",
    "CertifiedAtLeast",
    "CertifiedAtMost",
    "Comparison",
    "Contrast",
    "EffectWithin",
    "Enclosed",
    "Enclosure",
    "Estimate",
    "Identical",
    "MeanAtMost",
    "MeanEquals",
    "Outcome",
    "RarelyAbove",
    "SlopeEquals",
    "Verdict",
    "flatten",
    "small",
]
