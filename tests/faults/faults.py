"""One fault: run a journey on a system that fails in one way, and hold what was done against what was said.

python -m tests.faults.faults                 every fault on every journey, as a table (about half an hour)
python -m tests.faults.faults "disk full"     one kind of fault
"""

from __future__ import annotations

import errno
import re
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.invariants import Books, assert_no_trace_back, assert_private, assert_target_whole, books, leftovers
from tests.faults.journeys import JOURNEYS, Journey, Place
from tests.faults.kill_points import check_after, follow, is_trifle, outline, spread
from tests.faults.server import Done, Server, show
from tests.faults.tracer import SYNCING, WRITING, Blow

CODES = {0, 2, 3, 4, 5, 129, 130, 143}
"""Exit codes that say what happened: done, refused, or ended by one of the signals that can be caught."""
MAKING = ("mkdir", "openat", "open", "rename", "renameat", "renameat2", "mkdirat")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
MODULES = ("matplotlib", "jinja2", "numba", "duckdb", "scipy", "dp_accounting", "sqlalchemy", "pyarrow", "ruamel")
"""Modules that are loaded when they are needed."""


@dataclass(frozen=True)
class Fault:
    """A way in which a system fails: what is handed to the server, in so many places of a run."""

    kind: str
    blow: Mapping[str, Any] = field(default_factory=dict)
    """A blow that falls at one of the calls that it counts; empty for a fault that is there from the beginning."""
    options: Mapping[str, Any] = field(default_factory=dict)
    may_die: bool = False
    """Whether the process may be ended by the system; then the next command cleans up, as after a kill."""


FAULTS = (
    Fault("disk full", {"error": errno.ENOSPC, "only": tuple(sorted(WRITING)), "lasting": True}),
    Fault("disk full for a moment", {"error": errno.ENOSPC, "only": tuple(sorted(WRITING))}),
    Fault("input/output error on sync", {"error": errno.EIO, "only": tuple(sorted(SYNCING))}),
    Fault("nothing can be made", {"error": errno.EACCES, "only": MAKING, "lasting": True}),
    Fault("nothing can be made for a moment", {"error": errno.ENOSPC, "only": MAKING}),
    *(Fault(f"signal {one.name}", {"signal": int(one)}) for one in SIGNALS),
    *(Fault(f"files of at most {size} bytes", options={"limits": {"FSIZE": size}}) for size in (1000, 5000, 20000)),
    *(Fault(f"at most {count} open files", options={"limits": {"NOFILE": count}}) for count in (4, 8, 12, 16, 24)),
    *(
        Fault(f"{size} MB more memory", options={"limits": {"AS": size << 20}}, may_die=True)
        for size in (0, 16, 64, 128, 256, 512)
    ),
    *(Fault(f"stream {handle} closed", options={"closed": [handle]}) for handle in range(3)),
    Fault("all streams closed", options={"closed": [0, 1, 2]}),
    *(Fault(f"{name} cannot be imported", options={"broken": [name]}) for name in MODULES),
)


@dataclass(frozen=True)
class Suffered:
    """What became of one run under a fault."""

    journey: str
    kind: str
    at: int
    struck: str
    status: int
    charged: bool
    wrong: str = ""
    """What did not hold; empty where all did."""


def suffer(journey: Journey, before: Place, folder: Path, fault: Fault, at: int = 0) -> Suffered:
    """Run a journey under a fault, and hold what is there against what was said."""
    copy = before.copy(folder)
    old = books(before)
    blow = Blow(at=at, **{**fault.blow, "below": str(folder) if "error" in fault.blow else ""}) if fault.blow else None
    done = copy.run(*journey.command, blow=blow, **fault.options)
    charged, wrong = False, ""
    try:
        found = books(copy)
        charged = (0 if found is None else found.charges) > (0 if old is None else old.charges)
        silent = any(stream in fault.options.get("closed", ()) for stream in (1, 2))
        check_said(journey, copy, done, old, silent=silent, may_die=fault.may_die)
        assert not (charged and done.status and "broken" in fault.options), f"charged in vain: {done.err}"
    except AssertionError as error:
        wrong = str(error)
    shutil.rmtree(folder)
    return Suffered(journey.name, fault.kind, at, done.struck, done.status, charged, wrong)


