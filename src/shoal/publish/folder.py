"""What a release folder holds, and how it appears: whole or not at all.

NAME/                        the release: everything in it may be passed on
    certificate.json         what is promised, on what grounds, and the hash of every other file
    certificate.html         the same, for people
    policy.lock.yaml         the policy in its canonical text: what was decided before the data were touched
    table.csv                the published table (or table.parquet; table-1.csv, ... where there are repeats)
    table.parquet/part-00000.parquet   its parts, where a Parquet table has more rows than one file holds
    attributes/NN-NAME.csv   the table of one attribute, where each is published by itself
    records.csv              the records with the numbers of their groups, where the release is one by groups,
    confidential.csv         and what each group holds of the confidential attributes
    recoding/NN-NAME.json    what each label of an attribute stands for
    recoding/boxes.csv       the boxes, where labels come from a tree
    hierarchies/HASH.txt     the file that a hierarchy was read from, named by its hash, so that the labels can be made again
    population/HASH.csv      the population that k-map was counted on, where the policy lets it travel
    views.json, views/       the list of narrow tables and their files, where the release is one of views
    recoding/boxes/          the boxes of each view
    counts.json, counts/     the list of tables of noisy counts and their files, where the release has some
    synthetic.csv            a table of synthetic rows, which are nobody's (or synthetic.parquet)
    README.html, README.md   how to read, weight and verify all this, and what not to do with it
    codebook.html, .csv      every column, every label and what it stands for
    datapackage.json         the tables and their columns as a Frictionless Data Package
    read_release.py          a reader of the tables that needs Python alone
NAME.holder/                 for the custodian alone: computed from the original, readable by its owner alone
    report.json, report.html what went in, what came out, what was lost
.NAME.shoal-work/            while a run works on NAME; after a kill, until the next command on it
NAME.zip                     what `shoal share` makes: NAME/ with the one-file verifier beside it
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any

from shoal.errors import NextCommand, PolicyError, UsageError
from shoal.files.write import free_name
from shoal.progress import Stage, silent
from shoal.publish.verify.standalone import hash_of, list_folder, open_inside, page_check, read_json, seal, sha256

if TYPE_CHECKING:
    from shoal.policy.policy import Policy
    from shoal.publish.certificate.seal import AnyCertificate

CERTIFICATE, PAGE, LOCK, VIEWS = "certificate.json", "certificate.html", "policy.lock.yaml", "views.json"
COUNTS = "counts.json"
REPORT, REPORT_PAGE = "report.json", "report.html"
MARK = "For the custodian only: computed from the original table. Keep it with the table; do not publish it, do not pass it on."
"""The first line of everything that is computed from the original."""
_LONGEST_NAME, _LONGEST_PATH = 255, 3800  # bytes; what is written into the folder needs room in a path of 4096


# --- names ------------------------------------------------------------------------------------------------------------


def table_file(form: str, number: int | None = None) -> str:
    """The file of a published table; `number` is its place among repeats.

    >>> table_file("csv"), table_file("parquet", 2)
    ('table.csv', 'table-2.parquet')
    """
    return f"table.{form}" if number is None else f"table-{number}.{form}"


def attribute_file(number: int, name: str, form: str) -> str:
    """The file of the table of one attribute, whatever the attribute is called.

    >>> attribute_file(1, "income", "csv")
    'attributes/01-income.csv'
    """
    return f"attributes/{number:02d}-{plain_name(name)[:40]}.{form}"


def view_file(view: str, form: str) -> str:
    """The file of a view."""
    return f"views/{view}.{form}"


def counts_file(name: str, form: str) -> str:
    """The file of a table of noisy counts."""
    return f"counts/{name}.{form}"


def group_file(name: str, form: str) -> str:
    """The file of a table of a release by groups: records, confidential, or the one table where groups are not shown."""
    return f"{name}.{form}"


def synthetic_file(form: str) -> str:
    """The file of synthetic rows, which says so by its name."""
    return f"synthetic.{form}"


def rule_file(number: int, name: str) -> str:
    """The file that says what the labels of an attribute stand for, whatever the attribute is called."""
    return f"recoding/{number:02d}-{plain_name(name)[:40]}.json"


def rule_text(rule: Mapping[str, Any]) -> str:
    """What a file of rules holds: what each label of one attribute stands for."""
    return json.dumps(rule, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def hierarchy_file(digest: str) -> str:
    """The file that a hierarchy was read from, as it was; the lock names its hash."""
    return f"hierarchies/{digest[:32]}.txt"


def population_file(digest: str) -> str:
    """The population file that k-map is counted on, as it was, where the policy lets it travel; the lock names its hash."""
    return f"population/{digest[:32]}.csv"


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


def write_certificate(folder: Path, draft: AnyCertificate, stage: Stage = silent) -> AnyCertificate:
    """The handbook, and the certificate that lists it too, for programs and for people; the certificate as it was sealed."""
    from shoal.publish.certificate.page import certificate_page
    from shoal.publish.certificate.seal import seal_certificate
    from shoal.publish.handbook.files import handbook_files, handbook_of

    lock = (folder / LOCK).read_text(encoding="utf-8")
    own = handbook_files(handbook_of(folder, draft.to_json(), lock), stage)
    for name, text in own.items():
        write_text(folder / name, text)
    listed = {**draft.files, **{name: sha256(folder / name) for name in own}}
    certificate = seal_certificate(draft.model_copy(update={"files": dict(sorted(listed.items()))}))
    write_text(folder / CERTIFICATE, certificate.text())
    write_text(folder / PAGE, certificate_page(certificate))
    return certificate


def write_report(folder: Path, values: Mapping[str, Any], page: str) -> None:
    """The custodian's report, for programs and for people, readable by its owner alone."""
    for name, content in report_files(values, page).items():
        (folder / name).touch(mode=0o600)
        write_text(folder / name, content)


