"""The ledger's tests end with what they found, however many processes ran them."""

import re
from typing import Any

import pytest

_CLAIM = re.compile(r"test_claims\.py::test_claim(?:_on_larger_networks)?\[(.+)\]$")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write the counts of the claims that were tried, from what their tests told."""
    tried: dict[str, dict[str, Any]] = {}
    for kind in ("passed", "failed", "error"):
        for report in terminalreporter.stats.get(kind, ()):
            if match := _CLAIM.search(getattr(report, "nodeid", "")):
                tried[match[1]] = dict(report.user_properties).get("told", {})
    if not tried:
        return
    # Loaded here: every run of pytest in this folder reads this file.
    from verify.index import listed
    from verify.report.closing import closing
    from verify.report.rows import NOT_RUN, Told
    from verify.selecting import order

    unchecked = {each.id for each in listed() if each.remark == "open"}
    whole = {each.id for each in listed()} <= {*tried, *unchecked}
    rows: list[Told] = []
    for name in sorted({*tried, *(unchecked if whole else ())}, key=order):
        if found := tried.get(name):
            rows.append(Told(**found))
            continue
        # Of a test that came to no record, and of a claim without cases.
        said, kind = (NOT_RUN, "pending") if name in tried else ("open", "open")
        rows.append(Told(id=name, title="", outcome=said, kind=kind, verdict=said))
    terminalreporter.section("the ledger")
    width = min(terminalreporter._tw.fullwidth, 100)
    terminalreporter.write(closing(rows, width=width))
