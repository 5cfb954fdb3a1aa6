"""The codebook of a release: every column, every label and what it stands for, as a table for programs and as a page.

codebook.csv has a line for each label and each value that it stands for, so that it can be joined to a table of the release by
`column` and `label`:

    column, title, type, role      the attribute, what it is in the custodian's words, its type and role in the plan
    label                          the text in the tables; empty where cells are values of a type, or missing ones
    code                           the short code of a set of values
    kind                           value, values, interval, set, every value or missing
    low, high, high_included       the ends of an interval; the lower one is always included
    value, value_label             one value that the label stands for, and what it means in the custodian's words
    rule                           the rule files in which the label means this, where its text means something else in others
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from shoal.assess.frame.column import EVERY, GONE, INTERVAL, SET, VALUE, PublishedColumn, PublishedLabel
from shoal.data.hierarchy.level import SUPPRESSED
from shoal.data.type import Type
from shoal.page.html import page
from shoal.publish.handbook.content import OF_VALUES, Handbook
from shoal.publish.handbook.treatments import readings

FIELDS = (
    "column", "title", "type", "role", "label", "code", "kind", "low", "high", "high_included", "value", "value_label",
    "rule",
)  # fmt: skip
MOST_MEMBERS = 200_000
"""Lines of one column beyond which sets are listed in their rule files alone."""
SHOWN_LABELS, SHOWN_MEMBERS = 200, 24
"""Labels of a column, and values of a label, that the page lists; all are in codebook.csv."""
FEWEST_PLAIN = 6
"""Numbers that stand for themselves, from which on the page has one line for all of them."""


def codebook_text(handbook: Handbook) -> str:
    """The text of codebook.csv."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(FIELDS)
    for column in handbook.columns:
        head = (column.name, column.title or "", column.type.value, column.role)
        writer.writerows([*head, *line] for line in _lines(handbook, column))
    return out.getvalue()


Line = tuple[str, str, str, str, str, str, str, str, str]


def _lines(handbook: Handbook, column: PublishedColumn) -> Iterator[Line]:
    """The lines of one column after what is said of the column itself."""
    if _shows_unlisted(handbook, column):
        low, high = column.ends or ("", "")
        yield "", "", "values", low, high, "true" if column.ends else "", "", "", ""
    members = sum(len(label.values) or len(label.spans) for label in column.labels if label.kind == SET)
    for label in column.labels:
        yield from _label_lines(column, label, listed=members <= MOST_MEMBERS)
    shown = {label.text for label in column.labels}
    for value in _shown_values(handbook, column):
        if value not in shown:
            yield value, "", VALUE, *("", "", ""), value, column.value_labels.get(value, ""), ""
    if _leaves_cells_empty(handbook, column):
        yield "", "", GONE, "", "", "", "", "", ""


def _label_lines(column: PublishedColumn, label: PublishedLabel, *, listed: bool) -> Iterator[Line]:
    head, ends, rule = (label.text, label.code or "", label.kind), _ends(column, label), " ".join(label.rules)
    if label.kind == SET and not listed:
        files = label.rules or [file for file in column.by_rule if label in column.labels_of(file)][:1]
        yield *head, *ends, "", "", " ".join(files)
    elif label.kind == SET and column.type.numeric:
        for span in label.spans:
            piece = PublishedLabel(label.text, INTERVAL, (span,))
            yield *head, *_ends(column, piece), "", "", rule
    elif label.kind in (SET, VALUE) and label.values:
        for value in label.values:
            yield *head, *ends, value, column.value_labels.get(value, ""), rule
    elif label.kind == VALUE:
        low = ends[0]
        yield *head, *ends, low, column.value_labels.get(low, ""), rule
    else:
        yield *head, *ends, "", "", rule
    if label.missing and label.kind == SET:
        yield *head, "", "", "", "", "(missing)", rule


def _ends(column: PublishedColumn, label: PublishedLabel) -> tuple[str, str, str]:
    found = column.end_texts(label)
    return ("", "", "") if found is None else (found[0], found[1], "true" if found[2] else "false")


def _shows_unlisted(handbook: Handbook, column: PublishedColumn) -> bool:
    """Whether some table shows values of the column that are not listed one by one: numbers, dates, times, texts."""
    if column.unlisted:
        return True
    unlisted = column.type.numeric or column.values is None
    return unlisted and any(_has_values(handbook, column, kind) for kind in OF_VALUES)


