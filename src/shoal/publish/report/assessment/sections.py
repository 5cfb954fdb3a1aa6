"""The sections on risk and utility in the custodian's report, from an assessment as plain values.

Every number says how it is known: counted on the tables, estimated with an interval, or by a model. None of them is proved, and
each section says so under its heading; what is proved stands in the box at the top of a report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.page.number_text import NO_NUMBER, number_text, share_text
from shoal.page.section import Block, BulletList, Cell, ColumnHead, DataTable, Section, Words
from shoal.publish.report.assessment.nearness import learning_section, nearness_sections

MEASURED = "Measured on these tables, not proved"
"""The mark of a section without a proof."""
KINDS = {"exact": "counted", "estimate": "estimated", "model": "by a model"}
ABOUT = (
    "Counted: a fact of the tables at hand. Estimated: with an interval that holds as often as it says. By a model: it holds as "
    "far as the model does. No number here is a guarantee: another intruder may know more, or attack in another way."
)
MOST_NAMES = 8
"""Names that a sentence lists."""
SHARES = ("largest", "mean", "at_risk")
MEASURES: dict[str, tuple[str, str]] = {
    "prosecutor.largest": ("prosecutor, the worst row", "one divided by the rows of the smallest class"),
    "prosecutor.mean": ("prosecutor, on average", "one divided by the rows that look alike, averaged over rows"),
    "prosecutor.at_risk": ("prosecutor, rows above 20\u00a0%", "share of rows in classes of fewer than five"),
    "prosecutor.expected": ("prosecutor, rows found", "as many as are expected if every person is looked for"),
    "journalist.largest": ("journalist, the worst row", "one divided by the people of the population that look alike"),
    "journalist.mean": ("journalist, on average", "the same, averaged over rows"),
    "journalist.at_risk": ("journalist, rows above 20\u00a0%", "share of rows like fewer than five people"),
    "journalist.expected": ("journalist, rows found", "as many as are expected"),
    "marketer": (
        "marketer",
        "share of all rows that are expected to be found, by somebody who knows who is in the table",
    ),
    "marketer_outside": ("marketer, from the population", "the same, by somebody who knows the population alone"),
    "sample_uniques": ("unique rows", "rows that no other row looks like"),
    "population_uniques": ("unique in the population", "rows that nobody else of the population looks like"),
    "individual.largest": ("individual risk, the worst row", "by the sampling weights (Benedetti and Franconi)"),
    "individual.mean": ("individual risk, on average", "by the sampling weights (Benedetti and Franconi)"),
    "individual.at_risk": ("individual risk, rows above 20\u00a0%", "by the sampling weights"),
    "individual.expected": ("individual risk, rows found", "as many as are expected, by the sampling weights"),
    "special_uniques.found": ("unique by few attributes", "rows that a few attributes already make unique"),
    "special_uniques.special": ("special uniques", "rows that are unique by fewer attributes than all"),
    "special_uniques.dis": ("matches that are right", "probability that a match with a unique row is right (DIS)"),
}
"""What each risk is called, and what it means in a few words."""
ATTACKERS = {
    "prosecutor": (
        "The prosecutor looks for one person, knows that the person is in the table, and knows these attributes of them; of the "
        "rows that fit, one is picked."
    ),
    "journalist": (
        "The journalist wants to show that somebody can be found, and knows the population but not who of it is in the table; a "
        "row may be any of the people who fit."
    ),
    "marketer": "The marketer wants to find many people and accepts errors; what counts is the share that is right.",
}
NO_POPULATION = " Not measured here: that needs a table of the population (shoal assess --population)."
ATTACKS = {
    "inference": "Inference guesses an attribute of a person from the released rows that are nearest to what is known of them.",
    "singling out": "Singling out writes conditions, from the release alone, that exactly one person of the original meets.",
    "linkability": "Linkability joins two halves of what is known of a person, where both lead to the same released row.",
}


def assessment_sections(assessment: Mapping[str, Any] | None) -> list[Section]:
    """What an assessment measured; nothing where a release was not assessed."""
    if assessment is None:
        return []
    utility = assessment["utility"]
    return [
        *risk_sections(assessment),
        *nearness_sections(utility, MEASURED),
        *learning_section(utility, MEASURED),
        Section("What was not measured, and why", [BulletList(_missed(assessment))]),
    ]


def known_text(one: Mapping[str, Any]) -> str:
    """How a number is known, in the three words of the legend."""
    return KINDS[one["kind"]]


# --- risk ---------------------------------------------------------------------------------------------------------------


def risk_sections(assessment: Mapping[str, Any]) -> list[Section]:
    """Risks before and after: the three attackers, uniques, what classes give away, and the attacks that were tried."""
    risk = assessment["risk"]
    if not risk["measures"] and not risk["attacks"]:
        words = "No attribute of the policy is a quasi-identifier, so no risk of finding a person was measured."
        return [Section("Risk: before and after", [Words(words)], mark=MEASURED)]
    knows = _names(assessment["quasi"])
    blocks: list[Block] = [
        Words(f"What could somebody find who knows {knows} of a person, exactly and nothing else?"),
        BulletList(_attackers(risk["measures"])),
        DataTable(
            (
                ColumnHead("risk"),
                ColumnHead("original", numeric=True),
                ColumnHead("release", numeric=True),
                ColumnHead("how it is known"),
            ),
            [
                _risk_line(name, *pair)
                for name, pair in risk["measures"].items()
                if not name.startswith(("homogeneity.", "attacks."))
            ],
        ),
        Words(_after_words(assessment), quiet=True),
        Words(ABOUT, quiet=True),
    ]
    return [
        Section("Risk: before and after", blocks, mark=MEASURED),
        *_homogeneity_section(risk),
        *_attack_section(risk["attacks"], assessment["control"]),
    ]


def _attackers(measures: Mapping[str, Any]) -> list[str]:
    journalist = "journalist.largest" in measures
    return [
        words + ("" if name != "journalist" or journalist else NO_POPULATION)
        for name, words in ATTACKERS.items()
    ]  # fmt: skip


def _after_words(assessment: Mapping[str, Any]) -> str:
    risk = assessment["risk"]
    rows = [None if risk[side] is None else risk[side]["rows"] for side in ("before", "after")]
    if rows[1] is None:
        said = "There is no number for the release, because its rows are nobody's: no row of it is a person to find."
    else:
        said = f"Classes were counted among {rows[0]:,} rows of the original and {rows[1]:,} rows of the release."
    return f"{said} Suppressed cells: {_MATCHING[assessment['matching']]}."


_MATCHING = {
    "strict": "one matches only another suppressed cell (strict)",
    "lenient": "one matches anything (lenient)",
}


def _risk_line(name: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[Cell]:
    title, meaning = MEASURES.get(
        name, (name.replace("population_models.", "unique in the population, ").replace("_", " "), "")
    )
    is_share = name.rpartition(".")[2] in SHARES or name.startswith(("marketer", "special_uniques.dis"))
    one = after or before
    assert one is not None  # noqa: S101 - a measure was measured on one side at least
    return [
        (title, meaning or one["method"].partition(";")[0]),
        *(_quantity_cell(each, is_share=is_share) for each in (before, after)),
        known_text(one),
    ]


def _quantity_cell(one: Mapping[str, Any] | None, *, is_share: bool) -> Cell:
    """A number, and its interval where it has one."""
    if one is None:
        return NO_NUMBER
    text = share_text if is_share else _count
    shown = NO_NUMBER if one["value"] is None else text(one["value"])
    return shown, interval_text(one, text) if one["kind"] != "exact" else ""


def interval_text(one: Mapping[str, Any], text: Any) -> str:
    """The interval of a number with its level; empty where there is none."""
    if one["low"] is None or one["high"] is None:
        return ""
    return f"{text(one['low'])} to {text(one['high'])} ({100 * one['level']:.3g}\u00a0%)"


def _count(value: float) -> str:
    return number_text(round(value)) if abs(value - round(value)) < 1e-9 else number_text(value)


def _homogeneity_section(risk: Mapping[str, Any]) -> list[Section]:
    """What classes say of confidential attributes without anybody being found."""
    sides = [{} if risk[side] is None else risk[side]["homogeneity"] for side in ("before", "after")]
    names = list(dict.fromkeys([*sides[0], *sides[1]]))
    if not names:
        return []

    def pair(name: str, key: str) -> list[str]:
        return [share_text(side[name][key]["value"]) if name in side else NO_NUMBER for side in sides]

    words = (
        "Where all rows that look alike show one value, that value is known of everybody among them, though nobody is found. A "
        "label that stands for several values tells none of them. Guessing takes the commonest value of the class; compare "
        "it with the share of the commonest value of all rows of the release, in the last column. All of it is counted."
    )
    head = [
        ColumnHead("confidential attribute"),
        *(ColumnHead(name, numeric=True) for name in ("one value, original", "release")),
        *(ColumnHead(name, numeric=True) for name in ("guessed right, original", "release", "commonest, release")),
    ]
    rows = []
    for name in names:
        commonest = [side[name]["baseline"]["value"] for side in sides if name in side]
        rows.append(
            (
                name,
                *pair(name, "homogeneous"),
                *pair(name, "guessing"),
                share_text(commonest[-1] if commonest else None),
            )
        )
    return [Section("What classes give away", [Words(words), DataTable(head, rows)], level=3)]


def _attack_section(attacks: Sequence[Mapping[str, Any]], control: int | None) -> list[Section]:
    if not attacks:
        return []
    if control is None:
        against = (
            "No control group was given, so success is compared with guessing: the excess includes what the table teaches about "
            "everybody. With people who took no part (shoal assess --control) it is what taking part costs."
        )
    else:
        against = (
            f"The control group has {control:,} people who took no part: what succeeds on them, the table teaches about "
            "everybody. The excess over it is what taking part costs."
        )
    numbers = ["attempts", "succeed", *(["control group"] if control is not None else []), "guessing", "excess"]
    head = [ColumnHead("attack"), *(ColumnHead(name, numeric=True) for name in numbers)]
    rows = []
    for one in attacks:
        line: list[Cell] = [one["attack"], f"{one['attempts']:,}", _rate(one["success"])]
        if control is not None:
            line.append(_rate(one["control"]) if one["control"] is not None else NO_NUMBER)
        rows.append([*line, _rate(one["baseline"])[0], _rate(one["risk"])])
    tried = [words for name, words in ATTACKS.items() if any(one["attack"].startswith(name) for one in attacks)]
    futile = [one["attack"] for one in attacks if not one["beats_baseline"]]
    about = (
        "All of these are estimated. Under a number stands its interval: 95\u00a0%, of the excess 90\u00a0% or more."
    )
    blocks: list[Block] = [Words(against), BulletList(tried), DataTable(head, rows), Words(about, quiet=True)]
    if futile:
        blocks.append(
            Words(f"No better than guessing: {_names(futile)}. That shows nothing about better attacks.", quiet=True)
        )
    return [Section("Attacks that were tried", blocks, level=3)]


def _rate(one: Mapping[str, Any]) -> tuple[str, str]:
    """A rate in percent, and its interval."""
    if one["kind"] == "exact":
        return share_text(one["value"]), ""
    ends = [f"{100 * end:.2f}".replace("-", "\u2212") for end in (one["low"], one["high"])]
    return _signed_share(one["value"]), f"{ends[0]} to {ends[1]}\u00a0%"


def _signed_share(value: float) -> str:
    if value >= 0:
        return share_text(value)
    return f"\u2212{share_text(-value)}" if value <= -0.00001 else "> \u22120.001\u00a0%"


def _names(names: Sequence[str]) -> str:
    shown = list(names[:MOST_NAMES])
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _missed(assessment: Mapping[str, Any]) -> list[str]:
    """What there is no number for, with the reason."""
    found = [_sentence(each) for each in (*assessment["left_out"], *assessment["utility"]["notes"])]
    for side, what in (("before", "the original"), ("after", "the release")):
        report = assessment["risk"][side]
        if report is not None:
            found += [_sentence(f"{name} of {what}: {why}") for name, why in report["refusals"].items()]
    if assessment["utility"]["lost_columns"]:
        found.append(f"Columns that the release does not have: {_names(assessment['utility']['lost_columns'])}.")
    found.append("Intruders who know other attributes, or who know these with errors; attacks other than those listed.")
    return found


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
