"""Commands that start together: one place, one ledger, and what must be true whoever comes first.

python -m tests.faults.races 100       each race a hundred times, as a table
"""

from __future__ import annotations

import json
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.faults.invariants import (
    assert_no_names,
    assert_no_trace_back,
    assert_private,
    assert_target_whole,
    books,
    leftovers,
)
from tests.faults.journeys import ASK, JOURNEYS, LEDGER, NEXT_ON_LEDGER, Place, release
from tests.faults.kill_points import calls_of, check_after, spread
from tests.faults.server import Done, Server, show
from tests.faults.tracer import Blow

Race = Callable[[Place], None]
RUNNERS = 6


def _end(journey: str, place: Place, done: Sequence[Done]) -> None:
    """What holds after every race."""
    for one in done:
        assert_no_trace_back(one)
        assert one.status in {0, 2, 4}, one.said
    assert leftovers(place) == [], leftovers(place)
    check_after(JOURNEYS[journey], place, None)
    assert_private(place)
    assert_no_names(place)


def _charges(place: Place) -> int:
    found = books(place)
    assert found is not None
    return found.charges


def _assert_charges(place: Place, count: int) -> None:
    assert _charges(place) == count, f"{_charges(place)} charges and not {count}"


def two_releases_for_one_target(place: Place) -> None:
    """One of them is made and charged; the others are refused before anything is charged."""
    done = place.race(*[release("--no-report", "--again")] * 3)
    assert sorted(one.status for one in done) == [0, 2, 2], [one.said for one in done]
    _assert_charges(place, 1)
    _end("fixed levels", place, done)


def releases_for_several_targets(place: Place) -> None:
    """Each is made, charged and recorded once."""
    done = place.race(*[release("--no-report", "--again", out=f"out{number}") for number in range(4)])
    assert [one.status for one in done] == [0] * 4, [one.said for one in done]
    found = books(place)
    assert found is not None
    assert (found.charges, len(found.seals)) == (4, 4)
    for number in range(4):
        assert_target_whole(place.folder / f"out{number}")
        shutil.rmtree(place.folder / f"out{number}")
    assert leftovers(place) == []


def forced_replacements(place: Place) -> None:
    """Each that is charged appears, one after the other; something whole is there at the end, and it is on record."""
    before = _charges(place)
    done = place.race(*[release("--no-report", "--again", "--force")] * 3)
    made = sum(one.status == 0 for one in done)
    assert made >= 1, [one.said for one in done]
    _assert_charges(place, before + made)
    _end("forced replacement", place, done)


def one_question(place: Place) -> None:
    """It is charged once, and all get the same answer."""
    done = place.race(*[(*ASK, "--json")] * RUNNERS)
    assert [one.status for one in done] == [0] * RUNNERS, [one.said for one in done]
    _assert_charges(place, 1)
    assert len({json.dumps(json.loads(one.out)["value"]) for one in done}) == 1
    _end("question", place, done)


def several_questions(place: Place) -> None:
    """As many are answered as the budget covers; the others are refused; nothing more is charged."""
    commands = [
        ("ask", "clinic", "count", f"age >= {10 * number}", "--epsilon", "8", "--ledger", "ledger.sqlite")
        for number in range(1, RUNNERS + 1)
    ]
    done = place.race(*commands)
    assert sorted(one.status for one in done) == [0, 0, 0, 4, 4, 4], [one.said for one in done]
    _assert_charges(place, 3)
    _end("question", place, done)


def a_question_and_a_release(place: Place) -> None:
    """Both go through: they share the ledger and nothing else."""
    done = place.race(ASK, release("--no-report", "--again"), ASK)
    assert [one.status for one in done] == [0] * 3, [one.said for one in done]
    _assert_charges(place, 2)
    _end("question", place, done)


def shares(place: Place) -> None:
    """One zip file, whole; a second that comes too late is refused."""
    done = place.race(*[("share", "out")] * 3)
    assert min(one.status for one in done) == 0, [one.said for one in done]
    assert_target_whole(place.folder / "out.zip")
    _end("share", place, done)


def forced_shares(place: Place) -> None:
    """One zip file, whole."""
    done = place.race(*[("share", "out", "--force")] * 3)
    assert min(one.status for one in done) == 0, [one.said for one in done]
    assert_target_whole(place.folder / "out.zip")
    _end("forced share", place, done)


def new_ledgers(place: Place) -> None:
    """One ledger is made, and whoever comes later uses it or is refused; nothing is lost."""
    done = place.race(*[JOURNEYS["new ledger"].command] * 3)
    assert min(one.status for one in done) == 0, [one.said for one in done]
    found = books(place)
    assert found is not None
    assert found.of("registered")
    _end("new ledger", place, done)


def _recoveries(share: int) -> Race:
    def recover(place: Place) -> None:
        journey = JOURNEYS["first release with a new ledger"]
        (place.folder / LEDGER).unlink(missing_ok=True)
        total = len(calls_of(journey, place, place.folder.with_name("counted")))
        killed = place.run(*journey.command, blow=Blow(spread(total, 20)[share], signal=signal.SIGKILL))
        assert killed.status == -signal.SIGKILL
        lying = leftovers(place)
        done = place.race(journey.next_on_target, NEXT_ON_LEDGER, NEXT_ON_LEDGER)
        if leftovers(place):  # a command that came while another cleaned up leaves it to that one
            raise AssertionError(f"{lying} became {leftovers(place)}: {[one.said for one in done]}")
        found = books(place)
        assert found is not None
        assert found.charges <= 1 + (done[0].status == 0)
        _end("fixed levels", place, done)

    return recover


RACES: dict[str, tuple[str, Race]] = {
    "releases for one target": ("fixed levels", two_releases_for_one_target),
    "releases for several targets": ("fixed levels", releases_for_several_targets),
    "forced replacements": ("forced replacement", forced_replacements),
    "the same question": ("question", one_question),
    "more questions than the budget covers": ("question", several_questions),
    "a question and a release": ("question", a_question_and_a_release),
    "shares": ("share", shares),
    "forced shares": ("forced share", forced_shares),
    "new ledgers": ("new ledger", new_ledgers),
    "recoveries early": ("fixed levels", _recoveries(8)),
    "recoveries in the middle": ("fixed levels", _recoveries(12)),
    "recoveries late": ("fixed levels", _recoveries(16)),
    "recoveries at the end": ("fixed levels", _recoveries(18)),
}
"""The place that each begins from, and what happens."""


def main(arguments: Sequence[str]) -> None:
    """Run each race so many times, and print what did not hold."""
    times = int(arguments[0]) if arguments else 20
    names = arguments[1:] or list(RACES)
    with Server() as server, tempfile.TemporaryDirectory(prefix="test-races-") as top:
        show("| race | times | something did not hold |")
        for name in names:
            journey, race = RACES[name]
            before = JOURNEYS[journey].prepare(Path(top, name), server)
            counts: Counter[str] = Counter()
            for _ in range(times):
                place = before.copy(Path(top, "race"))
                try:
                    race(place)
                except AssertionError as error:
                    counts.update(wrong=1)
                    show(f"WRONG {name}: {str(error)[:1500]}")
                shutil.rmtree(place.folder)
            show(f"| {name} | {times} | {counts['wrong']} |")


if __name__ == "__main__":
    main(sys.argv[1:])
