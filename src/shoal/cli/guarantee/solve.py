"""`shoal solve`: any one of epsilon, delta, k and beta from the other three, and what that promises."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.terminal import numbers, output, progress
from shoal.cli.terminal.command import command, json_option
from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.guarantee.safe_k.frontier import CurveRow, FrontierPoint
    from shoal.guarantee.safe_k.setting import Setting

PICTURES = ("png", "svg", "pdf")
FOUR = ("--epsilon", "--delta", "--k", "--beta")
"""The options of which three are given."""


@command(
    "solve",
    examples=(
        "shoal solve --epsilon 1 --delta 1e-6 --beta 0.2",
        "shoal solve --epsilon 1 --delta 1e-6 --k 30 --frontier --plot frontier.svg",
    ),
    next_step=("Write epsilon and delta into a policy, then see what it promises.", "shoal plan policy.yaml"),
)
@click.option(
    "--epsilon", metavar="E", help="Logarithm of the largest ratio: the total, the recoding's share included."
)
@click.option("--delta", metavar="D", help="What is added after the ratio, 0 < delta < beta.")
@click.option("--k", metavar="K", help="Minimum class size: the fewest equal rows that are published.")
@click.option("--beta", metavar="B", help="Sampling rate, strictly between 0 and 1.")
@click.option(
    "--bound",
    default="tight",
    show_default=True,
    metavar="tight|published",
    help="The exact curve, or LQS11 Theorem 5.",
)
@click.option("--curve", "with_curve", is_flag=True, help="Add delta of the same release at other epsilons.")
@click.option("--frontier", "with_frontier", is_flag=True, help="Add other k and beta with the same epsilon and delta.")
@click.option(
    "--units", metavar="N", help="Units (people, say) in the table: warn if N times delta is not far below 1."
)
@click.option(
    "--max-rows", metavar="M", default="1", show_default=True, help="Rows that one unit (a person, say) has at most."
)
@click.option(
    "--neighbours",
    default="add_remove",
    show_default=True,
    metavar="add_remove|replace_one",
    help="Neighbouring tables: one unit added or removed, or one replaced.",
)
@click.option(
    "--epsilon-recoding",
    metavar="E1",
    default="0",
    show_default=True,
    help="The part of epsilon that a private choice of the recoding spends.",
)
@click.option(
    "--plot", "plot_file", metavar="FILE", type=click.Path(path_type=Path), help="Draw it: .png, .svg or .pdf."
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@json_option
def solve(
    epsilon: str | None,
    delta: str | None,
    k: str | None,
    beta: str | None,
    bound: str,
    with_curve: bool,
    with_frontier: bool,
    units: str | None,
    max_rows: str,
    neighbours: str,
    epsilon_recoding: str,
    plot_file: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Compute the fourth of epsilon, delta, k and beta from the three that you give; no data is needed.

    The release: keep each row with probability beta, recode it by rules fixed in advance, and publish only
    equivalence classes of at least k rows.
    """
    from shoal.guarantee.safe_k.frontier import class_sizes, curve, frontier
    from shoal.guarantee.safe_k.setting import solve as solve_setting

    if plot_file is not None:
        check_picture(plot_file, force)
    count = None if units is None else numbers.read_whole(units, "units")
    with progress.spinner("solving"):
        found = solve_setting(
            epsilon=None if epsilon is None else numbers.read_number(epsilon, "epsilon"),
            delta=None if delta is None else numbers.read_number(delta, "delta"),
            k=None if k is None else numbers.read_whole(k, "k"),
            beta=None if beta is None else numbers.read_number(beta, "beta"),
            bound=bound,
            epsilon_recoding=numbers.read_number(epsilon_recoding, "epsilon-recoding"),
            unit=_unit(max_rows, neighbours),
        )
    points, choices = None, None
    if with_curve:
        with progress.bar("curve", 10) as tick:
            points = curve(found, tick)
    if with_frontier:
        with progress.bar("frontier", len(class_sizes(found.unit)) + 1) as tick:
            choices = frontier(found, tick)
    if plot_file is not None:
        with progress.spinner("drawing"):
            _draw(found, choices, plot_file, force)
    if as_json:
        output.print_json(to_fields(found, points, choices, count))
    else:
        _print(found, points, choices)
    _caution(found, count, plot_file)


def _unit(rows: str, neighbours: str) -> Any:
    from shoal.guarantee.unit import Unit

    if neighbours not in ("add_remove", "replace_one"):
        raise UsageError("unknown neighbouring relation", came=neighbours, allowed="add_remove or replace_one")
    return Unit.of_rows(numbers.read_whole(rows, "max-rows"), neighbours)  # type: ignore[arg-type]


def check_picture(path: Path, force: bool) -> None:
    """Refuse a name that says no kind we draw, or a file that is there, before any work is done."""
    from shoal.files.write import refuse_overwriting

    if path.suffix.lstrip(".").lower() not in PICTURES:
        raise UsageError(
            "the plot's file name does not say its kind", came=path, allowed="a name in .png, .svg or .pdf"
        )
    refuse_overwriting(path, force=force)


def _draw(found: Setting, choices: list[FrontierPoint] | None, path: Path, force: bool) -> None:
    from shoal.files.write import write
    from shoal.guarantee.safe_k.frontier import curve_of_setting
    from shoal.page import plots
    from shoal.publish.plan.page import curve_picture, frontier_picture

    pictures = [curve_picture(curve_of_setting(found))]
    if choices:
        pictures.append(frontier_picture(found, choices))
    content = plots.render(plots.side_by_side(pictures), path.suffix.lstrip(".").lower())
    write(path, content, force=force)


