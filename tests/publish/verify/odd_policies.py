"""Policies that nobody would write on purpose: every kind of domain, hierarchy and recoding, with awkward names and labels."""

from __future__ import annotations

import json
from random import Random
from typing import Any

AWKWARD = [
    "(missing)", "*", "(other)", "a,b", 'a"b', "a;b", "NA", "null", "None", "true", "1", "1.0", "001", "-", "[0, 10)",
    "a to b", "a or b", "=1+1", "@x", "+1", "é", "日本", "any", "< 5", ">= 7", "x" * 60, "x" * 260, "a\tb", ".", "..",
    "/", "CON", "'", "a b", "A", "a", "nan", "inf", "0", "00", "1e3", "#", "\\", "%s", "{}", "<b>", "`", "rest", "count",
    "row", "name", "table", "k", "group", "rowid", "shoal", "_", "__row__", "a\u00a0b", "ﬁ", "fi", "ı", "İ", "ß", "SS",
]  # fmt: skip
"""Names and values that look like something else."""


RESERVED = ("(missing)", "*")


def _some(rng: Random, count: int) -> list[str]:
    """Different awkward texts; labels that are kept for something else seldom, since they are refused."""
    allowed = AWKWARD if rng.random() < 0.1 else [text for text in AWKWARD if text not in RESERVED]
    return rng.sample(allowed, count)


def odd_policy(rng: Random, *, most_columns: int = 4, most_values: int = 12) -> str:
    """The text of a policy; many are refused, and those that are not should run."""
    names = rng.sample(AWKWARD, rng.randint(1, most_columns))
    attributes = {name: _attribute(rng, most_values) for name in names}
    unit: Any = "row"
    if rng.random() < 0.2:
        unit = {"column": "person id", "max_rows": rng.choice([1, 2])}
        attributes["person id"] = {"role": "identifier"}
    published = [name for name in names if attributes[name]["role"] in ("quasi", "confidential", "other")]
    release: dict[str, Any] = {
        "method": "safe-k",
        "epsilon": rng.choice(["1", "2", "5"]),
        "delta": "1e-4",
        "sampling": {"beta": rng.choice(["0.3", "0.5", "0.1"])},
        "recoding": _recoding(rng, published),
        "output": {"format": rng.choice(["csv", "parquet"])},
    }
    if rng.random() < 0.1 and len(published) > 1:
        release["views"] = rng.choice(
            [{"every": "pair"}, {"every": "single"}, {"groups": [[name] for name in published]}]
        )
    elif rng.random() < 0.1:
        release["repeat"] = 2
    policy = {
        "version": 1,
        "dataset": rng.choice(["d", *rng.sample(AWKWARD, 2)]),
        "unit": unit,
        "neighbours": rng.choice(["add_remove", "add_remove", "replace_one"]),
        "attributes": attributes,
        "release": release,
        "budget": {"epsilon": "100", "delta": "0.5"},
    }
    return json.dumps(policy, ensure_ascii=False)


def odd_boxes_policy(rng: Random) -> str:
    """The same for rows inside boxes, whose values are never missing."""
    policy = json.loads(odd_policy(rng))
    rows = policy["release"]
    for attribute in policy["attributes"].values():
        if attribute["role"] not in ("identifier", "drop"):
            attribute["missing"] = "refuse"
            attribute.pop("outside", None)
    release = {
        "method": "dp-microaggregation",
        "grouping": "boxes",
        "epsilon": rows["epsilon"],
        "output": rows["output"],
    }
    return json.dumps({**policy, "release": release}, ensure_ascii=False)


def odd_counts_policy(rng: Random) -> str:
    """The same for noisy counts, with or without synthetic rows."""
    policy = json.loads(odd_policy(rng))
    rows = policy["release"]
    tables = [{"every": "singles"}, {"every": "pairs"}, {"every": "pairs", "cells": "declared"}, {"choose": {}}]
    views = rng.choice([*tables, {"adapt": {"rounds": 1}}])
    release = {name: rows[name] for name in ("epsilon", "delta", "output")}
    if "levels" in rows["recoding"]:
        release["recoding"] = rows["recoding"]
    if rng.random() < 0.5:
        release |= {"method": "synthetic", "views": views, "synthetic": {"rows": 200}}
    else:
        release |= {"method": "safe-k", "views": {"show": "counts", **views}}
    return json.dumps({**policy, "release": release}, ensure_ascii=False)


