"""The certificate as a page of HTML, from the certificate alone: the same bytes for the same certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.guarantee.rounding import certificate_text, exact, exact_text, text_near, text_up
from shoal.guarantee.sentences import growth, short
from shoal.guarantee.unit import Unit
from shoal.ledger.look import LookCount, look_words
from shoal.page.html import page
from shoal.page.number_text import count_words
from shoal.page.picture import Mark, Picture, PlotAxis, Series
from shoal.page.section import Fact
from shoal.page.svg import draw_curve
from shoal.publish.certificate.model import (
    AnyModel,
    BoxesCertificate,
    BucketizedCertificate,
    CentroidNoiseEntry,
    CentroidsCertificate,
    ChargeEntry,
    CountedCertificate,
    CountedLedgerEntry,
    CurvePointEntry,
    FullDomainCertificate,
    LedgerEntry,
    LookEntry,
    NoisyCountsCertificate,
    PromiseEntry,
    SafeKCertificate,
    SampleCertificate,
    SampleEntry,
    SchemeChoiceEntry,
    TableEntry,
    TreeChoiceEntry,
    ViewsEntry,
)

STATUS = {
    "proved": "The promise follows from the theorems below for a plan that was fixed without the data, as the custodian says of "
    "this one. The program checked their other premises, or states that it met them in a run that nobody else saw. Nothing is "
    "assumed about how values are distributed or about what an intruder knows; it is assumed that nobody saw the key of the "
    "random draws, that the cipher behind them holds, and that one name in the unit's column, where there is one, is one person.",
    "proved with condition": "The promise follows from the theorems below on a condition that only the custodian can know to be "
    "met. The sentence above says it.",
    "proved for a plan tuned on the data": "The theorems below prove the promise for a plan that is fixed without the data. "
    "Here the plan was made after a look at them, or parts of it were drafted from them and nobody has confirmed those; what "
    "the choice of the plan itself gives away is not covered.",
    "checked": "What is said was counted on the published table. It is no statement about chance.",
    "none": "Nothing is promised.",
}
COUNTED_STATUS = {
    **STATUS,
    "proved with condition": "The promise follows from the theorem below on a condition about what an intruder knows, which the "
    "sentence above says. Nobody can check that condition, and the table does not show the groups: who relies on this relies "
    "on the condition and on the program.",
}
SAMPLE_STATUS = {
    **STATUS,
    "proved with condition": "The promise follows from the theorem below for the table as it is, and for the rate that was used. "
    "Both are taken as given, which the sentence above says as its condition: what they give away by themselves is not covered, "
    "and nobody can recompute from this folder that the rate is safe, because the table's counts are not in it. Who relies on "
    "this relies on the program.",
}
NEIGHBOURS = {
    "add_remove": "two tables are neighbours when one has the unit's rows and the other does not",
    "replace_one": "two tables are neighbours when the unit's rows in one are replaced by any others",
}
LQS11 = "Theorem 5 of Li, Qardaji and Su (2011)"
BOUND = {
    "tight": "delta of the sampling step is the exact hockey-stick divergence: for one row added or removed no smaller delta "
    "holds for all tables; what the recoding and other steps add is an upper bound",
    "published": f"delta is that of {LQS11}, which bounds the probability that the factor is exceeded",
}
RANDOMNESS = {
    "operating system": "whatever is drawn comes from a fresh 256-bit key, stretched by a cipher and erased afterwards "
    "as far as Python and OpenSSL allow: the promise holds against anyone who cannot break that cipher"
}
MOST_ENTRIES = 30
"""Charges that are listed one by one."""


def certificate_page(certificate: AnyModel) -> str:
    """The certificate as script-free HTML."""
    if isinstance(certificate, NoisyCountsCertificate):
        return page("noisy_counts", {**_opening_fields(certificate, STATUS), **_noisy_counts_fields(certificate)})
    if isinstance(certificate, CentroidsCertificate):
        return page("centroids", {**_opening_fields(certificate, STATUS), **_centroids_fields(certificate)})
    if isinstance(certificate, BoxesCertificate):
        return page("boxes", {**_opening_fields(certificate, STATUS), **_boxes_fields(certificate)})
    if isinstance(certificate, BucketizedCertificate):
        return page("bucketized", {**_opening_fields(certificate, COUNTED_STATUS), **_bucketized_fields(certificate)})
    if isinstance(certificate, FullDomainCertificate):
        return page("k_anonymity", {**_opening_fields(certificate, COUNTED_STATUS), **_full_domain_fields(certificate)})
    if isinstance(certificate, CountedCertificate):
        return page("counted", {**_opening_fields(certificate, COUNTED_STATUS), **_counted_fields(certificate)})
    if isinstance(certificate, SampleCertificate):
        return page("sample", {**_opening_fields(certificate, SAMPLE_STATUS), **_sample_fields(certificate)})
    return page("certificate", {**_opening_fields(certificate, STATUS), **_safe_k_fields(certificate)})


def _status_words(certificate: AnyModel, about: Mapping[str, str]) -> str:
    """What a status means; where further claims rest on a condition or on a population file, that too."""
    if certificate.status == "checked" and any(claim.status == "proved with condition" for claim in certificate.claims):
        return (
            "Sizes and shares were counted on the published tables. What is said of what somebody finds likely follows from them "
            "by a theorem, on the condition that is said with it; nobody can check that condition here."
        )
    if isinstance(certificate, FullDomainCertificate) and certificate.guarantee.k_map is not None:
        return (
            "What is said was counted on the published table and the population file. It is no statement about chance."
        )
    return about[certificate.status]


def _opening_fields(certificate: AnyModel, about: Mapping[str, str]) -> dict[str, Any]:
    """What the page of every certificate shows; `about` explains each status."""
    verify = certificate.how_to_verify
    return {
        "title": f"Certificate: {certificate.dataset}",
        "dataset": certificate.dataset,
        "lead": f"Released on {certificate.date} with Shoal {certificate.software.shoal}, method {certificate.method}.",
        "sentence": certificate.sentence,
        "sentences": certificate.explanation,
        "status": certificate.status,
        "about_status": _status_words(certificate, about),
        "theorems": certificate.theorems,
        "not_promised": certificate.not_promised,
        "verify": [(words, place % 2 == 1) for place, words in enumerate((verify[:1].upper() + verify[1:]).split("`"))],
        "hashes": [
            ("seal of the certificate", certificate.seal),
            ("locked plan", certificate.plan_sha256),
            *certificate.files.items(),
        ],
    }


# --- a release that pays for differential privacy ------------------------------------------------------------------


def _safe_k_fields(certificate: SafeKCertificate) -> dict[str, Any]:
    unit = certificate.guarantee.unit.unit()
    return {
        "warned": _warnings(certificate.ledger.unbounded_releases),
        "parameters": _parameters(certificate, unit),
        "tables_many": len(certificate.tables) > 1,
        "samples": [_sample(sample, unit) for sample in certificate.samples],
        "tables": [] if certificate.views else _tables(certificate.tables),
        "views": _views(certificate.views, certificate.tables, certificate.samples),
        "about_views": _about_views(certificate.views),
        **_curve(certificate, unit),
        "about_ledger": ledger_words(certificate.ledger),
        "entries": charge_lines(certificate.ledger.entries),
        "totals": charge_totals(certificate.ledger),
        "footer": f"This page says what certificate.json (format {certificate.format}) says. Costs are rounded up, so no number "
        "here is better than the true one. Everything on this page that was computed from the data is covered by the promise.",
    }


def _cost(text: str) -> str:
    """A cost as it was typed if that is a short decimal, else rounded up."""
    typed = exact_text(exact(text))
    return typed if len(typed) <= 10 and "/" not in typed else certificate_text(exact(text))


def _warnings(unbounded: int) -> list[str]:
    if not unbounded:
        return []
    many = f"{count_words(unbounded, 'other release')} of this dataset {'carries' if unbounded == 1 else 'carry'}"
    both = "This release keeps its promise; nothing is promised about what both together give away."
    return [f"{many} a guarantee that does not add up with this one, such as k-anonymity. {both}"]


def _parameters(certificate: SafeKCertificate, unit: Unit) -> list[Fact]:
    promised, randomness = certificate.guarantee, certificate.claims[0].randomness
    choice = certificate.tables[0].recoding_choice or certificate.recoding_choice
    each = " of each view" if certificate.views else ""
    facts = [
        (
            "epsilon",
            _cost(promised.epsilon),
            f"the factor in the promise above is e to this power, {growth(exact(promised.epsilon))}",
        ),
    ]
    if exact(promised.epsilon_recoding):
        facts.append((f"of it for the recoding{each}", _cost(promised.epsilon_recoding), _about_choice(choice)))
    total = certificate.noisy_total
    if total is not None and not exact(total.scale):
        why = "exactly: where one row is replaced by another, all neighbours have the same number"
        facts.append(("number of records", f"{total.records:,}", why))
    elif total is not None:
        noise = f"{total.records:,}, with two-sided geometric noise of scale {_cost(total.scale)}"
        facts.append(("of it for the number of records", _cost(total.epsilon), noise))
    return [
        *facts,
        *_composition_facts(certificate.views),
        ("delta", _cost(promised.delta), "added to a probability after that factor"),
        ("unit of privacy", unit.words(), NEIGHBOURS[promised.neighbours]),
        ("bound", certificate.bound, BOUND[certificate.bound]),
        ("randomness", randomness, RANDOMNESS.get(randomness, "")),
    ]


def _composition_facts(views: ViewsEntry | None) -> list[Fact]:
    """What views cost together, and who chose them."""
    if views is None:
        return []
    together = f"epsilon at this delta; one after another they would add up to {_cost(views.epsilon_added_up)}"
    found = [("all views composed", certificate_text(exact(views.epsilon_composed)), together)]
    if views.choice is not None:
        note = f"the choice of the views, out of {views.choice.candidates:,}, on the whole table"
        found.insert(0, ("of it for the views", _cost(views.choice.epsilon), note))
    return found


def _about_choice(choice: TreeChoiceEntry | SchemeChoiceEntry | None) -> str:
    """How the recoding was chosen, in a line."""
    if choice is None:
        return "the private choice of the labels"
    if isinstance(choice, SchemeChoiceEntry):
        drawn = f"drawn on the whole table from {choice.schemes:,} combinations of levels, score {choice.score}"
        return f"{drawn}; {choice.restriction}" if choice.restriction else drawn
    measured = count_words(len(choice.measurements), "noisy measurement")
    of = f"a separate sample of {choice.sample_rate} of the table" if choice.sample_rate else "the whole table"
    return f"the labels are boxes of a tree, grown on {measured} of {of}"


def _sample(sample: SampleEntry, unit: Unit) -> list[Fact]:
    epsilon, published = _cost(sample.epsilon), sample.delta_published
    facts: list[Fact] = [
        ("k", str(sample.k), "the minimum class size: no class of fewer equal rows is shown"),
        (
            "beta",
            short(exact(sample.beta), cost=False),
            "the sampling rate: the probability with which each row that may take part is sampled",
        ),
        (
            "delta, exact",
            certificate_text(exact(sample.delta_tight)),
            f"of one sample alone, at epsilon {epsilon}, for one row added or removed",
        ),
    ]
    if unit.max_rows > 1 or unit.neighbours != "add_remove":
        about = f"of one sample alone, at epsilon {epsilon}: the exact curve, one row after the other"
        facts.append(("delta for this unit", _cost(sample.delta_for_unit), about))
    if published is None:
        facts.append(("delta, published", "none", f"{LQS11} says nothing at this epsilon"))
    else:
        about = f"by {LQS11}, of the same sample at the same epsilon, for comparison"
        facts.append(("delta, published", certificate_text(exact(published)), about))
    if sample.times > 1:
        about = f"each from a fresh sample, each by itself at epsilon {epsilon}"
        facts.insert(0, ("tables", str(sample.times), about))
    return facts


def _curve(certificate: SafeKCertificate, unit: Unit) -> dict[str, Any]:
    """The curve of the whole release: for whom it holds, its picture, and its points."""
    promised = certificate.guarantee
    picture = release_curve_picture(certificate.curve, promised)
    return {
        "about_curve": _about_curve(certificate, unit),
        "curve_picture": draw_curve(picture),
        "curve_caption": picture.caption,
        "curve": curve_lines(certificate.curve, promised),
    }


def curve_lines(curve: Sequence[CurvePointEntry], promised: PromiseEntry) -> list[tuple[str, str, bool]]:
    """The points of a curve as lines of a table, and which of them is promised."""
    return [
        (_cost(point.epsilon), certificate_text(exact(point.delta)), point.epsilon == promised.epsilon)
        for point in curve
    ]


def release_curve_picture(curve: Sequence[CurvePointEntry], promised: PromiseEntry) -> Picture:
    """The curve of a whole release as its certificate lists it, with what is promised."""
    unit = promised.unit.unit()
    places = [(float(exact(point.epsilon)), float(exact(point.delta))) for point in curve]
    return Picture(
        title=f"delta of the whole release at each epsilon, for {unit.words()}",
        x=PlotAxis("epsilon (log of the largest ratio)"),
        y=PlotAxis("delta", log=True),
        series=[Series("", [e for e, _ in places], [d for _, d in places], dots=True, named=False)],
        marks=[Mark(float(exact(promised.epsilon)), float(exact(promised.delta)), "promised")],
        caption="Lower is better. The dots are the values of the table below, joined by straight lines; what is promised lies "
        "on a dot or above it.",
    )


def _about_curve(certificate: SafeKCertificate, unit: Unit) -> str:
    """For whom and for what the curve holds."""
    views, tables = certificate.views, len(certificate.tables)
    what = "the table"
    if views is not None:
        what = count_words(1, "view") if views.count == 1 else f"all {count_words(views.count, 'view')} together"
    elif tables > 1:
        what = f"all {tables} tables together"
    paid = []
    if views is not None and views.choice is not None:
        paid.append("the choice of the views")
    if exact(certificate.guarantee.epsilon_recoding):
        paid.append("the choice of the recoding" if views is None else "the choice of the recodings")
    share = f", with what {' and '.join(paid)} cost" if paid else ""
    return (
        f"The release meets more than one pair of epsilon and delta. Every line of this table holds for {what}{share}, and for "
        f"{unit.words()}. Whoever prefers another epsilon reads off its delta."
    )


def _tables(tables: Sequence[TableEntry]) -> list[dict[str, Any]]:
    """Tables with the same columns and rules together."""
    found: list[dict[str, Any]] = []
    for table in tables:
        rules = [(column, table.recoding[column]) for column in table.columns]
        rules += [("all boxes", table.boxes)] if table.boxes is not None else []
        shown = {"k": table.k, "recoding": rules}
        same = next((entry for entry in found if {**entry, "files": None} == {**shown, "files": None}), None)
        if same is None:
            found.append({**shown, "files": [table.file]})
        else:
            same["files"].append(table.file)
    return found


MOST_VIEWS = 300
"""Views that the page lists; all are in views.json."""


def _views(
    views: ViewsEntry | None, tables: Sequence[TableEntry], samples: Sequence[SampleEntry]
) -> list[dict[str, str]]:
    """A line for each view."""
    if views is None:
        return []
    return [
        {
            "columns": " × ".join(table.columns),
            "k": str(table.k),
            "beta": short(exact(samples[table.sample].beta), cost=False),
            "file": table.file,
        }
        for table in tables[:MOST_VIEWS]
    ]


def _about_views(views: ViewsEntry | None) -> str:
    if views is None:
        return ""
    shown = min(views.count, MOST_VIEWS)
    more = "" if shown == views.count else f" The first {shown} are listed here."
    return (
        f"{count_words(views.count, 'view')}, each a table of its own from a sample of its own, sorted by its own values. "
        f"views.json lists all of them with their weights; what a label stands for is in recoding/.{more}"
    )


def ledger_words(ledger: LedgerEntry) -> str:
    """What else had been charged when a release was made, and who looked at the table before."""
    others = len(ledger.entries) - 1
    first = (
        "No other release of this dataset had been charged when this one was made."
        if others == 0
        else f"{count_words(others, 'earlier charge')} of this dataset {'was' if others == 1 else 'were'} in the custodian's "
        "ledger when this release was made."
    )
    said = f"{first} A charge stands even if nothing came of it. Later ones are in later certificates."
    return f"{said}{_about_looks(ledger.looks)}"


def _about_looks(looks: Sequence[LookEntry] | None) -> str:
    """What is on record of looks at the real table; nothing of a release from before there was such a record."""
    return "" if looks is None else f" {look_words([LookCount(**each.to_json()) for each in looks])}"


def charge_lines(entries: Sequence[ChargeEntry]) -> list[tuple[str, str, str, bool]]:
    """One line for each charge; the earliest of very many are added up."""
    shown = [
        (f"charge {entry.number}", _cost(entry.epsilon), _cost(entry.delta), False)
        for entry in entries[-MOST_ENTRIES:-1]
    ]
    last = entries[-1]
    shown.append((f"charge {last.number}: this release", _cost(last.epsilon), _cost(last.delta), True))
    early = entries[:-MOST_ENTRIES]
    if early:
        epsilon = _cost(exact_text(sum((exact(entry.epsilon) for entry in early), start=exact(0))))
        delta = _cost(exact_text(sum((exact(entry.delta) for entry in early), start=exact(0))))
        shown.insert(0, (f"charges {early[0].number} to {early[-1].number}, added up", epsilon, delta, False))
    return shown


def charge_totals(ledger: LedgerEntry) -> list[Fact]:
    """What all charges of a dataset add up to, and the custodian's ceiling."""
    total, budget, composed = ledger.total, ledger.budget, ledger.epsilon_composed
    found = [("added up", f"({_cost(total.epsilon)}, {_cost(total.delta)})", "epsilons and deltas, one by one")]
    if composed is not None:
        note = (
            f"epsilon at delta {_cost(total.delta)}: a sharper total, which holds only if all charges were planned in advance; "
            "the budget is kept with the first"
        )
        found.append(("composed", certificate_text(exact(composed)), note))
    if budget is None:
        return [*found, ("budget", "none", "the custodian has set no ceiling for this dataset")]
    ceiling = f"({_cost(budget.epsilon)}, {_cost(budget.delta)})"
    return [*found, ("budget", ceiling, "the custodian's ceiling for all charges added up")]


