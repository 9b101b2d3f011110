"""How a prediction is judged against a measurement.

Every comparison is tri-state. *Holds* says that a wrong prediction would have been
noticed, *refuted* that this one is wrong, *undecided* that the measurement cannot
tell. Each verdict carries the gap that was seen and the smallest error that would
have been caught (`Verdict.resolves`).
"""

from verify.compare.contrast import EffectWithin as EffectWithin
from verify.compare.exact import AgreesTo as AgreesTo
from verify.compare.exact import AtLeast as AtLeast
from verify.compare.exact import AtMost as AtMost
from verify.compare.exact import CertifiedAtLeast as CertifiedAtLeast
from verify.compare.exact import CertifiedAtMost as CertifiedAtMost
from verify.compare.exact import Enclosed as Enclosed
from verify.compare.exact import Identical as Identical
from verify.compare.outcomes import FALSE_ALARM_BUDGET as FALSE_ALARM_BUDGET
from verify.compare.outcomes import Array as Array
from verify.compare.outcomes import Contrast as Contrast
from verify.compare.outcomes import Enclosure as Enclosure
from verify.compare.outcomes import Estimate as Estimate
from verify.compare.outcomes import Outcome as Outcome
from verify.compare.outcomes import Verdict as Verdict
from verify.compare.outcomes import flatten as flatten
from verify.compare.outcomes import small as small
from verify.compare.statistical import MeanAtLeast as MeanAtLeast
from verify.compare.statistical import MeanAtMost as MeanAtMost
from verify.compare.statistical import MeanEquals as MeanEquals
from verify.compare.statistical import MeanTest as MeanTest
from verify.compare.statistical import RarelyAbove as RarelyAbove
from verify.compare.statistical import SlopeEquals as SlopeEquals

Certifying = CertifiedAtLeast | CertifiedAtMost | Enclosed
"""A comparison with what is proved."""

Comparison = (
    Certifying
    | Identical
    | AgreesTo
    | AtLeast
    | AtMost
    | MeanAtLeast
    | MeanAtMost
    | MeanEquals
    | RarelyAbove
    | EffectWithin
)
"""Judges one prediction against one measurement of the same case.

Its `judge` returns the verdict, its `criterion` says in words which measurement refutes
a prediction.
"""
