"""Every public name says what it takes and what it raises, and shows an example that runs (test_docstrings.py runs them)."""

from __future__ import annotations

import inspect
import re

import pytest

import shoal

NAMES = [name for name in shoal.__all__ if name != "__version__"]
ARGUMENTS = re.compile(r"^\s*Arguments {2,}\S", re.MULTILINE)
RAISES = re.compile(r"^\s*Raises (nothing\b| +\S)", re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_says_what_it_takes_what_it_raises_and_shows_an_example(name):
    said = inspect.getdoc(getattr(shoal, name)) or ""
    lacks = [] if ">>> " in said else ["an example (>>> )"]
    lacks += [] if ARGUMENTS.search(said) else ["a line that begins with 'Arguments  '"]
    lacks += [] if RAISES.search(said) else ["a line that begins with 'Raises  ', or 'Raises nothing'"]
    assert not lacks, f"shoal.{name} lacks {', '.join(lacks)}"
