"""A Sphinx extension: names of claims in documents lead to the claims' pages."""

from functools import cache
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from verify import ledger
from verify.report.html.markup import anchor


@cache
def _titles() -> dict[str, str]:
    return {claim.id: claim.title for claim in ledger.load()}


def _link(app: Sphinx, document: nodes.document, page: str) -> None:
    for literal in list(document.findall(nodes.literal)):
        name = literal.astext()
        # A heading stands in the navigation as well, and links do not nest.
        outer = (nodes.title, nodes.reference)
        if name not in _titles() or isinstance(literal.parent, outer):
            continue
        place = app.builder.get_relative_uri(page, f"claims/{anchor(name)}")
        link = nodes.reference("", "", refuri=place, internal=True)
        link["reftitle"] = _titles()[name]
        literal.replace_self(link)
        link += literal


def setup(app: Sphinx) -> dict[str, Any]:
    """Link claims once other references are."""
    app.connect("doctree-resolved", _link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
