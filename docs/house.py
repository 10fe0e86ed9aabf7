"""Draw the rooms of the package and the imports between them: ``python docs/house.py``.

Everything is read from the source: the rooms, what each says of itself in the first sentence of its
docstring, and who imports whom, imports for types and imports inside functions included.  A room is
drawn just below those that import it.  Arrows that follow from others are left out.
"""

from __future__ import annotations

import ast
import itertools
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "src" / "orthospca"
PICTURE = HERE / "_static" / "house.svg"

#: Where the public names are: the package itself, and the modules of results, paths and words.
PUBLIC = "orthospca"
PUBLIC_MODULES = {"__init__", "path", "result", "words"}
#: Types, errors and names that every room may use, and modules that only give a room another name.
LEFT_OUT = {"_typing", "_errors", "_methods", "plotting", "report", "tables"}

WIDTH, BOX, MARGIN, GAP, SPACE, LANE = 960, 270, 10, 18, 30, 14
LINE, CHARACTERS = 15, 40


def room_of(module: str) -> str | None:
    """Return the room of a module, given by its name within the package; None if left out."""
    first = module.partition(".")[0]
    if first in LEFT_OUT:
        return None
    return PUBLIC if not first or first in PUBLIC_MODULES else first


def sources() -> Iterator[tuple[str, ast.Module]]:
    """Yield the room and the syntax tree of each module, in a fixed order."""
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        room = room_of(module.removesuffix(".__init__"))
        if room is not None:
            yield room, ast.parse(path.read_text(encoding="utf-8"))


def imported_by(tree: ast.Module) -> Iterator[str]:
    """Yield what a module imports from the package, without the package's name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                package, _, module = alias.name.partition(".")
                if package == PUBLIC:
                    yield module
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            package, _, module = node.module.partition(".")
            if package != PUBLIC:
                continue
            for alias in node.names:
                inside = (PACKAGE / alias.name).is_dir() or (PACKAGE / f"{alias.name}.py").exists()
                yield alias.name if not module and inside else module


def read_rooms() -> tuple[dict[str, str], dict[str, set[str]]]:
    """Return what each room says of itself, and which rooms it imports."""
    sentences: dict[str, str] = {}
    imports: dict[str, set[str]] = {}
    for room, tree in sources():
        lines = (ast.get_docstring(tree) or "").splitlines()
        # The first module of a room in alphabetical order is its ``__init__``, if it is a package.
        sentences.setdefault(room, lines[0] if lines else "")
        found = {room_of(module) for module in imported_by(tree)}
        imports.setdefault(room, set()).update(name for name in found if name is not None)
    sentences[PUBLIC] = "The public names, loaded on first use."
    return sentences, {room: found - {room} for room, found in imports.items()}


def reached_from(room: str, imports: dict[str, set[str]]) -> set[str]:
    """Return all rooms that a room imports, itself or through others."""
    reached: set[str] = set()
    waiting = [room]
    while waiting:
        for name in imports[waiting.pop()] - reached:
            reached.add(name)
            waiting.append(name)
    return reached


def floors(imports: dict[str, set[str]]) -> list[list[str]]:
    """Return the rooms floor by floor, from the top: each just below the rooms that import it.

    Rooms that import each other share a floor.  On each floor in turn they stand in the order that
    makes the arrows shortest, until nothing changes.
    """
    reached = {room: reached_from(room, imports) for room in imports}
    above = {
        room: {name for name in imports if room in reached[name] and name not in reached[room]}
        for room in imports
    }
    depth: dict[str, int] = {}
    for room in sorted(imports, key=lambda name: len(above[name])):
        depth[room] = 1 + max((depth[name] for name in above[room]), default=-1)
    found = [
        sorted(room for room in depth if depth[room] == floor)
        for floor in range(1 + max(depth.values()))
    ]
    drawn = arrows(imports)
    while True:
        before = _length(found, drawn)
        for k, floor in enumerate(found):
            orders = [[*found[:k], list(o), *found[k + 1 :]] for o in itertools.permutations(floor)]
            found = min(orders, key=lambda each: _length(each, drawn))
        if _length(found, drawn) >= before:
            return found


def _length(found: list[list[str]], drawn: list[tuple[str, str]]) -> float:
    """How far arrows go to the side; those that pass other floors had better begin on the left."""
    at = {
        room: (k, place - 0.5 * len(floor))
        for k, floor in enumerate(found)
        for place, room in enumerate(floor)
    }
    total = 0.0
    for start, end in drawn:
        (k, a), (m, b) = at[start], at[end]
        total += abs(a - b) if m - k <= 1 else 2 * (m - k) * (1 + a)
    return total


def arrows(imports: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Return the imports that do not follow from others."""
    found = []
    for room in sorted(imports):
        for name in sorted(imports[room]):
            others = imports[room] - {name}
            through = any(
                name in reached_from(other, imports) and room not in reached_from(other, imports)
                for other in others
            )
            if not through:
                found.append((room, name))
    return found


