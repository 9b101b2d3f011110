"""A Sphinx extension: formulas as MathML, made when the site is built.

Pages need no script and no other host to show them. The converter is the report's.
"""

from typing import Any
from xml.etree import ElementTree as ET

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

from verify.report.mathml import tree

logger = logging.getLogger(__name__)


def markup(latex: str, *, display: str) -> str:
    r"""Return LaTeX as a MathML element, ``block`` or ``inline``.

    Raises
    ------
    Exception
        Of the converter's many kinds, if the formula is malformed or unknown to it.

    Examples
    --------
    >>> "<mi>ρ</mi>" in markup(r"\rho", display="inline")
    True
    """
    if r"\\" in latex and r"\begin{" not in latex:
        latex = rf"\begin{{split}}{latex}\end{{split}}"
    element = tree(latex)
    element.set("display", display)
    return ET.tostring(element, encoding="unicode")


def _rendered(node: nodes.Node, display: str) -> str:
    latex = node.astext().strip()
    try:
        return markup(latex, display=display)
    except Exception as error:  # of many kinds, none of them ours
        logger.warning("formula: %s: %s", error, latex, location=node)
        return "<code></code>"


def _inline(self: Any, node: nodes.math) -> None:
    self.body.append(_rendered(node, "inline"))
    raise nodes.SkipNode


def _block(self: Any, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="formula"))
    for part in filter(str.strip, node.astext().split("\n\n")):
        self.body.append(_rendered(nodes.Text(part), "block"))
    if node["number"]:
        number = get_node_equation_number(self, node)
        self.body.append(f'<span class="eqno">({number})</span>')
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the renderer, ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
