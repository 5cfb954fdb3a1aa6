"""The certificate as a page, from its plain values alone: the same bytes for the same certificate."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from shoal.guarantee.rounding import exact, text_up
from shoal.guarantee.sentences import growth, plain, short
from shoal.guarantee.unit import Unit
from shoal.page.html import page
from shoal.page.picture import Mark, Picture, PlotAxis, Series
from shoal.page.svg import draw_curve

STATUS = {
    "proved": "The promise follows from the theorems below for a plan that was fixed without the data, as the custodian says of "
    "this one. All their other premises were checked by the program or are met by the way the release was made; nothing has "
    "to be assumed about the data or about what anyone knows.",
    "proved with condition": "The promise follows from the theorems below on a condition that only the holder can know to be "
    "met. The sentence above says it.",
    "proved for a plan tuned on the data": "The theorems below prove the promise for a plan that is fixed without the data. "
    "Here the plan was made after a look at them, or parts of it were drafted from them and nobody has confirmed those; what "
    "the choice of the plan itself gives away is not covered.",
    "checked": "What is said was counted on the published table. It is no statement about chance.",
    "none": "Nothing is promised.",
}
NEIGHBOURS = {
    "add_remove": "two tables are neighbours when one has the unit's rows and the other does not",
    "replace_one": "two tables are neighbours when the unit's rows in one are replaced by any others",
}
BOUND = {
    "tight": "the exact divergence of a sample: for one row added or removed, no smaller delta holds of it",
    "published": "LQS11 Theorem 5, which bounds the probability of a bad outcome",
}
RANDOMNESS = {
    "operating system": "whatever is drawn comes from a fresh 256-bit key, stretched by a cipher and then destroyed: the "
    "promise holds against anyone who cannot break that cipher"
}
MOST_ENTRIES = 30
"""Charges that are listed one by one."""

Fact = tuple[str, str, str]


def certificate_page(certificate: dict[str, Any]) -> str:
    """The certificate as script-free HTML."""
    unit = Unit.from_saved(certificate["guarantee"]["unit"])
    return page(
        "certificate",
        {
            **opened(certificate, STATUS),
            "warned": _warnings(certificate["ledger"]),
            "parameters": _parameters(certificate, unit),
            "parts": [_part(part, unit) for part in certificate["parts"]],
            "tables": [] if "views" in certificate else _tables(certificate["tables"]),
            "views": _views(certificate),
            "about_views": _about_views(certificate),
            **_curve(certificate, unit),
            "about_ledger": _about_ledger(certificate["ledger"]),
            "entries": _entries(certificate["ledger"]["entries"]),
            "totals": _totals(certificate["ledger"]),
            "footer": f"This page says what certificate.json (version {certificate['version']}) says, with numbers rounded "
            "against the promise. It holds nothing from the data that the promise does not cover.",
        },
    )


def opened(certificate: dict[str, Any], about: Mapping[str, str]) -> dict[str, Any]:
    """What the page of every certificate shows; `about` explains each status."""
    dataset, verify = certificate["dataset"], certificate["verify"]
    return {
        "title": f"Certificate: {dataset}",
        "dataset": dataset,
        "lead": f"Released on {certificate['date']} with Shoal {certificate['software']['shoal']}, method "
        f"{certificate['method']}.",
        "sentence": certificate["sentence"],
        "sentences": certificate["words"],
        "status": certificate["status"],
        "about_status": about[certificate["status"]],
        "theorems": certificate["theorems"],
        "not_promised": certificate["not_promised"],
        "verify": [(words, place % 2 == 1) for place, words in enumerate((verify[:1].upper() + verify[1:]).split("`"))],
        "hashes": [("seal", certificate["seal"]), ("plan", certificate["plan"]), *certificate["files"].items()],
    }


def _cost(text: str) -> str:
    """A cost as it was typed if that is a short decimal, else rounded up."""
    return text_up(exact(text)) if "/" in text else plain(exact(text))


def _one_step(unit: Unit) -> bool:
    return unit.max_rows == 1 and unit.neighbours == "add_remove"


def _warnings(ledger: dict[str, Any]) -> list[str]:
    found, others = [], ledger["unbounded_releases"]
    if others:
        found.append(
            f"{counted(others, 'other release')} of this dataset {'carries' if others == 1 else 'carry'} a guarantee that "
            "does not add up with this one, such as k-anonymity. This release keeps its promise; nothing is promised about "
            "what both together give away."
        )
    return found


def counted(number: int, what: str) -> str:
    """A number of things."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def _parameters(certificate: dict[str, Any], unit: Unit) -> list[Fact]:
    promised, randomness = certificate["guarantee"], certificate["claims"][0]["randomness"]
    recoding = exact(promised["epsilon_recoding"])
    choice = certificate["tables"][0].get("choice", certificate.get("choice"))
    each = " of each view" if "views" in certificate else ""
    share = [(f"of it for the recoding{each}", _cost(promised["epsilon_recoding"]), _about_choice(choice))]
    return [
        (
            "epsilon",
            _cost(promised["epsilon"]),
            f"odds move by a factor of at most {growth(exact(promised['epsilon']))}",
        ),
        *(share if recoding else []),
        *_composed(certificate),
        ("delta", _cost(promised["delta"]), "added to a probability after that factor"),
        ("whose data", unit.words(), NEIGHBOURS[promised["neighbours"]]),
        ("bound", certificate["bound"], BOUND[certificate["bound"]]),
        ("randomness", randomness, RANDOMNESS.get(randomness, "")),
    ]


