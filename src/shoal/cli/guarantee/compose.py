"""`shoal compose`: what many releases and mechanisms cost together, by the best bound that is proved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.terminal import numbers, output, progress
from shoal.cli.terminal.command import command, json_option
from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.guarantee.base import Guarantee
    from shoal.guarantee.compose import Composition

    Parts = list[tuple[Guarantee, int]]

TIMES = ("times",)
REPEATS = (1, 2, 4, 8, 16, 32)
OPTIONS = {
    "safe-k-sampling": "safe-k",
    "approx-dp": "approx",
    "pure-dp": "pure",
    "laplace-dp": "laplace",
    "gaussian-dp": "gaussian",
    "noisy-tables-dp": "tables",
    "exponential-dp": "choice",
    "concentrated-dp": "concentrated",
}
"""The option that names a kind of part; --sampled becomes approx on its fresh sample."""


@command(
    "compose",
    examples=(
        "shoal compose --safe-k 20,.15 --pure .5 --gaussian .3,times=3 --delta 1e-6 --plot growth.svg",
        "shoal compose --tables counts=105,sigma=45 --choice .05,times=20 --delta 1e-6",
    ),
    next_step=(
        "See how many more fit into the budget of a dataset.",
        "shoal ledger forecast hospital-visits --epsilon 0.5 --delta 1e-6",
    ),
)
@click.option(
    "--safe-k", multiple=True, metavar="k=K,beta=B", help="A release: sample at rate B, classes of at least K rows."
)
@click.option(
    "--sampled", multiple=True, metavar="beta=B,epsilon=E,delta=D", help="Private under sampling (LQS11 Definition 3)."
)
@click.option("--pure", multiple=True, metavar="E", help="Any E-differentially private mechanism.")
@click.option("--approx", multiple=True, metavar="E,D", help="Any (E, D)-differentially private mechanism.")
@click.option("--laplace", multiple=True, metavar="E", help="Laplace noise of scale sensitivity / E.")
@click.option("--gaussian", multiple=True, metavar="MU", help="Gaussian noise of standard deviation sensitivity / MU.")
@click.option(
    "--tables",
    multiple=True,
    metavar="counts=N,sigma=S",
    help="N counts changed by one, discrete Gaussian noise S on each.",
)
@click.option("--choice", multiple=True, metavar="E", help="A choice by the exponential mechanism with E.")
@click.option("--concentrated", multiple=True, metavar="RHO", help="Any RHO-zero-concentrated private mechanism.")
@click.option("--delta", metavar="D", help="Compute the total epsilon at this delta.")
@click.option("--epsilon", metavar="E", help="Compute the total delta at this epsilon.")
@click.option(
    "--plot", "plot_file", metavar="FILE", type=click.Path(path_type=Path), help="Draw how it grows: .png, .svg, .pdf."
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@json_option
def compose(
    safe_k: Sequence[str],
    sampled: Sequence[str],
    pure: Sequence[str],
    approx: Sequence[str],
    laplace: Sequence[str],
    gaussian: Sequence[str],
    tables: Sequence[str],
    choice: Sequence[str],
    concentrated: Sequence[str],
    delta: str | None,
    epsilon: str | None,
    plot_file: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Compute the total epsilon at a delta, or the total delta at an epsilon, of parts that are fixed in advance.

    Give each kind of part once or more; `,times=N` repeats a part. All parts hide the same unit, added or removed. Each
    part that samples draws its own sample and discards it: two results from one sample do not compose.

    A k-anonymous table is no part, because k-anonymity does not compose: two 5-anonymous tables of the same people,
    taken together, can single a person out.
    """
    from shoal.cli.guarantee.solve import check_picture

    if plot_file is not None:
        check_picture(plot_file, force)
        if delta is None:
            raise UsageError("--plot draws epsilon at a delta", fix="give --delta")
    if (delta is None) == (epsilon is None):
        raise UsageError("exactly one of --delta and --epsilon is needed", fix="give the one that you know")
    texts = {
        "safe-k": safe_k, "sampled": sampled, "pure": pure, "approx": approx, "laplace": laplace, "gaussian": gaussian,
        "tables": tables, "choice": choice, "concentrated": concentrated,
    }  # fmt: skip
    parts = _read_parts(texts)
    with progress.spinner("composing"):
        total = _compose(parts)
        asked = numbers.read_number(delta or epsilon or "", "delta" if delta is not None else "epsilon")
        fields = _at_delta(total, asked) if delta is not None else _at_epsilon(total, asked)
    if plot_file is not None:
        _draw(total, asked, plot_file, force)
    fields["parts"] = [_part(part, n, asked if delta is not None else None) for part, n in total.parts]
    fields |= {"neighbours": "add_remove", "assumes": "fixed in advance; each release from its own fresh sample"}
    if as_json:
        output.print_json(fields)
    else:
        _print(fields)
    if plot_file is not None:
        output.note(f"drew {plot_file}")


