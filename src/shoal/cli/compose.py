"""`shoal compose`: what many releases and mechanisms cost together, by the best bound that is proved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import screen, typed
from shoal.errors import CompositionError, UsageError

if TYPE_CHECKING:
    from shoal.guarantee.base import Guarantee
    from shoal.guarantee.compose import Composition

    Parts = list[tuple[Guarantee, int]]

TIMES = ("times",)
REPEATS = (1, 2, 4, 8, 16, 32)


@click.command()
@click.option("--crowd", multiple=True, metavar="k=K,beta=B", help="A release: sample at rate B, groups of at least K.")
@click.option(
    "--sampled", multiple=True, metavar="beta=B,epsilon=E,delta=D", help="Private under sampling (LQS11 Definition 3)."
)
@click.option("--pure", multiple=True, metavar="E", help="Any E-differentially private mechanism.")
@click.option("--approx", multiple=True, metavar="E,D", help="Any (E, D)-differentially private mechanism.")
@click.option("--laplace", multiple=True, metavar="E", help="Laplace noise of scale sensitivity / E.")
@click.option("--gaussian", multiple=True, metavar="MU", help="Gaussian noise of standard deviation sensitivity / MU.")
@click.option(
    "--k-anonymous", multiple=True, metavar="K", help="A k-anonymous table; refused, because it does not compose."
)
@click.option("--delta", metavar="D", help="Ask for the total epsilon at this delta.")
@click.option("--epsilon", metavar="E", help="Ask for the total delta at this epsilon.")
@click.option("--same-sample", is_flag=True, help="All from one sample; refused, with the reason.")
@click.option(
    "--plot", "plot_file", metavar="FILE", type=click.Path(path_type=Path), help="Draw how it grows: .png, .svg, .pdf."
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def compose(
    crowd: Sequence[str],
    sampled: Sequence[str],
    pure: Sequence[str],
    approx: Sequence[str],
    laplace: Sequence[str],
    gaussian: Sequence[str],
    k_anonymous: Sequence[str],
    delta: str | None,
    epsilon: str | None,
    same_sample: bool,
    plot_file: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Total epsilon at a delta, or total delta at an epsilon, of parts that are fixed in advance.

    Give each part once or more; add `,times=N` to repeat it. Every release draws its own sample and discards it.
    All parts speak of the same unit, added or removed.

    \b
    shoal compose --crowd k=20,beta=.15,times=28 --delta 1e-6
    shoal compose --crowd 20,.15 --pure .5 --gaussian .3,times=3 --delta 1e-6
    shoal compose --sampled .2,.02,0,times=50 --epsilon 1
    """  # noqa: D301 - Click reads the real character
    from shoal.cli.plan import check_picture

    if plot_file is not None:
        check_picture(plot_file, force)
        if delta is None:
            raise UsageError("--plot draws epsilon at a delta", fix="give --delta")
    if (delta is None) == (epsilon is None):
        raise UsageError("exactly one of --delta and --epsilon is needed", fix="give the one that you know")
    texts = {
        "crowd": crowd, "sampled": sampled, "pure": pure, "approx": approx,
        "laplace": laplace, "gaussian": gaussian, "k-anonymous": k_anonymous,
    }  # fmt: skip
    parts = _read(texts)
    if same_sample:
        _refuse_same_sample(parts)
    with screen.busy("composing"):
        total = _together(parts)
        asked = typed.number(delta or epsilon or "", "delta" if delta is not None else "epsilon")
        fields = _at_delta(total, asked) if delta is not None else _at_epsilon(total, asked)
    if plot_file is not None:
        _draw(total, asked, plot_file, force)
    fields["parts"] = [_part(part, n, asked if delta is not None else None) for part, n in total.parts]
    fields |= {"neighbours": "add_remove", "assumes": "fixed in advance; each release from its own fresh sample"}
    if as_json:
        screen.answer(fields)
    else:
        _show(fields)
    if plot_file is not None:
        screen.note(f"drew {plot_file}")


def _read(texts: dict[str, Sequence[str]]) -> Parts:
    """The guarantees that the options name, each with its count."""
    from shoal.guarantee import differential as dp
    from shoal.guarantee.syntactic import KAnonymity

    kinds: dict[str, tuple[Any, tuple[str, ...]]] = {
        "crowd": (dp.SafeKSampling, ("k", "beta")),
        "sampled": (dp.SampledDP, ("beta", "epsilon", "delta")),
        "pure": (dp.PureDP, ("epsilon",)),
        "approx": (dp.ApproxDP, ("epsilon", "delta")),
        "laplace": (dp.LaplaceDP, ("epsilon",)),
        "gaussian": (dp.GaussianDP, ("mu",)),
        "k-anonymous": (KAnonymity, ("k",)),
    }
    parts: Parts = []
    for option, given in texts.items():
        kind, names = kinds[option]
        for text in given:
            found = typed.fields(text, f"--{option}", names, TIMES)
            times = typed.whole(found.pop("times", "1"), "times")
            read = {name: (typed.whole if name == "k" else typed.number)(value, name) for name, value in found.items()}
            parts.append((kind(**read), times))
    return parts


