"""What a stranger needs from a table to a verified release: machine time of each command, questions, words to read.

    python benchmarks/journey.py [--rows N] [--keep FOLDER] [JOURNEY ...]

The journeys are Adult, FARS and Census as the papers' CSV files, and a made-up table of forty columns as a workbook, a file of
Stata and a table of a real PostgreSQL server (3,000 rows; --rows for more). Each is `shoal init`, `policy confirm`, `plan`,
`release`, `verify`, in processes of their own, with an empty folder for caches, as on a machine that has just installed Shoal.
`confirm` runs on a terminal that answers yes to every question. The minutes are the wall time of all commands, four words a
second for reading every line that they print, once, and two seconds for each answer. Correcting a draft in an editor is not in
them.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # so that the made-up table and the server of the tests can be had
DATA = Path(os.environ.get("SHOAL_DATA", ROOT.parent / "shared" / "data"))
SHOAL = [str(Path(sys.executable).with_name("shoal"))]
SHARED = {
    "Adult": "adult/adult.csv",
    "FARS": "fars_subset/fars_subset.csv",
    "Census": "casc_census/census.csv",
}
FORMS = ("xlsx", "dta", "PostgreSQL")
COMMANDS = ("init", "confirm", "plan", "release", "verify")
WORDS_A_SECOND, SECONDS_AN_ANSWER = 4, 2
QUESTION = re.compile(rb"\[[^\]\n]*\byes\b[^\]\n]*\]\s*$")
"""The end of what a terminal shows while a question waits for its answer."""


SPINNER = re.compile("[\u2800-\u28ff]")
"""What moves while a person waits, which nobody reads."""


@dataclass(frozen=True)
class Step:
    """One command: CPU and wall seconds, its largest memory, the lines that it printed and the questions that it asked."""

    cpu: float
    wall: float
    memory: int
    lines: frozenset[str]
    questions: int = 0


def run(arguments: list[str], folder: Path, environment: dict[str, str]) -> Step:
    """Run a command to its end."""
    begin = time.monotonic()
    with (folder / f"{arguments[0]}.txt").open("wb") as printed:
        process = subprocess.Popen(  # noqa: S603 - our own program
            [*SHOAL, *arguments], cwd=folder, env=environment, stdout=printed, stderr=printed
        )
        _, status, used = os.wait4(process.pid, 0)
    return _step(arguments, status, begin, used, Path(printed.name).read_text(encoding="utf-8").splitlines())


def run_on_terminal(arguments: list[str], folder: Path, environment: dict[str, str]) -> Step:
    """Run a command on a terminal, and answer every question with yes."""
    begin = time.monotonic()
    terminal, other = pty.openpty()
    process = subprocess.Popen(  # noqa: S603 - our own program
        [*SHOAL, *arguments], cwd=folder, env=environment, stdin=other, stdout=other, stderr=other
    )
    os.close(other)
    shown, waiting, questions = b"", b"", 0
    while True:
        try:
            came = os.read(terminal, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not came:
            break
        shown, waiting = shown + came, waiting + came
        if QUESTION.search(waiting):
            os.write(terminal, b"yes\n")
            waiting, questions = b"", questions + 1
    _, status, used = os.wait4(process.pid, 0)
    os.close(terminal)
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode()).splitlines()
    read = [line for line in plain if not SPINNER.search(line)]
    (folder / "confirm.txt").write_text("\n".join(read), encoding="utf-8")
    return _step(arguments, status, begin, used, read, questions)


def _step(arguments, status, begin, used, printed, questions=0) -> Step:
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"shoal {' '.join(arguments)} failed")
    lines = frozenset(line.strip() for line in printed)
    return Step(used.ru_utime + used.ru_stime, time.monotonic() - begin, used.ru_maxrss >> 10, lines, questions)


def walk(data: str, told: list[str], folder: Path) -> dict[str, Step]:
    """Walk one journey in a folder of its own."""
    folder.mkdir(parents=True)
    environment = {
        **os.environ,
        "SHOAL_LEDGER": str(folder / "ledger.sqlite"),
        "NUMBA_CACHE_DIR": str(folder / "cache"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "COLUMNS": "100",
    }
    (folder / "cache").mkdir(mode=0o700)
    policy = "draft/policy.yaml"
    return {
        "init": run(
            ["init", data, *told, "--dataset", "journey", "--out", "draft", "--new-ledger"], folder, environment
        ),
        "confirm": run_on_terminal(["policy", "confirm", policy], folder, environment),
        "plan": run(["plan", policy], folder, environment),
        "release": run(["release", policy, data, "--out", "out"], folder, environment),
        "verify": run(["verify", "out"], folder, environment),
    }


@contextmanager
def table(name: str, rows: int, folder: Path) -> Iterator[tuple[str, list[str]] | None]:
    """The table of a journey: how a command is told of it; None where it cannot be had here."""
    from shoal.engine.write_foreign import write_database
    from tests.cli import clinic
    from tests.postgresql import find_programs, run_server

    if name in SHARED:
        path = DATA / SHARED[name]
        yield (str(path), []) if path.is_file() else None
        return
    made = clinic.make(rows)
    folder.mkdir(parents=True, exist_ok=True)
    if name == "xlsx":
        yield str(clinic.write_workbook(folder / "clinic.xlsx", made)), ["--sheet", "visits"]
    elif name == "dta":
        yield str(clinic.write_stata(folder / "clinic.dta", made)), []
    elif (programs := find_programs()) is None:
        yield None
    else:
        with run_server(programs) as address:
            write_database(address, "clinic", made, clinic.CODEBOOK)
            yield address, ["--table", "clinic"]


def main() -> None:
    """Walk the journeys, and print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("journeys", nargs="*", metavar="JOURNEY", help=f"some of {', '.join([*SHARED, *FORMS])}")
    parser.add_argument("--rows", type=int, default=3_000)
    parser.add_argument("--keep", type=Path, help="keep what the commands wrote in this folder")
    told = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="journey-") as temporary:
        base = (told.keep or Path(temporary)).resolve()
        print(
            "CPU seconds (wall seconds) of each command; memory of the largest; what a person reads, and minutes for all of it"
        )
        print(
            "".join(
                [
                    f"{'':14}",
                    *(f"{name:>16}" for name in (*COMMANDS, "all")),
                    f"{'MB':>7}{'questions':>11}{'words':>7}{'minutes':>9}",
                ]
            )
        )
        for name in told.journeys or [*SHARED, *FORMS]:
            with table(name, told.rows, base) as found:
                if found is None:
                    print(f"{name:14} cannot be had here")
                    continue
                steps = walk(*found, base / name.lower())
            cpu, wall = (sum(getattr(step, part) for step in steps.values()) for part in ("cpu", "wall"))
            times = [*((step.cpu, step.wall) for step in steps.values()), (cpu, wall)]
            asked = steps["confirm"]
            lines = frozenset[str]().union(*(step.lines for step in steps.values()))
            words = sum(len(line.split()) for line in lines)
            person = words / WORDS_A_SECOND + SECONDS_AN_ANSWER * asked.questions
            memory = max(step.memory for step in steps.values())
            print(
                f"{name:14}"
                + "".join(f"{f'{one:.1f} ({two:.1f})':>16}" for one, two in times)
                + f"{memory:>7}{asked.questions:>11}{words:>7}{(person + wall) / 60:>9.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
