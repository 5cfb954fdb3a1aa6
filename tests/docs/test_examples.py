"""The examples in README.md and in docs/ do what they say: one test for each page, which is one story."""

from __future__ import annotations

import doctest
import shlex
from pathlib import Path

import pytest
import sqlalchemy
from sybil import Example, Sybil
from sybil.parsers.myst import CodeBlockParser, PythonCodeBlockParser
from sybil.typing import Parser

from shoal.engine.read.foreign.address import parse_address
from tests.cli.run import shoal

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = "file_format: mystnb"
"""Marks a page whose cells the build runs, and fails with them (test_build.py): once is enough."""
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if NOTEBOOK not in page.read_text("utf-8")[:200]),
]
NOTEBOOKS = [page for page in sorted((ROOT / "docs").rglob("*.md")) if page not in PAGES]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def session(text: str) -> list[tuple[str, str]]:
    """Split a console block into commands, each with the output that is printed below it."""
    steps: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            steps.append((line.removeprefix("$ "), ""))
        else:
            command, output = steps[-1]
            steps[-1] = (command, output + line + "\n")
    return steps


def run_console(example: Example) -> str | None:
    """Run the `shoal` commands of a console block; a failure, or output other than promised, is an error."""
    for command, expected in session(example.parsed):
        program, *arguments = shlex.split(command)
        assert program == "shoal", f"{example.path}: a console example runs shoal, not {program}"
        done = shoal(*arguments)
        assert done.exit_code == 0, f"{example.path}: {command}\n{done.stderr}"
        if expected.strip() and not doctest.OutputChecker().check_output(expected, done.stdout, FLAGS):
            return f"{command}\nexpected:\n{expected}\nprinted:\n{done.stdout}"
    return None


PARSERS: list[Parser] = [
    PythonCodeBlockParser(doctest_optionflags=FLAGS),
    CodeBlockParser(language="console", evaluator=run_console),
]


SERVED = ROOT / "docs" / "guide" / "from-database.md"
"""The page that needs a server, whose database is called clinic."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if page != SERVED], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_examples_of_a_page_run(page, tmp_path, monkeypatch):
    run_page(page, tmp_path, monkeypatch)


@pytest.mark.slow
def test_examples_run_on_a_server(postgresql, tmp_path, monkeypatch):
    url = parse_address(postgresql)
    monkeypatch.setenv("PGHOST", str(url.query["host"]))
    monkeypatch.setenv("PGUSER", str(url.username))
    engine = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.pool.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE DATABASE clinic")
        try:
            run_page(SERVED, tmp_path, monkeypatch)
        finally:
            connection.exec_driver_sql("DROP DATABASE clinic WITH (FORCE)")


def run_page(page, tmp_path, monkeypatch):
    document = Sybil(parsers=PARSERS, path=str(page.parent)).parse(page)
    monkeypatch.chdir(tmp_path)
    for example in document.examples():
        example.evaluate()


def test_a_notebook_that_fails_fails_the_build():
    text = (ROOT / "docs" / "conf.py").read_text("utf-8")
    assert 'nb_execution_mode = "force"' in text
    assert "nb_execution_raise_on_error = True" in text


def test_no_page_and_no_kernel_has_a_time_limit():
    # -1 is nbclient's word for none; a limit made builds fail on a machine that was busy with something else
    text = (ROOT / "docs" / "conf.py").read_text("utf-8")
    assert "nb_execution_timeout = -1" in text
    assert '"patient_cells"' in text
    assert not [page for page in PAGES + NOTEBOOKS if "timeout:" in page.read_text("utf-8")[:400]]


def test_a_false_example_is_caught(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\n>>> 1 + 1\n3\n\n```\n")
    (example,) = Sybil(parsers=PARSERS, path=str(tmp_path)).parse(page).examples()
    with pytest.raises(AssertionError, match="Expected:"):
        example.evaluate()


def test_the_readme_has_examples():
    document = Sybil(parsers=PARSERS, path=str(ROOT)).parse(ROOT / "README.md")
    assert len(list(document.examples())) >= 2


def test_a_console_block_is_read_as_commands_and_output():
    assert session("$ shoal a\none\ntwo\n$ shoal b\n") == [("shoal a", "one\ntwo\n"), ("shoal b", "")]
