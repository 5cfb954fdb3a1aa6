"""The machine and the account: random bits, clock, memory, cores, the folders that a command writes to, and the terminal."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from shoal.cli.doctor.diagnosis import Diagnosis, fine, note, wrong
from shoal.cli.terminal import output
from shoal.errors import ShoalError

FOLDERS, MACHINE = "folders", "machine"
GIB = 1 << 30
LEAST_SPACE = GIB
"""Free space below which a table of some size cannot be spilled to disk."""
LEAST_MEMORY = 2 * GIB
BEGINNING = 2026
"""No clock is right that shows a year before it."""


def look(folders: Sequence[Path] = ()) -> Iterator[Diagnosis]:
    """Look at everything that does not depend on a ledger or a release, and whether these folders can be written to."""
    yield _temporary_folder()
    yield _kernel_cache()
    yield _data_folder()
    yield _current_folder()
    yield from _named_folders(folders)
    yield from _resources()
    yield _random_bits()
    yield _clock()
    yield _engine()
    yield _terminal()


# --- folders -----------------------------------------------------------------------------------------------------------


def _temporary_folder() -> Diagnosis:
    from shoal.files.work_folder import temporary_place

    set_it = "set TMPDIR to a folder that you alone can write to, on a disk with room"
    try:
        place = temporary_place()
        with tempfile.TemporaryFile(dir=place):
            pass
        mode, free = place.stat().st_mode, shutil.disk_usage(place).free
    except ShoalError as error:
        return wrong(FOLDERS, error.wrong, error.fix or set_it)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return wrong(FOLDERS, f"there is no folder for temporary files that can be written to ({reason})", set_it)
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        return wrong(
            FOLDERS,
            f"anybody can remove or exchange what others put into the folder for temporary files: {place}",
            f"let its owner say `chmod +t {place}`, or {set_it}",
        )
    if free < LEAST_SPACE:
        return wrong(
            FOLDERS, f"little space is left for temporary files: {_size(free)} in {place}", f"free some, or {set_it}"
        )
    return fine(FOLDERS, f"temporary files go to {place}, which has {_size(free)} of free space")


def _kernel_cache() -> Diagnosis:
    from shoal.compilation.cache import cache_folder

    found = cache_folder()
    if found is None:
        return note(
            FOLDERS,
            "compiled loops cannot be kept: no cache folder is writable for you alone",
            "nothing need be done: they are compiled anew by each command, which takes some seconds; NUMBA_CACHE_DIR or "
            "XDG_CACHE_HOME names a folder for them",
        )
    return fine(FOLDERS, f"compiled loops are kept in {found}")


def _data_folder() -> Diagnosis:
    """Where the ledger goes that no option and no variable names."""
    from shoal.ledger.store import ENVIRONMENT, default_url, file_of

    if os.environ.get(ENVIRONMENT):
        return fine(FOLDERS, f"{ENVIRONMENT} names the ledger")
    try:
        path = file_of(default_url())
    except ShoalError as error:
        return note(FOLDERS, error.wrong, error.fix or "name a ledger with --ledger")
    folder = None if path is None else _first_that_exists(path.parent)
    if folder is None or not os.access(folder, os.W_OK | os.X_OK):
        return note(
            FOLDERS,
            f"your folder for data cannot be written to: {'-' if path is None else path.parent}",
            f"name a ledger with --ledger or {ENVIRONMENT}, or set XDG_DATA_HOME; nothing is charged before that",
        )
    return fine(FOLDERS, f"a ledger that is not named is kept in {'-' if path is None else path.parent}")


def _first_that_exists(path: Path) -> Path | None:
    for each in (path, *path.parents):
        if os.path.lexists(each):
            return each
    return None


def _current_folder() -> Diagnosis:
    try:
        here = Path.cwd()
    except OSError:
        return note(FOLDERS, "the current folder is gone", "change into another, or give whole paths")
    if not os.access(here, os.W_OK | os.X_OK):
        return note(FOLDERS, f"the current folder cannot be written to: {here}", "name another with --out")
    return fine(FOLDERS, f"the current folder can be written to: {here}")


def _named_folders(folders: Sequence[Path]) -> Iterator[Diagnosis]:
    """A folder in which nothing can be mended or released is said."""
    for folder in folders:
        if folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK):
            yield note(
                FOLDERS,
                f"this folder cannot be written to: {folder}",
                "let its owner run commands on it, or name another with --out",
            )


# --- machine -----------------------------------------------------------------------------------------------------------


def _resources() -> Iterator[Diagnosis]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = _memory()
    if memory is None:
        yield fine(MACHINE, f"{cores} cores")
    elif memory < LEAST_MEMORY:
        yield note(
            MACHINE,
            f"{cores} cores, {_size(memory)} of memory",
            "tables of a few hundred thousand rows are no trouble; the guide to tables says what larger ones need",
        )
    else:
        yield fine(MACHINE, f"{cores} cores, {_size(memory)} of memory")


def _memory() -> int | None:
    """The memory that this process may use: the machine's, or what its container is allowed."""
    try:
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
    for place in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            allowed = Path(place).read_text("ascii").strip()
        except (OSError, ValueError):
            continue
        if allowed.isdigit():
            found = min(found, int(allowed))
    return found


def _random_bits() -> Diagnosis:
    from shoal.chance.source import Source

    try:
        with Source.secure() as source:
            if not source.carries_guarantee or os.urandom(32) == os.urandom(32):
                raise OSError  # noqa: TRY301 - one place where every failure ends
    except Exception as error:  # noqa: BLE001 - without random bits nothing may be published
        return wrong(
            MACHINE,
            f"the operating system gives no random bits ({type(error).__name__})",
            "publish nothing on this machine",
        )
    return fine(MACHINE, "random bits come from the operating system")


def _clock() -> Diagnosis:
    now = datetime.now(UTC)
    if now.year < BEGINNING:
        return wrong(MACHINE, f"the clock is wrong: it shows {now:%Y-%m-%d}", "set it; certificates bear its date")
    return fine(MACHINE, f"the clock shows {now:%Y-%m-%d %H:%M} UTC")


def _engine() -> Diagnosis:
    """Read a table of one row."""
    from shoal.data.schema import Attribute, Role, Schema, Type
    from shoal.engine.base import open_engine

    try:
        import pyarrow as pa

        schema = Schema((Attribute("x", Role.QUASI, Type.INTEGER),))
        rows = open_engine().scan(pa.table({"x": [1]}), schema).rows()
    except ShoalError as error:
        came = "" if error.came is None else f" ({error.came})"
        return wrong(MACHINE, f"the engine cannot read a table: {error.wrong}{came}", error.fix or "see above")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return wrong(MACHINE, f"the engine cannot read a table: {reason}", "free what it lacks, and look again")
    except Exception as error:  # noqa: BLE001 - a broken installation can raise anything
        return wrong(
            MACHINE, f"the engine cannot read a table ({type(error).__name__})", "install duckdb and pyarrow anew"
        )
    return fine(MACHINE, f"the engine reads tables ({rows} row tried)")


def _terminal() -> Diagnosis:
    encoding = (output.encoding() or "no letters at all").lower()
    if encoding.replace("-", "") != "utf8":
        return note(
            MACHINE,
            f"standard output is written in {encoding}",
            "letters beyond it are spelled out; set LC_ALL=C.UTF-8 or PYTHONUTF8=1 to see them",
        )
    return fine(MACHINE, "standard output is written in utf-8")


def _size(number: int) -> str:
    return f"{number / GIB:,.1f} GiB" if number >= GIB else f"{number / (1 << 20):,.0f} MiB"
