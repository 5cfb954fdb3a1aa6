"""Files stay small enough to read: aim at 150 lines, stop at 400."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
AIM, STOP = 150, 400
LONGER = {
    "src/shoal/publish/verifier.py": 2000,
    "src/shoal/publish/plan.py": 460,
    "src/shoal/engine/source.py": 450,
    "src/shoal/query/session.py": 450,
}
"""Files that may be longer: the verifier is one file because it travels alone, and must be readable before all else; the
others are one idea each, which a cut at 400 would tear."""


def sizes(folders: list[Path]) -> dict[Path, int]:
    """Lines of every Python file under the folders."""
    files = sorted(file for folder in folders for file in folder.rglob("*.py"))
    return {file: len(file.read_text(encoding="utf-8").splitlines()) for file in files}


def _stop(file: Path) -> int:
    """Where a file has to stop."""
    return next((most for name, most in LONGER.items() if file.as_posix().endswith(name)), STOP)


def main(arguments: list[str] | None = None) -> int:
    """Name the files past the stop, count those past the aim; fail on the first kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, default=[ROOT / "src", ROOT / "tests"])
    found = sizes(parser.parse_args(arguments).folders)
    too_long = {file: lines for file, lines in found.items() if lines > _stop(file)}
    for file, lines in too_long.items():
        print(f"{file}: {lines} lines; stop at {_stop(file)}: split it", file=sys.stderr)
    above_aim = sum(lines > AIM for lines in found.values())
    print(f"file sizes: {len(found)} files, {above_aim} above {AIM} lines, {len(too_long)} too long")
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
