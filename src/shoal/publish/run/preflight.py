"""What is tried before the charge: whatever can fail later for reasons that are not the data fails here, and costs nothing.

Modules of later steps are imported, loops compiled, the certificate's page drawn, random bits drawn, and the space reserved that
the release will take.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.chance.source import Source
from shoal.errors import ShoalError, UsageError
from shoal.ledger.ledger import Ledger
from shoal.page.html import load_pages

if TYPE_CHECKING:
    from shoal.publish.run.release import Job

MODULES = (
    "pyarrow.acero",
    "pyarrow.compute",
    "pyarrow.csv",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "shoal.engine.write",
    "shoal.publish.certificate.page",
    "shoal.publish.verify.counted",
    "shoal.publish.verify.rebuild",
)
"""What every run needs after the charge, whatever is written."""
MARGIN = 4 << 20
"""Bytes beside the tables: the certificate, its page, rules of labels, the report, the journal."""
IN_MEMORY = 1 << 30
"""Bytes of cells that the engine keeps in memory before it sets any aside on the disk."""
_RESERVE = "reserve"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def prepare(job: Job, rows: int, ledger: Ledger, place: Path, *, report: bool, spills: bool = True) -> list[str]:
    """Try everything that a run needs after the charge; what the custodian should know. Space stays reserved until `free`.

    `spills` says whether the engine sets aside on this machine what does not fit in memory.

    Raises  UsageError for what is missing; nothing has been charged then
    """
    with _explain("the program cannot do what the release needs", "repair the installation"):
        for name in (*MODULES, *job.modules, *(job.report_modules if report else ())):
            import_module(name)
        with Source.secure() as source:
            source.stream("trial").bytes(1)
        notes = job.prepare(rows, ledger)
        if report:
            load_pages()
    with _explain("there is too little space for the release", "make room, or choose another place"):
        reserve(place, MARGIN + job.expected_bytes(rows))
    with _explain(
        "there is too little space for temporary files", "make room there, or set TMPDIR to a folder with more"
    ):
        refuse_small_spill(job.cells(rows) * 8 - IN_MEMORY if spills else 0)
    return notes


def reserve(place: Path, size: int) -> None:
    """Take up so many bytes in a folder, until `free`; OSError where they are not there, or not for this user."""
    there = shutil.disk_usage(place).free
    sizes = f"{place.parent}, where about {size:,} bytes are needed and {there:,} are free"
    if there < size:
        raise OSError(errno.ENOSPC, sizes)
    with (place / _RESERVE).open("wb") as file:
        call = _fallocate()
        if call is not None and call(file.fileno(), 0, 0, size) != 0 and ctypes.get_errno() in _FULL:
            raise OSError(ctypes.get_errno(), f"{sizes}: {os.strerror(ctypes.get_errno())}")


def free(place: Path) -> None:
    """Give back what was reserved: now it is written."""
    (place / _RESERVE).unlink(missing_ok=True)


def refuse_small_spill(size: int) -> None:
    """Raise OSError where the folder for temporary files cannot take what the engine may set aside."""
    if size <= 0:
        return
    place = tempfile.gettempdir()
    there = shutil.disk_usage(place).free
    if there < size:
        raise OSError(
            errno.ENOSPC, f"{place}, where {size:,} bytes may be needed for temporary files and {there:,} are free"
        )


@functools.cache
def _fallocate() -> Callable[..., int] | None:
    """Linux's call that takes up space without writing it; None elsewhere. It asks for quotas too, which a look does not."""
    if sys.platform != "linux" or sys.maxsize < 1 << 32:
        return None
    try:
        call = ctypes.CDLL(None, use_errno=True).fallocate
    except (OSError, AttributeError):
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    call.restype = ctypes.c_int
    found: Callable[..., int] = call
    return found


@contextmanager
def _explain(wrong: str, fix: str) -> Iterator[None]:
    """Say that nothing was charged, whatever went wrong."""
    try:
        yield
    except ShoalError:
        raise
    except Exception as error:
        said = getattr(error, "strerror", None) or (str(error) if isinstance(error, ImportError) else "")
        kind = "" if said and isinstance(error, OSError) else type(error).__name__
        raise UsageError(
            wrong, came=f"{kind}{': ' if kind and said else ''}{said}", fix=f"{fix}; nothing was charged"
        ) from error