def _has_values(handbook: Handbook, column: PublishedColumn, kind: Any) -> bool:
    tables = [table for table in handbook.of_kind(kind) if column.name in table.columns]
    return any(handbook.shows_values(table, column.name) for table in tables)


def _shown_values(handbook: Handbook, column: PublishedColumn) -> tuple[str, ...]:
    """The declared values, where a table shows values as they are, and numbers that have a meaning of their own."""
    if column.type.numeric:
        return tuple(column.value_labels)
    shows = any(_has_values(handbook, column, kind) for kind in OF_VALUES)
    return (column.values or ()) if shows else ()


def _leaves_cells_empty(handbook: Handbook, column: PublishedColumn) -> bool:
    """Whether a missing value is an empty cell in some table."""
    if not column.may_be_missing:
        return False
    return bool(column.kept) or any(_has_values(handbook, column, kind) for kind in OF_VALUES)


# --- the page --------------------------------------------------------------------------------------------------------------


def codebook_page(handbook: Handbook) -> str:
    """The codebook as script-free HTML."""
    certificate = handbook.certificate
    return page(
        "codebook",
        {
            "title": f"Codebook: {certificate['dataset']}",
            "dataset": certificate["dataset"],
            "lead": f"Every column of the release of {certificate['date']}, and what its labels stand for.",
            "columns": [_shown_column(handbook, column) for column in handbook.columns],
            "counts": bool(handbook.of_kind("counts")),
            "footer": "This page was made from the certificate, the locked plan and the rules of the labels. codebook.csv has "
            "the same for programs; nothing in it was counted on the original table.",
        },
    )


def _shown_column(handbook: Handbook, column: PublishedColumn) -> dict[str, Any]:
    lines = shown_labels(column)
    values = [
        value for value in _shown_values(handbook, column) if value not in {label.text for label in column.labels}
    ]
    more = max(0, len(lines) - SHOWN_LABELS) + max(0, len(values) - max(0, SHOWN_LABELS - len(lines)))
    lines = lines[:SHOWN_LABELS]
    lines += [(value, "", column.value_labels.get(value, "")) for value in values[: SHOWN_LABELS - len(lines)]]
    return {
        "name": column.name,
        "about": column.title,
        "facts": _facts(handbook, column),
        "labels": lines,
        "coded": any(code for _, code, _ in lines),
        "more": more,
    }


def shown_labels(column: PublishedColumn) -> list[tuple[str, str, str]]:
    """The labels of a column as the page lists them: each with its code and its words, in the order of the column.

    Many numbers that stand for themselves have one line, the first: a page of 121 ages would hide the labels that need words.
    """
    lines = {label: shown_label(column, label) for label in column.labels if label.kind != GONE}
    plain = [
        label for label, (_, _, words) in lines.items() if column.type.numeric and label.kind == VALUE and not words
    ]
    if len(plain) < FEWEST_PLAIN:
        return list(lines.values())
    alone = set(plain)
    return [_plain_line(column, plain), *(line for label, line in lines.items() if label not in alone)]


def _plain_line(column: PublishedColumn, plain: Sequence[PublishedLabel]) -> tuple[str, str, str]:
    first, second, last = plain[0].text, plain[1].text, plain[-1].text
    lows = [low for label in plain for low, _ in label.spans if low is not None]
    every = column.type.discrete and all(after - before == 1 for before, after in pairwise(lows))
    return (
        (f"{first} to {last}" if every else f"{first}, {second}, …, {last}"),
        "",
        f"itself, each of these {len(plain):,}",
    )


