"""Make the certificate of a paid release again from its lock, with the code that made it, and compare everything.

What the lock decides is computed anew: claims, sentences, theorems, numbers, the curve, the parts, which views there are, what
the files are called, the index of views. What it does not decide is taken from the folder and checked for itself: the date, the
entries of the ledger before this one, the hashes of the files, which views and which labels chance picked, and the order of
columns and views (a lock lists names in the order of the alphabet).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.data.hierarchy.base import Hierarchy
from shoal.data.schema import Schema
from shoal.errors import PolicyError
from shoal.guarantee.rounding import exact, exact_text, text_up
from shoal.ledger.event import Budget, Cost
from shoal.ledger.state import Account
from shoal.policy.model.release import Group, ViewsModel
from shoal.policy.policy import Policy
from shoal.publish.certificate.safe_k import DIGITS
from shoal.publish.certificate.safe_k import certificate as made_again
from shoal.publish.folder import plain_name, rule_file
from shoal.publish.plan.safe_k import SafeKPlan
from shoal.publish.plan.views import chosen_views, view_index
from shoal.publish.verify.rules import rule_checks
from shoal.publish.verify.standalone import Check, inside

OWN = ("date", "software", "files", "seal")
"""Entries that the lock does not decide; each has checks of its own."""
WORDING = frozenset(
    {
        "sentence",
        "words",
        "not_promised",
        "verify",
        "title",
        "source",
        "statement",
        "text",
        "checked",
        "conditions",
        "restricted",
    }
)
"""Keys whose values are prose. Prose is compared apart from numbers and structure, under a name of its own."""
COMPOSED = frozenset(
    {
        ("views", "composed"),
        ("views", "basic"),
        ("ledger", "composed_epsilon"),
        ("curve", "delta"),
        ("views", "curve", "delta"),
    }
)
"""Numbers from floating point arithmetic, which may differ in the last digits from one machine to another."""
LAST_DIGITS = exact("1e-6")
"""So much, relative to the number."""


def rebuilt(folder: Path, policy: Policy, certificate: dict[str, Any]) -> list[Check]:
    """Everything that a certificate says against what the locked plan makes it say."""
    tables = certificate["tables"]
    known, unread = _order(policy, tables), bool(policy.hashes)
    chosen = _views_of_the_lock(known, tables)
    if chosen is not None and not chosen.agrees:
        return [chosen]
    plan = planned(known, tables)
    listed = _tables(folder, plan, tables)
    wanted = made_again(plan, certificate["files"], listed, _account(plan, certificate["ledger"]), certificate["date"])
    wanted["plan"] = policy.lock().sha256
    if unread:
        _forgive_unread(wanted, certificate)
    return [
        *([] if chosen is None else [chosen]),
        *compared(certificate, wanted),
        *_charges(certificate["ledger"], wanted["ledger"], plan),
        *_index(folder, plan, listed),
        *rule_checks(folder, plan, listed),
    ]


# --- the plan ------------------------------------------------------------------------------------------------------


def planned(policy: Policy, tables: Sequence[Mapping[str, Any]]) -> SafeKPlan:
    """The plan of a lock, with views in the order in which they were published; chosen ones are those that chance picked."""
    asked = policy.model.release
    if asked is None or asked.views is None:
        return SafeKPlan.of(policy)
    groups = [_group(table) for table in tables]
    if asked.views.choose is not None:
        plan = SafeKPlan.of(policy)
        return replace(plan, views=chosen_views(plan, groups))  # type: ignore[call-arg] # a plan of views, as asked
    views = asked.views.model_copy(update={"every": None, "limit": None, "groups": None, "workload": tuple(groups)})
    listed = policy.model.model_copy(update={"release": asked.model_copy(update={"views": views})})
    return replace(SafeKPlan.of(replace(policy, model=listed)), policy=policy)


def _order(policy: Policy, tables: Sequence[Mapping[str, Any]]) -> Policy:
    """The policy with its columns in the order in which they were published; PolicyError where tables contradict each other."""
    before: dict[str, set[str]] = {}
    for table in tables:
        for place, name in enumerate(table["columns"]):
            before.setdefault(name, set()).update(table["columns"][:place])
    order: list[str] = []
    while before:
        first = next((name for name, earlier in before.items() if earlier <= set(order)), None)
        if first is None:
            raise PolicyError("the tables list their columns in orders that contradict each other")
        order.append(first)
        del before[first]
    rank = {name: number for number, name in enumerate(order)}
    own = sorted(policy.schema.attributes, key=lambda one: rank.get(one.name, len(rank)))
    return replace(policy, schema=Schema(tuple(replace(one, hierarchy=_levels(policy, one.name)) for one in own)))


def _levels(policy: Policy, name: str) -> Hierarchy | None:
    """The hierarchy of an attribute; one that was a file has as many levels as are asked of it, whatever they were."""
    found, recoding = policy.schema[name].hierarchy, policy.model.release.recoding if policy.model.release else None
    if name not in policy.hashes or found is None or recoding is None:
        return found
    paid = recoding.paid
    asked = [each.get(name, 0) for each in (recoding.levels, paid and paid.finest, paid and paid.coarsest) if each]
    many = max(asked, default=0) + 1
    return replace(found, levels=found.levels[:1] * many, losses=found.losses[:1] * many)


def _group(table: Mapping[str, Any]) -> Group:
    """The attributes of a view in the order of its name, which is that of the policy; else as they were published."""
    name = table["name"].partition("-")[2]
    return next(_spellings(name, tuple(table["columns"])), tuple(table["columns"]))


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


def _views_of_the_lock(policy: Policy, tables: Sequence[Mapping[str, Any]]) -> Check | None:
    """Whether the views are those that were locked, each once; of chosen ones, whether they could have been chosen."""
    asked = policy.model.release
    views = None if asked is None else asked.views
    named = [table for table in tables if "name" in table or "part" in table]
    if views is None:
        return Check("views of the lock", False, "the lock asks for no views") if named else None
    if len(named) != len(tables) or not all("name" in table and "part" in table for table in tables):
        return Check("views of the lock", False, "the lock asks for views, and not every table is one")
    found = [frozenset(table["columns"]) for table in tables]
    published = {one.name for one in policy.schema.published}
    fits = len(set(found)) == len(found) and _are_those(views, found, published)
    return Check("views of the lock", fits, "the views published are those locked, all of them, each once")


def _are_those(views: ViewsModel, found: Sequence[frozenset[str]], published: set[str]) -> bool:
    """Whether these are all the views asked for; of those chosen privately, whether they could have been."""
    every = {frozenset(group) for group in views.candidates(sorted(published))}
    return set(found) <= every and len(found) == (views.choose.count if views.choose is not None else len(every))


# --- what the folder holds -----------------------------------------------------------------------------------------


def _tables(folder: Path, plan: SafeKPlan, told: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The tables as a certificate lists them, with the files of their rules named by what is in them."""
    places: dict[tuple[str, str], str] = {}
    parts = {promise: number for number, (promise, _) in enumerate(plan.distinct)}
    found = []
    for number, table in enumerate(told):
        view = plan.views[number] if plan.views else None
        method = plan.method if view is None else view.method
        own: dict[str, str] = {}
        for name in method.partition.columns:
            text = inside(folder, table["recoding"][name]).read_bytes().decode("utf-8")
            own[name] = places.setdefault((name, text), rule_file(len(places) + 1, name))
        single = f"table.{plan.format}" if plan.repeat == 1 else f"table-{number + 1}.{plan.format}"
        file = single if view is None else f"views/{view.name}.{plan.format}"
        entry: dict[str, Any] = {"file": file, "k": method.promise.k, "columns": list(own), "recoding": own}
        choice = method.partition.to_json() if method.promise.epsilon_recoding else None
        if choice is not None and choice["kind"] == "tree":
            entry["boxes"] = "recoding/boxes.csv" if view is None else f"recoding/boxes/{view.name}.csv"
        if view is not None:
            entry |= {"name": view.name, "part": parts[method.promise]}
            entry |= {"choice": choice} if choice is not None else {}
        found.append(entry)
    return found


