"""Drawings as short SVG: the same to the eye, in a third of the characters.

Matplotlib writes every tick as a group of its own, every number with six decimals and the
same style again and again. Here groups without meaning are dissolved, paths are relative
and rounded to a tenth of a point, the ticks of an axis are one path, and styles, markers
and clips are named once; for a page with many drawings, once for all of them (`Common`).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from xml.etree import ElementTree as ET

from verify.figures.paths import moved, rounded, shortened
from verify.figures.pixels import sheet

_DROPPED = re.compile(r"font-family: [^;\"]*;? ?|; ?$")
_INVISIBLE = "fill:none;opacity:0"
_EVEN = 0.05
"""Points by which an image may be beyond its clip without being cut off."""
_LOOKS = {"style", "clip-path"}
"""Attributes that paths have from their group as well."""
_FEW = 3
"""Paths that make a group worth its own characters."""
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


@dataclass
class Common:
    """Styles, markers and clips by content, each under one short name.

    Attributes
    ----------
    prefix : str
        Start of every id, so that none is twice on a page.
    styles, symbols : dict
        Names by content.
    """

    prefix: str = ""
    styles: dict[str, str] = field(default_factory=dict[str, str])
    symbols: dict[str, str] = field(default_factory=dict[str, str])

    def style(self, rules: str) -> str:
        """Return the class of a style."""
        return self.styles.setdefault(rules, f"c{len(self.styles)}")

    def symbol(self, markup: str) -> str:
        """Return the id of a marker or a clip, whose markup has no id yet."""
        return self.symbols.setdefault(markup, f"{self.prefix}{len(self.symbols)}")

    def sheet(self, scope: str) -> str:
        """Return the rules, for classes below the element that `scope` selects."""
        rules = (f"{scope} .{name}{{{rules}}}\n" for rules, name in self.styles.items())
        return f"{scope} *{{stroke-linejoin:round;stroke-linecap:butt}}\n" + "".join(
            rules
        )

    def definitions(self) -> str:
        """Return markers and clips as elements with their ids."""
        return "".join(
            re.sub(r"^<(\w+)", rf'<\1 id="{name}"', markup, count=1)
            for markup, name in self.symbols.items()
        )


def compacted(svg: str, common: Common) -> str:
    """Return what is inside a drawing by Matplotlib; its styles go to `common`."""
    root = ET.fromstring(svg)
    for element in root.iter():
        _plain(element)
    _Drawing(root, common).dissolve()
    return "".join(map(_written, root))


def _plain(element: ET.Element) -> None:
    """Take away name spaces, white space and attributes that say nothing."""
    element.tag = element.tag.rpartition("}")[2]
    for key in [k for k in element.attrib if "}" in k]:
        element.set(key.rpartition("}")[2], element.attrib.pop(key))
    if not (element.text or "").strip():
        element.text = None
    if not (element.tail or "").strip():
        element.tail = None
    style = _DROPPED.sub("", element.attrib.pop("style", ""))
    if element.tag == "image":
        _place(element)
        # Pixels are shown as such, in the words of old browsers and of new ones.
        style = "image-rendering:pixelated" if "pixelated" in style else ""
    if style:
        element.set("style", re.sub(r"([:;]) +", r"\1", style))
    if re.match(r"rotate\(-?0 ", element.get("transform", "")):
        del element.attrib["transform"]


class _Drawing:
    """A drawing while it is rewritten."""

    def __init__(self, root: ET.Element, common: Common) -> None:
        self.root, self.common = root, common
        self.defined: dict[str, ET.Element] = {}
        self.names: dict[str, str] = {}
        for parent in list(root.iter()):
            for child in list(parent):
                if child.tag == "defs":
                    self.defined |= {
                        e.attrib["id"]: e for e in child if "id" in e.attrib
                    }
                if child.tag in ("defs", "metadata"):
                    parent.remove(child)

    def dissolve(self) -> None:
        """Rewrite all elements in place."""
        self.root[:] = _grouped(self._each(self.root))
        self._gather()
        for element in (each for child in self.root for each in child.iter()):
            element.attrib.pop("id", None)
            _shorten(element)
            self._classify(element)
            if "href" in element.attrib and element.tag == "use":
                element.set("href", f"#{self._symbol(element.attrib['href'][1:])}")

    def _each(self, group: ET.Element) -> Iterator[ET.Element]:
        """Yield the elements of a group whose own element is not needed."""
        for child in group:
            if child.get("style") == _INVISIBLE:
                continue
            if child.tag != "g":
                yield child
            elif child.get("id", "").startswith("matplotlib.axis"):
                yield from self._axis(child)
            elif set(child.attrib) <= {"id"}:
                yield from self._each(child)
            else:
                yield self._kept(child)

    def _gather(self) -> None:
        """Put images of the same size on one sheet, of which each shows its part."""
        tiles: dict[str, list[ET.Element]] = {}
        for image in self.root.iter("image"):
            pixels = image.attrib.pop("pixels", "")
            if pixels and self._whole(image):
                tiles.setdefault(pixels, []).append(image)
        for pixels, images in tiles.items():
            if len(images) < 2:
                continue
            across, down = map(int, pixels.split())
            href, columns = sheet([image.attrib["href"] for image in images])
            looks = {"style": images[0].attrib["style"]}
            rows = -(-len(images) // columns)
            size = {"width": str(across * columns), "height": str(down * rows)}
            made = ET.Element("image", {**size, "href": href, **looks})
            name = self.common.symbol(_written(made))
            self.names[name] = name
            for k, image in enumerate(images):
                row, column = divmod(k, columns)
                image.tag = "svg"
                for key in ("href", "clip-path"):
                    image.attrib.pop(key, None)
                # As attributes: browsers take no part's size from a style.
                image.attrib.pop("style")
                image.set("viewBox", f"{across * column} {down * row} {across} {down}")
                ET.SubElement(image, "use", {"href": f"#{name}"})

    def _whole(self, image: ET.Element) -> bool:
        """Whether an image is shown as it is, neither turned nor cut off."""
        if "transform" in image.attrib or "style" not in image.attrib:
            return False
        found = _REFERENCE.search(image.get("clip-path", ""))
        if found is None:
            return True
        box = self.defined[found[1]][0].attrib
        return all(
            float(box[at]) <= float(image.attrib[at]) + _EVEN
            and float(image.attrib[at]) + float(image.attrib[size])
            <= float(box[at]) + float(box[size]) + _EVEN
            for at, size in (("x", "width"), ("y", "height"))
        )

    def _kept(self, group: ET.Element) -> ET.Element:
        """Return a group that places or clips, or the one element that is in it."""
        group.attrib.pop("id", None)
        group[:] = list(self._each(group))
        looks = {child.get("style", "") for child in group}
        if len(looks) == 1 and "style" not in group.attrib:
            if all(child.tag == "use" for child in group):
                group.set("style", looks.pop())
                for child in group:
                    child.attrib.pop("style", None)
            elif len(group) == 1 and not {"transform", "clip-path"} & set(
                group[0].attrib
            ):
                group[0].attrib |= group.attrib
                return group[0]
        return group

    def _axis(self, axis: ET.Element) -> Iterator[ET.Element]:
        """Yield the grid of an axis, its ticks, and its texts: of a style, one path."""
        lines: dict[str, ET.Element] = {}
        others: list[ET.Element] = []
        for element in self._each(axis):
            one = self._tick(element)
            if one.tag != "path":
                others.append(one)
                continue
            look = f"{one.get('style')} {one.get('clip-path')}"
            first = lines.setdefault(look, one)
            if first is not one:
                first.set("d", f"{first.get('d')} {one.get('d')}")
        yield from lines.values()
        yield from _joined(others)

    def _tick(self, element: ET.Element) -> ET.Element:
        """Return a tick as the line that its marker is, anything else as it is."""
        marker = self.defined.get(element.get("href", "#")[1:])
        if marker is None or marker.get("d", "").count("L") != 1:
            return element
        place = float(element.get("x", 0)), float(element.get("y", 0))
        looks = {**element.attrib, **marker.attrib}
        line = moved(marker.attrib["d"], *place)
        return ET.Element("path", {"d": line, "style": looks["style"]})

    def _classify(self, element: ET.Element) -> None:
        """Write how an element looks as its class."""
        names: list[str] = []
        if style := element.attrib.pop("style", ""):
            names.append(self.common.style(_REFERENCE.sub(self._referred, style)))
        if clip := element.attrib.pop("clip-path", ""):
            where = _REFERENCE.sub(self._referred, clip)
            names.append(self.common.style(f"clip-path:{where}"))
        if names:
            element.set("class", " ".join(names))

    def _symbol(self, name: str) -> str:
        if name not in self.names:
            element = self.defined[name]
            for each in element.iter():
                _shorten(each)
                self._classify(each)
            self.names[name] = self.common.symbol(_written(element))
        return self.names[name]

    def _referred(self, found: re.Match[str]) -> str:
        return f"url(#{self._symbol(found[1])})"


def _shorten(element: ET.Element) -> None:
    """Round what places an element, and write its path or its pixels shorter."""
    if "d" in element.attrib:
        element.set("d", shortened(element.attrib["d"]))
    if element.tag == "image":
        element.set("href", sheet([element.attrib["href"]])[0])
    for key in ("x", "y", "width", "height"):
        if key in element.attrib:
            element.set(key, rounded(float(element.attrib[key])))
    if "transform" in element.attrib:
        scaling = re.search(r"scale|matrix", element.attrib["transform"])
        digits = 4 if scaling else 1
        element.set(
            "transform",
            re.sub(
                r"-?\d+\.\d+",
                lambda f: rounded(float(f[0]), digits),
                element.attrib["transform"],
            ),
        )


def _place(image: ET.Element) -> None:
    """Give an image the place and size that a matrix without rotation gives it."""
    found = re.fullmatch(r"matrix\(([^)]*)\)", image.get("transform", ""))
    numbers = [float(n) for n in found[1].split()] if found else []
    if (
        len(numbers) != 6
        or numbers[1]
        or numbers[2]
        or min(numbers[0], numbers[3]) <= 0
    ):
        return
    del image.attrib["transform"]
    across, _, _, down, x, y = numbers
    width, height = float(image.attrib["width"]), float(image.attrib["height"])
    x += across * float(image.get("x", 0))
    y += down * float(image.get("y", 0))
    image.set("pixels", f"{width:.0f} {height:.0f}")
    for key, value in zip(
        ("x", "y", "width", "height"),
        (x, y, across * width, down * height),
        strict=True,
    ):
        image.set(key, str(value))
    if abs(across - down) > 1e-3 * down:
        image.set("preserveAspectRatio", "none")


def _grouped(elements: Iterable[ET.Element]) -> list[ET.Element]:
    """Return elements, with paths of one look that follow each other in a group."""
    found: list[ET.Element] = []
    for _, same in groupby(elements, key=_look):
        each = list(same)
        if len(each) < _FEW or _look(each[0]) is None:
            found += each
            continue
        group = ET.Element(
            "g", {k: v for k, v in each[0].attrib.items() if k in _LOOKS}
        )
        for path in each:
            for key in _LOOKS & set(path.attrib):
                del path.attrib[key]
        group[:] = each
        found.append(group)
    return found


def _look(element: ET.Element) -> tuple[str, ...] | None:
    """Return what a path may have from its group; None if it must stand alone.

    The opacity of a group is not that of each of its paths.
    """
    style = element.get("style", "")
    alone = element.tag != "path" or set(element.attrib) - _LOOKS - {"d", "id"}
    if alone or re.search("(^|;)opacity", style):
        return None
    return style, element.get("clip-path", "")


def _joined(elements: Iterable[ET.Element]) -> Iterator[ET.Element]:
    """Yield elements, texts of one look in a row or a column as parts of one text."""
    first: ET.Element | None = None
    for element in elements:
        alone = element.tag == "text" and set(element.attrib) == {"style", "x", "y"}
        if not alone or len(element):
            first = None
            yield element
            continue
        place = {key: element.attrib[key] for key in "xy"}
        if first is None or first.get("style") != element.get("style"):
            first = ET.Element("text", {"style": element.attrib["style"]})
            yield first
        part = ET.SubElement(first, "tspan", place)
        part.text = element.text


def _written(element: ET.Element) -> str:
    element.attrib.pop("id", None)
    return ET.tostring(element, encoding="unicode").replace(" />", "/>")
