"""The price of answers that are selected, not noised: values chosen by the ranks of rows, and samples of a refined prior."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shoal.chance.source import Source
from shoal.engine.base import Table
from shoal.errors import PreconditionError, UsageError
from shoal.guarantee.differential import PureDP
from shoal.ledger.filter import EventCost, sum_events
from shoal.mechanism.base import Target
from shoal.mechanism.exponential import Exponential
from shoal.query.price import CONFIDENCE, Error, Offer, Outcome, exact_steps, no_mechanism
from shoal.query.questions.base import CellEstimate, Query, VectorQuery
from shoal.query.questions.person import PersonQuery
from shoal.query.questions.quantile import RANK, RankQuery, RankTarget, Runs

if TYPE_CHECKING:
    from shoal.mechanism.refinement.mechanism import KnowledgeRefinement
    from shoal.query.prior import AnalystPrior


@dataclass(frozen=True)
class RankOffer(Offer):
    """An answer of values that are chosen by the ranks of the rows: one exponential mechanism for each target and group."""

    query: RankQuery
    epsilon: Fraction

    def choice(self, target: RankTarget) -> Exponential:
        """The mechanism of one target, for its share of epsilon."""
        return Exponential.for_target(PureDP(self.epsilon * target.share), sensitivity=self.query.sensitivity(target))

    @property
    def score(self) -> float:
        return max(2 * self.query.linf(each) / float(self.epsilon * each.share) for each in self.query.targets)

    @property
    def filtered(self) -> EventCost | None:
        """Each target is a choice of bounded range; with groups, of which one person may change two, the pair is taken."""
        if self.query.axes is not None:
            return None
        event = sum_events([EventCost.bounded_range(self.epsilon * each.share) for each in self.query.targets])
        return event if (event.epsilon, Fraction(0)) == self.guarantee.own else None

    @property
    def errors(self) -> tuple[Error, ...]:
        """Pr[the score is below the best by (spread/epsilon)(ln candidates + t)] <= e^-t; the best is 0, for every table."""
        found = [
            Error(RANK, None, self.query.rank_error(each, self.epsilon)) for each in self.query.targets if not each.side
        ]
        later = [Error("quantile", None, None, "later")] if found and len(self.query.targets) > 1 else []
        return (*found, *later)

    @property
    def scope(self) -> tuple[str, ...]:
        return self.query.scope

    def draw(self, table: Table, source: Source) -> Outcome:
        return self.outcome(self.choose(self.query.runs(table), source))

    def choose(self, runs: Sequence[Runs], source: Source) -> dict[str, list[int]]:
        """The rank that is chosen for each target in each group, given the runs of candidates; no row is read."""
        found: dict[str, list[int]] = {each.name: [] for each in self.query.targets}
        for own in runs:
            for target in self.query.targets:
                scores, sizes, starts = self.query.scores(own, target, self.query.shift(target, self.epsilon))
                run, at = self.choice(target).draw_run(scores, sizes, source)
                found[target.name].append(starts[run] + at)
        return found

    def outcome(self, ranks: Mapping[str, Sequence[int]]) -> Outcome:
        """The answer that these chosen ranks give; an end of an interval lies on its side of the value."""
        value_of, last_of = self.query.candidates.value, self.query.candidates.last_value
        if "quantile" not in ranks:
            low, high = sorted((ranks["low"][0], ranks["high"][0]))
            return Outcome({"low": value_of(low), "high": value_of(high)}, self.errors)
        chosen = ranks["quantile"]
        lows = [min(pair) for pair in zip(ranks.get("low", chosen), chosen, strict=True)]
        highs = [max(pair) for pair in zip(ranks.get("high", chosen), chosen, strict=True)]
        ends = [[value_of(each) for each in lows], [last_of(each) for each in highs]]
        if self.query.axes is None:
            stated = Error("quantile", None, None, low=ends[0][0], high=ends[1][0])
            errors = tuple(stated if error.how == "later" else error for error in self.errors)
            return Outcome(value_of(chosen[0]), errors)
        value = {
            "attributes": {axis.attribute.name: list(axis.labels) for axis in self.query.axes},
            "values": [value_of(each) for each in chosen],
        }
        if "low" in ranks:
            value |= {"low_95": ends[0], "high_95": ends[1], "usable": [True] * len(chosen)}
        return Outcome(value, tuple(error for error in self.errors if error.how != "later"))

    def estimates(self, drawn: Outcome, level: float) -> Iterable[CellEstimate]:
        """The interval that was drawn is for 95 %: it holds for every lower level, and for a higher one there is none."""
        known = level <= CONFIDENCE
        if not any(each.name == "quantile" for each in self.query.targets):
            for name in ("low", "high"):
                yield CellEstimate(0, name, (), drawn.value[name], None, None)
            return
        if self.query.axes is None:
            ends = next(((each.low, each.high) for each in drawn.errors if each.low is not None), (None, None))
            low, high = ends if known else (None, None)
            yield CellEstimate(0, "quantile", (), drawn.value, low, high, low, high)
            return
        nothing = [None] * len(drawn.value["values"])
        lows, highs = (drawn.value.get(name, nothing) if known else nothing for name in ("low_95", "high_95"))
        for labels, *one in zip(self.query.cell_labels, drawn.value["values"], lows, highs, strict=True):
            yield CellEstimate(0, "quantile", labels, *one)


@dataclass(frozen=True)
class RefinementOffer(Offer):
    """An answer that is a sample of the analyst's prior, refined near the true answer."""

    query: VectorQuery | PersonQuery
    refinement: KnowledgeRefinement
    prior: AnalystPrior

    @property
    def score(self) -> float:
        if isinstance(self.query, PersonQuery):
            return self.refinement.expected_error
        return self.refinement.expected_error / float(self.query.grid[0] * self.query.linf_steps[0])

    @property
    def errors(self) -> tuple[Error, ...]:
        how: Literal["exact", "digits"] = (
            "exact" if self.refinement.exact_error and self.prior.grid is None else "digits"
        )
        return (Error("distance from the truth, if it follows the prior", self.refinement.expected_error, None, how),)

    @property
    def scope(self) -> tuple[str, ...]:
        return self.query.scope

    def draw(self, table: Table, source: Source) -> Outcome:
        if isinstance(self.query, PersonQuery):
            truth = self.query.truth(table)
        else:
            truth = self.query.values(exact_steps(self.query, table, self.refinement.theorems[0]))[0]
        return Outcome(self.prior.to_grid(_plain(self.refinement.draw(truth, source))), self.errors)


