"""Full disks, failing calls, signals, missing modules, too little of everything: what was done is what was said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.faults import FAULTS, Fault, Suffered, suffer_all
from tests.faults.journeys import JOURNEYS, Place

KINDS = {fault.kind: fault for fault in FAULTS}
_FIRST = "first release with a new ledger"
SHORT = (
    ("question", "signal SIGTERM"),
    (_FIRST, "disk full for a moment"),
    (_FIRST, "nothing can be made"),
    (_FIRST, "signal SIGHUP"),
    (_FIRST, "jinja2 cannot be imported"),
    ("share", "input/output error on sync"),
)
"""What `make test` tries: the journeys that take least, each fault at one call."""


def words(suffered: list[Suffered]) -> str:
    """What did not hold."""
    wrong = [one for one in suffered if one.wrong]
    shown = "\n".join(f"{one.kind} at {one.at} ({one.struck}): {one.wrong}" for one in wrong[:5])
    return f"{len(wrong)} of {len(suffered)} faults:\n{shown}"


def hold(before: Place, top: Path, name: str, fault: Fault, most: int | None) -> None:
    """Run a journey under a fault at so many of its calls."""
    suffered = list(suffer_all(JOURNEYS[name], before, top, [fault], most))
    assert not any(one.wrong for one in suffered), words(suffered)
    assert suffered


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), SHORT)
def test_what_was_done_is_what_was_said(prepared: Callable[[str], Place], tmp_path: Path, name: str, kind: str) -> None:
    hold(prepared(name), tmp_path, name, KINDS[kind], 1)


@pytest.mark.long
@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("name", list(JOURNEYS))
def test_at_many_calls(prepared: Callable[[str], Place], tmp_path: Path, name: str, kind: str) -> None:
    hold(prepared(name), tmp_path, name, KINDS[kind], 40)