def _read_parts(texts: dict[str, Sequence[str]]) -> Parts:
    """The guarantees that the options name, each with its count."""
    from shoal.guarantee import differential as dp
    from shoal.guarantee import noise

    kinds: dict[str, tuple[Any, tuple[str, ...]]] = {
        "safe-k": (dp.SafeKSampling, ("k", "beta")),
        "sampled": (dp.SampledDP, ("beta", "epsilon", "delta")),
        "pure": (dp.PureDP, ("epsilon",)),
        "approx": (dp.ApproxDP, ("epsilon", "delta")),
        "laplace": (dp.LaplaceDP, ("epsilon",)),
        "gaussian": (dp.GaussianDP, ("mu",)),
        "tables": (lambda counts, sigma: noise.NoisyTablesDP([(counts, sigma)]), ("counts", "sigma")),
        "choice": (noise.ExponentialDP, ("epsilon",)),
        "concentrated": (noise.ConcentratedDP, ("rho",)),
    }
    parts: Parts = []
    for option, given in texts.items():
        kind, names = kinds[option]
        for text in given:
            found = numbers.read_fields(text, f"--{option}", names, TIMES)
            times = numbers.read_whole(found.pop("times", "1"), "times")
            read = {
                name: (numbers.read_whole if name in ("k", "counts") else numbers.read_number)(value, name)
                for name, value in found.items()
            }
            parts.append((kind(**read), times))
    return parts


def _compose(parts: Parts) -> Composition:
    from shoal.guarantee.compose import compose as put_together
    from shoal.guarantee.differential import SampledDP

    fresh = [(part.on_fresh_sample() if isinstance(part, SampledDP) else part, n) for part, n in parts]
    return put_together(fresh)


def _at_delta(total: Composition, delta: Fraction) -> dict[str, Any]:
    from shoal.guarantee.sentences import as_float

    bounds = {
        "basic": total.basic_epsilon(delta),
        "advanced": total.advanced_epsilon(delta),
        "pld": total.pld_epsilon(delta),
        "concentrated": total.concentrated_epsilon(delta),
    }
    best = total.epsilon_at(delta)
    theorem = next(iter(total.theorems_at(delta)), None)
    winner = "single" if theorem is None else theorem.removesuffix("-composition")
    return {
        "epsilon": best,
        "delta": as_float(delta, cost=True),
        "count": total.count,
        "solved": "epsilon",
        "bound": winner,
        "theorem": theorem,
        **bounds,
        "pld_remove": total.pld_epsilon(delta, "remove"),
        "pld_add": total.pld_epsilon(delta, "add"),
    }


def _at_epsilon(total: Composition, epsilon: Fraction) -> dict[str, Any]:
    from shoal.guarantee.sentences import as_float

    delta = total.delta_at(epsilon)
    bounds = {"basic": total.basic_delta(epsilon), "concentrated": total.concentrated_delta(epsilon)}
    bound = "single" if total.count == 1 else next((name for name, own in bounds.items() if own == delta), "pld")
    return {
        "epsilon": as_float(epsilon, cost=True),
        "delta": delta,
        "count": total.count,
        "solved": "delta",
        "bound": bound,
        "theorem": None if bound == "single" else f"{bound}-composition",
    }


