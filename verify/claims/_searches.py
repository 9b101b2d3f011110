"""Cases that a search for counterexamples draws."""

from collections.abc import Callable

from hypothesis import strategies as st

from verify.claim import Case

Cases = Callable[[], st.SearchStrategy[Case]]
Condition = Callable[[Case], bool]

SIGNS = st.sampled_from((1, -1))
SEEDS = st.integers(0, 10_000)


def searched(*conditions: Condition, **arguments: st.SearchStrategy[object]) -> Cases:
    """Return a claim's `examples`: every argument drawn by itself, if all agree to it."""
    cases = st.fixed_dictionaries(arguments)
    for agrees in conditions:
        cases = cases.filter(agrees)
    return lambda: cases
