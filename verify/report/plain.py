"""Formulas as plain text, for a terminal: from MathML, which has read the LaTeX."""

from xml.etree import ElementTree as ET

from verify.report.mathml import tree

_ACCENTS = {
    "^": "\u0302",
    "~": "\u0303",
    "˙": "\u0307",
    "¨": "\u0308",
    "→": "\u20d7",
    **dict.fromkeys("¯‾―", "\u0304"),
}
_POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SPACED = set("=≠<>≤≥≈∼∝+−±→↛←⇒⇔⟹⟺⟸∈∉⊂⊆∪∩≡↦≪≫≲≳⟂⊥≻≺:")
_OPEN = set("([{⟨⌊⌈,;:")


def formula(latex: str) -> str:
    r"""Return LaTeX as a line of plain text, nothing left out that a reader needs.

    >>> formula(r"\kappa(T) \le 1 + \frac{n - 1}{\sqrt 2} m^{-1/2}")
    'κ(T) ≤ 1 + (n − 1)/√2 · m^(−1/2)'
    >>> formula(r"-\tfrac52 \hat\sigma_1^2 x^2")
    '−5/2 · σ̂_1² x²'
    """
    return " ".join(_row(list(tree(latex))).split())


def _row(elements: list[ET.Element]) -> str:
    text, before, name = "", None, False
    for element in elements:
        shown = _of(element)
        word = shown.strip()
        if word in _SPACED:
            shown = word if word in "+−±" and _opens(text.rstrip()) else f" {word} "
        elif element.tag == "mo" and word in (",", ";"):
            shown = f"{word} "
        elif element.tag == "mtext":
            pass
        elif _is_fraction(before) and (word[:1].isalnum() or word[:1] in "([|‖⟨∑∏√"):
            closes = word in ("|", "‖") and text.count(word) % 2
            shown = f" · {shown}" if word and not closes else shown
        elif text[-1:].isalnum() and word[:1].isalnum():
            apart = _is_long(before) or _is_long(element)
            shown = f" {shown}" if apart else shown
        if name and _is_fraction(element):
            # Else what stands below the line were not the function's any more.
            shown = f"({word})"
        if element.tag != "mspace":
            upright = any(each.get("mathvariant") == "normal" for each in element)
            # With its base, which stands below: the logarithm to the base of two.
            below = element.tag == "msub" and element[0].tag in ("mi", "mo")
            word = element[0].text or "" if below else word
            name = word.isalpha() and (upright or below or element.tag in ("mi", "mo"))
            name = name and len(word) > 1
        text, before = text + shown, element
    return text


def _opens(text: str) -> bool:
    """Whether a sign behind this text is that of a number, and joins nothing."""
    if text.endswith(("|", "‖")):
        return bool(text.count(text[-1]) % 2)
    # A positive part ends with a plus that is an index.
    return not text or (text[-1] in _OPEN | _SPACED and not text.endswith("_+"))


def _is_fraction(element: ET.Element | None) -> bool:
    return element is not None and _unwrapped(element).tag == "mfrac"


def _is_long(element: ET.Element | None) -> bool:
    """Whether it needs a space between itself and a neighbouring letter."""
    if element is None or element.tag == "mn":
        return False
    return element.tag != "mi" or len(element.text or "") > 1


def _of(element: ET.Element) -> str:
    """Return an element's text."""
    parts = list(element)
    match element.tag:
        case "mfrac":
            above, below = map(_grouped, parts)
            # A product below a line, as 1/2b is read as b/2; not so dx/dt.
            product = _unwrapped(parts[1]).tag == "mrow" and below.isalnum()
            if product and not above[:1] == below[:1] == "d":
                below = f"({below})"
            if element.get("linethickness") == "0":
                return f"{_of(parts[0])} choose {_of(parts[1])}"
            return f"{above}/{below}"
        case "msqrt":
            # Several children are a row: of a root, only "mroot" has an index.
            return f"√{_grouped(parts[0]) if len(parts) == 1 else f'({_row(parts)})'}"
        case "mroot":
            return f"{_raised(parts[1])}√{_grouped(parts[0])}"
        case "msub" | "munder":
            return _of(parts[0]) + _lowered(parts[1])
        case "msup":
            return _of(parts[0]) + _raised(parts[1])
        case "msubsup" | "munderover":
            return _of(parts[0]) + _lowered(parts[1]) + _raised(parts[2])
        case "mover":
            mark = _ACCENTS.get(_of(parts[1]).strip(), "")
            body = _of(parts[0])
            return _marked(body, mark) if mark else body + _raised(parts[1])
        case "mrow" if element.get("class") == "over":
            return _marked(_row(parts), _ACCENTS["―"])
        case "mspace":
            return " "
        case "mtable":
            return "; ".join(_of(part) for part in parts)
        case "mtr":
            return ", ".join(_of(part) for part in parts)
        case _:
            return _row(parts) if parts else (element.text or "").replace("\xa0", " ")


def _marked(body: str, mark: str) -> str:
    """Return letters with an accent each; of all else, and of words, that it has a bar."""
    if not body.isalpha() or (mark == _ACCENTS["―"] and len(body) > 2):
        return f"overline({body})"
    return "".join(f"{letter}{mark}" for letter in body)


def _grouped(element: ET.Element) -> str:
    """Return an element's text, in brackets unless it is one piece."""
    text = _of(element).strip()
    element = _unwrapped(element)
    whole = ("msub", "mover", "msqrt", "msup", "msubsup")
    single = text.isalnum() or len(text) == 1 or element.tag in whole
    single = single or element.get("class") == "over"
    single = single or (text[:1] == "(" and text.find(")") == len(text) - 1)
    return text if single and "^" not in text else f"({text})"


def _unwrapped(element: ET.Element) -> ET.Element:
    while element.tag in ("mrow", "mstyle") and len(element) == 1:
        if element.get("class"):
            break  # A bar is over it.
        element = element[0]
    return element


def _lowered(element: ET.Element) -> str:
    return f"_{_grouped(element)}"


def _raised(element: ET.Element) -> str:
    text = _of(element).strip()
    if not text.strip("′"):
        return text
    if text.isdigit():
        return text.translate(_POWERS)
    return f"^{_grouped(element)}"
