"""An assessment in the custodian's folder: report.json gets it, and the page is made again from the values alone.

Nothing is computed from the original here. The sections of a method need its plan, which the lock of the release makes again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import ShoalError, UsageError
from shoal.files import write as disk
from shoal.page.html import section_page
from shoal.publish.folder import CERTIFICATE, MARK, REPORT, REPORT_PAGE, custodian_folder, is_own_report, report_files
from shoal.publish.plan.methods import plan as resolve
from shoal.publish.report.assessment.sections import assessment_sections
from shoal.publish.run.release import page_of
from shoal.publish.verify.lock import read_locked_policy
from shoal.publish.verify.standalone import read_json


def find_report(folder: Path) -> Path | None:
    """The custodian's folder of a release; None where there is none that belongs to its certificate."""
    private = custodian_folder(Path(folder).absolute())
    try:
        if not is_own_report(private):
            return None
        belongs = read_json(private, REPORT)["certificate"] == read_json(Path(folder), CERTIFICATE)["seal"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return private if belongs else None


def add_assessment(folder: Path, assessment: Mapping[str, Any]) -> Path:
    """Put an assessment into the report of a release, in place of an earlier one; the page of the report.

    Both files are made before one of them is written, and each appears whole.

    Raises     UsageError where there is no report that belongs to the release, or its page cannot be made again
    """
    private = find_report(folder)
    if private is None:
        raise UsageError(
            "there is no report of this release", came=custodian_folder(Path(folder).absolute()),
            allowed="a report with the seal of the certificate", fix="name a file for the assessment with --out",
        )  # fmt: skip
    values = json.loads((private / REPORT).read_text(encoding="utf-8"))
    values["assessment"] = dict(assessment)
    try:
        policy, _ = read_locked_policy(Path(folder))
        planned = resolve(policy)
        page = page_of(planned, planned.job(), values)
    except (ShoalError, KeyError, TypeError) as error:
        raise UsageError(
            "the page of the report cannot be made again from what is in it", came=type(error).__name__,
            fix="name a file for the assessment with --out",
        ) from error  # fmt: skip
    for name, text in report_files(values, page).items():
        disk.write(private / name, text, force=True, private=True)
    return private / REPORT_PAGE


def assessment_page(assessment: Mapping[str, Any], dataset: str, what: str) -> str:
    """A page of an assessment alone; `what` says of which table it is."""
    opening = {
        "title": f"For the custodian only: assessment of {dataset}",
        "mark": MARK,
        "kind": "Risk and utility of a released table",
        "dataset": dataset,
        "lead": f"Assessed: {what}, against its original.",
        "sentence": "",
        "cautions": ["Nothing is promised here. What is proved of a release stands in its certificate."],
        "footer": MARK,
    }
    return f"<!-- {MARK} -->\n{section_page(opening, assessment_sections(assessment))}"