def check_said(
    journey: Journey, place: Place, done: Done, old: Books | None, *, silent: bool = False, may_die: bool = False
) -> None:
    """What was done is what was said: by the exit code and by the words; and what is there is whole."""
    assert_no_trace_back(done)
    died = may_die and (done.status < 0 or done.status == 127)  # 127: the C library found no memory for a thread
    plain = silent or (done.err.startswith("error: ") and done.err.count("\n") == 1)  # what the system said, in a line
    assert died or done.status in CODES or (done.status in {1, 120} and plain), f"exit code {done.status}: {done.err}"
    found = books(place)
    known = () if old is None else old.events
    events = () if found is None else found.events
    assert events[: len(known)] == known, "the ledger has lost or changed events"
    charged = (0 if found is None else found.charges) - (0 if old is None else old.charges)
    assert 0 <= charged <= journey.charges
    target = place.folder / journey.target
    there = bool(journey.target) and target.exists()
    if there:
        assert_target_whole(target)
    assert there or not journey.replaces, "what was to be replaced is gone"
    assert_private(place)
    if not silent and not died:
        check_words(journey, done, charged=bool(charged), there=there and not journey.replaces)
    if done.status == 0:
        assert charged == journey.charges
        assert there or not journey.target
    waits = "it is kept in" in done.err or (
        there and found is not None and found.works
    )  # for its name, or for its note
    if not died and not waits:
        assert leftovers(place) == [], f"left: {leftovers(place)}; it said: {done.err}"
    follow(journey, place, found, [name for name in leftovers(place) if not is_trifle(place.folder / name)], "target")


def check_words(journey: Journey, done: Done, *, charged: bool, there: bool) -> None:
    """No sentence about the charge or the release is false, and a failure says what became of the charge."""
    said = " ".join(done.err.split())
    if done.status:
        assert said, f"exit code {done.status} and not a word"
    if "nothing was charged" in said:
        assert not charged, f"it was charged: {said}"
    if re.search(r"(?<!if the ledger was charged, )\bthe charge stands\b", said):
        assert charged, f"nothing was charged: {said}"
    if re.search(r"nothing was published|there is no release", said):
        assert not there, f"the release is there: {said}"
    if done.status and charged:
        assert re.search(r"charge stands|is charged|was charged|release (was made and )?(stands|is there)", said), (
            f"not a word of the charge: {said}"
        )
    if done.status and there and journey.charges:
        assert re.search(r"release (was made and )?(stands|is there|is whole)", said), (
            f"not a word of the release that is there: {said}"
        )


def places_of(journey: Journey, before: Place, folder: Path, fault: Fault) -> int:
    """At how many calls of an undisturbed run the fault can fall."""
    copy = before.copy(folder)
    blow = Blow(at=sys.maxsize, **{**fault.blow, "below": str(folder) if "error" in fault.blow else ""})
    done = copy.run(*journey.command, blow=blow)
    assert done.status == 0, done.said
    check_after(journey, copy, books(before))
    shutil.rmtree(folder)
    return done.counted


def suffer_all(
    journey: Journey, before: Place, top: Path, faults: Sequence[Fault], most: int | None = None
) -> Iterator[Suffered]:
    """Some faults on a journey, at every call or at so many of them."""
    for fault in faults:
        if fault.blow:
            total = places_of(journey, before, top / "counted", fault)
            for place in range(total) if most is None else spread(total, most):
                yield suffer(journey, before, top / "suffered", fault, place + 1)
        else:
            yield suffer(journey, before, top / "suffered", fault)


def main(arguments: Sequence[str]) -> None:
    """Print the table, and what did not hold."""
    faults = [fault for fault in FAULTS if not arguments or fault.kind.startswith(arguments[0])]
    names = arguments[1:2] or list(JOURNEYS)
    most = int(arguments[2]) if len(arguments) > 2 else 40
    counts: dict[str, Counter[str]] = {}
    wrong: dict[tuple[str, str, str], list[Suffered]] = {}
    with Server() as server, tempfile.TemporaryDirectory(prefix="test-faults-") as top:
        for name in names:
            before = JOURNEYS[name].prepare(Path(top, name), server)
            for one in suffer_all(JOURNEYS[name], before, Path(top), faults, most):
                own = counts.setdefault(one.kind, Counter())
                own.update(runs=1, done=int(one.status == 0), wrong=int(bool(one.wrong)))
                own.update(failed_charged=int(one.charged and one.status != 0))
                if one.wrong:
                    wrong.setdefault((name, one.kind, outline(one.wrong)), []).append(one)
    for found in wrong.values():
        first = found[0]
        show(f"{len(found)} times; {first.journey}, {first.kind} at {first.at} ({first.struck}): {first.wrong}")
    show("| fault | runs | ended well | failed and charged | something did not hold |")
    for kind, own in counts.items():
        show(f"| {kind} | {own['runs']} | {own['done']} | {own['failed_charged']} | {own['wrong']} |")


if __name__ == "__main__":
    main(sys.argv[1:])
