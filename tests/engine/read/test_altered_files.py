"""Thousands of altered files: each is refused by a DataError that quotes no cell, or read as another library reads it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

from tests.engine.read.altered import alter

CASES, SLICE = 10_000, 500
FEW = 40
BYTES, SECONDS = 24 << 30, 600
"""What one process may use: DuckDB, Arrow and Polars reserve far more addresses than they touch."""


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def read_altered(kind, first, stop, folder):
    """What happened to each file, by its seed; a crash is that of the file that was begun last."""
    command = [sys.executable, "-m", "tests.engine.read.read_altered", kind, str(first), str(stop), str(folder)]
    environment = os.environ | {"POLARS_MAX_THREADS": "1", "TMPDIR": str(folder)}
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, errors="replace", preexec_fn=limit, env=environment
    )
    lines = done.stdout.splitlines()
    found = {int(line.split("\t")[1]): line.split("\t")[2] for line in lines if line.startswith("end\t")}
    if done.returncode:
        begun = [int(line.split()[1]) for line in lines if line.startswith("begin ")]
        found[begun[-1] if begun else first] = f"CRASH {done.returncode} {done.stderr[-500:]}"
    return found


def refuse_surprises(found):
    """Every file is refused, or read as another library reads it, or refused by that library alone."""
    odd = {seed: words for seed, words in found.items() if not words.startswith(("refused ", "accepted"))}
    assert odd == {}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_an_altered_file_is_refused_or_read_as_others_read_it(tmp_path, kind):
    found = read_altered(kind, 0, FEW, tmp_path)
    refuse_surprises(found)
    assert len(found) == FEW
    assert len({words.split()[0] for words in found.values()}) == 2  # some are read, others refused


def test_a_file_whose_footer_ends_in_a_number_is_altered_too():
    """The footer of this one was damaged by the first alteration; the second ended the whole run."""
    assert alter("parquet", 5666) != b""


@pytest.mark.long
@pytest.mark.parametrize("first", range(FEW, CASES, SLICE))
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_more_altered_files_are_refused_or_read_as_others_read_them(tmp_path, kind, first):
    stop = min(first + SLICE, CASES)
    found = read_altered(kind, first, stop, tmp_path)
    refuse_surprises(found)
    assert len(found) == stop - first