def odd_levels_policy(rng: Random) -> str:
    """The same for k-anonymity by levels, with criteria where there is something confidential."""
    policy = json.loads(odd_policy(rng))
    quasi = [name for name, own in policy["attributes"].items() if own["role"] == "quasi"]
    release: dict[str, Any] = {
        "method": "k-anonymity",
        "k": rng.choice([2, 3, 8]),
        "suppression": rng.choice(["0", "0.3", "0.9"]),
    }
    local = {
        "local": rng.choice(["true", "false"]),
        "loss": rng.choice(["granularity", "discernibility", "class_size"]),
    }
    levels = {name: rng.choice([0, 1]) for name in quasi}
    release["recoding"] = rng.choice([{"search": local}, {"search": local}, {"levels": levels}])
    if any(own["role"] == "confidential" for own in policy["attributes"].values()):
        asked = {
            "entropy_l": "1.1",
            "recursive": {"c": "4", "l": 2},
            "alpha": "0.9",
            "beta": {"enhanced": "5"},
            "delta": "4",
        }
        release["criteria"] = {key: asked[key] for key in asked if rng.random() < 0.3}
        release |= {key: own for key, own in (("l", 2), ("t", "0.8")) if rng.random() < 0.3}
        distance = rng.choice([None, "equal", "hierarchical"])
        release["criteria"] |= {"distance": distance} if distance and "t" in release else {}
    own = {**policy, "release": {**release, "output": policy["release"]["output"]}}
    del own["budget"]
    return json.dumps(own, ensure_ascii=False)


def odd_centroids_policy(rng: Random) -> str:
    """The same for DP microaggregation: clusters, ranks or boxes of 300 rows, none of which lacks a value."""
    policy = json.loads(odd_policy(rng))
    for own in policy["attributes"].values():
        if own["role"] != "identifier":
            own |= {"missing": "refuse", "outside": rng.choice(["error", "clamp"])}
            own["weight"] = rng.choice(["1", "2", "0.001"])
    release: dict[str, Any] = {
        "method": "dp-microaggregation",
        "grouping": rng.choice(["insensitive", "ranking", "boxes"]),
    }
    release |= {"epsilon": rng.choice(["0.5", "4", "20"]), "output": policy["release"]["output"]}
    if release["grouping"] != "boxes":
        release |= {"rows": 300, "delta": rng.choice(["0", "1e-5"])}
        release |= {"k": rng.choice([2, 7, 150])} if rng.random() < 0.5 else {}
        release |= {"noise": rng.choice(["laplace", "optimal", "gaussian"])} if rng.random() < 0.4 else {}
        policy |= {"neighbours": "replace_one", "unit": "row"}
    return json.dumps({**policy, "release": release}, ensure_ascii=False)


def _recoding(rng: Random, published: list[str]) -> dict[str, Any]:
    kind = rng.choice(["levels", "choose", "tree"])
    if kind == "levels":
        return {"levels": {name: rng.choice([0, 0, 1, 2]) for name in published}}
    if kind == "choose":
        score = rng.choice(["ramp", "records", "discernibility", "target"])
        target = {"target": rng.choice(published)} if score == "target" and published else {}
        return {"choose": {"epsilon": "0.2", "score": score, **target}}
    grow = rng.choice([{}, {"grow": "surveys"}, {"sample": "0.5"}])
    return {"tree": {"epsilon": "0.2", **grow}}


