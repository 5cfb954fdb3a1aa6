"""The files of a release as they were sealed: what a stranger's folder holds is read within bounds, and only if its hash agrees.

A seal is a hash and no signature. It shows that nothing was changed after it was made, by whomever; `shoal verify` shows that
what is there makes sense, and the custodian's own seal that it is the custodian's.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from shoal.engine.write import table_files
from shoal.errors import PolicyError, ShoalError, UsageError, VerificationError

FORMAT = 1
"""The format of the certificates that are read here."""
MOST_TEXT = 1 << 26
"""64 MiB: no certificate, plan, rule or list of boxes needs more."""
MOST_FILES = 100_000
"""As many as the verifiers read; a release of 10,000 views by trees has two for each view, and some more."""
_DEEPEST = 40
"""Lists and mappings in each other; no certificate and no rule needs more."""
_BLOCK = 1 << 20
_HASH = re.compile(r"[0-9a-f]{64}")

_UNREADABLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What a file that makes no sense leads to; errors of Arrow are among them."""


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn whatever a file that makes no sense leads to into a VerificationError, without its content."""
    try:
        yield
    except PolicyError as error:
        raise _unreadable(what, error.wrong) from None
    except ShoalError:
        raise
    except _UNREADABLE as error:
        raise _unreadable(what, type(error).__name__) from None


def _unreadable(what: str, why: str) -> VerificationError:
    return VerificationError(f"{what} cannot be read", came=why, fix="run `shoal verify` on the folder")


@dataclass(frozen=True)
class SealedFolder:
    """A release folder whose certificate is as it was sealed, and whose listed files have the hashes that it says."""

    path: Path
    certificate: Mapping[str, Any] = field(repr=False)

    @classmethod
    def open(cls, path: Path) -> SealedFolder:
        """Read and check everything; UsageError where there is no certificate, VerificationError where something differs."""
        if not os.path.lexists(path / "certificate.json"):
            raise UsageError("this is not a release folder", came=path, allowed="a folder with certificate.json")
        with reading("the certificate"):
            content = strict_json(_read(path, "certificate.json"))
            if not isinstance(content, dict) or content.get("format") != FORMAT:
                raise VerificationError("the certificate has a format that is not known here", allowed=f"{FORMAT}")
            unsealed = {name: value for name, value in content.items() if name != "seal"}
            if content.get("seal") != _canonical_hash(unsealed):
                raise VerificationError(
                    "the certificate is not as it was sealed", fix="get the folder again; `shoal verify` says more"
                )
            found = cls(path, content)
            found._check_files()
        return found

    def _check_files(self) -> None:
        listed = self.certificate["files"]
        if not isinstance(listed, dict) or len(listed) > MOST_FILES:
            raise VerificationError("the certificate lists its files in a way that is not known here")
        for name, expected in listed.items():
            _refuse_path(name)
            if not isinstance(expected, str) or not _HASH.fullmatch(expected):
                raise VerificationError(f"file '{name}' has no hash in the certificate")
            digest = hashlib.sha256()
            with self._reading(name), _open(self.path, name) as file:
                while block := file.read(_BLOCK):
                    digest.update(block)
            self._compare(name, digest.hexdigest())

    def read(self, name: object, most: int | None = MOST_TEXT) -> bytes:
        """Read a listed file once more; what is used is what was sealed, whatever happens to the folder meanwhile."""
        if not isinstance(name, str) or name not in self.certificate["files"]:
            raise VerificationError(f"file '{name}' is not listed in the certificate")
        with self._reading(name):
            content = _read(self.path, name, most)
        self._compare(name, hashlib.sha256(content).hexdigest())
        return content

    def table_files(self, name: str) -> tuple[str, ...]:
        """The listed files of a table in the order of their rows: the one of its name, or the parts in the folder of its name.

        Raises  VerificationError where nothing is listed, or not all parts are
        """
        found = table_files(self.certificate["files"], name)
        if found[0] not in self.certificate["files"]:
            raise VerificationError(f"table '{name}' needs a file that the certificate does not list")
        return found

    def _compare(self, name: str, found: str) -> None:
        if found != self.certificate["files"][name]:
            raise _not_the_one(name)

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError:
            raise _not_the_one(name) from None


def _not_the_one(name: str) -> VerificationError:
    return VerificationError(
        f"file '{name}' is not the one in the certificate", fix="get the folder again; `shoal verify` says more"
    )


def strict_json(content: bytes) -> Any:
    """Read JSON in which no key is said twice, every number is one, and nothing lies deeper than anybody needs."""
    text = content.decode("utf-8")
    _refuse_depth(text)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError
        return found

    def refuse(_: str) -> Any:
        raise ValueError

    return json.loads(text, object_pairs_hook=once, parse_constant=refuse)


def _refuse_depth(text: str) -> None:
    depth = 0
    for sign in re.findall(r'"(?:[^"\\]|\\.)*"|[\[{\]}]', text, re.DOTALL):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(sign, 0)
        if depth > _DEEPEST:
            raise ValueError


def _canonical_hash(content: Any) -> str:
    """SHA-256 of plain values as canonical JSON: sorted keys, no blanks, nothing but ASCII."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _refuse_path(name: str) -> None:
    parts = name.split("/")
    if any(part in ("", ".", "..") or "\\" in part or ":" in part or "\0" in part for part in parts):
        raise VerificationError(f"file '{name}' does not lie in the folder")


def _read(folder: Path, name: str, most: int | None = MOST_TEXT) -> bytes:
    with _open(folder, name) as file:
        content = file.read(-1 if most is None else most + 1)
    if most is not None and len(content) > most:
        raise VerificationError(f"file '{name}' is larger than such a file can be", allowed=f"{most:,} bytes")
    return content


def _open(folder: Path, name: str) -> BinaryIO:
    """Open a plain file inside the folder: neither it nor a folder on the way may be a link, a pipe or a device."""
    parts = name.split("/")
    for end in range(1, len(parts)):
        if not stat.S_ISDIR(folder.joinpath(*parts[:end]).lstat().st_mode):
            raise OSError
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    path = folder / name
    if not stat.S_ISREG(path.lstat().st_mode):
        raise OSError
    file = os.fdopen(os.open(path, flags), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError
    return file
