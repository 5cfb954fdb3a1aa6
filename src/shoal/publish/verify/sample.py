"""Verify a plain sample: its certificate is made again from the lock with its rate and its levels, and its rules are compared."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from shoal.anonymize.generalize.scheme import FixedScheme
from shoal.guarantee.plain_sample import rate_on_grid
from shoal.guarantee.rounding import exact
from shoal.ledger.state import Account
from shoal.policy.policy import Policy
from shoal.publish.certificate.model import SampleCertificate
from shoal.publish.certificate.sample import certificate as make_certificate
from shoal.publish.folder import rule_file
from shoal.publish.plan.sample import SamplePlan
from shoal.publish.run.sample import table_entry
from shoal.publish.verify.compare import compare
from shoal.publish.verify.lock import is_unread
from shoal.publish.verify.rebuild import in_published_order, looks_as_told
from shoal.publish.verify.rules import rule_check
from shoal.publish.verify.standalone import Check, read_text, strict_json


def plain_sample_checks(folder: Path, policy: Policy, certificate: SampleCertificate) -> list[Check]:
    """The certificate against the one that its locked plan makes at its rate, the rate itself, and the rules of the labels."""
    known = in_published_order(policy, certificate.tables)
    plan, told = SamplePlan.of(known), certificate.samples[0]
    rate, ledger = exact(told.beta), certificate.ledger
    account = Account(
        dataset=plan.policy.dataset, budget=None, neighbours=None, unit=None, costs=(), releases=0,
        unbounded=ledger.unbounded_releases, looks=0, sample_used=False,
        looks_on_record=looks_as_told(ledger.looks, plan.confirmed_lock.sha256),
    )  # fmt: skip
    rules = {name: rule_file(number, name) for number, name in enumerate(plan.method.scheme.columns, 1)}
    entry = table_entry(plan, rules)
    wanted = make_certificate(plan, rate, certificate.files, [entry], account, certificate.date)
    # What was spent before is not in the locked plan.
    wanted = wanted.model_copy(update={"ledger": ledger})
    return [*compare(certificate, wanted), _rate_check(plan, rate), *_rule_checks(folder, plan, rules)]


def _rate_check(plan: SamplePlan, rate: Fraction) -> Check:
    """The rate is the declared one, or one of two digits; and no table has a larger safe one than the promise allows."""
    declared = plan.method.rate
    fits = rate == declared if declared is not None else 0 < rate < 1 and _has_two_digits(rate)
    fits = fits and rate <= Fraction(plan.method.largest_rate)
    return Check("sample-rate", fits, "as it was locked, or of two digits; below what any table allows", promise=True)


def _has_two_digits(rate: Fraction) -> bool:
    return rate_on_grid(math.nextafter(float(rate), 1)) == rate


def _rule_checks(folder: Path, plan: SamplePlan, rules: dict[str, str]) -> list[Check]:
    """Each rule against the locked level, or against a coarser one where rare values were generalized."""
    found, schema = [], plan.policy.schema
    for name, place in rules.items():
        text = read_text(folder, place)
        level, least = strict_json(text)["level"], plan.method.scheme.indices.get(name, 0)
        hierarchy = schema[name].hierarchy
        top = len(hierarchy.levels) - 1 if hierarchy is not None else 0
        most = least if plan.method.rare != "generalize" else level if is_unread(plan.policy, name) else top
        if type(level) is not int or not least <= level <= most:
            found.append(Check("label-meaning", False, "a level that the lock does not allow", about=name))
            continue
        at_level = replace(plan.method.scheme, indices={**plan.method.scheme.indices, name: level})
        found.append(rule_check(text, FixedScheme(at_level), plan.policy, name))
    return found
