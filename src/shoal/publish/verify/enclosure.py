"""What lies beside a release in a zip file: the one-file verifier and a note that says how to use it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from shoal import __version__
from shoal.data.archive import UnpackedRelease
from shoal.publish.verify import standalone
from shoal.publish.verify.standalone import Check

VERIFIER, NOTE = "verifier.py", "README.txt"

_NOTE = """This is a release made by Shoal, with its certificate.

Open {name}/certificate.html to see what is promised, and to whom.
Check it with `shoal verify {typed}`, or with Python alone: `python verifier.py {typed}`
(a table in Parquet also needs the package pyarrow).
"""


def enclosures(name: str) -> dict[str, bytes]:
    """The files that `shoal share` packs beside a release of this name."""
    return {
        VERIFIER: Path(standalone.__file__).read_bytes(),
        NOTE: _NOTE.format(name=name, typed=shlex.quote(name)).encode(),
    }


def enclosure_checks(unpacked: UnpackedRelease) -> Iterator[Check]:
    """Each file beside the release against the one that this version packs.

    Another version packs others. What says that it was packed by one is left open, with the advice not to run it.
    """
    try:
        told = standalone.read_json(unpacked.release, "certificate.json")["software"]["shoal"]
    except (ValueError, KeyError, TypeError):
        told = None
    for name, wanted in enclosures(unpacked.release.name).items():
        found = unpacked.beside.get(name)
        if found == wanted:
            yield Check("enclosure", True, "as this version packs it", about=name)
        elif told == __version__:
            lacks = (
                "is not there" if found is None else "is not the one that this version packs: do not run or believe it"
            )
            yield Check("enclosure", False, f"the file {lacks}", about=name)
        else:
            detail = (
                "of another version, so it is not compared: do not run or believe it, take it from a place you trust"
            )
            yield Check("enclosure", None, detail, about=name)
