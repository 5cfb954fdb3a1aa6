"""Release folders made by hand, with views drawn in NumPy, so that the truth behind them is known."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np


def keep(name: str, labels: Sequence[str]) -> dict[str, Any]:
    """The rule of a category that is shown as it is."""
    return {
        "attribute": name, "type": "category", "domain": ", ".join(labels), "level": 0, "loss": "0.000000",
        "kind": "keep", "labels": list(labels), "low": None, "high": None, "pattern": None,
    }  # fmt: skip


def cuts(name: str, edges: Sequence[int], low: int, high: int) -> dict[str, Any]:
    """The rule of a whole number in intervals."""
    ends = [low, *edges, high + 1]
    labels = [f"[{a}, {b})" for a, b in pairwise(ends)]
    return {
        "attribute": name, "type": "integer", "domain": f"{low}..{high}", "level": 1, "loss": "0.1", "kind": "cuts",
        "labels": labels, "edges": [str(edge) for edge in edges],
    }  # fmt: skip


def categories(sizes: Sequence[int]) -> dict[str, dict[str, Any]]:
    """Rules of attributes a0, a1, … with so many values."""
    return {f"a{j}": keep(f"a{j}", [f"v{i:02d}" for i in range(size)]) for j, size in enumerate(sizes)}


def drawn(counts: np.ndarray, k: int, beta: float, rng: np.random.Generator) -> np.ndarray:
    """What a view shows of true counts: a sample, without what it holds fewer than k times."""
    sample = rng.binomial(counts, beta)
    return np.where(sample >= k, sample, 0)


def write_release(
    folder: Path,
    views: Mapping[str, tuple[Sequence[dict[str, Any]], np.ndarray]],
    *,
    k: int = 20,
    beta: str = "0.15",
    boxes: Mapping[str, str] | None = None,
    missing: str = "error",
) -> Path:
    """A folder whose views show so many rows in each cell; a view is its rules and an array over their labels."""
    (folder / "views").mkdir(parents=True)
    (folder / "recoding").mkdir()
    tables, rules_written = [], {}
    names = sorted({rule["attribute"] for rules, _ in views.values() for rule in rules})
    (folder / "policy.lock.yaml").write_text(
        "attributes:\n" + "".join(f"  {name}:\n    missing: {missing}\n" for name in names)
    )
    for number, (name, (rules, counts)) in enumerate(views.items()):
        columns = [rule["attribute"] for rule in rules]
        file = f"views/{name}.csv"
        with (folder / file).open("w", newline="") as sink:
            writer = csv.writer(sink, lineterminator="\n")
            writer.writerow(columns)
            for at in zip(*np.nonzero(counts), strict=True):
                row = [rule["labels"][i] for rule, i in zip(rules, at, strict=True)]
                writer.writerows([row] * int(counts[at]))
        places = {}
        for rule in rules:
            text = json.dumps(rule)
            if text not in rules_written:
                rules_written[text] = f"recoding/{len(rules_written):04d}.json"
                (folder / rules_written[text]).write_text(text)
            places[rule["attribute"]] = rules_written[text]
        entry = {"file": file, "name": name, "sample": 0, "k": k, "columns": columns, "recoding": places}
        if boxes and name in boxes:
            (folder / "recoding" / f"boxes-{number}.csv").write_text(boxes[name])
            entry["boxes"] = f"recoding/boxes-{number}.csv"
        tables.append(entry)
    certificate = {"format": 1, "samples": [{"k": k, "beta": beta, "times": len(tables)}], "tables": tables}
    (folder / "certificate.json").write_text(json.dumps(certificate))
    return reseal(folder)


def unions(rule: Mapping[str, Any], members: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """The rule of labels that stand for several labels of another rule, by their numbers."""
    runs = [[[cell, cell] for cell in held] for held in members.values()]
    return {
        "attribute": rule["attribute"], "type": rule["type"], "domain": rule["domain"], "level": dict(rule), "kind": "boxes",
        "cells": list(rule["labels"]), "labels": list(members), "members": runs, "losses": ["0"] * len(members),
    }  # fmt: skip


def discrete_gaussian(sigma: float, shape: Sequence[int], rng: np.random.Generator) -> np.ndarray:
    """Noise with probabilities proportional to exp(-x^2 / (2 sigma^2))."""
    x = np.arange(-int(12 * sigma) - 2, int(12 * sigma) + 3)
    weights = np.exp(-((x / sigma) ** 2) / 2)
    return rng.choice(x, size=tuple(shape), p=weights / weights.sum())


def add_counts(
    folder: Path,
    tables: Mapping[str, tuple[Sequence[dict[str, Any]], np.ndarray]],
    sigma: str | Mapping[str, str],
    *,
    singles: int = 0,
    first: int = 0,
    kind: str = "fixed",
    merged: bool = True,
    method: str = "noisy-counts",
) -> Path:
    """Tables of noisy counts, put into a folder that holds rows already or nothing; a table is its rules and what it shows."""
    (folder / "counts").mkdir(parents=True)
    (folder / "recoding").mkdir(exist_ok=True)
    entries = []
    for name, (rules, shown) in tables.items():
        own = sigma if isinstance(sigma, str) else sigma[name]
        half = int(np.ceil(2 * float(own)))
        columns = [rule["attribute"] for rule in rules]
        places = {}
        for rule in rules:
            place = f"recoding/{name}-{rule['attribute']}.json"
            (folder / place).write_text(json.dumps(rule))
            places[rule["attribute"]] = place
        with (folder / f"counts/{name}.csv").open("w", newline="") as sink:
            writer = csv.writer(sink, lineterminator="\n")
            writer.writerow([*columns, "count", "low", "high"])
            for at in np.ndindex(shown.shape):
                value = int(shown[at])
                row = [rule["labels"][i] for rule, i in zip(rules, at, strict=True)]
                writer.writerow([*row, value, value - half, value + half])
        entries.append({
            "file": f"counts/{name}.csv", "name": name, "columns": columns, "sigma": own, "half_width": half,
            "cells": int(shown.size), "recoding": places,
        })  # fmt: skip
    if not (folder / "certificate.json").exists():
        names = sorted({column for entry in entries for column in entry["columns"]})
        (folder / "policy.lock.yaml").write_text(
            "attributes:\n" + "".join(f"  {name}:\n    missing: error\n" for name in names)
        )
        (folder / "certificate.json").write_text(json.dumps({"format": 1, "samples": [], "tables": []}))
    noise: dict[str, Any] = {"singles": singles, "kind": kind, "merged": merged} | (
        {"first": [first, "1"]} if first else {}
    )
    return reseal(folder, method=method, counts=entries, noise=noise)


def reseal(folder: Path, **changes: Any) -> Path:
    """Seal a release anew after something in it was changed: its files as they are, and some entries of its certificate."""
    path = folder / "certificate.json"
    files = {
        each.relative_to(folder).as_posix(): hashlib.sha256(each.read_bytes()).hexdigest()
        for each in folder.rglob("*")
        if each.is_file() and each.suffix != ".html" and each != path
    }
    content = {**json.loads(path.read_text()), "files": files, **changes}
    content.pop("seal", None)
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    path.write_text(json.dumps({**content, "seal": hashlib.sha256(text.encode()).hexdigest()}))
    return folder


def all_pairs(sizes: Sequence[int], columns: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """The true counts of every pair, by the name of its view."""
    return {
        f"a{i}-a{j}": np.bincount(columns[i] * sizes[j] + columns[j], minlength=sizes[i] * sizes[j]).reshape(
            sizes[i], sizes[j]
        )
        for i, j in combinations(range(len(sizes)), 2)
    }


def write_pairs(
    folder: Path, sizes: Sequence[int], truth: Mapping[str, np.ndarray], k: int, beta: str, rng: np.random.Generator
) -> Path:
    """All pairs of attributes, each from its own sample."""
    rules = categories(sizes)
    views = {
        name: ([rules[part] for part in name.split("-")], drawn(counts, k, float(beta), rng))
        for name, counts in truth.items()
    }
    return write_release(folder, views, k=k, beta=beta)
