"""Make the certificate of a safe-k release again: from its locked plan, and from the numbers that the certificate states.

What the locked plan decides is made anew: claims, sentences, theorems, which views there are, what the files are called, the
index of views. The numbers of the samples are taken from the certificate and put together to a plan, which refuses those that do
not keep its promise. What neither decides is taken from the folder and checked for itself: the date, the charges before this one,
the hashes of the files, which views and which labels chance picked, and the order of columns and views (a lock lists names in
the order of the alphabet).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from shoal.anonymize.generalize.lattice import restriction_text
from shoal.anonymize.method.safe_k import SafeK
from shoal.data.hierarchy.base import Hierarchy
from shoal.data.schema import Schema
from shoal.errors import PolicyError
from shoal.guarantee.differential import ApproxDP, SafeKSampling
from shoal.guarantee.rounding import Number, exact
from shoal.guarantee.safe_k.setting import Setting
from shoal.ledger.event import Budget, Cost
from shoal.ledger.look import Look
from shoal.ledger.state import Account
from shoal.policy.model.release import Group, ViewsModel
from shoal.policy.policy import Policy
from shoal.publish.certificate.model import (
    CentroidTableEntry,
    CountsTableEntry,
    LedgerEntry,
    LookEntry,
    NoisyCountsCertificate,
    RecodingChoiceEntry,
    SafeKCertificate,
    SchemeChoiceEntry,
    TableEntry,
)
from shoal.publish.certificate.safe_k import certificate as make_certificate
from shoal.publish.certificate.safe_k import recoding_choice
from shoal.publish.folder import box_file, plain_name, rule_file, table_file, view_file
from shoal.publish.plan.base import Plan
from shoal.publish.plan.noisy_counts import rows_alone
from shoal.publish.plan.safe_k import SafeKPlan, partition
from shoal.publish.plan.views import Chooser, ViewsPlan, view, view_index, view_names
from shoal.publish.verify.compare import compare
from shoal.publish.verify.lock import is_unread
from shoal.publish.verify.rules import rule_checks
from shoal.publish.verify.standalone import Check, read_bytes, read_text


def rebuild_checks(folder: Path, policy: Policy, certificate: SafeKCertificate) -> list[Check]:
    """Everything that a certificate says against what its locked plan makes it say."""
    known = in_published_order(policy, certificate.tables)
    if not _are_locked_views(known, certificate.tables):
        return [Check("locked-views", False, "all of them, each once", promise=True)]
    plan = plan_with_numbers(known, certificate)
    tables = tables_as_published(folder, plan, certificate.tables)
    account, is_composed = account_as_told(plan, plan.cost, certificate.ledger)
    records = certificate.noisy_total.records if certificate.noisy_total is not None else 0
    wanted = make_certificate(plan, certificate.files, tables, account, certificate.date, records)
    if any(is_unread(policy, name) for name in policy.hashes):
        wanted = _with_unread_lattices(wanted, certificate)
    open_ = Check("ledger-composed", None, "for information; there are too many different charges to compose here")
    return [
        *compare(certificate, wanted),
        *([] if is_composed else [open_]),
        *_index_checks(folder, plan, tables),
        *rule_checks(folder, plan, tables),
    ]


# --- the plan ------------------------------------------------------------------------------------------------------


def plan_with_numbers(policy: Policy, certificate: SafeKCertificate) -> SafeKPlan:
    """The plan of a lock with the numbers of a certificate; PreconditionError where they do not keep the promise.

    Views are in the order in which they were published, and chosen ones are those that chance picked.
    """
    asked = policy.release
    if asked is None or asked.epsilon is None or asked.delta is None:
        raise PolicyError("the locked plan asks for no safe-k release")
    total = ApproxDP(asked.epsilon, asked.delta)
    return _plan_of_samples(policy, certificate, exact(certificate.guarantee.epsilon_recoding), total)


def rows_with_numbers(policy: Policy, certificate: NoisyCountsCertificate) -> SafeKPlan:
    """The plan of the rows beside counts, with the numbers of a certificate.

    Views that compose by their curves were planned with the whole promise in sight, other rows with half of delta.
    """
    asked, share = policy.release, exact(certificate.epsilon_recoding)
    if asked is None or asked.epsilon is None or asked.delta is None or not certificate.samples:
        raise PolicyError("the locked plan asks for no rows beside counts, or there are none")
    by_curve = policy.unit.is_one_step and asked.bound == "tight" and len(certificate.tables) > 1
    epsilon = asked.epsilon if asked.views is not None else exact(certificate.samples[0].epsilon) + share
    delta = asked.delta if by_curve else asked.delta / 2
    return _plan_of_samples(rows_alone(policy, asked, epsilon, delta), certificate, share, ApproxDP(epsilon, delta))


def _plan_of_samples(
    policy: Policy, certificate: SafeKCertificate | NoisyCountsCertificate, share: Fraction, total: ApproxDP
) -> SafeKPlan:
    """A plan of rows with the numbers of samples, of which each has a share for its recoding."""
    asked = policy.release
    if asked is None or certificate.bound is None:
        raise PolicyError("the locked plan asks for no rows")
    promises = [
        Setting(
            epsilon=exact(sample.epsilon) + share,
            delta=exact(sample.delta),
            k=sample.k,
            beta=exact(sample.beta),
            bound=certificate.bound,
            epsilon_recoding=share,
            unit=policy.unit,
        )
        for sample in certificate.samples
    ]
    first = promises[0]
    if asked.views is None:
        before = asked.sampling is not None and asked.sampling.already is not None
        method = SafeK(first, partition(policy, asked, first), policy.unit, drawn_before=before)
        plan = SafeKPlan(policy, method, asked.repeat, total, asked.output.format)
    else:
        groups = [_group(table) for table in certificate.tables]
        own = [promises[table.sample] for table in certificate.tables]
        made = tuple(
            view(policy, asked, name, group, found)
            for name, group, found in zip(view_names(groups), groups, own, strict=True)
        )
        choose, chooser = asked.views.choose, None
        if choose is not None:
            candidates = asked.views.candidates([attribute.name for attribute in policy.schema.published])
            chooser = Chooser(candidates, choose.count or 1, asked.views.epsilon, policy.unit.steps)
        plan = ViewsPlan(policy, made[0].method, 1, total, asked.output.format, made, chooser)
    plan.check(policy.schema)
    return plan


def in_published_order(policy: Policy, tables: Sequence[TableEntry | CountsTableEntry | CentroidTableEntry]) -> Policy:
    """The policy with its columns in the order in which they were published; PolicyError where tables contradict each other."""
    before: dict[str, set[str]] = {}
    for table in tables:
        for place, name in enumerate(table.columns):
            before.setdefault(name, set()).update(table.columns[:place])
    order: list[str] = []
    while before:
        first = next((name for name, earlier in before.items() if earlier <= set(order)), None)
        if first is None:
            raise PolicyError("the tables list their columns in orders that contradict each other")
        order.append(first)
        del before[first]
    rank = {name: number for number, name in enumerate(order)}
    own = sorted(policy.schema.attributes, key=lambda one: rank.get(one.name, len(rank)))
    return replace(policy, schema=Schema(tuple(replace(one, hierarchy=_hierarchy(policy, one.name)) for one in own)))


def _hierarchy(policy: Policy, name: str) -> Hierarchy | None:
    """The hierarchy of an attribute; one that was a file has as many levels as are asked of it, whatever they were."""
    found, recoding = policy.schema[name].hierarchy, policy.model.release.recoding if policy.model.release else None
    if not is_unread(policy, name) or found is None or recoding is None:
        return found
    paid = recoding.paid
    asked = [each.get(name, 0) for each in (recoding.levels, paid and paid.finest, paid and paid.coarsest) if each]
    many = max(asked, default=0) + 1
    return replace(found, levels=found.levels[:1] * many, losses=found.losses[:1] * many)


def _group(table: TableEntry) -> Group:
    """The attributes of a view in the order of its name, which is that of the policy; else as they were published."""
    name = (table.name or "").partition("-")[2]
    return next(_spellings(name, table.columns), table.columns)


def _spellings(name: str, columns: Group) -> Iterator[Group]:
    """The orders of columns whose plain names make this name, which may be cut short."""
    for column in columns:
        plain = plain_name(column)
        rest = tuple(other for other in columns if other != column)
        if not rest and name == plain:
            yield (column,)
        elif rest and name.startswith(f"{plain}--"):
            yield from ((column, *more) for more in _spellings(name[len(plain) + 2 :], rest))
        elif f"{plain}{'--' * bool(rest)}".startswith(name):  # cut short in here
            yield (column, *rest)


def _are_locked_views(policy: Policy, tables: Sequence[TableEntry]) -> bool:
    """Whether the views are those that were locked, each once; of chosen ones, whether they could have been chosen."""
    asked = policy.model.release
    views = None if asked is None else asked.views
    if views is None:
        return all(table.name is None for table in tables)
    found = [frozenset(table.columns) for table in tables]
    if any(table.name is None for table in tables) or len(set(found)) != len(found):
        return False
    return _could_be(views, found, {one.name for one in policy.schema.published})


def _could_be(views: ViewsModel, found: Sequence[frozenset[str]], published: set[str]) -> bool:
    """Whether these are all the views asked for; of those chosen privately, whether they could have been."""
    every = {frozenset(group) for group in views.candidates(sorted(published))}
    return set(found) <= every and len(found) == (views.choose.count if views.choose is not None else len(every))


# --- what the folder holds -----------------------------------------------------------------------------------------


def tables_as_published(folder: Path, plan: SafeKPlan, told: Sequence[TableEntry]) -> list[TableEntry]:
    """The tables as a certificate lists them, with the files of their rules named by what is in them."""
    places: dict[tuple[str, str], str] = {}
    samples = {promise: number for number, (promise, _) in enumerate(plan.distinct_settings)}
    found = []
    for number, table in enumerate(told):
        narrow = plan.views[number] if plan.views else None
        method = plan.method if narrow is None else narrow.method
        own: dict[str, str] = {}
        for name in method.partition.columns:
            text = read_text(folder, table.recoding[name])
            own[name] = places.setdefault((name, text), rule_file(len(places) + 1, name))
        wide = table_file(plan.format, number + 1 if plan.repeat > 1 else None)
        choice = recoding_choice(method.partition) if method.promise.epsilon_recoding else None
        name_of_view = None if narrow is None else narrow.name
        found.append(
            TableEntry(
                file=wide if narrow is None else view_file(narrow.name, plan.format),
                name=name_of_view,
                sample=samples[method.promise],
                k=method.promise.k,
                columns=tuple(own),
                recoding=own,
                boxes=box_file(name_of_view) if choice is not None and choice.kind == "tree" else None,
                recoding_choice=None if narrow is None else choice,
            )
        )
    return found


def _index_checks(folder: Path, plan: SafeKPlan, tables: Sequence[TableEntry]) -> list[Check]:
    """The index of views, to the letter."""
    if not plan.views:
        return []
    wanted = json.dumps(view_index(plan, tables), indent=1, ensure_ascii=False) + "\n"
    same = read_bytes(folder, "views.json") == wanted.encode("utf-8")
    return [Check("view-index", same, "to the letter")]


MOST_DIFFERENT = 300
"""Different parts of all charges that are composed again: about a minute."""
LONGEST_PART = 10**6
"""The largest k / beta of a sample that is composed again: the length of its distribution."""


class ToldAccount(Account):
    """An account whose composed epsilon is taken as it is told."""

    told: float | None = None

    def total(self, delta: Number | None = None) -> float | None:  # noqa: ARG002 - as the certificate tells it
        return self.told


def account_as_told(plan: Plan, cost: Cost, told: LedgerEntry) -> tuple[Account, bool]:
    """The account of the dataset as the certificate tells it, with the charge of this release at its end.

    And whether what it composes to is computed again; with a great many different charges that takes too long.
    """
    earlier = tuple(Cost.from_saved(entry.to_json()) for entry in told.entries[:-1])
    budget = None if told.budget is None else Budget.from_saved(told.budget.to_json())
    parts = {part for cost in earlier for part, _ in cost.parts}
    longest = max((part.k / part.beta for part in parts if isinstance(part, SafeKSampling)), default=0)
    is_composed = len(parts) <= MOST_DIFFERENT and longest <= LONGEST_PART
    account = (Account if is_composed else ToldAccount)(
        dataset=plan.policy.dataset, budget=budget, neighbours=None, unit=None, costs=(*earlier, cost), releases=0,
        unbounded=told.unbounded_releases, looks=0, sample_used=False,
        looks_on_record=looks_as_told(told.looks, plan.confirmed_lock.sha256),
    )  # fmt: skip
    if isinstance(account, ToldAccount) and told.epsilon_composed is not None:
        object.__setattr__(account, "told", float(exact(told.epsilon_composed)))
    return account, is_composed


def looks_as_told(told: Sequence[LookEntry] | None, lock: str) -> tuple[tuple[Look, int], ...] | None:
    """Looks of the kinds that a certificate tells, as many with this plan and with another as it says."""
    if told is None:
        return None
    own = [(Look(each.kind, lock), each.times - each.other_plan) for each in told]
    return (*own, *((Look(each.kind), each.other_plan) for each in told))


def _with_unread_lattices(wanted: SafeKCertificate, told: SafeKCertificate) -> SafeKCertificate:
    """What a hierarchy that was a file decides is taken as it is told: the file is not in the folder."""
    if len(wanted.tables) != len(told.tables):
        return wanted
    tables = tuple(
        own.model_copy(update={"recoding_choice": _unread(own.recoding_choice, other.recoding_choice)})
        for own, other in zip(wanted.tables, told.tables, strict=True)
    )
    choice = _unread(wanted.recoding_choice, told.recoding_choice)
    return wanted.model_copy(update={"recoding_choice": choice, "tables": tables})


def _unread(own: RecodingChoiceEntry | None, told: RecodingChoiceEntry | None) -> RecodingChoiceEntry | None:
    if not isinstance(own, SchemeChoiceEntry) or not isinstance(told, SchemeChoiceEntry):
        return own
    taken = {name: getattr(told, name) for name in ("schemes", "sensitivity")}
    known = re.escape(restriction_text(0)).replace("0", "[0-9,]+", 1)
    if told.restriction is None or re.fullmatch(known, told.restriction):
        taken["restriction"] = told.restriction
    return own.model_copy(update=taken)
