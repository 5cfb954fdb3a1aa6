"""Kill -9 at system calls of each journey: nothing is lost, nothing is half, and the next command leaves nothing lying about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.journeys import JOURNEYS, Place
from tests.faults.kill_points import Killed, calls_of, kill, on_files, spread

FEW = {
    "first release with a new ledger": 4,
    "forced replacement": 2,
    "microaggregation": 1,
    "question": 3,
    "share": 2,
    "new ledger": 2,
}
"""Points of some journeys in `make test`."""
SLICES = 8
"""Tests into which all points of a journey are divided, so that several processes can share them."""


def words(killed: list[Killed]) -> str:
    """What did not hold."""
    wrong = [one for one in killed if one.fault]
    shown = "\n".join(f"killed at {one.at} ({one.struck}), then the {one.following}: {one.fault}" for one in wrong[:5])
    return f"{len(wrong)} of {len(killed)} kills:\n{shown}"


@pytest.mark.slow
@pytest.mark.parametrize("name", list(FEW))
def test_a_kill_leaves_nothing_that_the_next_command_does_not_clean_up(
    prepared: Callable[[str], Place], tmp_path: Path, name: str
) -> None:
    journey, before = JOURNEYS[name], prepared(name)
    numbers = on_files(calls_of(journey, before, tmp_path / "counted"), before)
    killed = [
        kill(journey, before, tmp_path / "killed", numbers[place], journey.following[number % len(journey.following)])
        for number, place in enumerate(spread(len(numbers), FEW[name]))
    ]
    assert not any(one.fault for one in killed), words(killed)
    assert any(one.struck for one in killed)


@pytest.mark.long
@pytest.mark.parametrize("number", range(SLICES))
@pytest.mark.parametrize("name", list(JOURNEYS))
def test_every_call_can_be_the_last(prepared: Callable[[str], Place], tmp_path: Path, name: str, number: int) -> None:
    journey, before = JOURNEYS[name], prepared(name)
    total = len(calls_of(journey, before, tmp_path / "counted"))
    killed = [
        kill(journey, before, tmp_path / "killed", at, following)
        for at in range(1 + number, total + 1, SLICES)
        for following in journey.following
    ]
    assert not any(one.fault for one in killed), words(killed)
    assert sum(bool(one.struck) for one in killed) >= 0.9 * len(killed)
