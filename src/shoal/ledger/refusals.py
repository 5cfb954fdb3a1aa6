"""What the ledger refuses, each for its reason; a refusal changes nothing."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from shoal.errors import BudgetError, LedgerError, NextCommand, ParameterError, PreconditionError
from shoal.guarantee.rounding import exact_text, text_down, text_near, text_up
from shoal.guarantee.unit import Neighbours, Unit
from shoal.ledger.event import ASKED, Budget, Cost, writable
from shoal.ledger.room import Room
from shoal.ledger.state import AccountState, LedgerState, broken_words

_LONG = 16
ENOUGH = 30
"""Bits that columns are worth together before a table is known by them."""


def refuse_broken_chain(state: LedgerState, undone: str | None = None) -> None:
    """Refuse to sum up a ledger whose chain of events was changed; `undone` says what therefore did not happen."""
    if state.broken_at is not None:
        backup = "restore the ledger from a backup; totals after this event cannot be trusted"
        raise LedgerError(
            broken_words(state.broken_at),
            fix=backup if undone is None else f"{backup}; {undone}",
        )


def refuse_renamed_table(
    dataset: str, fingerprints: Sequence[str], columns: Mapping[str, int], state: LedgerState
) -> None:
    """Refuse a table that is known under another name: as a whole, by its file, or by its columns.

    By its columns where more than half of the columns of the one that has fewer are columns of the other, value by value as
    often, and the columns that they share are worth `ENOUGH` bits: by chance that does not happen.
    """
    for fingerprint in fingerprints:
        owner = state.owners.get(fingerprint, dataset)
        if owner != dataset:
            raise _one_name(f"this table has been charged under the name '{owner}'", dataset, owner)
    for owner, tables in state.columns.items():
        if owner == dataset:
            continue
        for known in tables:
            shared = known & columns.keys()
            if 2 * len(shared) > min(len(known), len(columns)) and sum(columns[each] for each in shared) >= ENOUGH:
                wrong = f"{len(shared)} of the {len(columns)} columns of this table have been charged under the name '{owner}'"
                raise _one_name(wrong, dataset, owner)


def _one_name(wrong: str, dataset: str, owner: str) -> BudgetError:
    return BudgetError(
        wrong,
        came=dataset,
        allowed="one name, so one budget, for one table",
        fix=f"set `dataset: {owner}` in the policy",
    )


def refuse_used_sample(account: AccountState, uses_sample: bool) -> None:
    """Refuse a second use of a table that is itself the sample, one of the two being private under sampling alone."""
    spent = bool(account.charges) or account.unbounded > 0
    if account.sample_used or (uses_sample and spent):
        raise PreconditionError(
            "dps-does-not-compose",
            f"dataset '{account.dataset}' is itself a random sample, and such a sample may be used once and for nothing else",
            came="a second use",
            fix="draw a new sample from the population and give it its own name",
        )


def refuse_other_unit(account: AccountState, unit: Unit | None) -> None:
    """Refuse a cost for another unit than that of the first charge."""
    if unit is not None and account.charges and account.charges[0].get("unit") != unit.to_saved():
        raise BudgetError(
            f"dataset '{account.dataset}' has been charged for another unit",
            came=unit.words(),
            allowed="the unit of its first charge",
            fix="costs for different units do not add up; keep to the first",
        )


def refuse_other_neighbours(account: AccountState, neighbours: Neighbours) -> None:
    """Refuse a cost under another neighbouring relation than that of the charge before."""
    if account.charges and account.charges[-1]["neighbours"] != neighbours:
        raise BudgetError(
            f"dataset '{account.dataset}' has been charged under another neighbouring relation",
            came=neighbours,
            allowed=account.charges[-1]["neighbours"],
            fix="costs under different relations do not add up; keep to the first",
        )


def refuse_other_rate(account: AccountState, rate: Fraction | None) -> None:
    """Refuse another sampling rate than the one that earlier charges counted on."""
    if account.charges and account.stated_rate != rate:
        raise BudgetError(
            f"dataset '{account.dataset}' has been charged as drawn at another rate",
            came="no sample" if rate is None else f"a sample at rate {text_near(rate)}",
            allowed="no sample"
            if account.stated_rate is None
            else f"a sample at rate {text_near(account.stated_rate)}",
            fix="keep to what was said first; a new sample has a name of its own",
        )


def refuse_overrun(
    account: AccountState, cost: Cost, room: Room | None, analyst: str | None = None, *, asked: bool = True
) -> None:
    """Refuse a cost that does not fit into what is left of the budget of a dataset, or of an analyst's share of it.

    A release is held to the sum of all costs under either accounting, because its certificate lists the charges and adds
    them up.
    """
    if room is None or room.fits(cost, basic=not asked):
        return
    spent, most = room.spent, room.most
    whose = "" if analyst is None else f"'{analyst}' in "
    allowed = f"({_short(most.epsilon)}, {_short(most.delta)}) in all"
    if room.filter is not None:
        allowed = (
            f"({_short(most.epsilon)}, {_short(room.filter.pairs)}) by the sum of epsilons"
            f"{', or as much as its Gaussian accounting allows' if asked else ', which a release is held to'}"
        )
    raise BudgetError(
        f"{whose}dataset '{account.dataset}' would overrun its budget",
        came=f"({text_up(spent.epsilon)}, {text_up(spent.delta)}) spent and {cost.words()} asked for",
        allowed=allowed,
        fix=f"{room.words()} is left; use what was published, ask for less, or raise the "
        f"budget on record with `{_raising(account, analyst)}`"
        f"{' and in the policy' if analyst is None else ''}; nothing was charged",
        step=None if analyst is not None else NextCommand(("ledger", "show", account.dataset), keep="--ledger"),
    )


def _raising(account: AccountState, analyst: str | None) -> str:
    """The command that changes a budget on record, with its numbers left to the custodian."""
    share = [] if analyst is None else ["--analyst", analyst]
    return f"{shlex.join(['shoal', 'ledger', 'budget', account.dataset, *share])} --epsilon E --delta D --reason TEXT"


def refuse_other_budget(account: AccountState, wanted: Budget, fixed: Budget) -> None:
    """Refuse a policy whose budget, or whose accounting where it names one, is not the one on record."""
    accounting = "basic" if account.filter is None else "gaussian"
    if wanted != fixed or wanted.accounting not in (None, accounting):
        numbers = f"epsilon: {exact_text(fixed.epsilon)}, delta: {exact_text(fixed.delta)}"
        named = "" if wanted.accounting is None else f", accounting: {accounting}"
        word = "" if wanted.accounting is None else f" with {wanted.accounting} accounting"
        raise BudgetError(
            f"the policy's budget differs from the one fixed for dataset '{account.dataset}'",
            came=f"{wanted.words()}{word}",
            allowed=f"{fixed.words()}{word and f' with {accounting} accounting'}",
            fix=f"write `budget: {{{numbers}{named}}}` into the policy, which is the one on record, or change the record openly "
            f"with `{_raising(account, None)}{word and f' --accounting {wanted.accounting}'}`; nothing was charged",
        )


def _short(value: Fraction) -> str:
    """A number exactly, if its text is short, else rounded down."""
    written = exact_text(value)
    return written if len(written) <= _LONG else text_down(value)


def no_budget(dataset: str) -> BudgetError:
    """The error of a session in a dataset without a budget: nothing would ever stop its questions."""
    return BudgetError(
        f"dataset '{dataset}' has no budget, so nothing would ever stop its questions",
        fix="write `budget: {epsilon: ..., delta: ...}` into the policy and register the table again, or fix one with "
        f"`shoal ledger budget {shlex.quote(dataset)}`: an analyst's share is a part of it",
    )


def refuse_unwritable_sum(sums: Iterable[Budget], cost: Cost) -> None:
    """Refuse a cost after which a sum could no longer be written down: fractions of many different denominators.

    Decimals are always taken. They lengthen a sum once, by no more digits than one of them has.
    """
    for total in sums:
        for spent, more in ((total.epsilon, cost.epsilon), (total.delta, cost.delta)):
            if 10**ASKED % more.denominator and not writable(spent + more):
                raise ParameterError(
                    "the sum of all costs would be too long to be written exactly",
                    came=f"{text_up(more)}, a fraction that is no decimal",
                    allowed="decimals, such as 0.1",
                    fix="round it; nothing was charged",
                )


def refuse_other_registration(account: AccountState, unit: dict[str, Any], neighbours: Neighbours) -> None:
    """Refuse to register a dataset for another unit or relation than it was charged for."""
    refuse_other_unit(account, Unit.from_saved(unit))
    refuse_other_neighbours(account, neighbours)
