"""Examples without the empty line at their end, which doctest needs and readers do not."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def _trim(_app: Sphinx, document: nodes.document) -> None:
    for block in document.findall(nodes.literal_block):
        text = block.astext()
        # What was parsed, not quoted, is no example.
        if text != block.rawsource or not text.startswith(">>> "):
            continue
        block.rawsource = text.rstrip("\n")
        block[:] = [nodes.Text(block.rawsource)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Trim examples as pages are read."""
    app.connect("doctree-read", _trim)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
