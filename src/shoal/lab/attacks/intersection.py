"""Intersection: two k-anonymous releases about the same person leave the values that both of their classes hold.

Ganta, Kasiviswanathan and Smith 2008. k-anonymity does not compose: each release keeps k, and both together tell the value.
"""

from __future__ import annotations

from shoal.lab.attacks.homogeneity import is_told, mondrian_values, safe_values
from shoal.lab.attacks.outcome import AttackResult, AttackSetting, choose_one, compare
from shoal.lab.attacks.population import describe, people

KNOWN, CODE, CHAPTER = ("age", "income"), "diagnosis", "chapter"
K = 5
TABLES = 4
SHARED = 5
"""One in so many patients of a hospital is a patient of the other one too."""
LEVELS = {"age": 4, "income": -1}
"""The levels of the safe releases."""


def intersect(setting: AttackSetting) -> AttackResult:
    """Intersect the classes of a person in the releases of two hospitals that share some of their patients."""
    apart = setting.rows - setting.rows // SHARED
    everybody = [people(3 * setting.rows, TABLES * setting.seed + number) for number in range(TABLES)]
    outcomes, lines = [], []
    for name, wanted in ((f"two Mondrian tables, k = {K}", CODE), ("two safe-k tables (ours)", CHAPTER)):
        pairs = []
        for number, each in enumerate(everybody):
            source = setting.source(f"{name} {number}")
            hospitals = [each.take(slice(start, start + setting.rows)) for start in (0, apart)]
            if wanted == CHAPTER:
                pairs.append([safe_values(own, {**LEVELS, wanted: 0}, source) for own in hospitals])
            else:
                pairs.append([mondrian_values(own, KNOWN, wanted, K, source) for own in hospitals])
        chance = setting.source(f"targets {name}")
        success, control, alone = [], [], []
        for _ in range(setting.runs):
            at = choose_one(chance, TABLES)
            inside = apart + choose_one(chance, setting.rows - apart)
            outside = apart + setting.rows + choose_one(chance, setting.rows)
            target, stranger = everybody[at].take([inside]), everybody[at].take([outside])
            success.append(is_told(pairs[at], target, wanted))
            control.append(is_told(pairs[at], stranger, wanted))
            alone.append(is_told(pairs[at][:1], target, wanted))
            if success[-1] and not alone[-1] and sum(success) <= 2:
                lines.append(f"{name}: a person {describe(target.select(KNOWN))}: {wanted} {target[wanted][0]}")
        outcomes.append(compare(name, success, control, alone, of="targets"))
    return AttackResult(
        "intersection",
        "Intersection: two releases, one value left",
        "Ganta, Kasiviswanathan and Smith 2008",
        f"Two hospitals publish tables of their patients, one in {SHARED} of whom is in both. The intruder knows age and "
        "income of a person who is in both, and takes the values that the person's class has in each. Success: one value "
        "is in both classes, and it is the person's.",
        "Control: the same of people who are in neither table. Baseline: the first release alone. Targets are drawn at "
        f"random from the patients of both hospitals, in {TABLES} generated pairs.",
        tuple(outcomes),
        (
            (
                f"Each release keeps {K} people or more in a class, and their diagnoses differ. The person's own diagnosis "
                "is in both classes; where the other people of the two classes have none in common, it alone is left."
            ),
            (
                "k-anonymity, l-diversity and t-closeness say nothing of two releases together, so Shoal's ledger notes "
                "them as unbounded. A differential promise adds up: two safe-k releases of (1, 1e-6) are together (2, "
                "2e-6) at worst. They show chapters, not single diagnoses, because rarer labels would not reach k."
            ),
        ),
        setting,
        tuple(lines),
    )
