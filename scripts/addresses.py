"""No file of the repository names a place on one machine, or the host of a package registry."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Each host is spelled in pieces, so that this file passes its own check.
HOSTS = [
    ".".join(pieces)
    for pieces in (
        ("pyp" + "i", "org"),
        ("python" + "hosted", "org"),
        ("npm" + "js", "org"),
        ("npm" + "js", "com"),
        ("js" + "delivr", "net"),
        ("unp" + "kg", "com"),
        ("ana" + "conda", "org"),
        ("deb", "deb" + "ian", "org"),
        ("crates", "io"),
    )
]
FORBIDDEN = {
    "a path of one machine": re.compile(r"(?<![\w.~/-])/(?:work|root|home|Users)(?=/|\b)|\b[A-Z]:\\Users"),
    "the host of a package registry": re.compile("|".join(map(re.escape, HOSTS)), re.IGNORECASE),
    "a package index option": re.compile(r"--(?:extra-)?index" + r"-url|--trusted" + r"-host"),
}


def offences(text: str) -> list[tuple[int, str]]:
    """Line number and kind of everything in the text that must not be there."""
    return [
        (number, kind)
        for number, line in enumerate(text.splitlines(), start=1)
        for kind, pattern in FORBIDDEN.items()
        if pattern.search(line)
    ]


def repository_files() -> list[Path]:
    """Every file that is tracked, or would be if it were added."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [file for name in listed.split("\0") if name and (file := ROOT / name).is_file()]


def main(arguments: list[str] | None = None) -> int:
    """Check the given files, or all of the repository's; print each offence and fail on any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    files = parser.parse_args(arguments).files or repository_files()
    count = 0
    for file in files:
        for number, kind in offences(file.read_bytes().decode("utf-8", errors="replace")):
            print(f"{file}:{number}: names {kind}", file=sys.stderr)
            count += 1
    print(f"addresses: {len(files)} files, {count} offences")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