# --- noisy counts ---------------------------------------------------------------------------------------------------


def _noisy_counts_fields(certificate: NoisyCountsCertificate) -> dict[str, Any]:
    unit = certificate.guarantee.unit.unit()
    return {
        "warned": _warnings(certificate.ledger.unbounded_releases),
        "parameters": _noise_facts(certificate, unit),
        "about_counts": _about_counts(certificate),
        "counts": [
            {
                "columns": " × ".join(table.columns),
                "cells": f"{table.cells:,}",
                "half_width": f"± {table.half_width:,}",
                "sigma": table.sigma,
                "file": table.file,
            }
            for table in certificate.counts[:MOST_VIEWS]
        ],
        "rules": _rules(certificate)[:MOST_VIEWS],
        "samples": [_sample(sample, unit) for sample in certificate.samples],
        "tables": [] if certificate.views else _tables(certificate.tables),
        "views": _views(certificate.views, certificate.tables, certificate.samples),
        "about_views": _about_views(certificate.views),
        "about_synthetic": _about_synthetic(certificate),
        "about_ledger": ledger_words(certificate.ledger),
        "entries": charge_lines(certificate.ledger.entries),
        "totals": charge_totals(certificate.ledger),
        "footer": f"This page says what certificate.json (format {certificate.format}) says. Costs are rounded up, so no number "
        "here is better than the true one. Everything on this page that was computed from the data is covered by the promise.",
    }