def _composed(certificate: dict[str, Any]) -> list[Fact]:
    """What views cost together, and who chose them."""
    views = certificate.get("views")
    if views is None:
        return []
    together = f"epsilon at this delta; one after another they would add up to {_cost(views['basic'])}"
    found = [("all views composed", text_up(exact(views["composed"])), together)]
    if views["chosen"] is not None:
        note = f"the choice of the views, out of {views['chosen']['of']:,}, on the whole table"
        found.insert(0, ("of it for the views", _cost(views["chosen"]["epsilon"]), note))
    return found


def _about_choice(choice: dict[str, Any] | None) -> str:
    """How the recoding was chosen, in a line."""
    if choice is None:
        return "the private choice of the labels"
    if choice["kind"] == "tree":
        surveys = counted(len(choice["surveys"]), "survey")
        of = f"a separate sample of {choice['rate']} of the table" if "rate" in choice else "the whole table"
        return f"the labels are boxes of a tree, grown on {surveys} of noisy counts of {of}"
    drawn = f"drawn on the whole table from {choice['schemes']:,} combinations of levels, score {choice['score']}"
    return f"{drawn}; {choice['restricted']}" if choice["restricted"] else drawn


def _part(part: dict[str, Any], unit: Unit) -> dict[str, Any]:
    epsilon, silent = _cost(part["epsilon"]), part["delta_published"] is None
    about_unit = f"of one sample alone, at epsilon {epsilon}: the tight curve, one row after the other"
    own = [("delta for this unit", _cost(part["delta_unit"]), about_unit)]
    facts: list[Fact] = [
        ("k", str(part["k"]), "no group of fewer equal rows is shown"),
        ("beta", short(exact(part["beta"]), cost=False), "the probability with which each row takes part"),
        (
            "delta, tight",
            text_up(exact(part["delta_tight"])),
            f"of one sample alone, at epsilon {epsilon}, for one row added or removed",
        ),
        *([] if _one_step(unit) else own),
        (
            "delta, published",
            "silent" if silent else text_up(exact(part["delta_published"])),
            "LQS11 Theorem 5 says nothing at this epsilon"
            if silent
            else "LQS11 Theorem 5, of the same sample at the same epsilon, for comparison",
        ),
    ]
    if part["times"] > 1:
        facts.insert(
            0, ("tables", str(part["times"]), f"each from a fresh sample, each by itself at epsilon {epsilon}")
        )
    return {"facts": facts}


def _curve(certificate: dict[str, Any], unit: Unit) -> dict[str, Any]:
    """The curve of the whole release: for whom it holds, its picture, and its points."""
    points, promised = certificate["curve"], certificate["guarantee"]
    picture = _picture(points, exact(promised["epsilon"]), exact(promised["delta"]), unit)
    return {
        "about_curve": _about_curve(certificate, unit),
        "curve_picture": draw_curve(picture),
        "curve_caption": picture.caption,
        "curve": [
            (_cost(point["epsilon"]), text_up(exact(point["delta"])), point["epsilon"] == promised["epsilon"])
            for point in points
        ],
    }


def _picture(points: list[dict[str, str]], epsilon: Fraction, delta: Fraction, unit: Unit) -> Picture:
    places = [(float(exact(point["epsilon"])), float(exact(point["delta"]))) for point in points]
    return Picture(
        title=f"delta of the whole release at each epsilon, for {unit.words()}",
        x=PlotAxis("epsilon (log of the largest ratio)"),
        y=PlotAxis("delta", log=True),
        series=[Series("", [e for e, _ in places], [d for _, d in places], dots=True, named=False)],
        marks=[Mark(float(epsilon), float(delta), "promised")],
        caption="Lower is better. The dots are the values of the table below, joined by straight lines; what is promised lies "
        "on a dot or above it.",
    )


