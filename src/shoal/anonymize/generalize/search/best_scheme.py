"""The best scheme for a table: the search from beginning to end, what it found, and what to say where nothing is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np

from shoal.anonymize.generalize.lattice import Lattice
from shoal.anonymize.generalize.search.criteria import Mask
from shoal.anonymize.generalize.search.full_domain import (
    FoundScheme,
    Places,
    SearchProblem,
    SearchResult,
    classes_at,
    climb,
    search,
)
from shoal.anonymize.generalize.search.loss import (
    LOSSES,
    GranularityLoss,
    Loss,
    LossName,
    SuppressedRows,
    label_parts,
)
from shoal.anonymize.generalize.search.records import EncodedRecords
from shoal.anonymize.generalize.search.requirement import Requirement
from shoal.anonymize.kernel.rollup import Progress
from shoal.errors import InfeasibleError
from shoal.guarantee.rounding import exact_text, text_up


@dataclass(frozen=True)
class SearchOutcome:
    """What a search found: the loss, what every scheme loses at least, and how many schemes there are and were looked at.

    `is_exact` says that no scheme of the lattice is better; otherwise the gap between loss and lower bound is all that is known.
    """

    loss: Fraction
    lower_bound: Fraction
    is_exact: bool
    schemes: int
    examined: int


@dataclass(frozen=True, eq=False)
class BestScheme:
    """The scheme that was found: its levels, which rows of the table it publishes, and how the search went."""

    levels: dict[str, int]
    kept: Mask
    outcome: SearchOutcome


def find_scheme(
    lattice: Lattice,
    records: EncodedRecords,
    required: Requirement,
    loss: LossName,
    weights: Mapping[str, Fraction],
    suppression: Fraction,
    *,
    progress: Progress | None = None,
) -> BestScheme:
    """The scheme of least loss that suppresses at most this share of the rows.

    Raises     InfeasibleError where there is none; it says the best that is reachable.
    """
    problem = pose(lattice, records, required, loss, weights, suppression)
    refuse_unreachable(problem)
    start, tried = climb(problem)
    result = search(problem, start=start, progress=progress)
    if result.best is None:
        raise _infeasible(problem, suppression)
    return BestScheme(
        levels_of(lattice, result.best.places),
        kept_rows(problem, result.best.places),
        outcome_of(problem, result, result.best, tried),
    )


def pose(
    lattice: Lattice,
    records: EncodedRecords,
    required: Requirement,
    loss: LossName,
    weights: Mapping[str, Fraction],
    suppression: Fraction,
) -> SearchProblem:
    """The problem that is searched; attributes without a weight have weight 1."""
    each = [weights.get(name, Fraction(1)) for name in lattice.names]
    shares = [one / sum(each, Fraction(0)) for one in each]
    parts = label_parts(lattice, records.quasi.values, shares)
    return SearchProblem(
        lattice, records, required, make_loss(loss, records.rows, required.k, shares),
        int(suppression * records.rows), parts,
    )  # fmt: skip


def make_loss(name: LossName, rows: int, k: int, shares: list[Fraction]) -> Loss:
    """The loss of this name for a table of so many rows."""
    if name == "granularity":
        return GranularityLoss(rows, k, GranularityLoss.whole_of(shares))
    return LOSSES[name](rows, k)


def levels_of(lattice: Lattice, places: Places) -> dict[str, int]:
    """The number of the level of each attribute."""
    return {name: levels[place] for name, levels, place in zip(lattice.names, lattice.levels, places, strict=True)}


def kept_rows(problem: SearchProblem, places: Places) -> Mask:
    """Which rows of the table a scheme publishes."""
    made = classes_at(problem, places)
    _, _, kept = problem.judge(made.classes, made.lost)
    return np.asarray(kept.take(made.owner).take(problem.records.of_row))


def outcome_of(problem: SearchProblem, result: SearchResult, best: FoundScheme, tried: int) -> SearchOutcome:
    """How the search went, in numbers that people know."""
    bound = best.total if result.lower_bound is None else result.lower_bound
    return SearchOutcome(
        problem.loss.value(best.total),
        problem.loss.value(bound),
        result.is_exact,
        len(problem.lattice),
        min(tried + result.examined, len(problem.lattice)),
    )


# --- what to say where nothing is allowed -------------------------------------------------------------------------------


def refuse_unreachable(problem: SearchProblem) -> None:
    """Refuse what no class of the table can have, whatever is recoded or suppressed."""
    required = problem.required
    for values in problem.records.confidential:
        different = values.size - (values.absent >= 0)
        for name, asked in (("l", required.l), ("entropy_l", required.entropy_l)):
            most = different if name == "l" else values.size
            if asked is not None and most < asked:
                raise InfeasibleError(
                    f"attribute '{values.name}' has fewer different values than every class shall show",
                    came=f"{name} = {exact_text(Fraction(asked))}",
                    allowed=f"the best that any class reaches is {name} = {most}",
                    fix="ask for less",
                )


def _infeasible(problem: SearchProblem, suppression: Fraction) -> InfeasibleError:
    """The error for a limit that no scheme keeps: it says how many rows have to be suppressed at least."""
    rows = problem.records.rows
    least = search(
        SearchProblem(
            problem.lattice, problem.records, problem.required, SuppressedRows(rows, problem.required.k), rows - 1,
            problem.parts,
        )
    ).best  # fmt: skip
    wrong = "no recoding of the lattice has what is required"
    if least is None:
        return InfeasibleError(
            f"{wrong}, however many records are suppressed",
            came=problem.required.words(),
            fix="ask for less, or allow coarser levels",
        )
    share = text_up(Fraction(ceil(Fraction(least.suppressed * 10**4, rows)), 10**4))
    return InfeasibleError(
        f"{wrong} within the limit of suppression",
        came=f"{problem.required.words()}, suppression: {exact_text(suppression)}",
        allowed=f"at least {least.suppressed:,} of {rows:,} records have to be suppressed: suppression: {share} or more",
        fix="allow more suppression or coarser levels, or ask for less",
    )
