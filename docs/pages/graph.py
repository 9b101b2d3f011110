"""How claims rest on each other, as pictures in inline SVG: of a paper, of a chapter.

Of a paper every claim is a dot, chapter below chapter. Graphs of a chapter's claims are
small and shallow. Each component is laid out in columns,
a claim right of all that it rests on, rows ordered by the mean of their neighbours;
components are then packed side by side. That takes no system dependency.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

LETTER, PAD, HEIGHT = 6.75, 7.0, 20.0
"""Width of a letter of a name, what is left and right of it, height of a node: pixels."""
GAP, BETWEEN, MARGIN = 46.0, 7.0, 22.0
"""Between columns, between rows, around components."""


@dataclass(frozen=True)
class Node:
    """A claim in the picture: its words, what it links to, its colour and its parents."""

    name: str
    label: str
    title: str
    link: str
    kind: str
    uses: tuple[str, ...]


def components(nodes: Mapping[str, Node]) -> list[list[str]]:
    """Return groups of nodes that hang together, the largest first.

    Examples
    --------
    >>> def node(name, *uses):
    ...     return Node(name, name, name, "", "holds", uses)
    >>> components({n.name: n for n in (node("c"), node("a"), node("b", "a"))})
    [['a', 'b'], ['c']]
    """
    near: dict[str, set[str]] = defaultdict(set)
    for name, node in nodes.items():
        for used in node.uses:
            near[name].add(used)
            near[used].add(name)
    seen: set[str] = set()
    found: list[list[str]] = []
    for name in nodes:
        waiting, members = [name], set[str]()
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                members.add(one)
                waiting += near[one]
        if members:
            found.append([n for n in nodes if n in members])
    return sorted(found, key=len, reverse=True)


def columns(nodes: Mapping[str, Node], members: Sequence[str]) -> list[list[str]]:
    """Return a component's columns: each node right of all it rests on, few crossings."""
    depth: dict[str, int] = {}

    def depth_of(name: str) -> int:
        if name not in depth:
            below = (depth_of(used) for used in nodes[name].uses if used in nodes)
            depth[name] = 1 + max(below, default=-1)
        return depth[name]

    near: dict[str, set[str]] = defaultdict(set)
    for name in members:
        for used in nodes.keys() & nodes[name].uses:
            near[name].add(used)
            near[used].add(name)
    layers: dict[int, list[str]] = defaultdict(list)
    for name in members:
        # What rests on nothing stands beside the first that rests on it.
        first = depth_of(name) or min((depth_of(n) for n in near[name]), default=1) - 1
        layers[first].append(name)
    made = [layers[k] for k in sorted(layers)]
    for _ in range(8):
        at = {name: (k + 0.5) / len(c) for c in made for k, name in enumerate(c)}

        def middle(name: str, at: dict[str, float] = at) -> float:
            around = [at[other] for other in near[name] if other in at]
            # Whatever their order: sets have another one in every process.
            return math.fsum(around) / len(around) if around else at[name]

        made = [sorted(column, key=middle) for column in made]
    return made


@dataclass(frozen=True)
class _Laid:
    width: float
    height: float
    places: dict[str, tuple[float, float, float]]  # x, y, width


def _laid(nodes: Mapping[str, Node], members: Sequence[str]) -> _Laid:
    made = columns(nodes, members)
    tall = max(len(column) for column in made) * (HEIGHT + BETWEEN) - BETWEEN
    places: dict[str, tuple[float, float, float]] = {}
    x = 0.0
    for column in made:
        width = max(len(nodes[name].label) for name in column) * LETTER + 2.0 * PAD
        top = 0.5 * (tall - len(column) * (HEIGHT + BETWEEN) + BETWEEN)
        for row, name in enumerate(column):
            places[name] = (x, top + row * (HEIGHT + BETWEEN), width)
        x += width + GAP
    return _Laid(x - GAP, tall, places)


def picture(nodes: Sequence[Node], *, title: str, width: float = 860.0) -> str:
    """Return an SVG of nodes that rest on each other, left to right; empty for none."""
    rests = {used for node in nodes for used in node.uses}
    known = {n.name: n for n in nodes if n.uses or n.name in rests}
    if not known:
        return ""
    placed: dict[str, tuple[float, float, float]] = {}
    x = y = shelf = right = 0.0
    for members in components(known):
        laid = _laid(known, members)
        if x and x + laid.width > width:
            x, y, shelf = 0.0, y + shelf + MARGIN, 0.0
        for name, (left, top, wide) in laid.places.items():
            placed[name] = (x + left, y + top, wide)
        right = max(right, x + laid.width)
        x, shelf = x + laid.width + 2.0 * MARGIN, max(shelf, laid.height)
    edges = [
        _edge(placed[used], placed[node.name])
        for node in known.values()
        for used in node.uses
        if used in placed
    ]
    boxes = [_box(node, *placed[node.name]) for node in known.values()]
    return _drawing("graph", right, y + shelf, [*edges, *boxes], title)


