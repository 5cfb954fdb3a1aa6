"""`shoal demo`: the custodian's whole journey on generated data, from a policy to a verified release."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli import released, screen
from shoal.cli.commands import VERSION
from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.guarantee.safe_k.frontier import Choice, Point
    from shoal.publish.plan.safe_k import SafeKPlan
    from shoal.publish.run.release import Release

MARKER = ".shoal-demo"
"""Its presence says that a demonstration made the folder, so that the next one may replace its files."""

NAME = "visits-2026"
ROWS = 50_000
SEED = 2026


@click.command()
@click.option(
    "--out", metavar="DIR", default="build/demo", show_default=True, type=click.Path(path_type=Path), help="Where to."
)
@click.option(
    "--rows", metavar="N", type=click.IntRange(1, 10_000_000), default=ROWS, show_default=True, help="How many visits."
)
@click.option("--force", is_flag=True, help="Write into a folder that another program made.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def demo(out: Path, rows: int, force: bool, as_json: bool) -> None:
    """Generate hospital visits of people who do not exist, plan their release, publish, and verify it.

    Leaves the table and its policy, plan.html (the promise before any row was read), the release visits-2026 with its
    certificate, visits-2026.holder with the report for the holder's eyes, and a ledger of its own. Run again, it
    replaces its own files.
    """
    from shoal.datasets.visits import write_policy, write_visits
    from shoal.guarantee.safe_k.frontier import crowds, curve, frontier
    from shoal.policy.policy import Policy
    from shoal.publish.plan.safe_k import safe_k_plan

    _check(out, force)
    _clear(out)
    with screen.busy("generating visits"):
        policy = write_policy(out)
        data = write_visits(out / "visits.csv", rows, seed=SEED)
    planned = safe_k_plan(Policy.load(policy))
    with screen.bar("planning", len(crowds(planned.promise.whose)) + 11) as tick:
        points, choices = curve(planned.promise, tick), frontier(planned.promise, tick)
    with screen.busy("drawing the plan"):
        written = _write(out, _files(planned, points, choices))
    made, checks = _publish(out, policy, data)
    if as_json:
        names = [path.name for path in written]
        screen.answer(
            {
                "out": str(out),
                "page": str(out / "plan.html"),
                "files": names,
                "release": str(made.folder),
                "holder": str(made.holder),
                "rows_published": made.rows_published,
                "checks": checks,
                "words": planned.sentences(),
            }
        )
        return
    for sentence in planned.sentences():
        screen.paragraph(sentence)
    screen.line()
    screen.line(f"{made.rows_published:,} rows published, {checks} checks of the certificate agree")
    for line in released.account_lines(made, planned):
        screen.line(line)
    screen.line(f"The plan, made before any row was read: {out / 'plan.html'}")
    screen.line(f"What others get:                        {made.folder / 'certificate.html'}")
    screen.line(f"For the holder's eyes only:             {out / (NAME + '.holder') / 'report.html'}")
    released.for_the_holder(made)


def _publish(out: Path, policy: Path, data: Path) -> tuple[Release, int]:
    from shoal.engine.base import open_engine
    from shoal.ledger.ledger import Ledger
    from shoal.policy.policy import Policy
    from shoal.publish.plan.methods import plan
    from shoal.publish.run.release import release
    from shoal.publish.verify.release import require, verify

    with screen.busy("publishing"), Ledger(str(out / "ledger.sqlite")) as book:
        made = release(plan(Policy.load(policy)), data, out / NAME, ledger=book, engine=open_engine())
    with screen.busy("verifying"):
        checks = verify(made.folder)
        require(checks)
    return made, len(checks)


def _clear(out: Path) -> None:
    """Make the folder, and take away what an earlier demonstration left that may not be overwritten piece by piece."""
    from shoal.page import files as disk

    out.mkdir(parents=True, exist_ok=True)
    disk.write(out / MARKER, "made by shoal demo; its files are replaced by the next run\n", force=True)
    for name in (NAME, NAME + ".holder"):
        if (out / name / "certificate.json").is_file() or (out / name / "report.json").is_file():
            shutil.rmtree(out / name)
    for name in ("ledger.sqlite", "visits.csv", "policy.yaml", "hierarchies/diagnosis.csv", "hierarchies/region.yaml"):
        (out / name).unlink(missing_ok=True)


def _check(out: Path, force: bool) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError("a file stands where the folder should be", came=out, fix="name another folder with --out")
    if out.is_dir() and any(out.iterdir()) and not (out / MARKER).exists() and not force:
        raise UsageError(
            "the folder was not made by the demonstration",
            came=out,
            fix="name another folder with --out, or say --force to write into it",
        )


def _write(out: Path, files: dict[str, bytes]) -> list[Path]:
    """Everything has been computed: now each file appears whole; nothing of anyone else's is removed."""
    from shoal.page import files as disk

    return [disk.write(out / name, content, force=True) for name, content in files.items()]


def _files(planned: SafeKPlan, points: list[Point], choices: list[Choice]) -> dict[str, bytes]:
    from shoal.cli.plan import as_fields
    from shoal.guarantee.safe_k.release_curve import curve_of_promise
    from shoal.page import plots
    from shoal.publish.plan.page import plan_page
    from shoal.publish.report.pictures import curve_picture, frontier_picture

    found = planned.promise
    pictures = curve_picture(curve_of_promise(found)), frontier_picture(found, choices)
    first, second = (plots.side_by_side([picture]) for picture in pictures)
    fields = {"version": VERSION, **as_fields(found, points, choices)}
    return {
        "plan.json": (json.dumps(fields, indent=2, allow_nan=False) + "\n").encode(),
        "curve.png": plots.render(first, "png"),
        "curve.svg": plots.render(first, "svg"),
        "frontier.png": plots.render(second, "png"),
        "plan.html": plan_page(planned, data="visits.csv", policy="policy.yaml", choices=choices).encode(),
    }
