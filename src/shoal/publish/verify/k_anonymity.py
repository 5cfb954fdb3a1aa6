"""Verify k-anonymity by full-domain recoding: its certificate is made again from the lock, its rules and table are read again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from shoal.assess.disclosure.measures import RECURSIVE_C, observe
from shoal.assess.disclosure.report import Measures
from shoal.data.domain import Values
from shoal.data.schema import Attribute, Outside, Schema, Type
from shoal.engine.base import Table
from shoal.guarantee.rounding import exact
from shoal.ledger.state import Account
from shoal.policy.policy import Policy
from shoal.publish.certificate.k_anonymity import certificate as make_certificate
from shoal.publish.certificate.k_anonymity import level_rules
from shoal.publish.certificate.model import FullDomainCertificate, FullDomainPromiseEntry
from shoal.publish.folder import rule_text
from shoal.publish.plan.k_anonymity import FullDomainPlan
from shoal.publish.verify.compare import compare
from shoal.publish.verify.counted import in_published_order, read_published
from shoal.publish.verify.lock import is_unread
from shoal.publish.verify.recount import TOLERANCE
from shoal.publish.verify.rules import is_level_rule
from shoal.publish.verify.standalone import Check, read_text, strict_json


def full_domain_checks(folder: Path, policy: Policy, certificate: FullDomainCertificate) -> list[Check]:
    """The certificate against the one that its locked plan makes with its levels, then rules and table."""
    (table,) = certificate.tables
    plan = in_published_order(FullDomainPlan.of(_with_levels(policy, certificate)), table.columns)
    ledger = certificate.ledger
    account = Account(
        dataset=plan.policy.dataset, budget=None, neighbours=None, unit=None, costs=(), releases=0,
        unbounded=ledger.unbounded_releases, looks=0, sample_used=False,
    )  # fmt: skip
    rules = level_rules(plan, {one.name: table.levels.get(one.name, (0,)) for one in plan.policy.schema.quasi})
    wanted = make_certificate(plan, rules, certificate.files, account, certificate.date)
    # What was spent before is not in the locked plan.
    update: dict[str, object] = {"ledger": ledger}
    if any(is_unread(policy, one.name) for one in plan.policy.schema.quasi):
        update["search"] = certificate.search  # how many schemes there were is not known
    wanted = wanted.model_copy(update=update)
    checks = [*compare(certificate, wanted), *_rule_checks(folder, plan, certificate)]
    if wanted.tables != certificate.tables:
        return checks  # said before
    shown = Schema(tuple(as_shown(one, table.levels[one.name]) for one in plan.policy.schema.published))
    read, found = read_published(folder, table.file, shown, certificate.files)
    return [*checks, *found, *(_counts(read, certificate, plan) if read is not None else ())]


def _with_levels(policy: Policy, certificate: FullDomainCertificate) -> Policy:
    """The policy with as many levels of a hierarchy that was a file, and is not here, as the certificate and the lock name."""
    told, recoding = certificate.tables[0].levels, policy.model.release.recoding if policy.model.release else None
    search = recoding.search if recoding is not None else None
    named = [recoding.levels if recoding is not None else None]
    named += [search.levels, search.finest, search.coarsest] if search is not None else []

    def grown(one: Attribute) -> Attribute:
        if one.hierarchy is None or not is_unread(policy, one.name):
            return one
        most = max([*told.get(one.name, ()), *(each.get(one.name, 0) for each in named if each)], default=0)
        levels, losses = one.hierarchy.levels[:1] * (most + 1), one.hierarchy.losses[:1] * (most + 1)
        return replace(one, hierarchy=replace(one.hierarchy, levels=levels, losses=losses))

    return replace(policy, schema=replace(policy.schema, attributes=tuple(map(grown, policy.schema.attributes))))


def _rule_checks(folder: Path, plan: FullDomainPlan, certificate: FullDomainCertificate) -> Iterator[Check]:
    """One check for each column, and for each tree of heights: its rules are those of the levels that the lock declares."""
    table, schema = certificate.tables[0], plan.policy.schema
    asked = [(name, table.levels.get(name, ()), files) for name, files in table.recoding.items()]
    asked += [
        (name, tuple(range(len(own.heights))), own.heights) for name, own in certificate.guarantee.closeness.items()
    ]
    for name, levels, files in asked:
        if name not in schema.names or len(levels) != len(files):
            continue  # said before
        texts = [read_text(folder, file) for file in files]
        rules = [strict_json(text) for text in texts]
        written = all(text == rule_text(rule) for text, rule in zip(texts, rules, strict=True))
        told = [(rule["attribute"], rule["type"], rule["level"]) for rule in rules]
        named = told == [(name, schema[name].type.value, level) for level in levels]
        if is_unread(plan.policy, name) and named and written and files:
            yield Check("label-meaning", None, "its hierarchy is a file that is not here", about=name)
        elif files:
            fits = named and written and all(is_level_rule(schema[name], rule) for rule in rules)
            yield Check("label-meaning", fits, "levels of the lock, with the labels that it declares", about=name)


def as_shown(one: Attribute, levels: tuple[int, ...]) -> Attribute:
    """An attribute as its column shows it: a value of its domain, or labels, which are text."""
    bare = replace(one, hierarchy=None, outside=Outside.ERROR)
    return bare if levels == (0,) else replace(bare, type=Type.TEXT, domain=None)


def _counts(read: Table, certificate: FullDomainCertificate, plan: FullDomainPlan) -> Iterator[Check]:
    """What is promised of the table, measured on it by code that the method does not share."""
    promised, name = certificate.guarantee, certificate.tables[0].file
    recursive = promised.recursive
    c = RECURSIVE_C if recursive is None else float(exact(recursive.c)) * (1 + TOLERANCE)
    asked = [
        *read.schema.quasi,
        *(_with_distance(plan.policy.schema[one.name], promised) for one in read.schema.confidential),
    ]
    seen = observe(read.count_by([one.name for one in asked]), Schema(tuple(asked)), recursive_c=c)
    detail = f"the smallest class has {seen.k} rows"
    yield Check("class-size", seen.k >= promised.k, detail, promise=True, about=name)
    for one in seen.confidential:
        for check, achieved, fits in measured_criteria(promised, one.name, one.measures):
            yield Check(check, fits, f"{achieved} in the worst class", promise=True, about=one.name)


def _with_distance(one: Attribute, promised: FullDomainPromiseEntry) -> Attribute:
    own = promised.closeness.get(one.name)
    return to_measure(one, None if own is None else own.distance)


def to_measure(one: Attribute, distance: str | None) -> Attribute:
    """A confidential attribute with its hierarchy where distances are counted in it, and else without."""
    if distance == "hierarchical":
        return one
    return Attribute(one.name, one.role, one.type, one.domain if isinstance(one.domain, Values) else None)


def measured_criteria(promised: FullDomainPromiseEntry, name: str, found: Measures) -> Iterator[tuple[str, str, bool]]:
    """Each criterion on a confidential attribute: the check, the value that was reached in words, and whether it suffices."""
    if promised.l is not None:
        yield "distinct-values", f"{found.l} different values", found.l >= promised.l
    if promised.entropy_l is not None:
        least = float(exact(promised.entropy_l)) - TOLERANCE
        yield "entropy-diversity", f"an entropy of ln {found.entropy_l:.4g}", found.entropy_l >= least
    if promised.recursive is not None:
        words = f"recursive diversity up to l = {found.recursive_l}"
        yield "recursive-diversity", words, found.recursive_l >= promised.recursive.l
    if promised.t is not None:
        far = distance_found(found, promised.closeness[name].distance)
        yield "closeness", f"a distance of {far:.4g}", far <= float(exact(promised.t)) + TOLERANCE
    if promised.alpha is not None:
        fits = found.alpha <= float(exact(promised.alpha)) + TOLERANCE
        yield "largest-share", f"a share of {found.alpha:.4g}", fits
    if promised.beta is not None:
        gain = found.basic_beta if promised.beta.form == "basic" else found.enhanced_beta
        yield "likeness", f"a gain of {gain:.4g}", gain <= float(exact(promised.beta.beta)) + TOLERANCE
    if promised.delta is not None:
        off = found.delta_disclosure
        yield "disclosure", f"|ln(p / q)| of {off:.4g}", off <= float(exact(promised.delta)) + TOLERANCE


def distance_found(found: Measures, distance: str) -> float:
    """The largest earth mover's distance of a class by one ground distance."""
    if distance == "equal":
        return found.t_equal
    along = found.t_ordered if distance == "ordered" else found.t_hierarchical
    return found.t_equal if along is None else along  # a tree of one height has any two values 1 apart