def _together(parts: Parts) -> Composition:
    from shoal.guarantee.compose import compose as put_together
    from shoal.guarantee.differential import SampledDP

    fresh = [(part.on_fresh_sample() if isinstance(part, SampledDP) else part, n) for part, n in parts]
    return put_together(fresh)


def _refuse_same_sample(parts: Parts) -> None:
    from shoal.guarantee.differential import SafeKSampling, SampledDP
    from shoal.guarantee.theorem import theorem

    if not any(isinstance(part, SafeKSampling | SampledDP) for part, _ in parts):
        raise UsageError("no part is private by sampling", came="--same-sample", fix="leave out --same-sample")
    name = "dps-does-not-compose"
    raise CompositionError(
        name,
        "a release that is private only under sampling shares its sample with another result: "
        + theorem(name).statement.rstrip("."),
        came="--same-sample",
        allowed="one publication per sample, the sample then discarded (LQS11 sections 2.2 and 2.6)",
        fix="draw a fresh sample for each part, and leave out --same-sample",
    )


def _at_delta(total: Composition, delta: Fraction) -> dict[str, Any]:
    from shoal.guarantee.sentences import as_float

    bounds = {"basic": total.basic(delta), "advanced": total.advanced(delta), "pld": total.pld(delta)}
    best = total.epsilon_at(delta)
    winner = "single" if total.count == 1 else min(bounds, key=lambda name: bounds[name])
    return {
        "epsilon": best,
        "delta": as_float(delta, cost=True),
        "count": total.count,
        "solved": "epsilon",
        "bound": winner,
        "theorem": None if winner == "single" else f"{winner}-composition",
        **bounds,
        "pld_remove": total.pld(delta, "remove"),
        "pld_add": total.pld(delta, "add"),
    }


def _at_epsilon(total: Composition, epsilon: Fraction) -> dict[str, Any]:
    from shoal.guarantee.sentences import as_float

    delta = total.delta_at(epsilon)
    bound = "single" if total.count == 1 else "basic" if delta == total.basic_delta(epsilon) else "pld"
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


def _show(fields: dict[str, Any]) -> None:
    from shoal.guarantee.rounding import text_up

    def epsilon(value: float | None) -> str:
        return "none" if value is None or math.isinf(value) else text_up(value)

    count = f"{fields['count']} mechanism{'s' if fields['count'] > 1 else ''}"
    if fields["solved"] == "epsilon" and math.isinf(fields["epsilon"]):
        screen.paragraph(f"No epsilon is proved for {count} together at delta {text_up(fields['delta'])}.")
    else:
        screen.paragraph(
            f"Together {count} are ({text_up(fields['epsilon'])}, {text_up(fields['delta'])})-differentially private for one "
            "row added or removed, if they were fixed in advance and each release draws its own fresh sample."
        )
    screen.line()
    head: tuple[str, ...] = ("times", "part", "numbers", "epsilon alone")
    rows: list[tuple[str, ...]] = [
        (str(part["times"]), part["kind"], _numbers(part), epsilon(part["epsilon_alone"])) for part in fields["parts"]
    ]
    if fields["solved"] == "delta":
        head, rows = head[:3], [row[:3] for row in rows]
    screen.table(head, rows, right=(0, 3))
    if fields["solved"] == "epsilon":
        screen.line()
        marks = {
            "pld": "privacy-loss distributions",
            "advanced": "square-root growth",
            "basic": "epsilons and deltas add up",
        }
        bounds = [
            (name, epsilon(fields[name]), words + (" (best)" if fields["bound"] == name else ""))
            for name, words in marks.items()
        ]
        bounds.insert(1, ("  removing a row", epsilon(fields["pld_remove"]), "its two directions"))
        bounds.insert(2, ("  adding a row", epsilon(fields["pld_add"]), ""))
        screen.table(("bound", "epsilon", ""), bounds, right=(1,))


def _numbers(part: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} {value}" for name, value in part.items() if name not in ("kind", "times", "epsilon_alone")
    )


def _draw(total: Composition, delta: Fraction, path: Path, force: bool) -> None:
    """Epsilon at delta when the whole list is run 1, 2, 4, ... times."""
    from shoal.guarantee.compose import compose as put_together
    from shoal.page import files, plots
    from shoal.page.picture import Axis, Picture, Series

    bounds: dict[str, list[tuple[float, float]]] = {"basic": [], "advanced": [], "pld": []}
    with screen.bar("growth", len(REPEATS)) as tick:
        for repeat in REPEATS:
            many = put_together([(part, n * repeat) for part, n in total.parts])
            for name, values in bounds.items():
                value = getattr(many, name)(delta)
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
        x=Axis("times the whole list is run", log=True, ticks=REPEATS),
        y=Axis(f"total epsilon at delta = {float(delta):.3g}", log=True),
        series=series,
        caption="Each run draws fresh samples. pld: privacy-loss distributions are composed; basic: epsilons and deltas add up; "
        "advanced: Kairouz, Oh and Viswanath's square-root bound.",
    )
    figure = plots.side_by_side([picture])
    files.write(path, plots.render(figure, path.suffix.lstrip(".").lower()), force=force)
