"""`shoal paper`: tables and figures of the papers, recomputed, each beside what is printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import screen

if TYPE_CHECKING:
    from shoal.lab.papers.comparison import Reproduction, Source

    Results = list[tuple[Source, Reproduction]]

KINDS = ("png", "svg")


@click.command()
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
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
@click.pass_context
def paper(
    context: click.Context, names: Sequence[str], only_list: bool, folder: Path | None, force: bool, data: Path | None,
    runs: int, as_json: bool,
) -> None:  # fmt: skip
    """Recompute what the papers print: all of it, or the NAMEs given (a table, a figure, or a whole paper).

    Beside each number of a paper stand ours, the difference, a verdict, and what we can prove instead. Exit code 3 if
    anything does not reproduce; a known error of a paper that is confirmed counts as reproduced. What was measured on
    a table that is not there is not run, and says so.

    \b
    shoal paper --list
    shoal paper lqs11-table-2
    shoal paper sc13 --data DIR --runs 20
    shoal paper lqs10 --plot figures
    """  # noqa: D301 - Click reads the real character
    from shoal.lab.papers.catalogue import chosen
    from shoal.lab.papers.comparison import Setting

    sources = chosen(names)
    if only_list:
        _list(sources, as_json)
        return
    if folder is not None:
        _check_folder(folder)
    setting = Setting(data, runs)
    results: Results = []
    with screen.bar("papers", len(sources)) as tick:
        for source in sources:
            results.append((source, source.under(setting)))
            tick()
    drawn = _draw(results, folder, force) if folder is not None else []
    holds = all(result.holds for _, result in results)
    if as_json:
        screen.answer(
            {
                "reproduced": holds if any(result.ran for _, result in results) else None,
                "not_run": [source.name for source, result in results if not result.ran],
                "papers": [_fields(*pair) for pair in results],
                "figures": [str(path) for path in drawn],
            }
        )
    else:
        for source, result in results:
            _show(source, result)
        _summary(results)
    if drawn:
        screen.note(f"drew {len(drawn)} files into {folder}")
    if not holds:
        context.exit(3)


def _list(sources: list[Source], as_json: bool) -> None:
    if as_json:
        screen.answer({"papers": [{"name": s.name, "title": s.title, "papers": list(s.papers)} for s in sources]})
    else:
        screen.table(("name", "what"), [(source.name, source.title) for source in sources])


def _check_folder(folder: Path) -> None:
    from shoal.errors import UsageError

    if folder.exists() and not folder.is_dir():
        raise UsageError("a file stands where a folder should be", came=folder, fix="name a folder")


def _draw(results: Results, folder: Path, force: bool) -> list[Path]:
    """Render everything first, refuse before writing anything, then write."""
    from shoal.page import files, plots

    pictures = [(source.name, picture) for source, result in results for picture in result.pictures]
    paths = [folder / f"{name}.{kind}" for name, _ in pictures for kind in KINDS]
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        files.refuse_overwriting(path, force=force)
    contents = []
    with screen.bar("figures", len(pictures)) as tick:
        for _, picture in pictures:
            figure = plots.side_by_side([picture])
            contents += [plots.render(figure, kind) for kind in KINDS]
            tick()
    return [files.write(path, content, force=force) for path, content in zip(paths, contents, strict=True)]


def _fields(source: Source, result: Reproduction) -> dict[str, Any]:
    return {
        "name": source.name,
        "title": source.title,
        "reproduced": result.holds if result.ran else None,
        "findings": [finding.to_json() for finding in result.findings],
        "remarks": list(result.remarks),
    }


def _show(source: Source, result: Reproduction) -> None:
    screen.line(click.style(f"{source.title}  [{source.name}]", bold=True))
    rows = [(f.what, f.printed, f.ours, f.difference, f.improved, f.verdict.value) for f in result.findings]
    screen.table(("", "paper", "ours", "difference", "improved", "verdict"), rows)
    for remark in result.remarks:
        screen.paragraph(remark, indent="  ")
    screen.line()


def _summary(results: Results) -> None:
    from shoal.lab.papers.comparison import Verdict

    findings = [finding for _, result in results for finding in result.findings]
    counts = {verdict: sum(finding.verdict is verdict for finding in findings) for verdict in Verdict}
    screen.line(
        f"{len(findings)} findings: "
        + ", ".join(f"{count} {verdict.value}" for verdict, count in counts.items() if count)
    )
