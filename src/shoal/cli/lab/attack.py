"""`shoal attack`: attacks on releases of generated people, by unsafe methods and by ours beside them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli.terminal import output, progress
from shoal.cli.terminal.command import command, json_option

if TYPE_CHECKING:
    from shoal.assess.quantity import Quantity
    from shoal.lab.attacks.outcome import AttackResult


@command(
    "attack",
    examples=(
        "shoal attack linkage --rows 2000 --plot linkage.svg",
        "shoal attack membership --policy policy.yaml --runs 30",
    ),
    next_step=("See the names of all attacks.", "shoal attack --list"),
)
@click.argument("name", required=False, metavar="[NAME]")
@click.option("--list", "only_list", is_flag=True, help="List the attacks and stop.")
@click.option(
    "--policy",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The policy whose release is attacked, on people simulated from it (membership).",
)
@click.option(
    "--rows", type=click.IntRange(min=50), help="People in a generated table; each attack has its own number."
)
@click.option("--runs", type=click.IntRange(min=2), help="How often it is tried; each attack has its own number.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of people and chance.")
@click.option(
    "--plot", "file", metavar="FILE", type=click.Path(path_type=Path), help="Write the picture to FILE, .svg or .png."
)
@click.option("--force", is_flag=True, help="Replace a picture that exists.")
@json_option
def attack(
    name: str | None, only_list: bool, policy: Path | None, rows: int | None, runs: int | None, seed: int, file: Path | None,
    force: bool, as_json: bool,
) -> None:  # fmt: skip
    """Run the attack NAME on generated people: what it recovers, and how often, beside its control.

    No table of yours is read, and nothing is charged. An attack that fails proves nothing; one that succeeds refutes.
    """
    from shoal.lab.attacks.catalogue import find_attack

    if name is None or only_list:
        _list(as_json)
        return
    found = find_attack(name)
    setting = found.setting(rows, runs, seed, policy)
    kind = None if file is None else _kind(file, force)
    with progress.spinner(f"attacking by {name}"):
        result = found.run(setting)
    if file is not None and kind is not None:
        _draw(result, file, kind, force)
    if as_json:
        output.print_json({**result.to_json(), "picture": None if file is None else str(file)})
    else:
        _print(result)


def _list(as_json: bool) -> None:
    from shoal.lab.attacks.catalogue import ATTACKS

    if as_json:
        fields = [
            {
                "name": each.name,
                "summary": each.summary,
                "rows": each.rows,
                "runs": each.runs,
                "policy": each.takes_policy,
            }
            for each in ATTACKS.values()
        ]
        output.print_json({"attacks": fields})
    else:
        output.print_table(("name", "what it shows"), [(each.name, each.summary) for each in ATTACKS.values()])


def _kind(file: Path, force: bool) -> str:
    """The kind of picture that a file name asks for; refused before anything is run."""
    from shoal.errors import UsageError
    from shoal.files.write import refuse_overwriting

    kind = file.suffix.lower().removeprefix(".")
    if kind not in ("svg", "png"):
        raise UsageError("a picture is written to .svg or .png", came=file.name, allowed=".svg, .png")
    refuse_overwriting(file, force=force)
    return kind


def _draw(result: AttackResult, file: Path, kind: str, force: bool) -> None:
    from shoal.files.write import write
    from shoal.page.plots import render
    from shoal.page.rates import draw_rates

    write(file, render(draw_rates(result.picture()), kind), force=force)
    output.note(f"drew {file}")


def _print(result: AttackResult) -> None:
    output.print_line(f"{result.title}  [{result.source}]", bold=True)
    for sentence in (result.game, result.control):
        output.print_paragraph(sentence)
    output.print_line()
    rows = []
    for one in result.outcomes:
        most = one.largest_advantage
        rows.append(
            (
                one.method,
                *(_share(each) for each in (one.success, one.control)),
                "-" if one.baseline is None else f"{100 * one.baseline.value:.3g} %",
                _share(one.advantage),
                "-" if most is None else f"{100 * most:.3g} %",
                one.verdict(),
            )
        )
    output.print_table(("", "success", "control", "baseline", "advantage", "at most", "verdict"), rows)
    level = result.outcomes[0].success.level, result.outcomes[0].advantage.level
    output.print_paragraph(
        f"In brackets: {100 * level[0]:g} % intervals (Clopper and Pearson), of the advantage {100 * level[1]:g} %. At most: the "
        "advantage that the claim of a method allows to any attack; a dash where a method claims nothing, or where the control "
        "is about other people than the success, so that the claim says nothing of their difference. Where no success is shown, "
        "nothing is proved."
    )
    for name, measured in result.facts:
        output.print_paragraph(f"{name}: {measured.words()}")
    if result.recovered:
        output.print_line()
        output.print_line("What was recovered of generated people", bold=True)
        for line in result.recovered:
            output.print_paragraph(line, indent="  ")
    output.print_line()
    output.print_line("Why", bold=True)
    for sentence in result.why:
        output.print_paragraph(sentence)


def _share(measured: Quantity) -> str:
    low = measured.value if measured.low is None else measured.low
    high = measured.value if measured.high is None else measured.high
    return f"{100 * measured.value:.3g} % ({100 * low:.3g} to {100 * high:.3g})"