def report_files(values: Mapping[str, Any], page: str) -> dict[str, str]:
    """The files of the custodian's report by their names; both begin with the mark."""
    text = json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False).replace("{\n ", "{", 1) + "\n"
    return {REPORT: text, REPORT_PAGE: f"<!-- {MARK} -->\n{page}"}


def read_hierarchies(policy: Policy) -> dict[str, bytes]:
    """The files that the policy's hierarchies were read from, by the names that they have in a release.

    A hierarchy that was drafted from the data, and that nobody has confirmed, may hold values that its rules do not show: its
    file stays with the custodian.

    Raises     PolicyError where one is not the file that was read.
    """
    from shoal.data.plain_file import LARGEST_HIERARCHY, read_plain_file
    from shoal.policy.schema import file_of

    found: dict[str, bytes] = {}
    profiled = policy.profiled_keys()
    for name, digest in policy.hashes.items():
        if f"attributes.{name}.hierarchy" in profiled:
            continue
        asked = policy.model.attributes[name].hierarchy
        file = None if asked is None else file_of(asked, policy.folder)
        if file is None or hierarchy_file(digest) in found:
            continue
        content = read_plain_file(file, LARGEST_HIERARCHY)
        if hashlib.sha256(content).hexdigest() != digest:
            raise PolicyError(
                f"attribute '{name}': the file of its hierarchy was changed since the policy was read",
                came=file,
                fix="plan again, and release that plan",
            )
        found[hierarchy_file(digest)] = content
    return found


def write_hierarchies(folder: Path, files: Mapping[str, bytes]) -> None:
    """The files that hierarchies were read from, as they were."""
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)


def hashes(folder: Path) -> dict[str, str]:
    """The hash of every file that is there."""
    return {path.relative_to(folder).as_posix(): sha256(path) for path in folder.rglob("*") if path.is_file()}


# --- what is ours ------------------------------------------------------------------------------------------------------