def _index(folder: Path, plan: SafeKPlan, tables: list[dict[str, Any]]) -> list[Check]:
    """The index of views, to the letter."""
    if not plan.views:
        return []
    wanted = json.dumps(view_index(plan, tables), indent=1, ensure_ascii=False) + "\n"
    same = (folder / "views.json").read_bytes() == wanted.encode("utf-8")
    return [Check("index of views", same, "says what the certificate says")]


def _account(plan: SafeKPlan, told: Mapping[str, Any]) -> Account:
    """The account of the dataset as the certificate tells it, with the charge of this release at its end."""
    earlier = tuple(Cost.from_saved(entry) for entry in told["entries"][:-1])
    budget = None if told["budget"] is None else Budget.from_saved(told["budget"])
    return Account(
        dataset=plan.policy.dataset, budget=budget, neighbours=None, unit=None, costs=(*earlier, plan.cost), releases=0,
        unbounded=told["unbounded_releases"], looks=0, sample_used=False,
    )  # fmt: skip


def _charges(told: Mapping[str, Any], wanted: Mapping[str, Any], plan: SafeKPlan) -> list[Check]:
    """What a ledger would not have allowed: a budget other than the policy's, or one that is overrun."""
    last = bool(told["entries"]) and told["entries"][-1] == wanted["entries"][-1]
    same = plan.budget is None or told["budget"] == plan.budget.to_saved()
    within = told["budget"] is None or all(
        exact(wanted["total"][name]) <= exact(told["budget"][name]) for name in ("epsilon", "delta")
    )
    return [
        Check("charge", last, "the last entry of the ledger is this release, with its parts"),
        Check("budget of the lock", same and within, "the one that the lock names, and not overrun"),
    ]