def _noise_facts(certificate: NoisyCountsCertificate, unit: Unit) -> list[Fact]:
    promised, noise, randomness = certificate.guarantee, certificate.noise, certificate.claims[0].randomness
    facts = [
        (
            "epsilon",
            _cost(promised.epsilon),
            f"the factor in the promise above is e to this power, {growth(exact(promised.epsilon))}",
        ),
        ("delta", _cost(promised.delta), "added to a probability after that factor"),
        (
            "composed",
            text_up(exact(certificate.epsilon_composed)),
            "epsilon of everything together at this delta",
        ),
        ("unit of privacy", unit.words(), NEIGHBOURS[promised.neighbours]),
    ]
    if noise.single_sigma is not None:
        about = f"the noise of the {count_words(noise.singles, 'table')} of one attribute each"
        facts.append(("sigma, one attribute", noise.single_sigma, about))
    if noise.first is not None:
        about = f"the noise of the {count_words(noise.first[0], 'table')} that the plan names"
        facts.append(("sigma, named tables", noise.first[1], about))
    published = len(certificate.counts) - noise.named
    for number, sigma in noise.tables:
        if number == published or len(noise.tables) == 1:
            facts.append(
                ("sigma", sigma, f"the noise of the {'other ' * bool(noise.named)}{count_words(number, 'table')}")
            )
    if noise.score_sigma is not None:
        about = f"the noise of the scores of {count_words(noise.candidates, 'candidate')}, by which tables were chosen"
        facts.append(("sigma, scores", noise.score_sigma, about))
    if noise.choice_epsilon is not None:
        about = f"of each choice among {count_words(noise.candidates, 'candidate')} by the exponential mechanism"
        facts.append(("epsilon of a choice", noise.choice_epsilon, about))
    if exact(certificate.epsilon_recoding):
        facts.append(("epsilon of the recoding of rows", _cost(certificate.epsilon_recoding), ""))
    return [*facts, ("randomness", randomness, RANDOMNESS.get(randomness, ""))]


