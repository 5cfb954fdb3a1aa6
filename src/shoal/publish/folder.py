"""What a release folder holds, and how it appears: whole or not at all.

NAME/                        the release: everything in it may be passed on
    certificate.json         what is promised, on what grounds, and the hash of every other file
    certificate.html         the same, for people
    policy.lock.yaml         the policy in its canonical text: what was decided before the data were touched
    table.csv                the published table (or table.parquet; table-1.csv, ... where there are repeats)
    recoding/NN-NAME.json    what each label of an attribute stands for
    recoding/boxes.csv       the boxes, where labels come from a tree
    views.json, views/       the list of narrow tables and their files, where the release is one of views
    recoding/boxes/          the boxes of each view
NAME.holder/                 for the custodian alone: computed from the original, readable by its owner alone
    report.json, report.html what went in, what came out, what was lost
NAME.zip                     what `shoal share` makes: NAME/ with the one-file verifier beside it
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import UsageError
from shoal.publish.verify.standalone import sha256

if TYPE_CHECKING:
    from shoal.publish.certificate.model import CountedCertificate, SafeKCertificate

CERTIFICATE, PAGE, LOCK, VIEWS = "certificate.json", "certificate.html", "policy.lock.yaml", "views.json"
REPORT, REPORT_PAGE = "report.json", "report.html"
MARK = "For the custodian only: computed from the original table. Keep it with the table; do not publish it, do not pass it on."
"""The first line of everything that is computed from the original."""


# --- names ------------------------------------------------------------------------------------------------------------


def table_file(form: str, number: int | None = None) -> str:
    """The file of a published table; `number` is its place among repeats.

    >>> table_file("csv"), table_file("parquet", 2)
    ('table.csv', 'table-2.parquet')
    """
    return f"table.{form}" if number is None else f"table-{number}.{form}"


def view_file(view: str, form: str) -> str:
    """The file of a view."""
    return f"views/{view}.{form}"


def rule_file(number: int, name: str) -> str:
    """The file that says what the labels of an attribute stand for, whatever the attribute is called."""
    return f"recoding/{number:02d}-{plain_name(name)[:40]}.json"


def box_file(view: str | None) -> str:
    """The file that lists the boxes of a table, or of a view."""
    return "recoding/boxes.csv" if view is None else f"recoding/boxes/{view}.csv"


def plain_name(name: str) -> str:
    """An attribute's name with nothing in it that the name of a file cannot hold.

    >>> plain_name("marital status")
    'marital_status'
    """
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_") else "_" for letter in name)


def custodian_folder(folder: Path) -> Path:
    """The folder beside a release that is the custodian's alone."""
    return folder.with_name(folder.name + ".holder")


# --- contents ---------------------------------------------------------------------------------------------------------


def write_text(path: Path, text: str) -> None:
    """A file with Unix line ends on every system."""
    path.write_text(text, encoding="utf-8", newline="\n")


def write_certificate(folder: Path, certificate: SafeKCertificate | CountedCertificate) -> None:
    """The certificate, for programs and for people."""
    from shoal.publish.certificate.page import certificate_page

    write_text(folder / CERTIFICATE, certificate.text())
    write_text(folder / PAGE, certificate_page(certificate))


def write_report(folder: Path, values: Mapping[str, Any], page: str) -> None:
    """The custodian's report, for programs and for people; the mark is on the first line of both files."""
    text = json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False).replace("{\n ", "{", 1) + "\n"
    write_text(folder / REPORT, text)
    write_text(folder / REPORT_PAGE, f"<!-- {MARK} -->\n{page}")


def hashes(folder: Path) -> dict[str, str]:
    """The hash of every file that is there."""
    return {path.relative_to(folder).as_posix(): sha256(path) for path in folder.rglob("*") if path.is_file()}


# --- whole or not at all ----------------------------------------------------------------------------------------------


def refuse_target(out: str | Path, *, force: bool) -> None:
    """Raise before any work is done if the release could not be written there."""
    folder = Path(out).absolute()
    for path in (folder, custodian_folder(folder)):
        if path.is_symlink():
            raise UsageError("the folder is a link", came=path, fix="name the place itself")
        if path.exists() and not force:
            raise UsageError("the folder exists", came=path, fix="choose another name, or say --force to replace it")
        if path.exists() and not (path / CERTIFICATE).is_file() and not (path / REPORT).is_file():
            raise UsageError("the folder is none of ours, so it is not replaced", came=path, fix="choose another name")
    parent = folder.absolute().parent
    if not parent.is_dir():
        raise UsageError("the folder to write into does not exist", came=parent, fix="make it first")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise UsageError("the folder cannot be written to", came=parent, fix="choose another place")


@contextmanager
def hidden_folder(folder: Path) -> Iterator[Path]:
    """A hidden folder beside the target, in which the release is made; it is gone afterwards whatever happens."""
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.absolute().parent))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def sync(made: Path) -> None:
    """Force every file below a folder to the disk."""
    for path in sorted(made.rglob("*")):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def move(made: Path, target: Path, *, force: bool) -> None:
    """Give a folder its name at once; one that is there is replaced where `force` says so."""
    if target.exists() and force:
        shutil.rmtree(target)
    made.rename(target)
    handle = os.open(target.absolute().parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