def picture() -> str:
    """Return the picture as SVG."""
    sentences, imports = read_rooms()
    rooms: dict[str, Room] = {}
    y = float(MARGIN)
    for floor in floors(imports):
        texts = [textwrap.wrap(sentences[name].replace("``", ""), CHARACTERS) for name in floor]
        height = 26 + LINE * max(map(len, texts))
        x = 0.5 * (WIDTH - len(floor) * BOX - (len(floor) - 1) * GAP)
        for name, text in zip(floor, texts, strict=True):
            rooms[name] = Room(name, tuple(text), x, y, height)
            x += BOX + GAP
        y += height + SPACE
    height = y - SPACE + MARGIN
    ways: list[str] = []
    lanes: set[float] = set()
    for start, end in arrows(imports):
        ways.append(_way(rooms[start], rooms[end], rooms, lanes))
    return "\n".join(
        [_head(height), *ways, *(room.drawn() for room in rooms.values()), "</svg>", ""]
    )


@dataclass(frozen=True)
class Room:
    """A box in the picture."""

    name: str
    lines: tuple[str, ...]
    x: float
    y: float
    height: float

    @property
    def middle(self) -> float:
        return self.x + 0.5 * BOX

    @property
    def foot(self) -> float:
        return self.y + self.height

    def covers(self, x: float) -> bool:
        return self.x - GAP / 2 < x < self.x + BOX + GAP / 2

    def drawn(self) -> str:
        x, y = self.x, self.y
        parts = [
            f'<rect class="room" x="{x:g}" y="{y:g}" '
            f'width="{BOX}" height="{self.height:g}" rx="5"/>',
            f'<text class="name" x="{x + 10:g}" y="{y + 18:g}">{escape(self.name)}</text>',
        ]
        for k, line in enumerate(self.lines):
            at = f'x="{x + 10:g}" y="{y + 34 + LINE * k:g}"'
            parts.append(f'<text class="text" {at}>{escape(line)}</text>')
        return "\n".join(parts)


def _head(height: float) -> str:
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img">
<title>The rooms of orthospca; an arrow points to a room that is imported</title>
<style>
.room {{ fill: #f6f8fa; stroke: #57606a; }}
.name {{ font: bold 14px monospace; fill: #0b3d66; }}
.text {{ font: 11.5px sans-serif; fill: #24292f; }}
.way {{ fill: none; stroke: #8c959f; stroke-width: 1.3; marker-end: url(#tip); }}
</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" \
orient="auto"><path d="M0 0L8 4L0 8z" fill="#8c959f"/></marker></defs>
<rect width="{WIDTH}" height="{height:g}" fill="#ffffff"/>"""


def _way(start: Room, end: Room, rooms: dict[str, Room], lanes: set[float]) -> str:
    """Draw an arrow: straight to the next floor, down a free lane on the left to others."""
    if start.y == end.y:
        y = start.y + (14 if start.x < end.x else 24)
        a, b = (start.x + BOX, end.x) if start.x < end.x else (start.x, end.x + BOX)
        return _path((a, y), (b, y))
    between = [room for room in rooms.values() if start.foot < room.y and room.foot < end.y]
    if not between:
        return _path((start.middle, start.foot), (end.middle, end.y))
    choices = [start.x + LANE * k for k in range(1, 5)]
    choices += [min(room.x for room in rooms.values()) - LANE * k for k in range(1, 9)]
    lane = next(
        x for x in choices if x not in lanes and not any(room.covers(x) for room in between)
    )
    lanes.add(lane)
    inside = start.covers(lane)
    first = (
        [(lane, start.foot)] if inside else [(start.x, start.foot - 12), (lane, start.foot - 12)]
    )
    if end.covers(lane):
        return _path(*first, (lane, end.y))
    y = end.y + 0.5 * end.height + 4 * (len(lanes) % 5 - 2)
    return _path(*first, (lane, y), (end.x, y))


def _path(*points: tuple[float, float]) -> str:
    steps = "L".join(f"{x:g} {y:g}" for x, y in points)
    return f'<path class="way" d="M{steps}"/>'


def main() -> None:
    PICTURE.write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