def _about_counts(certificate: NoisyCountsCertificate) -> str:
    many, cells = len(certificate.counts), sum(table.cells for table in certificate.counts)
    more = "" if many <= MOST_VIEWS else f" The first {MOST_VIEWS} are listed here."
    return (
        f"{count_words(many, 'table')} of noisy counts, {count_words(cells, 'cell')} in all, none left out. Beside each count "
        "stand the ends of an interval, low and high, that holds the true count in at least 95 of 100 cases, for one count by "
        f"itself. counts.json lists all tables; what a label stands for is in recoding/.{more}"
    )


def _rules(certificate: NoisyCountsCertificate) -> list[tuple[str, str, str]]:
    """Each attribute with its files of rules, and in which tables each is the one that holds."""
    found: dict[tuple[str, str], set[bool]] = {}
    for table in certificate.counts:
        for column, rule in table.recoding.items():
            found.setdefault((column, rule), set()).add(len(table.columns) > 1)
    alone, together = "its cells, in its own table", "its bins, in tables of several attributes"
    both = {column for column, _ in found if sum(own == column for own, _ in found) > 1}
    return [
        (column, rule, "" if column not in both else together if True in wide else alone)
        for (column, rule), wide in sorted(found.items())
    ]


def _about_synthetic(certificate: NoisyCountsCertificate) -> str:
    found = certificate.synthetic
    if found is None:
        return ""
    many = "a number that the policy declares" if found.declared else "a number that the noisy counts say"
    ruled_out = "the combination" if found.rules == 1 else f"any of the {found.rules:,} combinations"
    kept = f" None of them has {ruled_out} of values that the policy rules out." if found.rules else ""
    return (
        f"{count_words(found.rows, 'synthetic row')}, {many}. They are rows of nobody: drawn from a model of the noisy counts "
        f"above, without another look at the original.{kept}"
    )