def _attribute(rng: Random, most: int) -> dict[str, Any]:
    kind = rng.choice(
        ["integer", "integer", "decimal", "category", "category", "ordinal", "text", "boolean", "date", "datetime"]
    )
    found: dict[str, Any] = {"role": rng.choice(["quasi", "quasi", "confidential", "other"]), "type": kind}
    if rng.random() < 0.4:
        found["missing"] = rng.choice(["refuse", "value"])
    if rng.random() < 0.3:
        found["outside"] = rng.choice(["error", "clamp", "suppress"])
    if rng.random() < 0.15:
        found["weight"] = rng.choice(["0", "2", "0.001"])
    domain, values = _domain(rng, kind, most)
    if domain is not None:
        found["domain"] = domain
    if rng.random() < 0.75:
        found["hierarchy"] = _hierarchy(rng, kind, values)
    return found


def _domain(rng: Random, kind: str, most: int) -> tuple[Any, list[str]]:
    if kind == "boolean":
        return None, ["false", "true"]
    if kind in ("category", "ordinal") or (kind == "text" and rng.random() < 0.5):
        values = _some(rng, rng.randint(1, most))
        return {"values": values}, values
    if kind == "text":
        pattern = rng.choice(
            ["[0-9]{3}", "[ab][*x]", "[a-z]{2}", r"\(missing\)|a", "[*]{2}", ".", "a{0,3}", "[A-Z]{2}[0-9]{6}"]
        )
        return {"pattern": pattern}, []
    if kind == "integer" and rng.random() < 0.3:
        values = [str(each) for each in sorted(rng.sample(range(-50, 50), rng.randint(1, most)))]
        return {"values": values}, values
    if kind == "integer":
        low = rng.choice([0, -3, 5, -(2**63), 10**15])
        high = low + rng.choice([0, 1, 9, 120, 5000, 10**7])
        return [low, high], [str(each) for each in range(low, min(high, low + most) + 1)]
    if kind == "decimal":
        return rng.choice(
            [["0", "1"], ["-1", "1e6"], ["0.1", "0.3"], ["0", "1e-9"], ["1e300", "2e300"], ["5", "5"]]
        ), []
    if kind == "date":
        return rng.choice([["2020-01-01", "2020-03-01"], ["1900-01-01", "2100-12-31"], ["0001-01-01", "9999-12-31"],
                           ["2024-02-29", "2024-02-29"]]), []  # fmt: skip
    return rng.choice([["2020-01-01 00:00", "2020-01-02 00:00"], ["1900-01-01", "2100-12-31"],
                       ["2024-02-29 12:00:00.5", "2024-02-29 12:00:00.6"]]), []  # fmt: skip


def _hierarchy(rng: Random, kind: str, values: list[str]) -> Any:
    if rng.random() < 0.3:
        return "auto"
    if kind in ("integer", "decimal"):
        step = rng.choice([2, 5, 10, "0.1", "0.25", 1000])
        more = rng.choice([[], [step]])
        ends = rng.choice([{}, {"below": 2}, {"above": 4}, {"below": 0, "above": 8}])
        options: list[Any] = [
            {"intervals": [step], **ends},
            {"intervals": [2, 10], **ends},
            {"cuts": [[1, 3, 6], [3]]},
            {"rounding": [1, 10, *more]},
            {"cuts": [[2, 5]], "labels": [rng.sample(AWKWARD, 3)]},
        ]
        return rng.choice(options)
    if kind in ("date", "datetime"):
        units = ["month", "quarter", "year", "decade", "week", "day", "hour"]
        return rng.choice(
            [{"date": rng.sample(units, rng.randint(1, 3))}, {"date": ["month", "year"]}, {"intervals": [7, 28]}]
        )
    if kind == "boolean" or rng.random() < 0.5:
        return {"groups": _groups(rng, values)} | ({"rest": rng.choice(AWKWARD)} if rng.random() < 0.2 else {})
    half = len(values) // 2
    tree = {rng.choice(AWKWARD): values[:half], rng.choice(AWKWARD): values[half:]}
    return rng.choice([{"mask": "right"}, {"mask": "left"}, {"mask": {"side": "right", "step": 2}}, {"taxonomy": tree}])


def _groups(rng: Random, values: list[str]) -> list[dict[str, list[str]]]:
    labels = _some(rng, min(3, max(1, len(values))))
    level: dict[str, list[str]] = {label: [] for label in labels}
    for at, value in enumerate(values):
        level[labels[at % len(labels)]].append(value)
    return [level]
