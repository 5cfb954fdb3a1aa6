"""The custodian's report on clusters of near records as a page, from the report's plain values."""

from __future__ import annotations

from datetime import date, timedelta
from math import ceil, floor
from typing import Any

from shoal.page.html import page
from shoal.page.svg import draw_histograms, draw_records
from shoal.publish.certificate.page import Fact, count_words

SHOWS = {
    "faces": "Everybody in a cluster shows the same quasi-identifiers. All other published columns are as they were.",
    "together": "Inside a cluster the quasi-identifiers changed places at random, all together. Every column keeps its values; "
    "what is blurred is whose they are.",
    "alone": "Each confidential attribute changed places by itself, inside clusters of like rank. Every column keeps its values; "
    "what is blurred is whose they are. The other columns, quasi-identifiers among them, are as they were.",
}
ABOUT_LINKAGE = {
    "faces": "An intruder who holds the quasi-identifiers of everybody looks for the nearest original of each published record. "
    "Clusters of k should let them find no more than one in k.",
    "together": "An intruder who holds the quasi-identifiers of everybody looks for the nearest original of each published "
    "record, and takes the rest of that record for this person's. Clusters of k let them be right about once in k.",
    "alone": "An intruder who holds the true values of the attributes that changed places looks for the nearest original of each "
    "published record. This is no limit of the method: k holds for each attribute by itself, against somebody who does not "
    "know it, and the quasi-identifiers stand in the table as they are.",
}
ABOUT_MEASURES = (
    (
        "SSE: the sum over all records of the squared difference between what was there and what is shown, in the column's own "
        "units; ordered values count by rank, names by their taxonomy (0 or 1 without one). SST: the same, had everybody shown "
        "one value, the mean or the best name."
    ),
    (
        "Loss: 100·SSE/SST, the share of the variance that is gone. In all: the average over the columns that vary. Values "
        "exchanged among strangers would lose about 200\u00a0%, since a stranger's value is twice as far off as the mean."
    ),
    (
        "A missing number beside one that is there counts as one standard deviation, a missing name as 1; where a cluster shows "
        "an interval, its middle is compared."
    ),
    "Own: records that show the value they had, by chance or because their neighbours have the same.",
    "Correlations are Pearson's, over the records in which both numbers are there; names have none.",
    (
        "Linkage: for each published record the nearest originals by Euclidean distance, each column in its standard "
        "deviations; the match succeeds with one over their number if its own original is among them."
    ),
    (
        "l: the fewest different values of the attribute in a cluster. t: the farthest that a cluster's values lie from the "
        "whole table's, by the earth mover's distance: along the order where there is one, else with any two values 1 apart."
    ),
)


def counted_page(report: dict[str, Any]) -> str:
    """The custodian's report as a page of HTML without scripts, from its plain values."""
    mark, kind = report["for_the_holder_only"], report["kind"]
    attributes = {one["name"]: one for one in report["loss"]["attributes"]}
    return page(
        "counted_report",
        {
            "title": f"For the custodian only: report on {report['dataset']}",
            "mark": mark,
            "dataset": report["dataset"],
            "lead": f"Released on {report['date']}, method {report['method']}; the seal of the certificate begins "
            f"{report['certificate'][:12]}.",
            "sentence": report["sentence"],
            "cautions": report["cautions"],
            "notes": report["notes"],
            "rows": _rows(report["rows"]),
            "about_groups": SHOWS[kind],
            "groups": [_groups(own, report["faces"]) for own in report["groups"]],
            "about_loss": _about_loss(report),
            "attributes": [_attribute(one) for one in attributes.values()],
            "moments": [moments_line(one) for one in attributes.values() if one["mean_before"] is not None],
            "columns": [drawn_column(column, attributes[column["name"]], kind) for column in report["columns"]],
            "as_they_are": report["as_they_are"],
            "about_correlations": correlation_words(report["correlations"]),
            "correlations": [correlation_line(pair) for pair in (report["correlations"] or {"listed": []})["listed"]],
            "about_linkage": ABOUT_LINKAGE[kind],
            "linkage": _linkage(report["linkage"]),
            "about_disclosure": _about_disclosure(report),
            "disclosure": [_disclosure_line(one) for one in report["disclosure"]],
            "not_promised": report["not_promised"],
            "methods": ABOUT_MEASURES,
            "footer": mark,
        },
    )


def _rows(rows: dict[str, Any]) -> list[Fact]:
    found: list[Fact] = [("in the original", f"{rows['in']:,}", "")]
    if rows["taking_part"] != rows["in"]:
        found.append(("taking part", f"{rows['taking_part']:,}", "one row of each unit, chosen at random"))
    return [
        *found,
        ("published", f"{rows['published']:,}", "in the order of their own values, so rows cannot be told by place"),
    ]


