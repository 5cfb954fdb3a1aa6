"""The examples in docstrings do what they say, and the reference shows them as examples."""

from __future__ import annotations

import doctest
import runpy
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")


WITH_EXAMPLES = {dotted(path) for path in (SRC / "shoal").rglob("*.py") if ">>> " in path.read_text("utf-8")}


@pytest.mark.parametrize(
    "name",
    [pytest.param("shoal.api", marks=pytest.mark.slow), *sorted(WITH_EXAMPLES - {"shoal.api"})],
)
def test_examples_of_a_module_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for example in doctest.DocTestFinder().find(import_module(name), name):
        runner.run(example, out=said.append)
    assert not runner.summarize(verbose=False).failed, "".join(said)


def test_an_example_that_is_false_is_noticed():
    (example,) = doctest.DocTestFinder().find(type("False_", (), {"__doc__": ">>> 1 + 1\n3\n"}), "wrong", module=None)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(example, out=lambda _: None)
    assert runner.summarize(verbose=False).failed == 1


def test_an_example_is_shown_line_by_line():
    block = runpy.run_path(str(ROOT / "docs" / "_ext" / "plain_docstrings.py"))["block"]
    code = [".. code-block:: pycon", "", "   >>> f(1)", "   2", ""]
    assert block([">>> f(1)", "2"]) == code
    assert block(["Example:", ">>> f(1)", "2"]) == ["\\ Example:", "", *code]
