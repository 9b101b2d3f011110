"""The ledger's tests end with what they found, however many processes ran them."""

import re
from pathlib import Path
from typing import Any

import pytest

_CLAIM = re.compile(r"test_claims\.py::test_claim(?:_on_larger_networks)?\[(.+)\]$")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Write the counts of the claims that were tried, from the records they left."""
    reports: list[Any] = [
        report
        for kind in ("passed", "failed", "error")
        for report in terminalreporter.stats.get(kind, ())
    ]
    found = (_CLAIM.search(getattr(report, "nodeid", "")) for report in reports)
    tried = {match[1] for match in found if match}
    if not tried:
        return
    # Loaded here: every run of pytest in this folder reads this file.
    from verify import ledger, paths
    from verify.claim import Profile
    from verify.report import build
    from verify.report.closing import closing

    entries = ledger.entries()
    testable = {e.claim.id for e in entries if e.claim.cases or e.claim.larger_cases}
    if not testable <= tried:
        entries = [entry for entry in entries if entry.claim.id in tried]
    folder = paths.folder_of(Profile.QUICK, Path(config.rootpath) / "results")
    terminalreporter.section("the ledger")
    width = min(terminalreporter._tw.fullwidth, 100)
    terminalreporter.write(closing(build(entries, folder), width=width))
