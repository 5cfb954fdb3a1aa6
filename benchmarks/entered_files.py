"""How much of the program one release and one noisy count enter: files and functions of src/shoal, no timing.

python benchmarks/entered_files.py [--list]        --list names the files, for somebody who wants to read along

Both run as a user runs them: the release by the command, the count by the library, on 5,000 generated visits. A file is
entered when one of its functions is called, at the import of a module too; class bodies and plain imports do not count.
"""

import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

import shoal
from shoal.datasets.visits import write_policy, write_visits

ROOT = Path(shoal.__file__).parent
ROWS = 5_000
FUNCTION = 1
"""The flag of a code object that is a function's (CO_OPTIMIZED)."""


def release() -> None:
    """One release by the command line."""
    from shoal.cli import main

    command = "shoal release policy.yaml visits.csv --out out --ledger ledger.sqlite --new-ledger"
    sys.argv = command.split()
    with suppress(SystemExit), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        main()
    if not Path("out", "certificate.json").is_file():
        raise SystemExit("the release did not appear")


def count() -> None:
    """One noisy count by the library."""
    asking = shoal.session(
        shoal.Policy.load("policy.yaml"), "visits.csv", ledger="count.sqlite", new_ledger=True, budget=(3, "1e-5")
    )
    asking.ask(shoal.Count("age >= 65"), epsilon="0.1")


def entered(run: Callable[[], None]) -> set[tuple[str, str, int]]:
    """File, name and first line of every function of the program that a run calls."""
    found: set[tuple[str, str, int]] = set()

    def watch(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        own = code.co_filename.startswith(f"{ROOT}{os.sep}") and code.co_filename.endswith(".py")  # no template
        if event == "call" and own and code.co_flags & FUNCTION:
            found.add((code.co_filename, code.co_qualname, code.co_firstlineno))

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def main() -> None:
    """Print both, by room."""
    listed = "--list" in sys.argv[1:]
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        write_visits("visits.csv", ROWS, seed=1)
        write_policy(".")
        for run in (release, count):
            found = entered(run)
            files = sorted({Path(file).relative_to(ROOT).as_posix() for file, _, _ in found})
            rooms = Counter(file.split("/", 1)[0] for file in files)
            print(f"one {run.__name__}: {len(files)} files, {len(found)} functions")
            print("  " + ", ".join(f"{room} {number}" for room, number in rooms.most_common()))
            if listed:
                print("\n".join(f"  {file}" for file in files))
        os.chdir(ROOT)


if __name__ == "__main__":
    main()
