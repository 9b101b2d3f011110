"""What a claim is: one value that says what is predicted, measured and refutable.

A claim joins a statement of a paper to three named functions: ``predict`` (closed
form, from `theory`), ``measure`` (from `empirical` or `verify.integrals`, never from
`theory`) and a control, a prediction known to be wrong (or, for a statement that is
false, one known to be right). Nothing here runs anything: `verify.run`
does.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import partial
from itertools import product
from types import ModuleType
from typing import TYPE_CHECKING, Any, get_args

from empirical.testbed import faults
from verify import items
from verify.compare import Certifying, Comparison, Identical, Outcome
from verify.reading import Reading

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Case = Mapping[str, Any]
"""Keyword arguments of one evaluation; every value is JSON (numbers, text, lists)."""


class Evidence(Enum):
    """How a claim is known, strongest first.

    A weaker kind is never worded as a stronger one: the text of each member is what
    the report prints.
    """

    SYMBOLIC = "symbolic proof"
    CERTIFICATE = "interval certificate"
    NUMERIC = "high-precision numeric"
    SEARCH = "adversarial search"
    STATISTICAL = "statistical test"
    TREND = "training trend"

    @property
    def plural(self) -> str:
        """Several of them."""
        return f"{self.value}{'es' if self.value.endswith('h') else 's'}"

    @property
    def meaning(self) -> str:
        """What "holds" means for this kind of evidence, in one sentence."""
        return {
            Evidence.SYMBOLIC: "the difference reduces to zero under the assumptions",
            Evidence.CERTIFICATE: "true at every real point of the stated boxes",
            Evidence.NUMERIC: "no difference at the listed points, beyond what is allowed",
            Evidence.SEARCH: "no counterexample among the sharp and searched cases",
            Evidence.STATISTICAL: "an error of the stated size would have been seen",
            Evidence.TREND: "the effect exceeds what independent networks differ by",
        }[self]


class NotLearnt(ValueError):
    """Networks have not learnt what a claim presupposes: it is undecided by them."""


class Profile(StrEnum):
    """Scale of the cases: `quick` on every verification, the others by hand.

    `certify` is for certificates alone: boxes that are wider or finer than in `quick`.
    """

    QUICK = "quick"
    CERTIFY = "certify"
    FULL = "full"
    GPU = "gpu"


@dataclass(frozen=True)
class Source:
    """Where a statement comes from.

    Parameters
    ----------
    key : str
        Of ``references.bib``.
    where : str
        The place in it.
    reading : Reading, optional
        How its words are known; by default as the paper's are (`verify.items.Paper`).
    """

    key: str
    where: str
    reading: Reading | None = None


def grid(**axes: Any) -> tuple[Case, ...]:
    """All combinations of the given axes, the last one fastest.

    What is no collection, or is text or a mapping, is the same in every case.

    >>> grid(rho=(0.0, 1.0), depth=2)
    ({'rho': 0.0, 'depth': 2}, {'rho': 1.0, 'depth': 2})
    """
    names = tuple(axes)
    return tuple(
        dict(zip(names, values, strict=True))
        for values in product(*map(_axis, axes.values()))
    )


def _axis(values: Any) -> Iterable[Any]:
    several = isinstance(values, Iterable) and not isinstance(values, str | Mapping)
    return values if several else (values,)


_ID = re.compile(r"[a-z]+/[A-Za-z0-9.]+(-[A-Za-z0-9.]+)*")


def declared(module: ModuleType) -> tuple["Claim", ...]:
    """Return the claims that a module declares, by a name or in a tuple, in its order.

    Raises
    ------
    ValueError
        If it declares none.
    """
    found: list[Claim] = []
    for value in vars(module).values():
        each = value if isinstance(value, tuple) else (value,)
        found += [c for c in each if isinstance(c, Claim) and c not in found]
    if not found:
        raise ValueError(f"{module.__name__} must declare a Claim at its top level")
    return tuple(found)


@dataclass(frozen=True)
class Mistake:
    """A control that a claim makes of its own prediction.

    Attributes
    ----------
    of : callable
        From a prediction to the wrong one, which says in words what is wrong with it.
    """

    of: Callable[[Callable[..., Any]], Callable[..., Any]]


MOST = {
    "relative": 0.5,
    "level": 0.05,
    "false_fail": 1e-3,
    "false_pass": 0.05,
    "radius": 0.5,
    "absolute": 1.0,
    "rounding": 1.0,
}
"""What a comparison may allow at most: of a relative error of 1, zero is equal to all.

