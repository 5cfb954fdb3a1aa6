"""The source tree as data: which modules there are, what a folder holds, and who imports whom."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
HOUSE = SRC / "shoal"
TESTS = ROOT / "tests"


def dotted(path: Path) -> str:
    """The name by which a file of the source is imported."""
    return ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")


@cache
def modules() -> dict[str, Path]:
    """Every module and package, with its file."""
    return {dotted(path): path for path in sorted(HOUSE.rglob("*.py"))}


@cache
def parsed(name: str) -> ast.Module:
    """What stands in a module."""
    return ast.parse(modules()[name].read_text("utf-8"))


def folders() -> list[str]:
    """Every package below `shoal`, by its name."""
    return [name for name, path in modules().items() if path.name == "__init__.py" and path.parent != HOUSE]


def entries(folder: str) -> list[str]:
    """The modules and packages that lie directly in a package."""
    return [name for name in modules() if name.rpartition(".")[0] == folder]


@cache
def imports() -> frozenset[tuple[str, str]]:
    """Every pair (who, whom) of modules of which one imports from the other, also inside a function."""
    return frozenset((name, target) for name in modules() for target in _imported(name))


def _imported(name: str) -> Iterator[str]:
    package = name if modules()[name].name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(parsed(name)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules())
        elif isinstance(node, ast.ImportFrom):
            base = f"{package}.{node.module}" if node.level else str(node.module)
            base = base.removesuffix(".None")
            for alias in node.names:
                target = f"{base}.{alias.name}"
                yield from [target] if target in modules() else [base] if base in modules() else []


def parts(folder: str) -> list[set[str]]:
    """The entries of a package, grouped by who imports whom.

    A package inside it counts as one entry. The package's own `__init__` is one more where it imports entries or
    entries import from it, as from a base.
    """

    def entry(name: str) -> str | None:
        return ".".join(name.split(".")[: folder.count(".") + 2]) if f"{name}.".startswith(f"{folder}.") else None

    beside: dict[str, set[str]] = defaultdict(set)
    for who, whom in imports():
        one, other = entry(who), entry(whom)
        if one and other:
            beside[one].add(other)
            beside[other].add(one)
    found: list[set[str]] = []
    for start in entries(folder):
        if not any(start in part for part in found):
            part, waiting = set(), [start]
            while waiting:
                one = waiting.pop()
                if one not in part:
                    part.add(one)
                    waiting += beside[one]
            found.append(part - {folder})
    return found


def mentions(name: str) -> set[str]:
    """What a module imports, and what it names in a string to be imported when it is needed, such as `publish.plan`."""
    package = name if modules()[name].name == "__init__.py" else name.rpartition(".")[0]
    strings = [node.value for node in ast.walk(parsed(name)) if isinstance(node, ast.Constant)]
    named = {f"{package}.{text}" for text in strings if isinstance(text, str)} & modules().keys()
    return {whom for who, whom in imports() if who == name} | named


def public_classes() -> dict[str, list[str]]:
    """The modules in which each public class name is defined."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in modules():
        for node in parsed(name).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(name)
    return dict(found)
