"""One more row never changes how the others are read: the file is read as before, or refused as a whole."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from shoal.engine.duckdb.engine import DuckDB
from tests.engine import appended
from tests.engine.oracle import OracleEngine

ENGINES = (DuckDB(threads=1), OracleEngine())


def compared(seed, folder, engines, case=appended.case):
    """How many cases of each kind were compared, refused, or changed."""
    draw = random.Random(seed)  # noqa: S311 - which tables are tried is no secret
    drawn = case(draw, folder)
    if drawn is None:
        return {("none", "not built")}
    found = {appended.changed(engine, drawn) for engine in engines}
    assert len(found) == 1, f"the engines differ on case {seed}: {drawn[0]}"
    outcome = {None: "refused", False: "same", True: "changed"}[found.pop()]
    assert outcome != "changed", f"one more row changed how others are read: case {seed}, {drawn[0]}"
    return {(drawn[0], outcome)}


@pytest.mark.slow
def test_one_more_row_does_not_change_how_others_are_read(tmp_path):
    seen = Counter()
    for seed in range(250):
        seen.update(compared(seed, tmp_path, ENGINES if seed % 5 == 0 else ENGINES[1:]))
    assert all(seen[kind, "same"] for kind in appended.KINDS), seen


@pytest.mark.slow
def test_one_more_row_in_a_file_of_another_program_does_not_change_how_others_are_read(tmp_path):
    seen = Counter()
    for seed in range(50):
        seen.update(compared(seed, tmp_path, ENGINES if seed % 5 == 0 else ENGINES[1:], appended.foreign_case))
    assert all(seen[kind, "same"] for kind in appended.FOREIGN), seen


@pytest.mark.long
@pytest.mark.parametrize("block", range(5))
def test_one_more_row_in_a_file_of_another_program_does_not_change_how_others_are_read_at_length(tmp_path, block):
    seen = Counter()
    for seed in range(10_000 + 500 * block, 10_000 + 500 * (block + 1)):
        seen.update(compared(seed, tmp_path, ENGINES, appended.foreign_case))
    assert all(seen[kind, "same"] for kind in appended.FOREIGN), seen


@pytest.mark.long
@pytest.mark.parametrize("block", range(5))
def test_one_more_row_does_not_change_how_others_are_read_at_length(tmp_path, block):
    seen = Counter()
    for seed in range(10_000 + 750 * block, 10_000 + 750 * (block + 1)):
        seen.update(compared(seed, tmp_path, ENGINES))
    assert sum(count for (_, outcome), count in seen.items() if outcome == "same") > 200
    assert all(seen[kind, "same"] for kind in appended.KINDS), seen