def _groups(own: dict[str, Any], combinations: int | None) -> dict[str, Any]:
    rows = sum(part["rows"] for part in own["histogram"])
    most = max(max(part["groups"] / own["count"], part["rows"] / rows) for part in own["histogram"])
    words = f"{count_words(own['count'], 'cluster')}, k = {own['k']}; the smallest has {own['smallest']:,} records, the largest "
    words += f"{own['largest']:,}, and {own['mean']:g} on average."
    if own["smallest"] == own["largest"]:
        words = f"{count_words(own['count'], 'cluster')} of {own['largest']:,} records each, k = {own['k']}."
    if combinations is not None and combinations < own["count"]:
        words += f" Some show the same: the table has {combinations:,} different combinations."
    return {
        "name": own["of"],
        "words": words,
        "bins": [
            {
                "label": f"{part['from']:,}" if part["from"] == part["to"] else f"{part['from']:,} to {part['to']:,}",
                "before": _width(part["groups"] / own["count"], most),
                "after": _width(part["rows"] / rows, most),
                "groups": f"{part['groups']:,}",
                "rows": f"{part['rows']:,}",
            }
            for part in own["histogram"]
        ],
    }


def _about_loss(report: dict[str, Any]) -> str:
    whole = report["loss"]["loss"]
    if whole is None:
        return "No column varies, so nothing could be lost."
    meaning = {
        "faces": "0 is the original itself, 100 one value for everybody.",
        "together": "Each record is compared with what stands beside its own confidential values now.",
        "alone": "Each record is compared with what stands beside its own quasi-identifiers now.",
    }[report["kind"]]
    return (
        f"Information loss {number_words(whole)}\u00a0% of the variance, on average over the treated columns. {meaning}"
    )


def _attribute(one: dict[str, Any]) -> dict[str, str]:
    return {
        "name": one["name"],
        "shows": one["shows"],
        "loss": "–" if one["loss"] is None else f"{number_words(one['loss'])}\u00a0%",
        "sse": number_words(one["sse"]),
        "own": _share(one["own_share"]),
    }


def moments_line(one: dict[str, Any]) -> dict[str, str]:
    """Mean and variance of a column before and after, as a line of a table."""
    moment = _moment(one["type"])
    return {
        "name": one["name"],
        "mean_before": moment(one["mean_before"]),
        "mean_after": moment(one["mean_after"]),
        "variance_before": number_words(one["variance_before"]),
        "variance_after": number_words(one["variance_after"]),
        "ratio": "–" if one["variance_ratio"] is None else f"{one['variance_ratio']:.3f}",
    }


def _moment(kind: str) -> Any:
    """How a mean of this type is written; dates count in days since 1970."""
    return _day if kind in ("date", "datetime") else number_words


def _day(value: float | None) -> str:
    if value is None:
        return "–"
    try:
        return (date(1970, 1, 1) + timedelta(days=value)).isoformat()
    except OverflowError:
        return number_words(value)


def drawn_column(column: dict[str, Any], one: dict[str, Any], kind: str) -> dict[str, Any]:
    """The picture of a column before and after: two histograms and some records, or bars of its labels."""
    name, found = column["name"], {"name": column["name"], "pictures": [], "caption": "", "bars": []}
    if column["kind"] == "bars":
        labels = [*column["labels"], *([column["rest"]] if column["rest"] else [])]
        most = max((max(entry["share"], entry["published_share"]) for entry in labels), default=1.0)
        return {**found, "bars": [_bar(entry, most) for entry in labels]}
    if not column["edges"]:
        return {**found, "caption": "Every value is missing."}
    moment = _moment(one["type"])
    low, high = column["edges"][0], column["edges"][-1]
    ends = moment(low), moment(high)
    spread = f"Histograms of {name}, before and after"
    pictures = [draw_histograms(column["before"], column["after"], ends, name, spread)]
    if column["records"]:
        width = (high - low) or 1.0  # very large whole numbers may lie in one float
        places = [((a - low) / width, (b - low) / width) for a, b in column["records"]]
        pictures.append(draw_records(places, ends, name, f"{name}: what {len(places)} records had, and what they show"))
    caption = f"{'Left: grey' if column['records'] else 'Grey'} before, blue after."
    if kind != "faces":
        caption = "Left: before and after are the same, because values only changed places."
    if column["records"]:
        caption += f" Right: {len(column['records'])} records; on the line a record shows what it had."
    if column["cut"]:
        caption += (
            " The range is that of the middle 98\u00a0% of the original; what lies beyond is counted at the ends."
        )
    return {**found, "pictures": pictures, "caption": caption}


def _bar(entry: dict[str, Any], most: float) -> dict[str, Any]:
    rest = entry["label"] is None
    return {
        "label": f"the other {entry['labels']:,} labels" if rest else entry["label"] or "(empty)",
        "rest": rest,
        "before_width": _width(entry["share"], most),
        "after_width": _width(entry["published_share"], most),
        "before": _share(entry["share"]),
        "after": _share(entry["published_share"]),
    }