# --- noisy centroids ------------------------------------------------------------------------------------------------

GROUPING_FACTS = {
    "insensitive": "records in clusters of k, in orders that were fixed in advance, so that one record replaced changes each "
    "cluster by at most one record",
    "ranking": "the values of each attribute by themselves, in their order, in clusters of k",
}
CALIBRATION_FACTS = {
    "whole": "the noise hides what one record changes in all clusters together",
    "per_record": "the noise hides what one record changes in one cluster; all clusters together cost as many times as much, and "
    "that is what is promised and charged",
}
SUM_NOISE = {
    "laplace": "Laplace noise on sums, in whole steps",
    "optimal": "for each attribute, noise on all sums at once, of the least expected size that this epsilon allows for a change "
    "of every sum",
    "gaussian": "Gaussian noise on sums, in whole steps",
}


def _centroids_fields(certificate: CentroidsCertificate) -> dict[str, Any]:
    clusters = certificate.clusters
    joined = (
        f" The {len(certificate.tables):,} tables were sorted one by one: the first row of one has nothing to do with the first "
        "row of another."
        if len(certificate.tables) > 1
        else ""
    )
    return {
        "warned": _warnings(certificate.ledger.unbounded_releases),
        "parameters": _centroid_facts(certificate),
        "about_tables": f"Every record shows the noisy centroid of its cluster: {count_words(clusters.clusters, 'centroid')} in "
        f"{clusters.rows:,} rows, sorted by their own values, so that no row is anybody's.{joined}",
        "files": [(table.file, ", ".join(table.columns)) for table in certificate.tables],
        "attributes": [
            {
                "name": own.name,
                "shows": next(table.shows[own.name] for table in certificate.tables if own.name in table.columns),
                "noise": _noise_words(own),
                "half_width": "–" if own.half_width is None else f"± {_percent(own.half_width)}",
            }
            for own in certificate.attributes
        ],
        "about_ledger": ledger_words(certificate.ledger),
        "entries": charge_lines(certificate.ledger.entries),
        "totals": charge_totals(certificate.ledger),
        "footer": f"This page says what certificate.json (format {certificate.format}) says. Costs are rounded up, so no number "
        "here is better than the true one. Everything on this page that was computed from the data is covered by the promise.",
    }


def _centroid_facts(certificate: CentroidsCertificate) -> list[Fact]:
    promised, clusters = certificate.guarantee, certificate.clusters
    unit, randomness = promised.unit.unit(), certificate.claims[0].randomness
    facts: list[Fact] = [
        (
            "epsilon",
            _cost(promised.epsilon),
            f"the factor in the promise above is e to this power, {growth(exact(promised.epsilon))}",
        ),
        (
            "delta",
            _cost(promised.delta),
            "nothing is added: a pure epsilon"
            if promised.kind == "pure-dp"
            else "added to a probability after that factor",
        ),
        ("composed", text_up(exact(certificate.epsilon_composed)), "epsilon of everything together at this delta"),
        ("unit of privacy", unit.words(), NEIGHBOURS[promised.neighbours]),
        ("rows", f"{clusters.rows:,}", "the public number of records: it is not hidden"),
        (
            "k",
            f"{clusters.k:,}",
            "found from the promise, the number of rows and the declared domains alone"
            if clusters.k_found
            else "records of each cluster but the last, as the policy says",
        ),
        ("clusters", f"{clusters.clusters:,}", f"the last has {clusters.last_size:,} records"),
        ("grouping", clusters.grouping, GROUPING_FACTS[clusters.grouping]),
    ]
    if clusters.grouping == "insensitive":
        turns = "a single order" if clusters.corners == 1 else "corners of the declared domain that take turns"
        facts.append(("corners", f"{clusters.corners:,}", turns))
    facts.append(("calibration", clusters.calibration, CALIBRATION_FACTS[clusters.calibration]))
    if clusters.calibration == "per_record":
        facts.append(
            ("epsilon asked for", _cost(clusters.epsilon), "for one cluster and one attribute, as the policy says")
        )
    if any(own.kind == "numeric" for own in certificate.attributes):
        facts.append(("noise", clusters.noise, SUM_NOISE[clusters.noise]))
    return [*facts, ("randomness", randomness, RANDOMNESS.get(randomness, ""))]


