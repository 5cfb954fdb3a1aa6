"""The best scheme for a table: the search from beginning to end, what it found, and what to say where nothing is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

import numpy as np

from shoal.anonymize.generalize.lattice import LIMIT, Lattice
from shoal.anonymize.generalize.search.criteria import emd
from shoal.anonymize.generalize.search.full_domain import (
    FoundScheme,
    SearchProblem,
    SearchResult,
    classes_at,
    climb,
    judge_scheme,
    search,
)
from shoal.anonymize.generalize.search.large_lattice import search_large
from shoal.anonymize.generalize.search.loss import (
    LOSSES,
    PARTS,
    GranularityLoss,
    Loss,
    LossName,
    SuppressedRows,
    label_parts,
)
from shoal.anonymize.generalize.search.records import EncodedRecords
from shoal.anonymize.generalize.search.requirement import Requirement
from shoal.anonymize.generalize.search.rounds import SUPPRESSED, RecodedRows, loss_of_rows, recode_locally, whole_table
from shoal.anonymize.kernel.rollup import Integers
from shoal.errors import InfeasibleError
from shoal.guarantee.rounding import exact_text, text_down, text_up
from shoal.progress import Progress

NODES = 20_000
"""How many nodes of the tree are looked at to find out how few rows can be suppressed."""
MANY = 20_000
"""From so many schemes on, a better first scheme is worth more trials."""


@dataclass(frozen=True)
class SearchOutcome:
    """What a search found: the loss, what every scheme loses at least, and how many schemes there are and were looked at.

    `is_exact` says that no scheme of the lattice is better; otherwise the gap between loss and lower bound is all that is known.
    Of local recoding no bound is known: the loss counts the labels that each row shows, and `rounds` is above 1.
    """

    loss_name: str
    loss: Fraction
    lower_bound: Fraction | None
    is_exact: bool
    schemes: int
    examined: int
    rounds: int = 1


@dataclass(frozen=True, eq=False)
class BestRecoding:
    """What was found: the rows that are published with their levels, how many of the population fit each, how the search went."""

    recoded: RecodedRows
    people: Integers | None
    outcome: SearchOutcome


def find_recoding(
    lattice: Lattice,
    records: EncodedRecords,
    required: Requirement,
    loss: LossName,
    weights: Mapping[str, Fraction],
    suppression: Fraction,
    *,
    local: bool = False,
    progress: Progress | None = None,
) -> BestRecoding:
    """The scheme of least loss that suppresses at most this share of the rows; with `local`, what rounds make of it if better.

    Raises     InfeasibleError where there is none; it says the best that is reachable.
    """
    problem = pose(lattice, records, required, loss, weights, suppression)
    refuse_unreachable(problem)
    result = find_scheme(problem, progress)
    found = [] if result.best is None else [_one_round(problem, result, result.best)]
    if local:
        found += _several_rounds(problem)
    if not found:
        raise _infeasible(problem, suppression, proved=result.is_exact)
    return min(found, key=lambda each: each[0])[1]


def find_scheme(problem: SearchProblem, progress: Progress | None = None) -> SearchResult:
    """The best scheme of a problem, with the schemes that were tried for a first good one among those looked at."""
    schemes = len(problem.lattice)
    if schemes > LIMIT:
        return search_large(problem, progress)
    start, tried = climb(problem, swaps=schemes > MANY)
    result = search(problem, start=start, progress=progress)
    return replace(result, examined=min(result.examined + tried, schemes))


def _one_round(
    problem: SearchProblem, result: SearchResult, best: FoundScheme
) -> tuple[tuple[int, int, int], BestRecoding]:
    """What one scheme for all rows publishes, with what it is compared by."""
    records, value = problem.records, problem.loss.value
    made = classes_at(problem, best.places)
    _, _, kept = problem.judge(made.classes, made.lost)
    owner = made.owner.take(records.of_row)
    of_row = np.where(kept.take(owner), 0, SUPPRESSED)
    people = None if made.classes.people is None else made.classes.people.take(owner)
    recoded = RecodedRows(problem.lattice.attributes, (problem.lattice.levels_at(best.places),), of_row)
    bound = best.total if result.lower_bound is None else result.lower_bound
    outcome = SearchOutcome(
        problem.loss.name, value(best.total), value(bound), result.is_exact, len(problem.lattice), result.examined
    )
    return (best.total, best.suppressed, 0), BestRecoding(recoded, people, outcome)


def _several_rounds(problem: SearchProblem) -> list[tuple[tuple[int, int, int], BestRecoding]]:
    """What local recoding publishes, if it keeps the limit."""
    made = recode_locally(problem, _find_in_round)
    suppressed = int(np.count_nonzero(~made.recoded.kept))
    if suppressed > problem.limit:
        return []
    total = loss_of_rows(problem, made.recoded)
    outcome = SearchOutcome(
        problem.loss.name, problem.loss.value(total), None, False, len(problem.lattice), made.examined,
        len(made.recoded.levels),
    )  # fmt: skip
    return [((total, suppressed, 1), BestRecoding(made.recoded, made.people, outcome))]


def _find_in_round(problem: SearchProblem) -> SearchResult:
    """The scheme of one round; of a lattice that cannot be searched, a good one, since no bound is asked for."""
    if len(problem.lattice) <= LIMIT:
        return find_scheme(problem)
    found, tried = climb(problem, swaps=True)
    return SearchResult(found, tried, None, False)


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
    wholes = [round(PARTS * share) for share in shares]
    return SearchProblem(
        lattice, records, required, make_loss(loss, records.rows, required.k, sum(wholes)),
        int(suppression * records.rows), parts, wholes,
    )  # fmt: skip


def make_loss(name: LossName, rows: int, k: int, whole: int) -> Loss:
    """The loss of this name for a table of so many rows, of which a suppressed one loses `whole` parts."""
    if name == "granularity":
        return GranularityLoss(rows, k, whole)
    return LOSSES[name](rows, k)


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


def _fewest_suppressed(problem: SearchProblem) -> tuple[FoundScheme | None, bool]:
    """A scheme that suppresses few rows, and whether none suppresses fewer; None where none publishes anything.

    Where criteria are monotone it is the coarsest one.
    """
    asked = replace(
        problem, loss=SuppressedRows(problem.records.rows, problem.required.k), limit=problem.records.rows - 1
    )
    if problem.required.is_monotone:
        return judge_scheme(asked, tuple(len(own) - 1 for own in problem.lattice.levels)), True
    start, _ = climb(asked)
    result = search(asked, start=start, budget=NODES)
    if result.best is None:
        return None, result.is_exact
    return result.best, result.lower_bound == result.best.total


def _infeasible(problem: SearchProblem, suppression: Fraction, *, proved: bool) -> InfeasibleError:
    """The error for a limit that no scheme keeps, or none that was found: it says how many rows have to be suppressed."""
    rows = problem.records.rows
    least, is_least = _fewest_suppressed(problem)
    wrong = (
        "no recoding of the lattice has what is required"
        if proved
        else "no recoding was found that has what is required"
    )
    bare = [one.name for one in problem.lattice.attributes if one.hierarchy is None]
    hint = f"; '{bare[0]}' has no hierarchy" if bare else ""
    if least is None:
        largest = int(classes_at(problem, tuple(len(own) - 1 for own in problem.lattice.levels)).classes.sizes.max())
        ending = ", however many records are suppressed" if is_least else ", among those that were looked at"
        if is_least and problem.required.is_relative:  # a class by itself is always like its own table
            ending = ": classes that are unlike the table are suppressed round by round, and none is left"
        return InfeasibleError(
            wrong + ending,
            came=problem.required.words(),
            allowed="; ".join(
                [
                    f"the largest class of the coarsest levels has {largest:,} records",
                    _coarsest_words(problem),
                    *_whole_words(problem),
                ]
            ),
            fix=f"ask for less, or allow coarser levels{hint}",
        )
    share = text_up(Fraction(ceil(Fraction(least.suppressed * 10**4, rows)), 10**4))
    return InfeasibleError(
        f"{wrong} within the limit of suppression",
        came=f"{problem.required.words()}, suppression: {exact_text(suppression)}",
        allowed=f"{'at least ' if is_least else ''}{least.suppressed:,} of {rows:,} records have to be suppressed"
        f"{'' if is_least else ' by the best recoding found'}: suppression: {share} or more; {_coarsest_words(problem)}",
        fix=f"allow more suppression or coarser levels, or ask for less{hint}",
    )


def _coarsest_words(problem: SearchProblem) -> str:
    """What the classes of the coarsest levels have with nothing suppressed: of k, l, t and alpha the best there is so."""
    required = problem.required
    made = classes_at(problem, tuple(len(own) - 1 for own in problem.lattice.levels)).classes
    filled = np.flatnonzero(made.sizes > 0)
    found = [f"k = {int(made.sizes[filled].min()):,}"]
    for held in made.held:
        if required.l is not None:
            present = held.value != held.values.absent
            fewest = np.bincount(held.owner[present], minlength=len(made))[filled].min()
            found.append(f"l = {int(fewest)} of '{held.values.name}'")
        if required.t is not None:
            totals = held.totals(np.ones(len(made), dtype=np.bool_))
            moved, parts = emd(held, made.sizes, totals)
            scale = parts * int(totals.sum())
            far = max(Fraction(int(moved[at]), int(made.sizes[at]) * scale) for at in filled.tolist())
            found.append(f"t = {text_up(far)} of '{held.values.name}'")
        if required.alpha is not None:
            share = max(map(Fraction, held.count.tolist(), made.sizes.take(held.owner).tolist()))
            found.append(f"alpha = {text_up(share)} of '{held.values.name}'")
    return f"the coarsest levels have {', '.join(found)} with nothing suppressed"


def _whole_words(problem: SearchProblem) -> list[str]:
    """What the whole table has as one class, for the criteria that a class has by itself; no value is named."""
    found = []
    for values, counts in zip(problem.records.confidential, whole_table(problem.records), strict=True):
        shares = counts[counts > 0] / counts.sum()
        if problem.required.alpha is not None:
            found.append(f"as one class the table has alpha = {text_up(float(shares.max()))} for '{values.name}'")
        if problem.required.entropy_l is not None:
            reached = text_down(float(np.exp(-(shares * np.log(shares)).sum())))
            found.append(f"as one class the table has entropy_l = {reached} for '{values.name}'")
    return found
