"""`shoal demo`: the custodian's whole journey on generated data, from a policy to a verified release."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli.publish.release import account_lines, print_for_custodian
from shoal.cli.terminal import output, progress
from shoal.cli.terminal.command import command, json_option
from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.publish.plan.base import Plan
    from shoal.publish.run.release import Release
    from shoal.publish.verify.standalone import Check

MARKER = ".shoal-demo"
"""Its presence says that a demonstration made the folder, so that the next one may replace its files."""

NAME = "visits-2026"
ROWS = 50_000
SEED = 2026
COUNTS = {"every": "pairs", "share": "0.5"}
"""What is published beside the rows: a table of counts for every pair of columns, for half of the precision. They also say how
many records there are, so no noisy total is published."""


@command(
    "demo",
    examples=("shoal demo", "shoal demo --out demo-small --rows 5000"),
    next_step=(
        "Read plan.html and visits-2026/certificate.html, then check the release.",
        "shoal verify build/demo/visits-2026",
    ),
)
@click.option(
    "--out",
    metavar="DIR",
    default="build/demo",
    show_default=True,
    type=click.Path(path_type=Path),
    help="The folder to make.",
)
@click.option(
    "--rows",
    metavar="N",
    type=click.IntRange(1, 10_000_000),
    default=ROWS,
    show_default=True,
    help="Rows of the table.",
)
@click.option("--fast", is_flag=True, help="Leave out the assessment of the release.")
@click.option("--force", is_flag=True, help="Write into a folder that another program made.")
@json_option
def demo(out: Path, rows: int, fast: bool, force: bool, as_json: bool) -> None:
    """Generate a table of hospital visits, plan its release, publish it, verify it and assess it.

    The release has generalized rows of sampled people, and tables of noisy counts beside them. DIR then has the table, its
    policy, plan.html, the release visits-2026 with its certificate, visits-2026.holder with the custodian's report (what was
    lost, and risks and utility as they were measured), and a ledger. The next run replaces these files.
    """
    from shoal.assess.release.load import load
    from shoal.datasets.visits import write_policy, write_visits
    from shoal.policy.policy import Policy
    from shoal.publish.plan.methods import plan

    _refuse_other_folder(out, force)
    _clear(out)
    with progress.spinner("generating visits"):
        policy = (
            Policy.load(write_policy(out))
            .with_changes({"release.counts": COUNTS, "release.total": None})
            .save(out / "policy.yaml", force=True)
        )
        data = write_visits(out / "visits.csv", rows, seed=SEED)
    with progress.spinner("planning"):
        planned = plan(Policy.load(policy))
        written = _write(out, _files(planned))
    made, checks = _publish(out, policy, data, assess=not fast)
    with progress.spinner("reading the release as a recipient"):
        women = load(made.folder).count({"sex": "female"})
    output.note_effect(f"the demonstration was made and stands: {out}")
    if as_json:
        names = [path.name for path in written]
        output.print_json(
            {
                "out": str(out),
                "page": str(out / "plan.html"),
                "files": names,
                "release": str(made.folder),
                "holder": str(made.custodian_folder),
                "rows_published": made.rows_published,
                "checks": len(checks),
                "words": planned.sentences(),
            }
        )
        return
    for sentence in planned.sentences():
        output.print_paragraph(sentence)
    output.print_line()
    agree = sum(each.agrees is True for each in checks)
    others = f", {len(checks) - agree} could not be made" if agree < len(checks) else ""
    tables = len(made.certificate["counts"])
    output.print_line(
        f"{made.rows_published:,} rows and {tables} tables of noisy counts published; "
        f"{agree} checks of the certificate agree{others}"
    )
    output.print_line(
        f"a recipient's estimate of the women: {women.value:,.0f}, with 95 % confidence {women.low:,.0f} to {women.high:,.0f}"
    )
    for line in account_lines(made, planned):
        output.print_line(line)
    output.print_line()
    output.print_line(f"The plan, made before any row was read: {out / 'plan.html'}")
    output.print_line(f"What others get:                        {out / NAME / 'certificate.html'}")
    output.print_line(f"For the custodian alone:                {out / (NAME + '.holder') / 'report.html'}")
    print_for_custodian(made)


def _publish(out: Path, policy: Path, data: Path, *, assess: bool) -> tuple[Release, list[Check]]:
    from shoal.engine.base import open_engine
    from shoal.ledger.ledger import Ledger
    from shoal.policy.policy import Policy
    from shoal.progress import within
    from shoal.publish.plan.methods import plan
    from shoal.publish.run.release import release
    from shoal.publish.verify.release import require, verify

    with progress.stages() as stage, Ledger(str(out / "ledger.sqlite")) as book:
        made = release(
            plan(Policy.load(policy)),
            data,
            out / NAME,
            ledger=book,
            engine=open_engine(stage=stage),
            assess=assess,
            stage=stage,
        )
    with progress.stages("verifying") as stage:
        checks = verify(made.folder, within(stage, "verifying"))
        require(checks)
    return made, checks


def _clear(out: Path) -> None:
    """Make the folder, and take away what an earlier demonstration left that may not be overwritten piece by piece."""
    from shoal.files import write as disk
    from shoal.publish.folder import custodian_folder, is_own_release, is_own_report
    from shoal.publish.run.recover import recover_target

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            "the folder cannot be made", came=f"{out}: {error.strerror}", fix="name another folder with --out"
        ) from None
    disk.write(out / MARKER, "made by shoal demo; its files are replaced by the next run\n", force=True)
    recover_target(out / NAME)
    for path, is_own in ((out / NAME, is_own_release), (custodian_folder(out / NAME), is_own_report)):
        if is_own(path):
            shutil.rmtree(path)
    for name in ("ledger.sqlite", "visits.csv", "policy.yaml", "hierarchies/diagnosis.csv", "hierarchies/region.yaml"):
        (out / name).unlink(missing_ok=True)


def _refuse_other_folder(out: Path, force: bool) -> None:
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
    from shoal.files import write as disk

    return [disk.write(out / name, content, force=True) for name, content in files.items()]


def _files(planned: Plan) -> dict[str, bytes]:
    fields = {"version": output.VERSION, **planned.to_json()}
    return {
        "plan.json": (json.dumps(fields, indent=2, allow_nan=False) + "\n").encode(),
        "plan.html": planned.page().encode(),
    }
