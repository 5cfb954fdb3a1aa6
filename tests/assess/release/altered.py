"""Release folders that somebody altered: seeded changes of bytes, of values, of whole files, sealed anew or not."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.assess.release.released import reseal

FROZEN = Path(__file__).resolve().parents[2] / "publish" / "verify" / "frozen"
KINDS = (
    "already-sampled", "choose", "levels", "published-bound", "repeat", "replace-one", "several-rows", "tree",
    "tree-on-sample", "views", "views-chosen",
)  # fmt: skip
"""The frozen releases that are samples."""

HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 10**30, 1e308, -1.5, "", "0", "-1", "1e999999999", "1e-999999999", "9" * 5000, "1/0", "nan",
    "x\x1b[2J\ny", "../../etc/passwd", "/etc/passwd", "a" * 100_000, [], {}, [[]], [0, 10**12], {"a": 1}, "0..1e999999999",
    "5..1", "2024-02-30", "9999-12-31", "boxes", "keep", "masked", "whole", "cuts", "groups", "integer", "decimal", "date",
    "text", "boolean",
)  # fmt: skip
PIECES = (b"\x00", b"\xff\xfe", b'"', b",", b"\n", b"\r", b"[" * 3000, b"1e999999999", b"&a *a", b"\x1b[2J", b"{", b"-")


def copy(kind: str, folder: Path) -> Path:
    """A fresh copy of a frozen release."""
    shutil.rmtree(folder, ignore_errors=True)
    return Path(shutil.copytree(FROZEN / kind, folder))


def alter(folder: Path, chance: random.Random) -> str:
    """Alter a release; what was done, in words."""
    how: Callable[[Path, random.Random], str] = chance.choices(
        [_bytes, _sealed_bytes, _certificate, _rule, _place], [2, 3, 4, 4, 2]
    )[0]
    return how(folder, chance)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".html")


def _bytes(folder: Path, chance: random.Random) -> str:
    path = chance.choice(_files(folder))
    path.write_bytes(_mutated(path.read_bytes(), chance))
    return f"bytes of {path.name}"


def _sealed_bytes(folder: Path, chance: random.Random) -> str:
    path = chance.choice([each for each in _files(folder) if each.name != "certificate.json"])
    path.write_bytes(_mutated(path.read_bytes(), chance))
    reseal(folder)
    return f"bytes of {path.name}, sealed anew"


def _mutated(content: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.choice([1, 1, 1, 2, 5])):
        at = chance.randrange(len(content) + 1)
        end = min(len(content), at + chance.choice([0, 1, 1, 4, 50]))
        put = chance.choice(
            [b"", bytes([chance.randrange(256)]), chance.choice(PIECES), content[: chance.randrange(40)]]
        )
        content = content[:at] + put + content[end:]
    return content[: chance.randrange(len(content) + 1)] if chance.random() < 0.05 else content


def _certificate(folder: Path, chance: random.Random) -> str:
    content = json.loads((folder / "certificate.json").read_text())
    keys = ("tables", "samples", "guarantee", "method", "format", "files", "counts", "noise", "synthetic")
    named = {key: content[key] for key in keys if key in content}
    said = _change(named if chance.random() < 0.8 else content, chance)
    changed = {**content, **named}
    (folder / "certificate.json").write_text(json.dumps(changed))
    reseal(folder, files=changed.get("files", {}))
    return f"certificate: {said}"


def _rule(folder: Path, chance: random.Random) -> str:
    path = chance.choice(sorted((folder / "recoding").rglob("*.json")))
    rule = json.loads(path.read_text())
    said = _change(rule, chance)
    path.write_text(json.dumps(rule))
    reseal(folder)
    return f"{path.name}: {said}"


def _change(value: dict[str, Any], chance: random.Random) -> str:
    """Change something somewhere inside a value."""
    here: Any = value
    path = []
    while True:
        keys: list[Any] = list(here) if isinstance(here, dict) else list(range(len(here)))
        if not keys:
            return "nothing"
        key = chance.choice(keys)
        path.append(str(key))
        inner = here[key]
        if isinstance(inner, dict | list) and inner and chance.random() < 0.8:
            here = inner
            continue
        what = chance.randrange(4)
        if what == 0:
            del here[key]
        elif what == 1 and isinstance(here, list):
            here.append(inner)
        elif what == 2 and isinstance(here, dict):
            here[chance.choice(["x", "", "k", "\x1b"])] = here.pop(key)
        else:
            here[key] = chance.choice(HOSTILE)
        return f"{'.'.join(path)} ({what})"


def _place(folder: Path, chance: random.Random) -> str:
    path = chance.choice(_files(folder))
    what = chance.choice(["gone", "folder", "link", "pipe", "elsewhere", "linked folder"])
    if what == "linked folder" and path.parent != folder:
        moved = folder.parent / f"moved-{folder.name}"
        shutil.rmtree(moved, ignore_errors=True)
        path.parent.rename(moved)
        path.parent.symlink_to(moved)
        return f"{what} {path.parent.name}"
    content = path.read_bytes()
    path.unlink()
    if what == "folder":
        path.mkdir()
    elif what == "link":
        other = folder.parent / f"other-{folder.name}"
        other.write_bytes(content)
        path.symlink_to(other)
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "elsewhere":
        path.symlink_to("/dev/zero")
    return f"{what} {path.name}"
