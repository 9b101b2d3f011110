"""Paths of SVG, written shorter: relative, rounded, without points on a straight line."""

import math
import re
from collections.abc import Iterator, Sequence

Point = tuple[float, float]

NEAR = 0.4
"""Points of a line closer than this to the line without them are left out, in points."""
SMALL = 25.0
"""Paths of less extent keep hundredths: markers, of a few points each."""
_PAIRS = {"M": 1, "L": 1, "Q": 2, "C": 3}
_TOKEN = re.compile(r"[A-Za-z]|[-+]?[\d.]+(?:e[-+]?\d+)?")


def rounded(value: float, digits: int = 1) -> str:
    """Write a number without what can be left out.

    >>> rounded(0.52), rounded(-0.04), rounded(12.0)
    ('.5', '0', '12')
    """
    text = f"{value:.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    text = re.sub(r"^(-?)0\.", r"\1.", text)
    return "0" if text in ("-0", "", "-") else text


def moved(d: str, x: float, y: float) -> str:
    """Return an absolute path, shifted.

    >>> moved("M 0 0 L 0 3.5", 10.0, 20.0)
    'M 10.0 20.0 L 10.0 23.5'
    """
    return " ".join(
        f"{letter} " + " ".join(f"{a + x} {b + y}" for a, b in points)
        if points
        else letter
        for letter, points in _commands(d)
    )


def shortened(d: str) -> str:
    """Return an absolute path of lines and curves as a short relative one.

    >>> shortened("M 10 20 L 11 20 L 12 20 L 12 25.04 z")
    'm10 20h2v5z'

    Raises
    ------
    ValueError
        If there is a command in it that is not of M, L, Q, C and z.
    """
    commands = list(_commands(d))
    every = [point for _, points in commands for point in points]
    if not every:
        return ""
    curved = any(letter in "QC" for letter, _ in commands)
    extent = max(max(c) - min(c) for c in zip(*every, strict=True))
    digits = 2 if extent < SMALL and curved else 1
    return _Pen(digits).written(commands if curved else _thinned(commands))


def _commands(d: str) -> Iterator[tuple[str, list[Point]]]:
    """Yield each command with its points; lines that follow a move are commands too."""
    tokens, at, letter = _TOKEN.findall(d), 0, ""
    while at < len(tokens):
        if tokens[at].isalpha():
            letter, at = tokens[at], at + 1
            if letter in "zZ":
                yield "z", []
                continue
        if letter not in _PAIRS:
            raise ValueError(
                f"shortened: `d` must be of M, L, Q, C and z, got {letter!r}"
            )
        size = 2 * _PAIRS[letter]
        numbers = [float(n) for n in tokens[at : at + size]]
        yield letter, list(zip(numbers[::2], numbers[1::2], strict=True))
        at += size
        letter = "L" if letter == "M" else letter


def _thinned(
    commands: Sequence[tuple[str, list[Point]]],
) -> Iterator[tuple[str, list[Point]]]:
    """Leave out points of lines that nobody would miss."""
    line: list[Point] = []
    for letter, points in [*commands, ("", [])]:
        if letter == "L":
            line += points
            continue
        if line:
            # The edge of a band is pale.
            kept = _simplified(line, 2.0 * NEAR if letter == "z" else NEAR)
            yield from (("M" if k == 0 else "L", [p]) for k, p in enumerate(kept))
        line = []
        if letter == "M":
            line = list(points)
        elif letter:
            yield letter, points


def _simplified(line: Sequence[Point], near: float) -> list[Point]:
    """Return the line with few of its points, by Douglas and Peucker's method."""
    kept = {0, len(line) - 1}
    waiting = [(0, len(line) - 1)]
    while waiting:
        first, last = waiting.pop()
        (x, y), (u, v) = line[first], line[last]
        length = math.hypot(u - x, v - y)
        far, at = near, 0
        for k in range(first + 1, last):
            a, b = line[k][0] - x, line[k][1] - y
            along = (a * (u - x) + b * (v - y)) / length if length else -1.0
            if 0.0 <= along <= length:
                away = abs(a * (v - y) - b * (u - x)) / length
            else:
                # Beyond its ends: a line that turns back on itself.
                away = min(math.hypot(a, b), math.hypot(line[k][0] - u, line[k][1] - v))
            if away > far:
                far, at = away, k
        if at:
            kept.add(at)
            waiting += [(first, at), (at, last)]
    return [line[k] for k in sorted(kept)]


class _Pen:
    """Writes commands from where it is, in whole units of the last digit."""

    def __init__(self, digits: int) -> None:
        self.digits, self.unit = digits, 10**digits
        self.at = self.start = (0, 0)

    def written(
        self,
        commands: "Iterator[tuple[str, list[Point]]] | Sequence[tuple[str, list[Point]]]",
    ) -> str:
        """Return all commands as text."""
        text, last = "", ""
        for letter, points in commands:
            if letter == "z":
                text, last, self.at = f"{text}z", "z", self.start
                continue
            name, numbers = self._relative(letter, points)
            if name == "l" and not any(numbers) and last in ("l", "h", "v"):
                continue
            # After a move, pairs are lines.
            implied = name == last or (name == "l" and last == "m")
            said = "" if implied and name != "m" else name
            text += _joined(
                text, said, [rounded(n / self.unit, self.digits) for n in numbers]
            )
            last = "l" if implied and name == "l" else name
        return text

    def _relative(self, letter: str, points: Sequence[Point]) -> tuple[str, list[int]]:
        whole = [(round(x * self.unit), round(y * self.unit)) for x, y in points]
        x, y = self.at
        numbers = [n for u, v in whole for n in (u - x, v - y)]
        self.at = whole[-1]
        if letter == "M":
            self.start = self.at
        if letter == "L" and numbers[1] == 0 and numbers[0]:
            return "h", numbers[:1]
        if letter == "L" and numbers[0] == 0 and numbers[1]:
            return "v", numbers[1:]
        return letter.lower(), numbers


def _joined(before: str, letter: str, numbers: Sequence[str]) -> str:
    """Write numbers behind a letter, with a space only where one would be missed."""
    text = letter
    for number in numbers:
        whole = before + text
        apart = not whole or whole[-1].isalpha() or number.startswith("-")
        # A second point begins a new number.
        after = re.search(r"\.\d*$", whole) is not None and number.startswith(".")
        text += number if apart or after else f" {number}"
    return text