def _part(part: Any, times: int, delta: Fraction | None) -> dict[str, Any]:
    alone = None if delta is None else part.epsilon_at(delta)
    return {**part.to_saved(), "times": times, "epsilon_alone": alone}


def _print(fields: dict[str, Any]) -> None:
    from shoal.guarantee.rounding import text_up

    def epsilon(value: float | None) -> str:
        return "none" if value is None or math.isinf(value) else text_up(value)

    count = f"{fields['count']} mechanism{'s' if fields['count'] > 1 else ''}"
    if fields["solved"] == "epsilon" and math.isinf(fields["epsilon"]):
        output.print_paragraph(f"No epsilon is proved for {count} together at delta {text_up(fields['delta'])}.")
    else:
        output.print_paragraph(
            f"Together {count} are ({text_up(fields['epsilon'])}, {text_up(fields['delta'])})-differentially private for one "
            "unit added or removed, if they were fixed in advance and each release draws its own fresh sample."
        )
    output.print_line()
    head: tuple[str, ...] = ("times", "part", "numbers", "epsilon alone")
    rows: list[tuple[str, ...]] = [
        (str(part["times"]), OPTIONS.get(part["kind"], part["kind"]), _numbers(part), epsilon(part["epsilon_alone"]))
        for part in fields["parts"]
    ]
    if fields["solved"] == "delta":
        head, rows = head[:3], [row[:3] for row in rows]
    output.print_table(head, rows, right=(0, 3))
    if fields["solved"] == "epsilon":
        output.print_line()
        marks = {
            "pld": "privacy-loss distributions are composed",
            "advanced": "advanced composition of Kairouz, Oh and Viswanath",
            "concentrated": "parameters of concentrated privacy are added up",
            "basic": "epsilons and deltas are added up",
        }
        bounds = [
            (name, epsilon(fields[name]), words + ("; this is the smallest" if fields["bound"] == name else ""))
            for name, words in marks.items()
            if name != "concentrated" or math.isfinite(fields[name])
        ]
        bounds.insert(1, ("  unit removed", epsilon(fields["pld_remove"]), ""))
        bounds.insert(2, ("  unit added", epsilon(fields["pld_add"]), ""))
        output.print_table(("bound", "epsilon", ""), bounds, right=(1,))


def _numbers(part: dict[str, Any]) -> str:
    if "choices" in part:
        return " or ".join(f"counts {counts}, sigma {sigma}" for counts, sigma in part["choices"])
    return ", ".join(
        f"{name} {value}" for name, value in part.items() if name not in ("kind", "times", "epsilon_alone")
    )


def _draw(total: Composition, delta: Fraction, path: Path, force: bool) -> None:
    """Epsilon at delta when the whole list is run 1, 2, 4, ... times."""
    from shoal.files.write import write
    from shoal.guarantee.compose import compose as put_together
    from shoal.guarantee.rounding import text_near
    from shoal.page import plots
    from shoal.page.picture import Picture, PlotAxis, Series

    bounds: dict[str, list[tuple[float, float]]] = {"basic": [], "advanced": [], "pld": [], "concentrated": []}
    with progress.bar("growth", len(REPEATS)) as tick:
        for repeat in REPEATS:
            many = put_together([(part, n * repeat) for part, n in total.parts])
            for name, values in bounds.items():
                value = getattr(many, f"{name}_epsilon")(delta)
                if math.isfinite(value):
                    values.append((float(repeat), value))
            tick()
    series = [
        Series(name, [x for x, _ in values], [y for _, y in values], colour=i, dots=True)
        for i, (name, values) in enumerate(bounds.items())
        if values
    ]
    picture = Picture(
        title="How the total grows when the whole list is repeated",
        x=PlotAxis("times the whole list is run", log=True, ticks=REPEATS),
        y=PlotAxis(f"total epsilon at delta = {text_near(delta, 3)}", log=True),
        series=series,
        caption="Each run draws fresh samples. pld: privacy-loss distributions are composed; basic: epsilons and deltas add up; "
        "advanced: Kairouz, Oh and Viswanath's square-root bound.",
    )
    figure = plots.side_by_side([picture])
    write(path, plots.render(figure, path.suffix.lstrip(".").lower()), force=force)