def _about_curve(certificate: dict[str, Any], unit: Unit) -> str:
    """For whom and for what the curve holds."""
    views, tables = certificate.get("views"), len(certificate["tables"])
    what = "the table"
    if views is not None:
        what = (
            counted(views["count"], "view")
            if views["count"] == 1
            else f"all {counted(views['count'], 'view')} together"
        )
    elif tables > 1:
        what = f"all {tables} tables together"
    paid = []
    if views is not None and views["chosen"] is not None:
        paid.append("the choice of the views")
    if exact(certificate["guarantee"]["epsilon_recoding"]):
        paid.append("the choice of the recoding" if views is None else "the choice of the recodings")
    share = f", with what {' and '.join(paid)} cost" if paid else ""
    return (
        f"The release meets more than one pair of epsilon and delta. Every line of this table holds for {what}{share}, and for "
        f"{unit.words()}. Whoever prefers another epsilon reads off its delta."
    )


def _tables(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tables with the same columns and rules together."""
    found: list[dict[str, Any]] = []
    for table in tables:
        rules = [(column, table["recoding"][column]) for column in table["columns"]]
        rules += [("all boxes", table["boxes"])] if "boxes" in table else []
        shown = {"k": table["k"], "recoding": rules}
        same = next((entry for entry in found if {**entry, "files": None} == {**shown, "files": None}), None)
        if same is None:
            found.append({**shown, "files": [table["file"]]})
        else:
            same["files"].append(table["file"])
    return found


MOST_VIEWS = 300
"""Views that the page lists; all are in views.json."""


def _views(certificate: dict[str, Any]) -> list[dict[str, str]]:
    """A line for each view."""
    if "views" not in certificate:
        return []
    parts = certificate["parts"]
    return [
        {
            "columns": " × ".join(table["columns"]),
            "k": str(table["k"]),
            "beta": short(exact(parts[table["part"]]["beta"]), cost=False),
            "file": table["file"],
        }
        for table in certificate["tables"][:MOST_VIEWS]
    ]


def _about_views(certificate: dict[str, Any]) -> str:
    if "views" not in certificate:
        return ""
    count, shown = certificate["views"]["count"], min(certificate["views"]["count"], MOST_VIEWS)
    more = "" if shown == count else f" The first {shown} are listed here."
    return (
        f"{counted(count, 'view')}, each a table of its own from a sample of its own, sorted by its own values. "
        f"views.json lists all of them with their weights; what a label stands for is in recoding/.{more}"
    )


def _about_ledger(ledger: dict[str, Any]) -> str:
    others = len(ledger["entries"]) - 1
    first = (
        "No other release of this dataset had been charged when this one was made."
        if others == 0
        else f"{counted(others, 'earlier charge')} of this dataset {'was' if others == 1 else 'were'} in the holder's ledger "
        "when this release was made."
    )
    return f"{first} A charge stands even if nothing came of it. Later ones are in later certificates."


def _entries(entries: list[dict[str, Any]]) -> list[tuple[str, str, str, bool]]:
    """One line for each charge; the earliest of very many are added up."""
    shown = [
        (f"charge {entry['number']}", _cost(entry["epsilon"]), _cost(entry["delta"]), False)
        for entry in entries[-MOST_ENTRIES:-1]
    ]
    last = entries[-1]
    shown.append((f"charge {last['number']}: this release", _cost(last["epsilon"]), _cost(last["delta"]), True))
    early = entries[:-MOST_ENTRIES]
    if early:
        sums = [plain(sum((exact(entry[name]) for entry in early), start=exact(0))) for name in ("epsilon", "delta")]
        shown.insert(0, (f"charges {early[0]['number']} to {early[-1]['number']}, added up", sums[0], sums[1], False))
    return shown


def _totals(ledger: dict[str, Any]) -> list[Fact]:
    total, budget, composed = ledger["total"], ledger["budget"], ledger["composed_epsilon"]
    found = [("added up", f"({_cost(total['epsilon'])}, {_cost(total['delta'])})", "epsilons and deltas, one by one")]
    if composed is not None:
        note = f"epsilon at delta {_cost(total['delta'])}, for information: it holds if all charges were planned in advance"
        found.append(("composed", text_up(exact(composed)), note))
    if budget is None:
        return [*found, ("budget", "none", "the holder has set no ceiling for this dataset")]
    ceiling = f"({_cost(budget['epsilon'])}, {_cost(budget['delta'])})"
    return [*found, ("budget", ceiling, "the holder's ceiling for all charges added up")]