def is_own_release(folder: Path) -> bool:
    """Whether a folder holds a release and nothing else: its files are those of its sealed certificate, with their hashes."""
    try:
        if folder.is_symlink():
            return False
        certificate, found = read_json(folder, CERTIFICATE), list_folder(folder)
        listed = certificate["files"]
        parents = {parent.as_posix() for name in listed for parent in PurePosixPath(name).parents} - {"."}
        return (
            not found.others
            and set(found.files) == {*listed, CERTIFICATE, PAGE}
            and set(found.folders) == parents
            and seal(certificate) == certificate["seal"]
            and all(_hash(folder, name) == listed[name] for name in listed)
            and page_check(folder, certificate).agrees is True
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def _plan_of(folder: Path) -> str | None:
    """The hash of the plan that the certificate in a folder names; None where there is none."""
    try:
        named = read_json(folder, CERTIFICATE)["plan_sha256"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return named if isinstance(named, str) else None


def is_own_report(folder: Path) -> bool:
    """Whether a folder holds the custodian's report and nothing else."""
    try:
        found = list_folder(folder)
        pages = (
            not folder.is_symlink()
            and found.others == found.folders == {}
            and set(found.files) == {REPORT, REPORT_PAGE}
        )
        return pages and all(MARK in _first_line(folder, name) for name in (REPORT, REPORT_PAGE))
    except (OSError, ValueError):
        return False


def _hash(folder: Path, name: str) -> str:
    with open_inside(folder, name) as file:
        return hash_of(file)


def _first_line(folder: Path, name: str) -> str:
    with open_inside(folder, name) as file:
        return file.readline(1 << 12).decode("utf-8", "replace")


# --- where it goes -----------------------------------------------------------------------------------------------------


def work_folder(folder: Path) -> Path:
    """The hidden folder beside a release in which it is made; its name reserves the release's."""
    return folder.with_name(f".{folder.name}.shoal-work")


def refuse_name(out: str | Path) -> Path:
    """The absolute path of a release folder; UsageError for one that cannot be the name of a new folder."""
    given = os.fspath(out)
    path = Path(given).absolute()
    if not given or path.name in ("", "..") or PurePath(given).name == "":
        raise UsageError("this names no new folder", came=given or "nothing", fix="name the folder to make")
    try:
        longest = max(len(os.fsencode(name)) for name in (custodian_folder(path).name, work_folder(path).name))
        whole = len(os.fsencode(path))
        path.lstat()
    except FileNotFoundError:
        pass
    except NotADirectoryError:
        raise UsageError(
            "a file stands where a folder should be", came=path.parent, fix="choose another place"
        ) from None
    except (UnicodeEncodeError, ValueError):
        raise UsageError("this can be the name of no folder", came=repr(given), fix="choose another name") from None
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise UsageError(
                "the folder cannot be looked at", came=f"{path} ({error.strerror})", fix="choose another place"
            ) from None
    if longest > _LONGEST_NAME or whole > _LONGEST_PATH:
        raise UsageError(
            "the name of the folder is too long",
            came=f"{path.name[:60]}... ({len(os.fsencode(path.name))} bytes, {whole} with its place)",
            allowed=f"{_LONGEST_NAME - longest + len(os.fsencode(path.name))} bytes, {_LONGEST_PATH} with its place",
            fix="choose a shorter one",
        )
    return path


def refuse_target(out: str | Path, *, force: bool, locks: Collection[str] = ()) -> Path:
    """The absolute path of a release folder; UsageError, before any work is done, if the release could not be written there.

    `locks` are the hashes of the plan that is to be released: a folder with a release of this very plan is named as what it is.
    """
    folder = refuse_name(out)
    for path, is_own in ((folder, is_own_release), (custodian_folder(folder), is_own_report)):
        if path.is_symlink():
            raise UsageError("the folder is a link", came=path, fix="name the place itself")
        if not path.exists():
            continue
        if not path.is_dir():
            raise UsageError("a file stands where the folder should go", came=path, fix="choose another name")
        if not force and _plan_of(folder) in locks:
            raise UsageError(
                "the folder exists, and a release of this very plan lies in it",
                came=path,
                fix="use that release; another one, of another table or with new chance, goes to another folder and is charged",
                step=NextCommand(("verify", str(out))),
            )
        if not force:
            raise UsageError(
                "the folder exists",
                came=path,
                fix="choose another name, or say --force to replace it",
                step=NextCommand(replace=(str(out), free_name(str(out)))),
            )
        if not is_own(path):
            raise UsageError(
                "the folder is none of ours, or was changed, so it is not replaced",
                came=path,
                allowed="a release or a report with every file as it was written, and no other",
                fix="choose another name, or move the folder away",
            )
    parent = folder.parent
    if not parent.is_dir():
        raise UsageError("the folder to write into does not exist", came=parent, fix="make it first")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise UsageError(
            "the folder cannot be written to", came=f"{parent} ({_why_unwritable(parent)})", fix="choose another place"
        )
    for place in folder.parents:
        in_release = (place / CERTIFICATE).is_file() and is_own_release(place)
        if in_release or ((place / REPORT).is_file() and is_own_report(place)):
            raise UsageError("the folder would lie in another release", came=place, fix="choose another place")
    return folder


def _why_unwritable(folder: Path) -> str:
    """The system's words for a folder in which nothing can be made."""
    flags = os.statvfs(folder).f_flag if hasattr(os, "statvfs") else 0
    return os.strerror(errno.EROFS if flags & getattr(os, "ST_RDONLY", 0) else errno.EACCES)