def _noise_words(own: CentroidNoiseEntry) -> str:
    """The noise of one attribute, in the terms of its mechanism."""
    if own.choice_epsilon is not None:
        drawn = f"a concept out of {own.concepts:,} for each cluster, by the exponential mechanism"
        return f"{drawn} with epsilon {_cost(own.choice_epsilon)}"
    wide = f"the domain has {own.steps:,} steps of {own.step}"
    if own.scale is not None:
        return f"Laplace, scale {text_near(exact(own.scale))} steps; {wide}"
    if own.sigma is not None:
        return f"Gaussian, sigma {text_near(exact(own.sigma))} steps; {wide}"
    return f"optimal, epsilon {_cost(own.epsilon or '0')}, each number drawn for a change of {own.side or 0:,} steps; {wide}"


def _percent(share: str) -> str:
    """A share in percent, rounded up to three digits."""
    return f"{text_up(100 * exact(share), 3)} %"


# --- rows spread inside boxes ---------------------------------------------------------------------------------------------


def _boxes_fields(certificate: BoxesCertificate) -> dict[str, Any]:
    table = certificate.tables[0]
    unit = certificate.guarantee.unit.unit()
    times = f", and counts {unit.steps:,} times for {unit.rows}" if unit.steps > 1 else ""
    return {
        "warned": _warnings(certificate.ledger.unbounded_releases),
        "parameters": _box_facts(certificate),
        "about_spending": f"Each step is for one row added or removed{times}. A row is in one box, so however many boxes there "
        "are, their means are paid once.",
        "spending": _box_spending(certificate),
        "about_table": f"{table.file} has {count_words(table.rows, 'row')}, which is a noisy number. Boxes have rows in "
        "proportion to their noisy counts, spread inside them as evenly as their noisy means allow; boxes whose count does not "
        "stand out of the noise have none, unless that is true of all: then the largest have rows. No row is anybody's.",
        "attributes": [
            {
                "name": own.name,
                "shows": table.shows[own.name],
                "points": f"{own.points:,}",
                "step": "–" if own.step is None else own.step,
            }
            for own in certificate.attributes
        ],
        "about_ledger": ledger_words(certificate.ledger),
        "entries": charge_lines(certificate.ledger.entries),
        "totals": charge_totals(certificate.ledger),
        "footer": f"This page says what certificate.json (format {certificate.format}) says. Costs are rounded up, so no number "
        "here is better than the true one. Everything on this page that was computed from the data is covered by the promise.",
    }


def _box_facts(certificate: BoxesCertificate) -> list[Fact]:
    promised, means = certificate.guarantee, certificate.boxes.means
    unit, randomness = promised.unit.unit(), certificate.claims[0].randomness
    return [
        (
            "epsilon",
            _cost(promised.epsilon),
            f"the factor in the promise above is e to this power, {growth(exact(promised.epsilon))}",
        ),
        ("delta", "0", "a pure epsilon: nothing is added"),
        ("added up", text_up(exact(certificate.epsilon_composed)), "epsilon of all steps together"),
        ("unit of privacy", unit.words(), NEIGHBOURS[promised.neighbours]),
        (
            "noise of a count",
            f"± {short(exact(means.half_width), cost=True)}",
            "records of one box, in 95 of 100 cases; its means move by about as many half-lengths of the box, over its count",
        ),
        ("number of rows", "noisy", "how many records there are is covered by the promise"),
        ("randomness", randomness, RANDOMNESS.get(randomness, "")),
    ]


def _box_spending(certificate: BoxesCertificate) -> list[dict[str, str]]:
    """What each step costs for one row, and with how much noise."""
    boxes = certificate.boxes
    found = []
    if boxes.values is not None:
        scale = short(1 / exact(boxes.values.epsilon), cost=False)
        found.append(
            {
                "step": f"a histogram of the values of each of: {', '.join(boxes.values.attributes)}",
                "epsilon": _cost(exact_text(len(boxes.values.attributes) * exact(boxes.values.epsilon))),
                "noise": f"two-sided geometric, scale {scale}, on the count of every declared value",
            }
        )
    tree, means = boxes.tree, boxes.means
    found.append(
        {
            "step": "halving boxes where records are",
            "epsilon": _cost(tree.epsilon),
            "noise": f"two-sided geometric, scale {short(exact(tree.scale), cost=False)}, on the count of a box, less "
            f"{tree.threshold:,} records and {tree.bias:,} more for each division before it",
        }
    )
    found.append(
        {
            "step": f"the {means.numbers:,} numbers of each box: its count, and a sum for each attribute",
            "epsilon": _cost(means.epsilon),
            "noise": "one draw of the least expected size for numbers that all move by up to one record, in steps of "
            f"1/{means.side:,}",
        }
    )
    return found


# --- a release whose guarantee is counted --------------------------------------------------------------------------


def _counted_fields(certificate: CountedCertificate) -> dict[str, Any]:
    return {
        "warned": _counted_warnings(certificate.ledger.unbounded_releases),
        "parameters": _counted_parameters(certificate),
        "table": certificate.tables[0],
        "about_ledger": uncharged_ledger_words(certificate.ledger),
        "about_verify": _about_counted_verify(certificate),
        "footer": f"This page says what certificate.json (format {certificate.format}) says.",
    }