def possible_selections(query: Query, target: Target, prior: AnalystPrior | None) -> dict[str, Callable[[], Offer]]:
    """The mechanisms that can answer a question without adding noise to a number; nothing is calibrated yet."""
    if isinstance(query, PersonQuery):
        return {"refinement": lambda: _individual(query, target, prior)}
    if isinstance(query, RankQuery):
        return {"exponential": lambda: _rank_offer(query, target)}
    raise no_mechanism()


def _rank_offer(query: RankQuery, target: Target) -> RankOffer:
    if sum(each.share for each in query.targets) != 1:
        raise PreconditionError("basic-composition", "the shares of epsilon do not add up to one")
    theorems = (Exponential.theorem, "quantile-score", *(("basic-composition",) if len(query.targets) > 1 else ()))
    made = RankOffer("exponential", PureDP(target.epsilon), theorems, query, target.epsilon)
    for each in query.targets:
        made.choice(each)  # refused here, or never
    return made


def _individual(query: PersonQuery, target: Target, prior: AnalystPrior | None) -> RefinementOffer:
    """The refinement for a question about one person; under replace_one with half of epsilon, since two steps compose."""
    from shoal.mechanism.refinement.mechanism import KnowledgeRefinement

    if prior is None:
        raise UsageError("a question about one person needs a prior", fix="give a prior, such as uniform")
    replaced = query.unit.neighbours == "replace_one"
    if replaced and target.own[1]:
        raise UsageError(
            "under replace_one a question about one person takes no delta", came=float(target.own[1]), allowed="0"
        )
    refinement = KnowledgeRefinement(
        prior.distribution, target.epsilon / (2 if replaced else 1), "individual", prior.distance, target.own[1]
    )
    return RefinementOffer(
        "refinement", refinement.guarantee_under(query.unit.neighbours), refinement.theorems, query, refinement, prior
    )


def refine_prior(query: VectorQuery, target: Target, prior: AnalystPrior) -> RefinementOffer:
    """The refinement of a prior for a number that is computed from the table."""
    from shoal.mechanism.refinement.mechanism import KnowledgeRefinement

    refinement = KnowledgeRefinement(prior.distribution, target.epsilon, "statistical", prior.distance, target.own[1])
    return RefinementOffer("refinement", refinement.guarantee, refinement.theorems, query, refinement, prior)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
