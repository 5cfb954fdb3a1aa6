"""Runs that end as a kill ends them: nothing is cleaned up, and the locks are free."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from pathlib import Path

import pytest

from shoal.files.work_folder import WorkFolder
from shoal.ledger.ledger import Ledger
from shoal.publish.report.document import MethodSections, report_opening
from tests.publish.clinic import publish

POINTS = (
    "begin",
    "prepare",
    "_write",
    "sync",
    "announce",
    "place",
    "place_report",
    "keep_others",
    "note_release",
    "remove",
    "end",
)
"""Functions of the run, each of which may be the one before which it is killed; `end` is before the work folder is removed."""


class KilledError(BaseException):
    """The run ends here, and so does everything that would clean up after it."""


def stop(*_, **__):
    raise KilledError


def small_report(plan, table, recoding, public, content, *_):
    """A report that takes no time."""
    return {**report_opening(content), "cautions": [], "notes": [], "columns": []}


def small_sections(plan, values):
    """Its sections: nothing but what every report has."""
    return MethodSections([], [], [], [])


@contextmanager
def without_cleanup():
    """Nothing that a run would do about its own end is done."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WorkFolder, "remove", lambda self: self.close())
        patch.setattr(Ledger, "end_run", lambda *_: None)
        yield patch


def kill(folder: Path, point: str, **options) -> None:
    """Run the clinic's release and kill it at a point."""
    with without_cleanup() as patch:
        if point != "end":
            patch.setattr(f"shoal.publish.run.release.{point}", stop)
        patch.setattr("shoal.publish.report.safe_k.safe_k_report", small_report)
        patch.setattr("shoal.publish.report.safe_k.safe_k_sections", small_sections)
        if point == "end":
            publish(folder, **options)
            return
        with pytest.raises(KilledError):
            publish(folder, **options)
        gc.collect()  # what the error held on to is gone, as it is with a process that was killed