What is allowed in units of what is measured is for errors of both sides: a unit, a step
that is counted say, is the most. Rounding of a mean stays below the error to be seen.
"""

DECIDED_BY = {
    Evidence.SYMBOLIC: (Identical,),
    Evidence.CERTIFICATE: get_args(Certifying),
}
"""The comparisons of proofs. Numbers that agree within a tolerance prove nothing."""

FAULTS = ("false as printed", "false as read", "false, as expected", "not reproduced")
"""What is said of a refuted statement: quoted, restored, ours; and of a trend."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One statement of a paper and everything needed to try to refute it.

    Parameters
    ----------
    id : str
        Permanent, ``<paper>/<item>[-<what>]``, e.g. ``dc/thm3.2``.
    items : tuple of str
        The items of the paper's specification this claim covers, where they are not just
        the one that its id names, e.g. ``("Thm3.2", "Cor3.3")``.
    title, statement : str
        One line in words; the formula in LaTeX, without dollar signs.
    source : Source
        The paper and the place in it.
    evidence : Evidence
        The kind of evidence `measure` gives: the strongest that fits.
    cases : tuple of mapping
        Evaluations of the quick profile; sharp and degenerate points belong here. A
        claim on training that takes more has none, and is shown by its published record.
    larger_cases : mapping
        Cases of the other profiles, where they differ.
    predict, measure : callable
        ``predict(**case)`` and ``measure(**case)``: named functions that share no code.
    compare : Comparison
        Judges a prediction against a measurement.
    must_refute : callable, optional
        ``must_refute(**case)``, a wrong prediction that has to be refuted in at least
        one of the cases on every run, where the claim itself says something: see
        `verify.judging`. Required when the claim is expected to hold. A `Mistake` makes
        it of `predict`.
    must_hold : callable, optional
        For a statement that is false: the corrected prediction, which has to
        hold in every case in which the printed one is refuted.
    examples : callable, optional
        Returns a hypothesis strategy of further cases (for "for all" statements); a
        search has one.
    max_examples : int
        How many of them are drawn.
    expected : Outcome
        ``HOLDS``, or ``REFUTED`` for a statement that is false: see `fault`.
    loose : bool
        Whether this bound lies nowhere within a factor 2 of what it bounds, in any case;
        the finding says why. A bound that does so undeclared is not as expected.
    assumptions : tuple of str
        Sufficient and explicit.
    uses : tuple of str
        Ids of the claims this one rests on, directly: what its statement is derived
        from, defined by or measured with. A special case or a variant names the general
        or plain statement, a false one the right one.
    finding : str
        What was learnt, in words; shown with the claim. On training it has no measured
        numbers: the card reads them from records, at every scale.
    runs : callable, optional
        ``runs(**case)``, the trained networks that a case looks at; no others are to be
        had. They are trained before the claim is run, once for all that look at them.
    withstands : mapping
        Faults of training (`empirical.testbed.faults.FAULTS`) that the statement is not
        about, each with why: under all others it must not hold; see `verify.calibrate`.
    reads : tuple of str
        Files of data, by their path in the project, that its functions read: a record is
        stale when one of them changes.
    figure : str
        Name of a function of `verify.figures` that draws this claim's record.
    open_reason : str
        Why the statement cannot be checked yet; such a claim has no functions.
    version : int
        Raised when the meaning changes: older records become stale.

    Raises
    ------
    ValueError
        If the id is malformed, a control is missing, one function is prediction and
        measurement, a case is listed twice, `larger_cases` names no larger profile, an
        open claim has functions, a search draws no examples or a single one, or the
        comparison is none for its evidence (`DECIDED_BY`) or allows more than `MOST`.
    """

    id: str
    items: tuple[str, ...] = ()
    title: str
    statement: str
    source: Source
    evidence: Evidence
    cases: tuple[Case, ...] = ()
    predict: Callable[..., Any] | None = None
    measure: Callable[..., Any] | None = None
    compare: Comparison | None = None
    must_refute: Callable[..., Any] | None = None
    must_hold: Callable[..., Any] | None = None
    examples: "Callable[[], SearchStrategy[Case]] | None" = None
    max_examples: int = 200
    larger_cases: Mapping[str, tuple[Case, ...]] = field(default_factory=dict)
    expected: Outcome = Outcome.HOLDS
    loose: bool = False
    assumptions: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    finding: str = ""
    runs: Callable[..., Iterable[Any]] | None = None
    withstands: Mapping[str, str] = field(default_factory=dict[str, str])
    reads: tuple[str, ...] = ()
    figure: str = ""
    open_reason: str = ""
    version: int = 1

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise ValueError(f"Claim: `id` must look like paper/item, got {self.id!r}")
        # What gives its cases but once, or others each time, is asked now, and no more.
        larger = {name: tuple(cases) for name, cases in self.larger_cases.items()}
        object.__setattr__(self, "cases", tuple(self.cases))
        object.__setattr__(self, "larger_cases", larger)
        if not self.items:
            object.__setattr__(self, "items", items.named(self.id))
        if self.expected not in (Outcome.HOLDS, Outcome.REFUTED):
            raise ValueError(f"{self.id}: `expected` must be holds or refuted")
        if self.loose and not self.finding:
            raise ValueError(
                f"{self.id}: a `loose` bound needs a finding that says why"
            )
        if self.withstands and self.runs is None:
            raise ValueError(f"{self.id}: `withstands` is for claims with `runs`")
        if unknown := set(self.withstands) - set(faults.FAULTS):
            raise ValueError(
                f"{self.id}: `withstands` must name faults of training, one of"
                f" {', '.join(faults.FAULTS)}, but it names {', '.join(sorted(unknown))}"
            )
        parts = (self.predict, self.measure, self.compare)
        if self.open_reason:
            if self.cases or any(part is not None for part in parts):
                raise ValueError(f"{self.id}: an open claim has no cases or functions")
            return
        for name in ("must_refute", "must_hold"):
            if isinstance(mistake := getattr(self, name), Mistake) and self.predict:
                object.__setattr__(self, name, mistake.of(self.predict))
        if self.predict is not None and self.predict is self.measure:
            raise ValueError(f"{self.id}: `measure` must share no code with `predict`")
        # One of its own could call anything equal.
        kinds = DECIDED_BY.get(self.evidence, get_args(Comparison))
        if self.compare is not None and type(self.compare) not in kinds:
            raise ValueError(
                f"{self.id}: `compare` of a {self.evidence.value} must be one of"
                f" {', '.join(kind.__name__ for kind in kinds)}, got"
                f" {type(self.compare).__name__}"
            )
        for name, most in MOST.items():
            if name == "rounding":
                most = getattr(self.compare, "discrepancy", most)
            if not 0.0 <= (given := getattr(self.compare, name, 0.0)) <= most:
                raise ValueError(
                    f"{self.id}: its comparison's `{name}` must be from 0 to {most}, or"
                    f" it decides nothing, but it is {given}"
                )
        if self.max_examples < 2:
            raise ValueError(
                f"{self.id}: `max_examples` must be at least 2, got {self.max_examples}"
            )
        if self.evidence is Evidence.SEARCH and self.examples is None:
            raise ValueError(
                f"{self.id}: an adversarial search needs `examples` to draw; bounds at"
                " listed cases alone are numeric"
            )
        self._check_cases()
        larger = self.runs is not None and any(self.larger_cases.values())
        if not (self.cases or larger) or any(part is None for part in parts):
            raise ValueError(
                f"{self.id}: `cases`, `predict`, `measure` and `compare` are required;"
                " enter what cannot be checked yet with an `open_reason`"
            )
        control = self.must_refute if self.expected is Outcome.HOLDS else self.must_hold
        if control is None:
            raise ValueError(
                f"{self.id}: a claim expected to hold needs `must_refute`, one expected"
                " to be refuted needs `must_hold`"
            )

    def _check_cases(self) -> None:
        other = set(self.larger_cases) - (set(Profile) - {Profile.QUICK})
        if other:
            raise ValueError(
                f"{self.id}: `larger_cases` must name profiles other than quick, got"
                f" {', '.join(sorted(other))}"
            )
        for profile, cases in (("quick", self.cases), *self.larger_cases.items()):
            counted = Counter(repr(sorted(case.items())) for case in cases)
            twice = [case for case, count in counted.items() if count > 1]
            if twice:
                raise ValueError(
                    f"{self.id}: each case must be listed once, but {len(twice)} of"
                    f" {profile} are not, e.g. {twice[0]}"
                )

    @property
    def paper(self) -> str:
        """The paper's prefix, e.g. ``dc``."""
        return self.id.partition("/")[0]

    @property
    def reading(self) -> Reading:
        """How the words of the statement are known."""
        return self.source.reading or items.reading(self.paper, self.source.key)

    @property
    def fault(self) -> str:
        """What is said of the statement once it is refuted as expected."""
        printed, read, other, trend = FAULTS
        if self.evidence is Evidence.TREND:
            return trend
        return {Reading.QUOTED: printed, Reading.OURS: other}.get(self.reading, read)

    @property
    def engine(self) -> tuple[str, ...]:
        """Modules that its record depends on beside its own: what draws a search."""
        return () if self.examples is None else ("verify.search",)

    def cases_for(self, profile: Profile) -> tuple[Case, ...]:
        """Cases of a profile: its own where given, else those of `quick`."""
        return self.larger_cases.get(profile.value, self.cases)

    def runs_for(self, profile: Profile) -> tuple[Any, ...]:
        """Return the runs that the cases of a profile look at, each once."""
        if self.runs is None:
            return ()
        cases = self.cases_for(profile)
        return tuple(dict.fromkeys(run for case in cases for run in self.runs(**case)))


# A claim of each kind of evidence.
symbolic = partial(Claim, evidence=Evidence.SYMBOLIC)
certified = partial(Claim, evidence=Evidence.CERTIFICATE)
numeric = partial(Claim, evidence=Evidence.NUMERIC)
adversarial = partial(Claim, evidence=Evidence.SEARCH)
statistical = partial(Claim, evidence=Evidence.STATISTICAL)
trend = partial(Claim, evidence=Evidence.TREND)