def to_fields(
    found: Setting,
    points: list[CurveRow] | None = None,
    choices: list[FrontierPoint] | None = None,
    people: int | None = None,
) -> dict[str, Any]:
    """The fields of the JSON answer: costs rounded up, the rate rounded down."""
    from shoal.guarantee.sentences import as_float, sentences

    fields: dict[str, Any] = {
        "epsilon": as_float(found.epsilon, cost=True),
        "epsilon_recoding": as_float(found.epsilon_recoding, cost=True),
        "epsilon_release": as_float(found.epsilon_release, cost=True),
        "delta": as_float(found.delta, cost=True),
        "k": found.k,
        "beta": as_float(found.beta, cost=False),
        "bound": found.bound,
        "delta_tight": found.delta_tight,
        "delta_published": found.delta_published,
        "delta_unit": found.delta_unit,
        "delta_floor": as_float(found.floor, cost=True),
        "solved": found.solved,
        "theorems": list(found.theorems),
        "theorem": found.theorems[0],
        "unit": {"whose": found.unit.whose, "max_rows": found.unit.max_rows},
        "neighbours": found.unit.neighbours,
        "words": sentences(found),
    }
    if people is not None:
        fields |= {"people": people, "people_times_delta": as_float(people * found.delta, cost=True)}
    if points is not None:
        fields["curve"] = [
            {
                "epsilon": as_float(point.epsilon + found.epsilon_recoding, cost=True),
                "epsilon_release": as_float(point.epsilon, cost=True),
                "delta_tight": point.tight,
                "delta_published": point.published,
                "delta_unit": point.unit,
            }
            for point in points
        ]
    if choices is not None:
        fields["frontier"] = [
            {
                "k": choice.k,
                "beta": as_float(choice.beta, cost=False),
                "crowd": choice.class_size,
                "meaning": choice.meaning,
            }
            for choice in choices
        ]
    return fields


def _print(found: Setting, points: list[CurveRow] | None, choices: list[FrontierPoint] | None) -> None:
    from shoal.guarantee.sentences import sentences

    for sentence in sentences(found):
        output.print_paragraph(sentence)
        output.print_line()
    output.print_table(("", "", ""), _number_rows(found))
    if points is not None:
        output.print_line()
        head, rows = _curve_rows(found, points)
        output.print_table(head, rows, right=range(len(head)))
    if choices is not None:
        output.print_line()
        output.print_table(*_frontier_rows(choices), right=(0, 1, 2))


def _number_rows(found: Setting) -> list[tuple[str, str, str]]:
    """The four numbers, which of them was solved, and both bounds of delta."""
    from shoal.guarantee.rounding import text_down, text_up
    from shoal.guarantee.sentences import short

    def mark(name: str) -> str:
        return "solved" if found.solved == name else "given"

    shares = (
        [
            (
                "",
                f"{short(found.epsilon_recoding, cost=True)} + {short(found.epsilon_release, cost=True)}",
                "recoding + release",
            )
        ]
        if found.epsilon_recoding
        else []
    )
    at = f"epsilon {short(found.epsilon_release, cost=True)}"
    published = found.delta_published
    gained = "" if published is None else f"{text_down(published / found.delta_tight, 3)} times the tight one"
    unit = (
        []
        if found.unit.is_one_step
        else [("delta for this unit", text_up(found.delta_unit), f"of the sample, at {at}, step by step")]
    )
    return [
        ("epsilon", short(found.epsilon, cost=True), mark("epsilon")),
        *shares,
        ("delta", short(found.delta, cost=True), mark("delta")),
        ("k", str(found.k), mark("k")),
        ("beta", short(found.beta, cost=False), mark("beta")),
        ("delta, tight", text_up(found.delta_under("tight")), f"of the sample, at {at}, one row added or removed"),
        (
            "delta, published",
            "silent" if published is None else text_up(found.delta_under("published")),
            gained or "epsilon < -ln(1 - beta)",
        ),
        *unit,
        ("floor beta^k", text_up(found.floor), "no epsilon goes below it"),
        ("unit", found.unit.words(), found.unit.neighbours),
        ("theorem", ", ".join(found.theorems), f"bound: {found.bound}"),
    ]


def _curve_rows(found: Setting, points: list[CurveRow]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """For each point of the curve epsilon and the deltas at it, rounded up."""
    from shoal.guarantee.rounding import text_up
    from shoal.guarantee.sentences import short

    unit = not found.unit.is_one_step
    tight = "delta, one row" if unit else "delta, tight"
    head = ("epsilon", tight, "delta, published", *(["delta, this unit"] if unit else []))
    rows = [
        (
            short(point.epsilon + found.epsilon_recoding, cost=True),
            text_up(point.tight),
            "silent" if point.published is None else text_up(point.published),
            *([text_up(point.unit)] if unit else []),
        )
        for point in points
    ]
    return head, rows


def _frontier_rows(choices: list[FrontierPoint]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """For each choice k, the largest beta rounded down, and what the choice is good for."""
    from shoal.guarantee.rounding import text_down

    rows: list[tuple[str, ...]] = [(str(c.k), text_down(c.beta), f"{c.class_size:.0f}", c.meaning) for c in choices]
    return ("k", "beta at most", "k / beta", "means"), rows


def _caution(found: Setting, people: int | None, plot_file: Path | None) -> None:
    from shoal.guarantee.sentences import about_people

    if people is not None and (words := about_people(people, found, "units")):
        output.warn(words)
    if plot_file is not None:
        output.note(f"drew {plot_file}")
