"""One file prints: whatever a command says passes through it, where values are made harmless."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

CLI = Path(__file__).resolve().parents[2] / "src" / "shoal" / "cli"
ALLOWED = {"terminal/output.py"}
DRAWS = {"terminal/progress.py"}
"""What draws a moving line on a terminal; the words in it are our own."""
PRINTS = {"print", "echo", "secho", "style", "write_traceback", "print_exc", "print_exception", "echo_via_pager"}
FILES = sorted(path.relative_to(CLI).as_posix() for path in CLI.rglob("*.py"))


def calls_that_print(text: str) -> list[str]:
    """Calls of functions that print or style, and uses of the standard streams."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            found += [f"line {node.lineno}: {name}"] if name in PRINTS else []
        if isinstance(node, ast.Attribute) and node.attr in ("stdout", "stderr"):
            found.append(f"line {node.lineno}: sys.{node.attr}")
        if isinstance(node, ast.ImportFrom | ast.Import) and any(each.name.startswith("rich") for each in node.names):
            found.append(f"line {node.lineno}: rich")
    return found


@pytest.mark.parametrize("file", [name for name in FILES if name not in ALLOWED | DRAWS])
def test_nothing_prints_but_the_one_file(file):
    assert calls_that_print((CLI / file).read_text("utf-8")) == []


def test_a_call_that_prints_is_found():
    assert calls_that_print("import click\nclick.echo('x')\nprint(1)\nsys.stderr.write('x')")[:2] == [
        "line 2: echo",
        "line 3: print",
    ]