def correlation_words(found: dict[str, Any] | None) -> str:
    """How far correlations moved, in sentences."""
    if found is None:
        return "There are no two columns of numbers to compare, one of them confidential; names have no correlation."
    if found["mean"] is None:
        return "No pair of columns has a correlation in both tables: one of them does not vary."
    pairs = count_words(found["pairs"], "pair")
    words = f"{pairs} of numbers, at least one of them confidential"
    if not found["confidential"] or set(found["confidential"]) == set(found["attributes"]):
        words = f"{pairs} of numbers"
    words += f": correlations moved by {_shift(found['mean'])} on average and {_shift(found['largest'])} at most."
    if found["pairs"] > len(found["listed"]):
        words += f" These are the {len(found['listed'])} that moved most."
    if found["undefined"]:
        words += f" {count_words(found['undefined'], 'pair')} more {'has' if found['undefined'] == 1 else 'have'} no correlation."
    return words


def _shift(size: float) -> str:
    return "0" if size == 0 else f"{size:.3f}" if size >= 0.0005 else "less than 0.001"


def correlation_line(pair: dict[str, Any]) -> dict[str, str]:
    """A correlation before and after, as a line of a table."""
    return {
        "first": pair["first"],
        "second": pair["second"],
        **{key: _correlation(pair[key], "") for key in ("before", "after")},
        "moved": _correlation(pair["moved"], "+"),
    }


def _correlation(value: float, sign: str) -> str:
    """Three decimals; a difference that is not nothing does not read 0."""
    if sign and 0 < abs(value) < 0.0005:
        return "< 0.001"
    return f"{round(value, 3) + 0.0:{sign}.3f}".replace("-", "\u2212") if round(value, 3) else "0"


def _linkage(found: dict[str, Any]) -> list[Fact]:
    guessing = ("guessing", _percent(found["guessing"]), f"one of {found['rows']:,} at random")
    bound = [("one in k", _percent(found["bound"]), "what a cluster of k allows")] if found["bound"] is not None else []
    held = ", ".join(found["attributes"])
    if found["rate"] is None:
        return [("matched", "not computed", f"{found['rows']:,} records are too many to compare"), *bound, guessing]
    if not found["exact"]:
        interval = (
            f"between {_outwards(found['low'], up=False)} and {_outwards(found['high'], up=True)} (95\u00a0%, Clopper and "
            "Pearson), from "
        )
        interval += f"{found['attempts']:,} records drawn at random"
        return [("matched, estimated", _percent(found["rate"]), interval), ("by", held, ""), *bound, guessing]
    return [
        ("matched", _percent(found["rate"]), f"by {held}"),
        ("for sure", f"{found['certain']:,}", "records whose own original alone is nearest"),
        *bound,
        guessing,
    ]


def _about_disclosure(report: dict[str, Any]) -> str:
    if not report["disclosure"]:
        return "The policy names no confidential attribute, so there is nothing to count here."
    asked = report["asked"]
    wanted = [f"l = {asked['l']}"] if asked["l"] else []
    wanted += [f"t = {asked['t']}"] if asked["t"] else []
    first = "A cluster that has one value of a confidential attribute gives it away for all its members."
    return f"{first} Asked for: {' and '.join(wanted)}." if wanted else f"{first} Neither l nor t was asked for."


def _disclosure_line(one: dict[str, Any]) -> dict[str, str]:
    groups, rows = one["homogeneous_groups"], one["homogeneous_rows"]
    return {
        "name": one["name"],
        "given": f"{groups:,}" if groups else "none",
        "rows": f"{rows:,}" if groups else "–",
        "l": f"{one['l']:,}",
        "t": f"{one['t']:.3f}",
        "largest": _share(one["largest_share"]),
    }


def _width(share: float, most: float) -> str:
    return f"{100 * share / most:.2f}" if most > 0 else "0"


def _share(value: float) -> str:
    """A share in percent; a small one that is not nothing does not read 0."""
    return _percent(100 * value)


def _percent(value: float) -> str:
    if 0 < value < 0.001:
        return "< 0.001\u00a0%"
    return f"{value:.0f}\u00a0%" if value in (0, 100) else f"{value:.3g}\u00a0%"


def _outwards(value: float, *, up: bool) -> str:
    """An end of an interval of percents, to a tenth, never inside of what it is."""
    return f"{(ceil if up else floor)(10 * value) / 10:g}\u00a0%"


def number_words(value: float | None) -> str:
    """Four digits, as people write them."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e9 or size < 1e-4:
        return f"{value:.3e}".replace("-", "\u2212")
    text = f"{value:,.0f}" if size >= 1000 else f"{value:.4g}"
    return text.replace("-", "\u2212")