def _counted_parameters(certificate: CountedCertificate) -> list[Fact]:
    from shoal.publish.plan.counted import CLUSTERING_WORDS  # a page of another kind needs no engine

    promised, grouping = certificate.guarantee, certificate.grouping
    unit, each = promised.unit.unit(), grouping.k_by_attribute
    gain = f", gain {grouping.gain}" if grouping.gain is not None else ""
    facts = [("k", str(promised.k), "no group is smaller")]
    if len(set(each.values())) > 1:
        facts += [(f"k of {name}", str(k), "its own groups") for name, k in each.items()]
    if promised.l is not None:
        facts.append(("l", str(promised.l), "different values of each confidential attribute in every group"))
    if promised.t is not None:
        facts.append(("t", promised.t, "the earth mover's distance of a group from the table, at most"))
    return [
        *facts,
        ("grouping", f"{grouping.name}{gain}", CLUSTERING_WORDS[grouping.name]),
        ("who is counted", "a row" if unit.column is None else f"one row of each {unit.name}", ""),
        ("epsilon", "none", "no differential privacy is promised"),
    ]


def _counted_warnings(unbounded: int) -> list[str]:
    if not unbounded:
        return []
    many = f"{count_words(unbounded, 'earlier release')} of this dataset {'carries' if unbounded == 1 else 'carry'}"
    together = "Together with this one they may show more than each of them promises to hide."
    return [f"{many} a guarantee that does not add up, by whatever method. {together}"]


def uncharged_ledger_words(ledger: CountedLedgerEntry) -> str:
    """The same for a release that has no price."""
    first = "The custodian's ledger notes this release as unbounded: no epsilon says what it gives away together with others."
    if not ledger.charges:
        return f"{first} Nothing had been charged for this dataset when it was made.{_about_looks(ledger.looks)}"
    return (
        f"{first} When it was made, {count_words(ledger.charges, 'charge')} had been made for this dataset, "
        f"({ledger.epsilon}, {ledger.delta}) in all; those keep their promise, and this one is not covered by it."
        f"{_about_looks(ledger.looks)}"
    )


# --- a plain sample -------------------------------------------------------------------------------------------------

ABOUT_BOUND = {
    "tight": "the rate comes from exact binomial tails of the number of sampled rows of each value",
    "published": "the rate is that of Theorems 3 and 7 of Chaudhuri and Mishra (2006), with a condition that they lack",
}
ABOUT_RARE = {
    "keep": "they stayed in the table, and held the rate down",
    "refuse": "there were none, else nothing would have been published",
    "drop": "their rows, if there were any, were left out before the sample was drawn",
    "generalize": "attributes took coarser levels, one after the other, until no value was rare",
    "replace": "their rows, if there were any, took the values of other rows, drawn at random, before the sample was drawn",
}


def _sample_fields(certificate: SampleCertificate) -> dict[str, Any]:
    promised, sample, randomness = certificate.guarantee, certificate.samples[0], certificate.claims[0].randomness
    unit = promised.unit.unit()
    factor = exact(promised.epsilon) + 1
    found = "declared by the policy" if sample.declared else "found on the table, and rounded down to two digits"
    table = certificate.tables[0]
    return {
        "warned": _counted_warnings(certificate.ledger.unbounded_releases),
        "parameters": [
            ("epsilon", promised.epsilon, f"the sample gets at most {text_up(factor)} times as likely by other values"),
            ("delta", promised.delta, "the probability that this fails, over the draw, for all rows together"),
            ("c", str(promised.c), "rows that may take other values together"),
            ("unit of privacy", unit.words(), NEIGHBOURS["replace_one"]),
            ("rate", short(exact(sample.beta), cost=False), f"the probability with which each row was kept: {found}"),
            ("bound", certificate.bound, ABOUT_BOUND[certificate.bound]),
            ("rare", sample.rare, f"values with fewer than {sample.rare_below:,} rows: {ABOUT_RARE[sample.rare]}"),
            ("differential privacy", "none", "no epsilon of it is promised or charged"),
            ("randomness", randomness, RANDOMNESS.get(randomness, "")),
        ],
        "file": table.file,
        "recoding": [(column, table.recoding[column]) for column in table.columns],
        "about_ledger": uncharged_ledger_words(certificate.ledger),
        "about_verify": "Both recompute every hash and the seal, compare the certificate with the locked plan, and look at every "
        "label and the order of the rows; they check that the rate is written with two digits or is the declared one, and that "
        "it is not above what any table allows. That it is safe for this table rests on the program: the table's counts are "
        "not published.",
        "footer": f"This page says what certificate.json (format {certificate.format}) says.",
    }


def _about_counted_verify(certificate: CountedCertificate) -> str:
    first = "Both recompute every hash and the seal, and compare the certificate with the locked plan"
    if certificate.method != "microaggregation":
        return f"{first}; the groups are not published, so nobody can count them."
    if certificate.tables[0].file.endswith(".csv"):
        return f"{first}, and count the groups of the published table."
    return f"{first}, and count the groups of the published table; the second needs pyarrow for that."


# --- groups whose confidential values are in a table of their own, or in buckets -------------------------------------


def _bucketized_fields(certificate: BucketizedCertificate) -> dict[str, Any]:
    return {
        "warned": _counted_warnings(certificate.ledger.unbounded_releases),
        "parameters": _bucketized_parameters(certificate),
        "tables": certificate.tables,
        "buckets": [(name, ", ".join(labels)) for name, labels in certificate.buckets.items()],
        "about_ledger": uncharged_ledger_words(certificate.ledger),
        "about_verify": _about_group_verify(certificate),
        "footer": f"This page says what certificate.json (format {certificate.format}) says.",
    }


