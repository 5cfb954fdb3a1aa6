"""datapackage.json: the tables of a release as a Frictionless Data Package, for programs that know nothing of Shoal.

It follows the Data Package standard, version 2, and has what version 1 asks for beside it. Cells of a labelled column are text;
`categories` lists its labels with what they stand for. What the standard has no word for is under the key `shoal`.
"""

from __future__ import annotations

import json
import re
from typing import Any

from shoal.assess.frame.column import GONE, PublishedColumn, PublishedLabel
from shoal.data.hierarchy.level import MISSING
from shoal.data.type import Type, point
from shoal.publish.handbook.codebook import FIELDS, words_of
from shoal.publish.handbook.content import (
    BOXES,
    CENTROIDS,
    COUNTS,
    GROUPS,
    LINKED,
    NUMBERS,
    RECODED,
    RECORDS,
    ROWS,
    SYNTHETIC,
    Handbook,
    HandbookTable,
)
from shoal.publish.handbook.treatments import readings

MOST_LISTED = 20_000
"""Labels of all columns of all tables beyond which they are in the codebook alone."""
PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
MEDIA = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
TYPES = {
    Type.INTEGER: "integer",
    Type.DECIMAL: "number",
    Type.BOOLEAN: "boolean",
    Type.DATE: "date",
    Type.DATETIME: "datetime",
}
"""The standard's words for types; every other cell is a string."""
TIMES = "%Y-%m-%d %H:%M:%S.%f"
"""How times are written."""
DIALECT = {"delimiter": ",", "lineTerminator": "\n", "quoteChar": '"', "doubleQuote": True, "header": True}
KINDS = {
    ROWS: "rows of a random sample, with labels in the place of values",
    COUNTS: "noisy counts, one for each combination of labels",
    SYNTHETIC: "synthetic rows, which are nobody's",
    RECORDS: "records, masked in groups",
    LINKED: "records, each with the number of its group",
    GROUPS: "what each group holds, one line for each combination, with how many of its records have it",
    RECODED: "records, with labels in the place of quasi-identifiers",
    CENTROIDS: "noisy averages of groups of records, which are nobody's in particular",
    BOXES: "rows of nobody, spread inside boxes with noisy counts and means",
}