def _facts(handbook: Handbook, column: PublishedColumn) -> list[tuple[str, str, str]]:
    files = [table.file for table in handbook.tables if column.name in table.columns]
    where = ", ".join(files[:6]) + (f" and {len(files) - 6:,} more" if len(files) > 6 else "")
    found = [
        ("type", column.type.value, _TYPES.get(column.type, "")),
        ("role", column.role, _ROLES.get(column.role, "")),
    ]
    if column.ends is not None:
        found.append(("declared values", f"from {column.ends[0]} to {column.ends[1]}", ""))
    elif column.pattern is not None:
        found.append(("declared values", f"texts that match {column.pattern}", ""))
    elif column.values is not None:
        found.append(("declared values", f"{len(column.values):,} values", ""))
    if column.may_be_missing:
        labelled = any(label.kind == GONE for label in column.labels)
        ways = ["(missing)"] * labelled + ["an empty cell"] * _leaves_cells_empty(handbook, column)
        found.append(("a missing value is", " or ".join(ways) or "part of a label", ""))
    else:
        found.append(("a missing value", "does not occur", ""))
    shows = [table.shows[column.name] for table in handbook.tables if column.name in table.shows]
    found += [("shows", _SHOWS.get(each, each), "") for each in shows]
    found += [("before the method", each, "") for each in readings(handbook, column.name)]
    return [*found, ("tables", where, "")]


def shown_label(column: PublishedColumn, label: PublishedLabel) -> tuple[str, str, str]:
    """A label, its code, and what it stands for in words; empty words where it stands for itself."""
    words = words_of(column, label)
    if not words and column.hides_letters(label.text):
        words = f"any letter in the place of each {SUPPRESSED}"
    return label.text, label.code or "", words


def words_of(column: PublishedColumn, label: PublishedLabel) -> str:
    """What a label stands for, in words."""
    also = " or a missing value" if label.missing else ""
    if label.kind == EVERY:
        return f"every value{also}"
    if label.kind == VALUE:
        value = label.values[0] if label.values else _ends(column, label)[0]
        meaning = column.value_labels.get(value, "")
        return meaning or ("" if value == label.text else value)
    if label.kind == INTERVAL:
        return _interval_words(column, label)
    masked = column.mask_words(label)
    if masked is not None:
        return f"{masked}{also}"
    if not label.values:
        pieces = [PublishedLabel(label.text, INTERVAL, (span,)) for span in label.spans]
        shown = [_interval_words(column, piece) for piece in pieces[:SHOWN_MEMBERS]]
    else:
        shown = [_named(column, value) for value in label.values[:SHOWN_MEMBERS]]
    left = (len(label.values) or len(label.spans)) - len(shown)
    return "; ".join(shown) + (f"; and {left:,} more" if left else "") + also


def _named(column: PublishedColumn, value: str) -> str:
    meaning = column.value_labels.get(value)
    return value if meaning is None else f"{value} ({meaning})"


def _interval_words(column: PublishedColumn, label: PublishedLabel) -> str:
    low, high, included = column.end_texts(label) or ("", "", False)
    if low and high:
        if low == high or (column.type is Type.INTEGER and int(low) + 1 == int(high)):
            return low
        return f"from {low} to {high}" if included else f"from {low} up to but not including {high}"
    return f"below {high}" if high else f"{low} or more" if low else "every value"


_TYPES = {
    Type.INTEGER: "whole numbers",
    Type.DECIMAL: "numbers",
    Type.CATEGORY: "values without an order",
    Type.ORDINAL: "values in an order",
    Type.DATE: "days",
    Type.DATETIME: "times without a zone",
}
_ROLES = {
    "quasi": "a quasi-identifier: others may know it of a person from elsewhere",
    "confidential": "what an intruder may want to learn of a person",
}
_SHOWS = {
    "as it is": "the value itself",
    "mean": "the mean of its group",
    "median": "the median of its group",
    "mode": "the most frequent value of its group",
    "interval": "the lowest and the highest value of its group, both included",
    "set": "the different values of its group",
    "concept": "a concept of the hierarchy that is nearest to its group",
    "ancestor": "the lowest concept of the hierarchy above its group",
    "noisy mean": "the mean of its cluster with noise, moved into the declared domain",
    "drawn concept": "a value or a concept of the hierarchy above values, drawn at random, likely one near to its cluster",
    "drawn value": "a value, drawn at random, likely one near to its cluster",
    "spread inside boxes": "a value of nobody, spread inside a box so that the box's mean is its noisy one",
    "drawn inside boxes": "a value of nobody, as often inside a box as its noisy numbers say",
    "bucket, in the table of groups": "the buckets of its group's records, and how many have each",
    "as it is, in the table of groups": "the values of its group's records, and how many have each",
    "bucket, permuted inside hidden groups": "the bucket of some record of its group",
    "as it is, permuted inside hidden groups": "the value of some record of its group",
}
