"""Small pieces of markup that templates use: dressed text, rendered formulas."""

import re
from collections.abc import Mapping
from functools import cache
from html import escape
from html.entities import html5
from typing import Any, cast
from xml.etree import ElementTree as ET

from markupsafe import Markup

from verify.items import papers
from verify.report.mathml import tree

_LETTERS = (
    "alpha beta gamma delta epsilon kappa lambda mu nu pi rho sigma tau theta eta"
)
_GREEK = {name: html5[f"{name};"] for name in _LETTERS.split()}
_LETTER = re.compile(rf"(?<![A-Za-z0-9.-])({'|'.join(_GREEK)})(?![A-Za-z0-9-])")
_CODE = re.compile(
    rf"(`[^`]+`|\b(?:{'|'.join(p.prefix for p in papers())})/\w+(?:[.-]\w+)*)"
)
_SYMBOLS = (("&gt;=", "≥"), ("&lt;=", "≤"), ("sqrt(", "√("), (" - ", " − "))


def text(value: str) -> Markup:
    """Escape a text, set ids and what stands in backticks as code, dress its maths.

    >>> print(text("a < `b`"))
    a &lt; <code>b</code>
    >>> print(text("mu >= 1/2 and a_2 = 0"))
    μ ≥ 1/2 and a<sub>2</sub> = 0
    >>> print(text("from -0.5 to 1e-5 and e^-450 in 3-4 steps"))
    from −0.5 to 1e-5 and e<sup>−450</sup> in 3-4 steps
    """
    parts = _CODE.split(escape(value, quote=False))
    dressed = [_dress(part) for part in parts[::2]]
    codes = [*(f"<code>{part.strip('`')}</code>" for part in parts[1::2]), ""]
    return Markup("".join(a + b for a, b in zip(dressed, codes, strict=True)))


def _dress(words: str) -> str:
    """Write plain-text maths with its letters and signs."""
    words = _LETTER.sub(lambda found: _GREEK[found[1]], words)
    for plain, sign in _SYMBOLS:
        words = words.replace(plain, sign)
    below = r"\b([A-Za-zα-ω])_(?:\{([^}]*)\}|(\w+))"
    words = re.sub(below, r"\1<sub>\2\3</sub>", words)
    words = re.sub(r"\^\{([^}]*)\}|\^(-?[\w/]+)", r"<sup>\1\2</sup>", words)
    # A minus is no hyphen, in front of a number.
    return re.sub(
        r"<sup>-|(?<![\w.)-])-(?=\d)", lambda m: m[0].replace("-", "−"), words
    )


_THIN = re.compile(
    r'(<mo>[^<]</mo>)<mspace width="0\.(?:167|278)em"/>'
    r'|<mspace width="0\.(?:167|278)em"/>(<mo>[^<]</mo>)'
)


_UPRIGHT = re.compile(r'<mi mathvariant="normal">([A-Za-z])</mi>')
_UPRIGHTS = re.compile(rf"(?:{_UPRIGHT.pattern}){{2,}}")
_SMALL = re.compile(
    r'<mstyle displaystyle="false" scriptlevel="0"><mfrac>'
    r"((?:(?!</?mstyle|</mfrac>).)*)</mfrac></mstyle>"
)


@cache
def formula(latex: str) -> Markup:
    r"""Return LaTeX as a MathML block; what cannot be rendered is shown as an error.

    >>> "<mi>ρ</mi>" in formula(r"\rho")
    True
    >>> "formula-error" in formula(r"\href{javascript:alert(1)}{x}")
    True
    """
    try:
        element = tree(latex)
        # The statement is in the ledger; on a page of hundreds it would weigh.
        del element.attrib["alttext"], element.attrib["display"]
        rendered = ET.tostring(element, encoding="unicode").replace(" />", "/>")
        # The same to the eye: brackets that keep their size.
        rendered = re.sub(
            r'<mo stretchy="false">([()[\]{}|‖])</mo>', r"<mi>\1</mi>", rendered
        )
        # A relation has space around it, words are upright, fractions know their size.
        rendered = _THIN.sub(lambda m: m[1] or m[2], rendered)
        rendered = _UPRIGHTS.sub(
            lambda m: "<mi>" + _UPRIGHT.sub(r"\1", m[0]) + "</mi>", rendered
        )
        rendered = _SMALL.sub(r'<mfrac displaystyle="false">\1</mfrac>', rendered)
    except Exception as error:  # the converter raises many kinds, and none is ours
        return Markup(
            '<p class="formula-error"><strong>This formula cannot be rendered</strong>'
            " ({}: {})<br><code>{}</code></p>"
        ).format(type(error).__name__, error, latex)
    return Markup(f'<div class="formula">{rendered}</div>')


def anchor(claim_id: str) -> str:
    """Return the id of a claim's section.

    >>> anchor("dc/thm3.2")
    'dc-thm3.2'
    """
    return claim_id.replace("/", "-")


def arguments(case: Mapping[str, Any]) -> str:
    """Return the arguments of a case as text, long lists shortened.

    >>> arguments({"rho": 0.5, "depths": [1, 2, 4, 8, 16, 32, 64, 128]})
    'rho = 0.5, depths = [1, 2, 4, …, 128]'
    >>> arguments({"activation": {"a": [0.0, 0.9746794344808963]}, "fault": ""})
    'activation = (a = [0, 0.974679]), fault = none'
    """
    return ", ".join(f"{key} = {_argument(value)}" for key, value in case.items())


def _argument(value: Any) -> str:
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value).items()
        return f"({', '.join(f'{key} = {_argument(each)}' for key, each in items)})"
    if isinstance(value, list):
        items = cast("list[Any]", value)
        shown = [_argument(item) for item in items]
        if len(shown) > 6:
            shown = [*shown[:3], "…", shown[-1]]
        return f"[{', '.join(shown)}]"
    if isinstance(value, float):
        return f"{value:.6g}".replace("-", "−")
    words = "none" if value is None or value == "" else str(value)
    return words if len(words) <= 60 else words[:59] + "…"
