"""`shoal demo`: a plan from start to finish, with its curve, its frontier and a page of words."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli import screen
from shoal.cli.commands import VERSION
from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.guarantee.outlook import Choice, Point
    from shoal.guarantee.promise import Promise
    from shoal.page.picture import Picture

MARKER = ".shoal-demo"
"""Its presence says that a demonstration made the folder, so that the next one may replace its files."""

CAUTIONS = (
    "It hides one row. A person with several rows needs a plan for several: --rows-per-person.",
    "It holds for each person. With n people, keep n times delta far below 1: --people.",
    "One sample serves one publication and is then discarded; fresh samples compose: shoal compose.",
    "What is true of everyone can still be learnt; the promise is that nobody's own row made the difference.",
)

COMMAND = "shoal plan --epsilon 1 --delta 1e-6 --beta 0.2 --curve --frontier"


@click.command()
@click.option(
    "--out", metavar="DIR", default="build/demo", show_default=True, type=click.Path(path_type=Path), help="Where to."
)
@click.option("--force", is_flag=True, help="Write into a folder that another program made.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def demo(out: Path, force: bool, as_json: bool) -> None:
    """Plan a release that keeps one row in five at epsilon 1 and delta 1e-6, and write a page about it.

    Leaves plan.html, plan.json, curve.png, curve.svg and frontier.png. Run again, it replaces its own files.
    """
    from shoal.guarantee.outlook import crowds, curve, frontier
    from shoal.guarantee.promise import Whose, promise
    from shoal.guarantee.words import sentences

    _check(out, force)
    found = promise(
        epsilon=Fraction(1), delta=Fraction(1, 10**6), k=None, beta=Fraction(1, 5),
        bound="tight", recoding=Fraction(0), whose=Whose(),
    )  # fmt: skip
    with screen.bar("planning", len(crowds(found.whose)) + 11) as tick:
        points, choices = curve(found, tick), frontier(found, tick)
    with screen.busy("drawing"):
        written = _write(out, _files(found, points, choices))
    page = out / "plan.html"
    if as_json:
        screen.answer(
            {"out": str(out), "page": str(page), "files": [path.name for path in written], "words": sentences(found)}
        )
        return
    for sentence in sentences(found):
        screen.paragraph(sentence)
    screen.line(f"The page: {page}")


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

    out.mkdir(parents=True, exist_ok=True)
    disk.write(out / MARKER, "made by shoal demo; its files are replaced by the next run\n", force=True)
    return [disk.write(out / name, content, force=True) for name, content in files.items()]


def _files(found: Promise, points: list[Point], choices: list[Choice]) -> dict[str, bytes]:
    from shoal.cli.plan import as_fields
    from shoal.page import plots
    from shoal.publish.pictures import curve_picture, frontier_picture

    pictures = curve_picture(found), frontier_picture(found, choices)
    first, second = (plots.side_by_side([picture]) for picture in pictures)
    fields = {"version": VERSION, **as_fields(found, points, choices)}
    return {
        "plan.json": (json.dumps(fields, indent=2, allow_nan=False) + "\n").encode(),
        "curve.png": plots.render(first, "png"),
        "curve.svg": plots.render(first, "svg"),
        "frontier.png": plots.render(second, "png"),
        "plan.html": _page(found, choices, *pictures).encode(),
    }


def _page(found: Promise, choices: list[Choice], first: Picture, second: Picture) -> str:
    from shoal import __version__
    from shoal.cli.plan import frontier_rows, numbers
    from shoal.guarantee.theorem import theorem
    from shoal.guarantee.words import sentences
    from shoal.page import html

    head, rows = frontier_rows(choices)
    theorems = [theorem(name) for name in found.theorems]
    return html.page(
        "plan",
        {
            "title": "A promise made before any row is read",
            "lead": f"Sample one row in five, show only groups of at least {found.k}: what that promises each person.",
            "sentences": sentences(found),
            "numbers": numbers(found),
            "curve": html.inline(first, "curve"),
            "curve_caption": first.caption,
            "frontier": html.inline(second, "frontier"),
            "frontier_caption": second.caption,
            "about_curve": "A mechanism does not have one epsilon. For every epsilon there is the delta that goes with it, and "
            "all of them hold at once.",
            "about_frontier": "Each line keeps the same epsilon and delta. A larger sample needs larger groups; k / beta is "
            "about how many people of the whole table must share a description before it is shown.",
            "frontier_head": head,
            "frontier_rows": rows,
            "chosen": str(found.k),
            "theorems": [
                {"name": t.name, "statement": t.statement, "source": t.source, "premises": [p.text for p in t.premises]}
                for t in theorems
            ],
            "cautions": CAUTIONS,
            "command": COMMAND,
            "footer": f"Written by Shoal {__version__}. Costs are rounded up and allowances down, so no number here flatters.",
        },
    )