def _forgive_unread(wanted: dict[str, Any], told: Mapping[str, Any]) -> None:
    """What a hierarchy that was a file decides is taken as it is told: the file is not in the folder."""
    pairs = [(wanted.get("choice"), told.get("choice"))]
    pairs += [
        (own.get("choice"), other.get("choice")) for own, other in zip(wanted["tables"], told["tables"], strict=True)
    ]
    for own, other in pairs:
        if own is not None and other is not None and own["kind"] == "choose":
            own |= {name: other[name] for name in ("schemes", "sensitivity", "restricted")}


# --- comparing -----------------------------------------------------------------------------------------------------


def compared(told: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[Check]:
    """Entry by entry: structure and numbers under one name, prose under another."""
    yield Check("entries", set(told) == set(wanted), "those of the locked plan, and no others")
    for name, entry in wanted.items():
        if name in OWN:
            continue
        own, other = _parted(entry, name), _parted(told.get(name), name)
        for kind, place, detail in (
            ("", 0, "as the locked plan makes it"),
            ("wording of ", 1, "as this version says it"),
        ):
            if own[place] is not None or other[place] is not None:
                yield Check(f"{kind}{name}", _same(own[place], other[place], (name,)), detail)


def _parted(value: Any, name: str) -> tuple[Any, Any]:
    """A value without its prose, and its prose alone; None where there is none of a kind."""
    if name in WORDING:
        return None, value
    if isinstance(value, Mapping):
        parts = {key: _parted(item, key) for key, item in value.items()}
        prose = {key: words for key, (_, words) in parts.items() if words is not None}
        return {key: None if key in WORDING else plain for key, (plain, _) in parts.items()}, prose or None
    if isinstance(value, list):
        pairs = [_parted(item, "") for item in value]
        words = [said for _, said in pairs]
        return [plain for plain, _ in pairs], words if any(said is not None for said in words) else None
    return value, None


def _same(own: Any, told: Any, path: tuple[str, ...]) -> bool:
    """Equal in type and value; a number that was composed may differ in the last digits, and is printed as we print it."""
    if type(own) is not type(told):
        return False
    if isinstance(own, dict):
        return own.keys() == told.keys() and all(_same(own[key], told[key], (*path, key)) for key in own)
    if isinstance(own, list):
        return len(own) == len(told) and all(_same(a, b, path) for a, b in zip(own, told, strict=True))
    if own != told and isinstance(own, str) and path in COMPOSED:
        return _close(own, told)
    return bool(own == told)


def _close(own: str, told: str) -> bool:
    """Whether a number is written as we write it, with as many digits, and is the same up to the last ones."""
    found, said = exact(own), exact(told)
    written = told in (text_up(said, DIGITS), exact_text(said)) and exact(text_up(said, DIGITS)) == said
    return written and abs(found - said) <= LAST_DIGITS * found
