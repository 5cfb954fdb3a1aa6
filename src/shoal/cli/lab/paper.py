"""`shoal paper`: tables and figures of the papers, recomputed, each beside what is printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.terminal import output, progress
from shoal.cli.terminal.command import command, json_option

if TYPE_CHECKING:
    from shoal.lab.papers.comparison import PrintedResult, Reproduction

    Results = list[tuple[PrintedResult, Reproduction]]

KINDS = ("png", "svg")


@command(
    "paper",
    examples=("shoal paper lqs11-table-2", "shoal paper sc13 --data DIR --runs 20 --plot figures"),
    next_step=("See the names of all tables and figures.", "shoal paper --list"),
)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--list", "only_list", is_flag=True, help="List the names and stop.")
@click.option(
    "--plot",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write the figures into DIR, as PNG and SVG.",
)
@click.option("--force", is_flag=True, help="Replace figures that exist.")
@click.option(
    "--data",
    metavar="DIR",
    type=click.Path(path_type=Path),
    envvar="SHOAL_DATA",
    show_envvar=True,
    help="Folder with the papers' tables, for what was measured on them.",
)
@click.option(
    "--runs",
    type=click.IntRange(min=2),
    default=100,
    show_default=True,
    help="Runs of a random method to average over.",
)
@json_option
@click.pass_context
def paper(
    context: click.Context, names: Sequence[str], only_list: bool, folder: Path | None, force: bool, data: Path | None,
    runs: int, as_json: bool,
) -> None:  # fmt: skip
    """Recompute what the papers print, all of it or the NAMEs given, and compare; exit code 3 if anything differs.

    A NAME is a table, a figure or a whole paper. A known error of a paper that is confirmed counts as reproduced; what
    was measured on a table that is not in DIR is not run.
    """
    from shoal.lab.papers.catalogue import find_results
    from shoal.lab.papers.comparison import RunSetting

    sources = find_results(names)
    if only_list:
        _list(sources, as_json)
        return
    if folder is not None:
        _check_folder(folder)
    setting = RunSetting(data, runs)
    results: Results = []
    with progress.bar("papers", len(sources)) as tick:
        for source in sources:
            results.append((source, source.reproduce(setting)))
            tick()
    drawn = _draw(results, folder, force) if folder is not None else []
    holds = all(result.holds for _, result in results)
    if as_json:
        output.print_json(
            {
                "reproduced": holds if any(result.ran for _, result in results) else None,
                "not_run": [source.name for source, result in results if not result.ran],
                "papers": [_fields(*pair) for pair in results],
                "figures": [str(path) for path in drawn],
            }
        )
    else:
        for source, result in results:
            _print(source, result)
        _summary(results)
    if drawn:
        output.note(f"drew {len(drawn)} files into {folder}")
    if not holds:
        context.exit(3)


def _list(sources: list[PrintedResult], as_json: bool) -> None:
    if as_json:
        output.print_json({"papers": [{"name": s.name, "title": s.title, "papers": list(s.papers)} for s in sources]})
    else:
        output.print_table(("name", "what"), [(source.name, source.title) for source in sources])


def _check_folder(folder: Path) -> None:
    from shoal.errors import UsageError

    if folder.exists() and not folder.is_dir():
        raise UsageError("a file stands where a folder should be", came=folder, fix="name a folder")


def _draw(results: Results, folder: Path, force: bool) -> list[Path]:
    """Render everything first, refuse before writing anything, then write."""
    from shoal.files.write import refuse_overwriting, write
    from shoal.page import plots

    pictures = [(source.name, result.pictures) for source, result in results if result.pictures]
    paths = [folder / f"{name}.{kind}" for name, _ in pictures for kind in KINDS]
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        refuse_overwriting(path, force=force)
    contents = []
    with progress.bar("figures", len(pictures)) as tick:
        for _, panels in pictures:
            figure = plots.side_by_side(panels)
            contents += [plots.render(figure, kind) for kind in KINDS]
            tick()
    return [write(path, content, force=force) for path, content in zip(paths, contents, strict=True)]


def _fields(source: PrintedResult, result: Reproduction) -> dict[str, Any]:
    return {
        "name": source.name,
        "title": source.title,
        "reproduced": result.holds if result.ran else None,
        "findings": [finding.to_json() for finding in result.findings],
        "remarks": list(result.remarks),
    }


def _print(source: PrintedResult, result: Reproduction) -> None:
    output.print_line(f"{source.title}  [{source.name}]", bold=True)
    rows = [(f.what, f.printed, f.ours, f.difference, f.improved, f.verdict.value) for f in result.findings]
    output.print_table(("", "paper", "ours", "difference", "improved", "verdict"), rows)
    for remark in result.remarks:
        output.print_paragraph(remark, indent="  ")
    output.print_line()


def _summary(results: Results) -> None:
    from shoal.lab.papers.comparison import Verdict

    findings = [finding for _, result in results for finding in result.findings]
    counts = {verdict: sum(finding.verdict is verdict for finding in findings) for verdict in Verdict}
    output.print_line(
        f"{len(findings)} findings: "
        + ", ".join(f"{count} {verdict.value}" for verdict, count in counts.items() if count)
    )
