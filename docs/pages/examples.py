"""Examples without the empty line at their end, which doctest needs and readers do not."""

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def examples(document: nodes.document) -> Iterator[nodes.literal_block]:
    """Yield the examples of a page, in order."""
    for block in document.findall(nodes.literal_block):
        text = block.astext()
        # What was parsed, not quoted, is no example.
        if text == block.rawsource and text.startswith(">>> "):
            yield block


def _trim(_app: Sphinx, document: nodes.document) -> None:
    for block in examples(document):
        block.rawsource = block.astext().rstrip("\n")
        block[:] = [nodes.Text(block.rawsource)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Trim examples as pages are read."""
    app.connect("doctree-read", _trim)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
