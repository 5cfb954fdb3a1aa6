"""The tables of a release: drawn, labelled and written, one wide one (once or several times) or many views."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.anonymize.generalize.base import Recoding, Stage
from shoal.anonymize.generalize.tree.boxes import Boxes
from shoal.anonymize.method.views import choose_views, draw_all, settle_all
from shoal.chance.source import Source
from shoal.engine.base import Table
from shoal.guarantee.rounding import exact_text
from shoal.publish.plan.safe_k import SafeKPlan, chosen_views
from shoal.publish.plan.views import View, plain_name


@dataclass(frozen=True)
class Made:
    """One table that was written: its file, how many rows it shows, by which recoding, in which crowds."""

    file: str
    rows: int
    recoding: Recoding
    k: int
    part: int
    name: str | None = None
    choice: dict[str, Any] | None = None


def make(plan: SafeKPlan, table: Table, folder: Path, source: Source | None, stage: Stage) -> list[Made]:
    """Draw every table of the plan and write it; all keys are gone when this returns."""
    if plan.views:
        return _views(plan, table, folder, source, stage)
    with _chance(source, "settle") as chance:
        recoding = plan.method.settle(table, chance, stage)
    return [_one(plan, table, recoding, folder, number, source, stage) for number in range(1, plan.repeat + 1)]


def _chance(source: Source | None, purpose: str) -> Source:
    """A key for one purpose: fresh from the operating system, unless a test gives its own."""
    return source.stream(purpose) if source is not None else Source.secure()


def _one(
    plan: SafeKPlan, table: Table, recoding: Recoding, folder: Path, number: int, source: Source | None, stage: Stage
) -> Made:
    """One sample, labelled and grouped, in its file; its key is gone when this returns."""
    name = f"table.{plan.format}" if plan.repeat == 1 else f"table-{number}.{plan.format}"
    with _chance(source, "release") as chance:
        published = plan.method.run(table, recoding, chance, stage)
        stage("writing")
        published.write(folder / name)
        return Made(name, published.rows(), recoding, plan.promise.k, 0)


def _views(plan: SafeKPlan, table: Table, folder: Path, source: Source | None, stage: Stage) -> list[Made]:
    """Every view from its own sample, in its file."""
    (folder / "views").mkdir()
    parts = {promise: number for number, (promise, _) in enumerate(plan.distinct)}
    found: list[Made] = []
    with _chance(source, "settle") as settling:
        people, views, recodings = settled_views(plan, table, settling, stage)
    with _chance(source, "release") as drawing:
        drawn = draw_all(people, [view.method for view in views], recodings, drawing, stage)
        for view, recoding, published in zip(views, recodings, drawn, strict=True):
            stage(f"writing views ({len(found) + 1:,} of {len(plan.views):,})")
            name, promise = f"views/{view.name}.{plan.format}", view.method.promise
            published.write(folder / name)
            choice = view.method.partition.to_json() if promise.epsilon_recoding else None
            found.append(Made(name, published.rows(), recoding, promise.k, parts[promise], view.name, choice))
    return found


def settled_views(
    plan: SafeKPlan, table: Table, source: Source, stage: Stage = lambda _: None
) -> tuple[Table, tuple[View, ...], list[Recoding]]:
    """At most m rows of each person, the views that are published, and the recoding of each; no sample is drawn yet."""
    people = plan.method.of_people(table, source, stage)
    views = plan.views
    if plan.chooser is not None:
        stage("choosing the views")
        chooser = plan.chooser
        share, chance = chooser.epsilon / chooser.steps, source.stream("views")
        views = chosen_views(plan, choose_views(people, chooser.candidates, chooser.count, share, chance))
    partitions = [view.method.partition for view in views]
    return people, views, settle_all(people, partitions, source.stream("recoding"), stage)


def write_rules(made: Sequence[Made], folder: Path) -> list[dict[str, Any]]:
    """Write what each label stands for, the same rule once; the tables as the certificate lists them."""
    (folder / "recoding").mkdir()
    places: dict[tuple[str, str], str] = {}
    listings: dict[int, str] = {}
    tables = []
    for each in made:
        own: dict[str, str] = {}
        for name, rule in each.recoding.rules().items():
            text = json.dumps(rule, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
            if (name, text) not in places:
                places[name, text] = rule_file(len(places) + 1, name)
                write_text(folder / places[name, text], text)
            own[name] = places[name, text]
        entry: dict[str, Any] = {"file": each.file, "k": each.k, "columns": list(own), "recoding": own}
        if isinstance(each.recoding, Boxes):
            entry["boxes"] = _listing(each.name, each.recoding, folder, listings)
        if each.name is not None:
            entry |= {"name": each.name, "part": each.part}
            entry |= {"choice": each.choice} if each.choice is not None else {}
        tables.append(entry)
    return tables


def index(plan: SafeKPlan, tables: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What an analyst needs to find the right view: names, attributes, crowds, rates and weights."""
    parts = [promise for promise, _ in plan.distinct]
    return {
        "version": 1,
        "dataset": plan.policy.dataset,
        "views": [
            {
                "name": table["name"],
                "file": table["file"],
                "attributes": table["columns"],
                "k": table["k"],
                "beta": exact_text(parts[table["part"]].beta),
                "weight": exact_text(1 / parts[table["part"]].beta),
            }
            for table in tables
        ],
    }


def _listing(view: str | None, recoding: Boxes, folder: Path, known: dict[int, str]) -> str:
    """Where the boxes of a table are listed; repeats of one release share a list."""
    if id(recoding) not in known:
        known[id(recoding)] = "recoding/boxes.csv" if view is None else f"recoding/boxes/{view}.csv"
        path = folder / known[id(recoding)]
        path.parent.mkdir(exist_ok=True)
        write_text(path, recoding.listing())
    return known[id(recoding)]


def rule_file(number: int, name: str) -> str:
    """The file of an attribute's rule, with a safe name for an attribute of any name."""
    return f"recoding/{number:02d}-{plain_name(name)[:40]}.json"


def write_text(path: Path, text: str) -> None:
    """A file with Unix line ends on every system."""
    path.write_text(text, encoding="utf-8", newline="\n")
