"""One kill: run a journey, kill it at one of its system calls, look at what is there, run the next command, look again.

python -m tests.faults.kill_points                every call that acts of every journey, as a table (about half an hour)
python -m tests.faults.kill_points question 20    20 calls of one journey, spread over it
"""

from __future__ import annotations

import re
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.invariants import (
    SAID,
    Books,
    assert_no_names,
    assert_no_trace_back,
    assert_private,
    assert_target_whole,
    books,
    leftovers,
    seal_of,
)
from tests.faults.journeys import JOURNEYS, NEXT_ON_LEDGER, Journey, Place
from tests.faults.server import Done, Server, show
from tests.faults.tracer import Blow


@dataclass(frozen=True)
class Killed:
    """What became of one kill."""

    journey: str
    at: int
    following: str
    struck: str
    charged: bool
    there: bool
    """Whether the release, or what is made, was there right after the kill."""
    lying: tuple[str, ...]
    """What lay about before the next command."""
    fault: str = ""
    """What did not hold; empty where all did."""


def spread(total: int, count: int) -> list[int]:
    """So many places from 0 to `total` - 1, spread over it."""
    count = min(count, total)
    return [(2 * place + 1) * total // (2 * count) for place in range(count)]


def calls_of(journey: Journey, before: Place, folder: Path) -> list[str]:
    """The calls of an undisturbed run that act, in order; what holds after a kill holds after it."""
    copy = before.copy(folder)
    done = copy.run(*journey.command, traced=True, log=True)
    assert done.status == 0, done.said
    check_after(journey, copy, books(before))
    assert leftovers(copy) == []
    shutil.rmtree(folder)
    return done.log


def on_files(calls: Sequence[str], before: Place) -> list[int]:
    """The numbers, from 1, of the calls that are about files but for locks: those after which something else is on the disk."""
    dull = ("fcntl", "flock", "getrandom", "clone", "fchown")
    return [
        number
        for number, call in enumerate(calls, 1)
        if not call.startswith(dull) and "test-output-" not in call and before.folder.name
    ]


def is_trifle(path: Path) -> bool:
    """Whether a command may remove this without a word: a folder with nothing in it but its lock, or a part of a file that the
    next writer of that file writes over.
    """
    if path.is_dir():
        return {entry.name for entry in path.iterdir()} <= {"shoal.lock", "shoal.journal.next"}
    return path.name.endswith(".shoal-part") or is_trifle(path.parent)


def kill(journey: Journey, before: Place, folder: Path, at: int, following: str, *, every: bool = False) -> Killed:
    """Kill a run at one call and follow it by the next command; the fault says what did not hold."""
    copy = before.copy(folder)
    old = books(before)
    done = copy.run(*journey.command, blow=Blow(at, signal=signal.SIGKILL, every=every))
    lying, fault, charged, there = (), "", False, (folder / journey.target).exists() if journey.target else False
    try:
        found = check_killed(journey, copy, done, old)
        charged = (0 if found is None else found.charges) > (0 if old is None else old.charges)
        lying = tuple(leftovers(copy))
        silent = {name for name in lying if is_trifle(copy.folder / name)}
        follow(journey, copy, found, [name for name in lying if name not in silent], following)
    except AssertionError as error:
        fault = f"{error}"
    shutil.rmtree(folder)
    return Killed(journey.name, at, following, done.struck, charged, there, lying, fault)


def check_killed(journey: Journey, place: Place, done: Done, old: Books | None) -> Books | None:
    """What holds right after the kill; the ledger's events."""
    assert done.status in {-signal.SIGKILL, 0}, done.said
    found = books(place)
    events = () if found is None else found.events
    known = () if old is None else old.events
    assert events[: len(known)] == known, "the ledger has lost or changed events"
    charged = (0 if found is None else found.charges) - (0 if old is None else old.charges)
    assert 0 <= charged <= journey.charges, f"{charged} charges"
    target = place.folder / journey.target
    if journey.target and (journey.replaces or target.exists()):
        assert target.exists(), "what was to be replaced is gone"
        assert_target_whole(target)
        assert charged or journey.replaces or not journey.charges, "a release without a charge"
    if done.status == 0:
        assert charged == journey.charges
    assert_private(place)
    return found


def follow(journey: Journey, place: Place, killed: Books | None, lying: Sequence[str], following: str) -> None:
    """The next command cleans up and says so."""
    then = place.run(*(journey.next_on_target if following == "target" else NEXT_ON_LEDGER))
    assert_no_trace_back(then)
    assert then.status in {0, 2, 4}, then.said
    left = leftovers(place)
    if following == "ledger":  # a run that the ledger does not list, not yet or no more: its target cleans up
        known = () if killed is None else killed.works
        unknown = {name for name in (*left, *lying) if "shoal-work" in name and name not in known}
        left = [name for name in left if name not in unknown]
        lying = [name for name in lying if name not in unknown]
    assert left == [], f"left by the next command: {left}; it said: {then.err}"
    if lying:
        assert SAID.search(then.said), f"{list(lying)} were cleaned up in silence: {then.err}"
    check_after(journey, place, killed)
    assert_no_names(place)


def check_after(journey: Journey, place: Place, old: Books | None) -> None:
    """After a command that ended by itself: the ledger goes on, what is at the target is whole, a release that is there is on
    record, and one that is on record is there.
    """
    found = books(place)
    known = () if old is None else old.events
    events = () if found is None else found.events
    assert events[: len(known)] == known, "the ledger has lost or changed events"
    target = place.folder / journey.target
    if journey.target and target.exists():
        assert_target_whole(target)
    if place.out.exists():
        assert found is not None
        if journey.is_charged:
            assert seal_of(place.out) in found.seals, "a release is there and not on record"
        else:
            assert found.of("unbounded"), "a release is there and not on record"
    elif found is not None:
        assert not found.of("release"), "a release is on record and not there"
    assert found is None or not found.works, f"the ledger still lists runs: {found.works}"
    assert_private(place)


def kill_all(server: Server, names: Sequence[str], most: int | None = None) -> Iterator[Killed]:
    """Every kill of some journeys, or so many of each."""
    with tempfile.TemporaryDirectory(prefix="test-kills-") as top:
        for name in names:
            journey = JOURNEYS[name]
            before = journey.prepare(Path(top, name), server)
            total = len(calls_of(journey, before, Path(top, "counted")))
            for place in range(total) if most is None else spread(total, most):
                for following in journey.following:
                    yield kill(journey, before, Path(top, "killed"), place + 1, following)


def outline(fault: str) -> str:
    """The beginning of a sentence without names that chance made, so that the same fault is shown once."""
    return re.sub(r"shoal-[a-z]*-?[a-z0-9_]{8}|[a-z0-9_]{8}|\d+", "*", fault)[:120]


def main(arguments: Sequence[str]) -> None:
    """Print the table, and what did not hold."""
    names = [arguments[0]] if arguments else list(JOURNEYS)
    most = int(arguments[1]) if len(arguments) > 1 else None
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    faults: dict[str, list[Killed]] = {}
    with Server() as server:
        for one in kill_all(server, names, most):
            own = counts[one.journey]
            own.update(
                kills=bool(one.struck),
                charged=one.charged,
                there=one.there,
                lying=bool(one.lying),
                faults=bool(one.fault),
            )
            if one.fault:
                faults.setdefault(outline(one.fault), []).append(one)
    for found in faults.values():
        first = found[0]
        show(
            f"{len(found)} times; {first.journey} at {first.at} ({first.struck}), then {first.following}: {first.fault}"
        )
    columns = ("kills", "charged", "there", "lying", "faults")
    show(
        "| journey | kills | charged | result there | something lay about | after the next command something did not hold |"
    )
    for name, own in counts.items():
        show("| " + " | ".join([name, *(f"{own[column]:,}" for column in columns)]) + " |")
    total: Counter[str] = sum(counts.values(), Counter())
    show("| all | " + " | ".join(f"{total[column]:,}" for column in columns) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])
