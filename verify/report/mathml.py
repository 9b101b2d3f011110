"""LaTeX as MathML that is nothing but presentation."""

import re
from xml.etree import ElementTree as ET

_MATHML = "{http://www.w3.org/1998/Math/MathML}"
_ELEMENTS = re.compile(
    "math|m(row|i|n|o|text|s|space|sub|sup|subsup|frac|sqrt|root|under|over|underover"
    "|table|tr|td|padded|phantom|style)"
)
_ATTRIBUTES = re.compile(
    "display|displaystyle|scriptlevel|mathvariant|linethickness|form|fence|separator"
    "|stretchy|symmetric|largeop|movablelimits|accent|accentunder|[lr]space"
    "|(min|max)size|width|height|depth|(column|row)(align|lines|spacing)"
)


def tree(latex: str) -> ET.Element:
    """Return LaTeX as a MathML element that can be shown and do nothing else.

    Raises
    ------
    ValueError
        If it has a command that is unknown, or anything that is not presentation.
    Exception
        Of the converter's many kinds, if the formula is malformed.
    """
    from latex2mathml.converter import convert

    # Primes one by one would each be set as a superscript of the former.
    grouped = re.sub(r"'{2,}", lambda m: "^{" + r"\prime" * len(m[0]) + "}", latex)
    # It does not know every name, nor a bracket behind a size.
    grouped = re.sub(r"\\arg(?![A-Za-z])", r"\\operatorname{arg}", grouped)
    rendered = str(convert(grouped, display="block"))
    rendered = rendered.replace(r">\langle<", ">⟨<").replace(r">\rangle<", ">⟩<")
    # Behind a size it leaves the backslash of a bracket too.
    for bracket, shown in (("|", "‖"), ("{", "{"), ("}", "}")):
        rendered = rendered.replace(rf">\{bracket}<", f">{shown}<")
    # It passes on a command that it does not know as the name of a variable.
    unknown = re.search(r"\\[A-Za-z]+", rendered)
    if unknown:
        raise ValueError(f"unknown command {unknown[0]}")
    found = ET.fromstring(rendered)
    for element in found.iter():
        _check_inert(element)
        element.tag = element.tag.removeprefix(_MATHML)
        # Says nothing of how it looks.
        element.attrib.pop("fence", None)
    _without_bare_rows(found)
    found.set("alttext", latex)
    return found


_ROWS = {"math", "mstyle", "msqrt", "mtd", "mpadded", "mphantom"}
"""Elements that are a row already."""


def _without_bare_rows(element: ET.Element) -> None:
    """Dissolve rows of one thing, and rows that are all that a row has."""
    for k, child in enumerate(element):
        _without_bare_rows(child)
        if child.tag == "mrow" and len(child) == 1 and not child.attrib:
            element[k] = child[0]
    if element.tag in _ROWS and [child.tag for child in element] == ["mrow"]:
        element[:] = list(element[0])


def _check_inert(element: ET.Element) -> None:
    """Refuse what is not presentation, before it can act in a page."""
    name = element.tag.removeprefix(_MATHML)
    foreign = [] if _ELEMENTS.fullmatch(name) else [f"<{name}>"]
    foreign += [key for key in element.attrib if not _ATTRIBUTES.fullmatch(key)]
    if foreign:
        raise ValueError(f"{foreign[0]} is not allowed in a formula")
