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
        # Bars of an absolute value are no relation, with space around it.
        if element.text == "|" and element.attrib == {"stretchy": "false"}:
            element.tag = "mi"
            element.attrib.clear()
        if element.tag == "mover" and element[1].text == "―":
            _overline(element)
    _without_bare_rows(found)
    _space(found)
    found.set("alttext", latex)
    return found


def _overline(element: ET.Element) -> None:
    """Draw the bar over an expression as a border: a dash covers one letter of it."""
    base = element[0]
    element.tag, element.attrib["class"] = "mrow", "over"
    element[:] = list(base) if base.tag.endswith("mrow") else [base]


_FUNCTIONS = re.compile("(arc)?(cos|sin|tan)h?|arg|det|dim|exp|ln|log")
_SIGNED = {*"([{,=≤≥<>→"}
"""Behind these, plus and minus are signs and not operations."""
_ORDINARY = {
    *("mi", "mn", "mfrac", "mover", "mrow", "msqrt", "mstyle"),
    *("msub", "msubsup", "msup"),
}


def _space(element: ET.Element) -> None:
    """Space functions from what stands beside them, and signs from nothing, as TeX."""
    before: ET.Element | None = None
    for child in list(element):
        _space(child)
        if element.tag in {*_ROWS, "mrow"} and _touch(before, child):
            space = ET.Element("mspace", width="0.167em")
            element.insert(list(element).index(child), space)
        if child.text in {*"−+±"} and before is not None and before.text in _SIGNED:
            child.set("form", "prefix")
        before = child


def _touch(before: ET.Element | None, after: ET.Element) -> bool:
    """Whether a function's name would run into its neighbour."""
    if before is None or not {before.tag, after.tag} <= _ORDINARY:
        return False
    left, right = _base(before), _base(after)
    if _FUNCTIONS.fullmatch(left):
        return right not in {*"([{|‖"}
    return bool(_FUNCTIONS.fullmatch(right)) and left not in {*"([{|‖"}


def _base(element: ET.Element) -> str:
    """Return the text of what an index or exponent is set to, or the element's own."""
    if element.tag in {"msub", "msubsup", "msup"} and len(element):
        return _base(element[0])
    return element.text or ""


_ROWS = {"math", "mstyle", "msqrt", "mtd", "mpadded", "mphantom"}
"""Elements that are a row already."""


def _without_bare_rows(element: ET.Element) -> None:
    """Dissolve rows of one thing, and rows that are all that a row has."""
    for k, child in enumerate(element):
        _without_bare_rows(child)
        if child.tag == "mrow" and len(child) == 1 and not child.attrib:
            element[k] = child[0]
    rows = [child.tag for child in element if not child.attrib]
    if element.tag in _ROWS and len(element) == 1 and rows == ["mrow"]:
        element[:] = list(element[0])


def _check_inert(element: ET.Element) -> None:
    """Refuse what is not presentation, before it can act in a page."""
    name = element.tag.removeprefix(_MATHML)
    foreign = [] if _ELEMENTS.fullmatch(name) else [f"<{name}>"]
    foreign += [key for key in element.attrib if not _ATTRIBUTES.fullmatch(key)]
    if foreign:
        raise ValueError(f"{foreign[0]} is not allowed in a formula")