def data_package_text(handbook: Handbook) -> str:
    """The text of datapackage.json."""
    certificate = handbook.certificate
    listed = (
        sum(len(handbook.by_name[name].labels) for table in handbook.tables for name in table.columns) <= MOST_LISTED
    )
    taken: set[str] = set()
    resources = [_resource(handbook, table, taken, listed=listed) for table in handbook.tables]
    content = {
        "$schema": PROFILE,
        "profile": "data-package",
        "name": _slug(certificate["dataset"], set()),
        "title": certificate["dataset"],
        "description": certificate["sentence"],
        "resources": [*resources, _codebook(taken)],
        "shoal": {
            "version": certificate["software"]["shoal"],
            "date": certificate["date"],
            "method": certificate["method"],
            "certificate": "certificate.json",
            "readme": "README.html",
            "labels": "in `categories`" if listed else "in codebook.csv alone: there are too many to list here",
        },
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _slug(text: str, taken: set[str]) -> str:
    """A name as the standard wants it: small letters, digits and signs that a path may hold; each once."""
    plain = re.sub(r"[^-a-z0-9._]+", "-", text.lower()).strip("-.") or "table"
    found, number = plain, 1
    while found in taken:
        number += 1
        found = f"{plain}-{number}"
    taken.add(found)
    return found


def _resource(handbook: Handbook, table: HandbookTable, taken: set[str], *, listed: bool) -> dict[str, Any]:
    fields = [_field(handbook, table, name, listed=listed) for name in table.columns]
    if table.kind == COUNTS:
        fields += [
            {"name": name, "type": "integer", "description": words}
            for name, words in zip(NUMBERS, _NUMBERS, strict=True)
        ]
    by_name = {field["name"]: field for field in fields}
    by_name |= {name: {"name": name, "type": "integer", "description": words} for name, words in table.added.items()}
    fields = [by_name[name] for name in dict.fromkeys((*table.header, *by_name))]
    own: dict[str, Any] = {"kind": table.kind, "name": table.name}
    own |= {"file": table.file} if table.parts else {}
    if table.beta is not None:
        own |= {"weight": table.weight, "beta": str(table.beta)}
        own |= {} if table.k is None else {"k": table.k}
    if table.kind == CENTROIDS:
        own |= {"k": table.k, "clusters": handbook.certificate["clusters"]["clusters"]}
    if table.kind == BOXES:
        own |= {"half_width": handbook.certificate["boxes"]["means"]["half_width"]}
    if table.sigma is not None:
        own |= {"sigma": table.sigma, "half_width": table.half_width}
    return {
        "name": _slug(table.name, taken),
        "path": list(table.parts) or table.file,
        "description": KINDS[table.kind],
        **_storage(table.form),
        "schema": {"fields": fields, "missingValues": _missing(handbook, table)},
        "shoal": own,
    }


_NUMBERS = (
    "the noisy number of records",
    "the lower end of an interval that holds the true number in at least 95 of 100 cases",
    "its upper end",
)


def _storage(form: str) -> dict[str, Any]:
    """How a file is stored; the standard's tabular resource is one of text."""
    if form != "csv":
        return {"profile": "data-resource", "format": form, "mediatype": MEDIA[form]}
    return {
        "profile": "tabular-data-resource",
        "format": form,
        "mediatype": MEDIA[form],
        "encoding": "utf-8",
        "dialect": DIALECT,
    }


def _missing(handbook: Handbook, table: HandbookTable) -> list[str]:
    """What stands for a missing value in the cells of a table."""
    labelled = table.kind == COUNTS or any(
        label.kind == GONE
        for name in table.columns
        for label in handbook.by_name[name].labels_of(*table.rules.get(name, ()))
    )
    return ["", *([MISSING] if labelled else [])]


def _field(handbook: Handbook, table: HandbookTable, name: str, *, listed: bool) -> dict[str, Any]:
    column, kind = handbook.by_name[name], handbook.cell_type(table, name)
    found: dict[str, Any] = {"name": name, "type": TYPES.get(kind, "string")}
    if kind is Type.DATETIME:
        found["format"] = TIMES
    if kind is Type.BOOLEAN:
        found |= {"trueValues": ["true"], "falseValues": ["false"]}
    if column.title:
        found["title"] = column.title
    if table.shows:
        found["description"] = f"shows: {table.shows[name]}"
    if table.kind == CENTROIDS:
        found["shoal"] = _noise_of(handbook, name)
    if treated := readings(handbook, name):
        before = f"before the method: {'; then '.join(treated)}"
        found["description"] = f"{found['description']}; {before}" if "description" in found else before
    limits: dict[str, Any] = {}
    if handbook.shows_values(table, name):
        limits |= _limits(column, kind)
        if not column.type.numeric and column.type is not Type.BOOLEAN and column.values is not None and listed:
            labels = [(value, column.value_labels.get(value, "")) for value in column.values]
            found |= _categories(labels, ordered=column.type is Type.ORDINAL)
            limits["enum"] = [value for value, _ in labels] if table.shows.get(name) != "concept" else []
    elif table.rules:
        rules = table.rules[name]
        has_list = column.unlisted.isdisjoint(rules)
        rule = rules[0] if len(rules) == 1 else list(rules)
        found["shoal"] = {"labels": column.type.value, "listed": has_list, "rule": rule}
    own = [] if handbook.shows_values(table, name) or not listed else _listed_labels(table, column)
    if own:
        found |= _categories([(label.text, words_of(column, label)) for label in own], ordered=False)
        limits["enum"] = [label.text for label in own]
    if limits.get("enum") == []:
        del limits["enum"]
    return {**found, "constraints": limits} if limits else found


def _noise_of(handbook: Handbook, name: str) -> dict[str, Any]:
    """How large the noise of a column is, as a share of the width of its domain in 95 of 100 cases; of a choice its epsilon."""
    own = next(each for each in handbook.certificate["attributes"] if each["name"] == name)
    if own["half_width"] is None:
        return {"choice_epsilon": own["choice_epsilon"], "concepts": own["concepts"]}
    return {"half_width": own["half_width"], "step": own["step"]}


def _listed_labels(table: HandbookTable, column: PublishedColumn) -> list[PublishedLabel]:
    """The labels of a column, where all of them are known: those of its rules, or the concepts that it may show."""
    rules = table.rules.get(column.name, ())
    if not rules or not column.unlisted.isdisjoint(rules):
        return list(column.labels) if table.kind == CENTROIDS else []
    return _distinct([label for label in column.labels_of(*rules) if label.kind != GONE])


def _distinct(labels: list[PublishedLabel]) -> list[PublishedLabel]:
    return list({label.text: label for label in labels}.values())


def _categories(labels: list[tuple[str, str]], *, ordered: bool) -> dict[str, Any]:
    """Labels with what they stand for, where there is something to say."""
    if not labels:
        return {}
    told: list[Any] = [text for text, _ in labels]
    if any(words for _, words in labels):
        told = [{"value": text, "label": words or text} for text, words in labels]
    return {"categories": told, **({"categoriesOrdered": True} if ordered else {})}


def _limits(column: PublishedColumn, kind: Type) -> dict[str, Any]:
    """The ends of the declared interval, as values of the field."""
    if column.ends is None or kind not in TYPES:
        return {}
    low, high = column.ends
    if kind is Type.INTEGER:
        return {"minimum": int(point(kind, low)), "maximum": int(point(kind, high))}
    if kind is Type.DECIMAL:
        return {"minimum": float(low), "maximum": float(high)}
    return {"minimum": low, "maximum": high} if kind is Type.DATE else {}


def _codebook(taken: set[str]) -> dict[str, Any]:
    """The codebook as a table of the package."""
    return {
        "name": _slug("codebook", taken),
        "path": "codebook.csv",
        "description": "what every label stands for, one line for each value of each label",
        **_storage("csv"),
        "schema": {"fields": [{"name": name, "type": "string"} for name in FIELDS], "missingValues": [""]},
    }
