"""The certificate of a counted guarantee as a page, from its plain values alone."""

from __future__ import annotations

from typing import Any

from shoal.guarantee.unit import Unit
from shoal.page.html import page
from shoal.publish.certificate.page import STATUS, Fact, counted, opened
from shoal.publish.plan.counted import CLUSTERING_WORDS

ABOUT = {
    **STATUS,
    "proved with condition": "The promise follows from the theorem below on a condition about what an intruder knows, which the "
    "sentence above says. Nobody can check that condition, and the table does not show the groups: who relies on this relies "
    "on the condition and on the program.",
}


def certificate_page(certificate: dict[str, Any]) -> str:
    """The certificate as script-free HTML."""
    return page(
        "counted",
        {
            **opened(certificate, ABOUT),
            "warned": _warnings(certificate["ledger"]),
            "parameters": _parameters(certificate),
            "table": certificate["tables"][0],
            "about_ledger": _about_ledger(certificate["ledger"]),
            "about_verify": _about_verify(certificate),
            "footer": f"This page says what certificate.json (version {certificate['version']}) says.",
        },
    )


def _parameters(certificate: dict[str, Any]) -> list[Fact]:
    promised, grouping = certificate["guarantee"], certificate["grouping"]
    unit = Unit.from_saved(promised["unit"])
    own = [(f"k of {name}", str(k), "its own groups") for name, k in grouping["crowds"].items()]
    gain = f", gain {grouping['gain']}" if grouping["gain"] is not None else ""
    return [
        ("k", str(promised["k"]), "no group is smaller"),
        *(own if len(set(grouping["crowds"].values())) > 1 else []),
        *(
            [("l", str(promised["l"]), "different values of each confidential attribute in every group")]
            if promised["l"]
            else []
        ),
        *(
            [("t", promised["t"], "the earth mover's distance of a group from the table, at most")]
            if promised["t"]
            else []
        ),
        ("grouping", f"{grouping['name']}{gain}", CLUSTERING_WORDS[grouping["name"]]),
        ("who is counted", "a row" if unit.column is None else f"one row of each {unit.name}", ""),
        ("epsilon", "none", "no differential privacy is promised"),
    ]


def _warnings(ledger: dict[str, Any]) -> list[str]:
    found = []
    if ledger["unbounded_releases"]:
        many = counted(ledger["unbounded_releases"], "earlier release")
        found.append(
            f"{many} of this dataset {'carries' if ledger['unbounded_releases'] == 1 else 'carry'} a guarantee of this kind. "
            "They do not add up: together they may show more than each of them promises to hide."
        )
    return found


def _about_ledger(ledger: dict[str, Any]) -> str:
    first = (
        "The holder's ledger notes this release as unbounded: no epsilon says what it gives away together with others."
    )
    if not ledger["charges"]:
        return f"{first} Nothing had been charged for this dataset when it was made."
    return (
        f"{first} When it was made, {counted(ledger['charges'], 'charge')} had been made for this dataset, "
        f"({ledger['epsilon']}, {ledger['delta']}) in all; those keep their promise, and this one is not covered by it."
    )


def _about_verify(certificate: dict[str, Any]) -> str:
    first = "Both recompute every hash and the seal, and hold the papers against each other"
    if certificate["method"] != "microaggregation":
        return f"{first}; the groups are not published, so nobody can count them."
    if certificate["tables"][0]["file"].endswith(".csv"):
        return f"{first}, and count the groups of the published table."
    return f"{first}; the first also counts the groups of the published table, which is Parquet."