def _bucketized_parameters(certificate: BucketizedCertificate) -> list[Fact]:
    from shoal.publish.plan.bucketized import FORM_WORDS, GROUPING_WORDS  # a page of another kind needs no engine

    promised, grouping = certificate.guarantee, certificate.grouping
    unit = promised.unit.unit()
    facts = [("k", str(promised.k), "no group is smaller")]
    if promised.l is not None:
        facts.append(("l", str(promised.l), f"no confidential value makes up more than 1/{promised.l} of a group"))
    if promised.t is not None:
        facts.append(("t", promised.t, "the largest ratio between shares in a group and in the table, either way"))
    if certificate.achieved_t is not None:
        reached = text_up(exact(certificate.achieved_t))
        facts.append(("t, reached", reached, f"counted on the published tables, exactly {certificate.achieved_t}"))
    return [
        *facts,
        ("grouping", grouping.name, GROUPING_WORDS[grouping.name]),
        ("form", grouping.form, FORM_WORDS[grouping.form]),
        ("who is counted", "a row" if unit.column is None else f"one row of each {unit.name}", ""),
        ("epsilon", "none", "no differential privacy is promised"),
    ]


def _about_group_verify(certificate: BucketizedCertificate) -> str:
    first = "Both recompute every hash and the seal, and compare the certificate with the locked plan"
    if certificate.grouping.form == "permuted":
        return f"{first}; the groups are not published, so nobody can count them."
    more = "" if certificate.tables[0].file.endswith(".csv") else "; the second needs pyarrow for that"
    return f"{first}, and count every group on the two published tables{more}."


# --- k-anonymity by full-domain recoding -----------------------------------------------------------------------------


def _full_domain_fields(certificate: FullDomainCertificate) -> dict[str, Any]:
    (table,), closeness = certificate.tables, certificate.guarantee.closeness
    roles = {**dict.fromkeys(table.quasi, "quasi-identifier"), **dict.fromkeys(table.confidential, "confidential")}
    return {
        "warned": _counted_warnings(certificate.ledger.unbounded_releases),
        "parameters": _full_domain_parameters(certificate),
        "table": table,
        "columns": [
            (name, _level_words(table.levels[name]), table.recoding[name], roles.get(name, ""))
            for name in table.columns
        ],
        "heights": [(name, own.heights) for name, own in closeness.items() if own.heights],
        "about_ledger": uncharged_ledger_words(certificate.ledger),
        "about_verify": _about_full_domain_verify(certificate),
        "footer": f"This page says what certificate.json (format {certificate.format}) says.",
    }


def _level_words(levels: Sequence[int]) -> str:
    return f"level {levels[0]}" if len(levels) == 1 else f"levels {', '.join(map(str, levels))}"


def _full_domain_parameters(certificate: FullDomainCertificate) -> list[Fact]:
    from shoal.publish.plan.k_anonymity import DISTANCE_WORDS, LOSS_WORDS, search_words

    promised, search = certificate.guarantee, certificate.search
    unit = promised.unit.unit()
    facts: list[Fact] = [("k", str(promised.k), "no class of equal quasi-identifiers is smaller")]
    if promised.l is not None:
        facts.append(("l", str(promised.l), "different values of each confidential attribute in every class"))
    if promised.entropy_l is not None:
        facts.append(("entropy l", promised.entropy_l, "the entropy of every class is at least its logarithm"))
    if promised.recursive is not None:
        about = "the commonest value of a class is rarer than c times all from the l-th commonest on"
        facts.append(("recursive (c, l)", f"({promised.recursive.c}, {promised.recursive.l})", about))
    if promised.t is not None:
        facts.append(("t", promised.t, "the earth mover's distance of a class from the table, at most"))
        facts += [
            (f"distance of {name}", own.distance, DISTANCE_WORDS[own.distance])
            for name, own in promised.closeness.items()
        ]
    if promised.alpha is not None:
        facts.append(("alpha", promised.alpha, "the largest share of one value in a class"))
    if promised.beta is not None:
        about = "how much more frequent than in the table a value of a class may be, as a share of its frequency there"
        facts.append((f"{promised.beta.form} beta", promised.beta.beta, about))
    if promised.delta is not None:
        facts.append(
            ("delta", promised.delta, "|ln(p / q)| is smaller: p the share of a value in a class, q in the table")
        )
    if promised.k_map is not None:
        place = promised.k_map.file or f"a file with SHA-256 {promised.k_map.sha256}, which is not part of the release"
        facts.append(("k-map", str(promised.k_map.k), f"people of the population for every class, counted on {place}"))
    if search.loss is not None:
        facts.append(("loss", search.loss, LOSS_WORDS[search.loss]))
    local = (
        [("local", "true", "rows that the levels leave over may show coarser labels of their own")]
        if search.local
        else []
    )
    return [
        *facts,
        ("search", search.kind, search_words(search.kind, search.local)),
        *local,
        ("suppression", search.suppression, "the largest share of rows that could be left out"),
        ("who is counted", "a row" if unit.column is None else f"one row of each {unit.name}", ""),
        ("epsilon", "none", "no differential privacy is promised"),
    ]


def _about_full_domain_verify(certificate: FullDomainCertificate) -> str:
    first = "Both recompute every hash and the seal, compare the certificate with the locked plan, and count every class of the"
    also = "" if certificate.tables[0].file.endswith(".csv") else "; the second needs pyarrow for that"
    k_map = certificate.guarantee.k_map
    unseen = (
        " Nobody can count k-map here: its population file is not part of the release."
        if k_map and not k_map.file
        else ""
    )
    return f"{first} published table{also}.{unseen}"