STEPS, TITLE = (17.0, 30.0), 24.0
"""Least and largest distance between dots, height of a chapter's title: pixels."""


OVERVIEW = 820.0
"""Pixels of the width of a picture of all claims; dots go on in the next row."""


def overview(chapters: Mapping[str, Sequence[Node]], *, title: str) -> str:
    """Return an SVG of all claims of a paper, a dot each, with lines to what they rest on.

    Parameters
    ----------
    chapters : mapping
        Of each chapter's title its claims.
    title : str
        What the picture is of, for those who can't see it.

    Examples
    --------
    >>> a, b = (Node(n, n, n, f"{n}.html", "holds", u) for n, u in (("a", ()), ("b", "a")))
    >>> drawn = overview({"First": [a], "Second": [b]}, title="All")
    >>> drawn.count("<circle"), drawn.count('class="edge"')
    (2, 1)
    """
    longest = max(map(len, chapters.values()), default=1)
    step = min(max(STEPS[0], OVERVIEW / longest), STEPS[1])
    across = int(OVERVIEW / step + 1e-9)
    places: dict[str, tuple[float, float]] = {}
    heads: list[str] = []
    y = 0.0
    for chapter, nodes in chapters.items():
        heads.append(f'<text x="0" y="{y + 14:.0f}">{escape(chapter)}</text>')
        y += TITLE
        for k, node in enumerate(nodes):
            row, column = divmod(k, across)
            places[node.name] = (step * (column + 0.5), y + step * (row + 0.5))
        y += step * math.ceil(len(nodes) / across) + 10.0
    dots = [
        _dot(node, places, 0.3 * step) for nodes in chapters.values() for node in nodes
    ]
    return _drawing("graph overview", OVERVIEW, y, [*heads, *dots], title)


def _drawing(
    kind: str, width: float, height: float, parts: Sequence[str], title: str
) -> str:
    """Return parts as an SVG that shrinks a little before it has to be scrolled."""
    wide = width + 2.0
    size = f"min({wide:.0f}px, max(100%, {0.75 * wide:.0f}px))"
    return (
        f'<svg class="{kind}" viewBox="0 0 {wide:.0f} {height + 2:.0f}"'
        f' style="width: {size}" role="group" aria-label="{escape(title)}">'
        f'<g transform="translate(1 1)">{"".join(parts)}</g></svg>'
    )


def _dot(node: Node, places: Mapping[str, tuple[float, float]], radius: float) -> str:
    """Return a claim with lines to what it rests on, which a pointer on it brings out."""
    x, y = places[node.name]
    lines = "".join(
        _arc(places[used], (x, y), 3.0 * radius) for used in node.uses if used in places
    )
    return (
        f'<a href="{escape(node.link)}" class="{node.kind}">'
        f"<title>{escape(f'{node.name}: {node.title}')}</title>{lines}"
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/></a>'
    )


def _arc(start: tuple[float, float], end: tuple[float, float], near: float) -> str:
    """Return a line from what is used to its user, bent so that rows do not hide it."""
    bend = min(0.25 * abs(end[0] - start[0]) + 6.0, 44.0)
    x, y = 0.5 * (start[0] + end[0]), 0.5 * (start[1] + end[1])
    if abs(start[1] - end[1]) < near:
        y -= bend
    else:
        x += bend
    return (
        f'<path class="edge" d="M{start[0]:.0f} {start[1]:.1f}'
        f'Q{x:.0f} {y:.1f} {end[0]:.0f} {end[1]:.1f}"/>'
    )


def _edge(start: tuple[float, float, float], end: tuple[float, float, float]) -> str:
    x, y = start[0] + start[2], start[1] + 0.5 * HEIGHT
    to_x, to_y = end[0], end[1] + 0.5 * HEIGHT
    bend = 0.5 * (to_x - x)
    return (
        f'<path class="edge" d="M{x:.0f} {y:.1f}C{x + bend:.0f} {y:.1f}'
        f' {to_x - bend:.0f} {to_y:.1f} {to_x:.0f} {to_y:.1f}"/>'
    )


def _box(node: Node, x: float, y: float, width: float) -> str:
    return (
        f'<a href="{escape(node.link)}" class="{node.kind}">'
        f"<title>{escape(node.title)}</title>"
        f'<rect x="{x:.0f}" y="{y:.1f}" width="{width:.0f}" height="{HEIGHT:.0f}" rx="4"/>'
        f'<text x="{x + PAD:.0f}" y="{y + 14:.1f}">{escape(node.label)}</text></a>'
    )
