"""The certificate of k-anonymity by full-domain recoding, from the plan, the levels that were taken and the files written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shoal.anonymize.generalize.base import level_rule
from shoal.data.hierarchy.level import ValueLevel
from shoal.data.schema import Attribute
from shoal.guarantee.rounding import exact_text
from shoal.guarantee.theorem import PremiseAnswer
from shoal.ledger.state import Account
from shoal.publish.certificate.counted import note_entry
from shoal.publish.certificate.model import (
    FullDomainCertificate,
    FullDomainClaimEntry,
    FullDomainPromiseEntry,
    FullDomainTableEntry,
    SearchEntry,
)
from shoal.publish.certificate.seal import by_construction, by_custodian, by_program, opening_fields, seal_certificate
from shoal.publish.folder import population_file, rule_file, rule_text, table_file
from shoal.publish.plan.k_anonymity import FullDomainPlan


@dataclass(frozen=True)
class LevelRules:
    """The files that say what labels stand for: of each column one for each of its levels, and those of heights of a tree."""

    levels: Mapping[str, tuple[int, ...]]
    recoding: Mapping[str, tuple[str, ...]]
    heights: Mapping[str, tuple[str, ...]]
    """For each confidential attribute with a hierarchical distance, its levels below the root, from the values up."""
    texts: Mapping[str, str]
    """What each file holds."""


def level_rules(plan: FullDomainPlan, levels: Mapping[str, Sequence[int]]) -> LevelRules:
    """The rules of a table whose quasi-identifiers show these levels; every other column shows its values."""
    texts: dict[str, str] = {}
    shown: dict[str, tuple[int, ...]] = {}

    def write(attribute: Attribute, numbers: Sequence[int]) -> tuple[str, ...]:
        files = []
        for number in numbers:
            level = attribute.hierarchy.level(number) if attribute.hierarchy is not None else ValueLevel()
            file = rule_file(len(texts) + 1, attribute.name)
            texts[file] = rule_text(level_rule(attribute, number, level))
            files.append(file)
        return tuple(files)

    recoding = {}
    for attribute in plan.policy.schema.published:
        shown[attribute.name] = tuple(sorted(levels.get(attribute.name, (0,))))
        recoding[attribute.name] = write(attribute, shown[attribute.name])
    heights = {
        name: write(plan.policy.schema[name], heights_of(plan.policy.schema[name]))
        for name, distance in plan.distances().items()
        if distance == "hierarchical"
    }
    return LevelRules(shown, recoding, heights, texts)


def heights_of(attribute: Attribute) -> tuple[int, ...]:
    """The levels of a hierarchy below its root: those that do not give every value the same label."""
    levels = attribute.hierarchy.levels if attribute.hierarchy is not None else (ValueLevel(),)
    return tuple(number for number, level in enumerate(levels) if level.labels is None or len(level.labels) > 1)


def full_domain_answers(plan: FullDomainPlan) -> dict[str, PremiseAnswer]:
    """For each premise that a plan of this kind may cite, how this plan meets it."""
    each_row = plan.unit.column is None
    return {
        "classes-recounted": by_program("counted again on the table that is published"),
        "one-record-each": by_custodian(
            "the policy makes each row a unit of its own; whose rows they are, only the custodian can know"
        )
        if each_row
        else by_construction(f"one row of each {plan.unit.name} was kept"),
        "quasi-declared": by_custodian("by the roles of the attributes in the policy"),
        "population-holds-table": by_program("counted for every combination of quasi-identifiers of the table"),
        "population-true": by_custodian("by naming the population file in the policy"),
    }


def certificate(
    plan: FullDomainPlan, rules: LevelRules, files: Mapping[str, str], account: Account, date: str
) -> FullDomainCertificate:
    """The certificate of a table that has been written; `account` is the dataset's before this release."""
    schema = plan.policy.schema
    table = FullDomainTableEntry(
        file=table_file(plan.format),
        k=plan.k,
        columns=tuple(attribute.name for attribute in schema.published),
        quasi=tuple(attribute.name for attribute in schema.quasi),
        confidential=tuple(attribute.name for attribute in schema.confidential),
        levels=dict(rules.levels),
        recoding=dict(rules.recoding),
    )
    search = SearchEntry(
        kind=plan.search_kind,
        loss=None if plan.search_kind == "fixed" else plan.method.loss,
        local=plan.method.local,
        suppression=exact_text(plan.method.suppression),
    )
    opening = opening_fields(
        plan, files, date, full_domain_answers(plan), tuple(plan.not_promised), FullDomainClaimEntry
    )
    draft = FullDomainCertificate(
        **opening,
        guarantee=_promise(plan, rules),
        method="k-anonymity",
        search=search,
        tables=(table,),
        ledger=note_entry(account, plan.confirmed_lock.sha256),
    )
    return seal_certificate(draft)


def _promise(plan: FullDomainPlan, rules: LevelRules) -> FullDomainPromiseEntry:
    wanted, k_map, digest = plan.requirement, plan.k_map, plan.policy.population
    population = None
    if k_map is not None and digest is not None:
        file = population_file(digest) if k_map.public else None
        population = {"k": k_map.k, "sha256": digest, "file": file}
    return FullDomainPromiseEntry.read(
        {
            "kind": "k-anonymity",
            "k": plan.k,
            "l": wanted.l,
            "entropy_l": None if wanted.entropy_l is None else exact_text(wanted.entropy_l),
            "recursive": None
            if wanted.recursive is None
            else {"c": exact_text(wanted.recursive[0]), "l": wanted.recursive[1]},
            "t": None if wanted.t is None else exact_text(wanted.t),
            "closeness": {
                name: {"distance": distance, "heights": rules.heights.get(name, ())}
                for name, distance in plan.distances().items()
            },
            "alpha": None if wanted.alpha is None else exact_text(wanted.alpha),
            "beta": None if wanted.beta is None else {"form": wanted.beta_form, "beta": exact_text(wanted.beta)},
            "delta": None if wanted.delta is None else exact_text(wanted.delta),
            "k_map": population,
            "unit": plan.unit.to_saved(),
            "status": plan.claims[0].status.value,
        }
    )
