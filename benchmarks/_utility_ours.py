"""Our candidates of utility.py: a policy, `shoal.release`, `shoal.load`, and the rows or counts that come out, as codes.

Every release goes through the real pipeline with a ledger of its own. A candidate that publishes no rows is asked for
synthetic ones (`LoadedRelease.synthetic`), so that classifiers have something to learn from; what `consistent` says is
measured as well.
"""

import resource
import time
from itertools import combinations
from pathlib import Path

import numpy as np
from _utility_measures import Rows, measure

TARGET = "pairs and triples of the target"
"""The workload of all pairs, and of every pair together with the attribute that is predicted."""
CHOSEN = {"every": "pairs", "adapt": {"target": "the attribute that is predicted"}}
"""All pairs, and triples with the attribute that is predicted, which are chosen."""
CANDIDATES: dict[str, dict] = {
    "one wide table": {"method": "safe-k", "recoding": "tree"},
    "views of rows": {"method": "safe-k", "views": "pairs"},
    "one wide table and counts of pairs": {
        "method": "safe-k",
        "recoding": "tree",
        "counts": {"every": "pairs", "share": "0.5"},
    },
    "counts, all pairs": {"method": "safe-k", "views": {"show": "counts", "every": "pairs"}},
    "synthetic, all pairs of merged cells": {"method": "synthetic", "views": {"every": "pairs", "cells": "merged"}},
    "synthetic, all pairs of declared cells": {"method": "synthetic", "views": {"every": "pairs", "cells": "declared"}},
    "synthetic, chosen": {"method": "synthetic", "views": {"choose": {}}},
    "synthetic, adapted": {"method": "synthetic", "views": {"adapt": {}}},
    "synthetic, adapted, up to triples": {"method": "synthetic", "views": {"adapt": {"width": 3}}},
    "synthetic, all pairs and chosen triples": {"method": "synthetic", "views": {"every": "pairs", "adapt": {}}},
    "synthetic, all pairs and many triples": {
        "method": "synthetic",
        "views": {"every": "pairs", "adapt": {"rounds": 8, "share": "0.2"}},
    },
    "synthetic, all pairs and chosen triples of the target": {"method": "synthetic", "views": CHOSEN},
    "synthetic, pairs and triples of the target": {"method": "synthetic", "views": {"workload": TARGET}},
    "synthetic, default": {"method": "synthetic"},
    "synthetic, favouring associations": {"method": "synthetic", "synthetic": {"favour": "associations"}},
}
"""The keys of the release; epsilon and delta are added."""


def label(column, code: int) -> object:
    """The value that stands for a code in the table that is released: a number where codes have an order, else a word."""
    return int(code) if column.ordered else f"c{code:03d}"


def policy_of(table, keys: dict, epsilon, delta) -> dict:
    """The policy of a table of codes."""
    attributes = {
        column.name: {
            "role": "quasi",
            "type": "integer",
            "domain": [0, column.cells - 1],
            "hierarchy": "auto",
            "missing": "refuse",
        }
        if column.ordered
        else {
            "role": "quasi",
            "type": "category",
            "domain": [label(column, code) for code in range(column.cells)],
            "hierarchy": "auto",
            "missing": "refuse",
        }
        for column in table.columns
    }
    if keys.get("views") == {"workload": TARGET}:
        keys = {**keys, "views": {"workload": workload_of(table)}}
    if keys.get("views") == CHOSEN:
        keys = {**keys, "views": {**CHOSEN, "adapt": {"target": table.target}}}
    return {
        "version": 1,
        "dataset": table.name,
        "unit": "row",
        "neighbours": "add_remove",
        "attributes": attributes,
        "release": {**keys, "epsilon": str(epsilon), "delta": str(delta)},
    }


def workload_of(table) -> list[list[str]]:
    """All pairs, and each pair of predictors with the target."""
    names = [column.name for column in table.columns]
    pairs = [list(pair) for pair in combinations(names, 2)]
    return pairs + [[*pair, table.target] for pair in pairs if table.target not in pair]


def write_values(table, path: Path) -> None:
    """The released rows as a file of values."""
    import pyarrow as pa
    from pyarrow import csv

    columns = {}
    for i, column in enumerate(table.columns):
        values = np.array(
            [label(column, code) for code in range(column.cells)], dtype=object if not column.ordered else int
        )
        columns[column.name] = pa.array(values[table.train[:, i]].tolist())
    csv.write_csv(pa.table(columns), path)


def codes_of(table, columns: dict[str, list]) -> np.ndarray:
    """Values back to codes."""
    found = []
    for column in table.columns:
        place = {str(label(column, code)): code for code in range(column.cells)}
        found.append([place[str(value)] for value in columns[column.name]])
    return np.array(found, dtype=np.int64).T


def run(table, name: str, epsilon, delta, folder: Path) -> dict:
    """Release, load, and give `rows` (codes), `said` where the release makes estimates of its own, CPU seconds and memory."""
    import pyarrow.parquet as pq
    from pyarrow import csv

    import shoal
    from shoal.policy.policy import Policy

    data = folder / "data.csv"
    write_values(table, data)
    began = time.process_time()
    policy = Policy.of(policy_of(table, CANDIDATES[name], epsilon, delta))
    out = folder / "out"
    shoal.release(policy, data, out, ledger=folder / "ledger.sqlite", new_ledger=True, report=False)
    released = time.process_time() - began
    loaded = shoal.load(out, verify=False)
    result: dict = {}
    synthetic = next(iter([*out.glob("synthetic.parquet"), *out.glob("synthetic.csv")]), None)
    if synthetic is not None:
        read = pq.read_table if synthetic.suffix == ".parquet" else csv.read_csv
        result["rows"] = codes_of(table, read(synthetic).to_pydict())
        spent = time.process_time() - began
    elif len(loaded.names) == 1:
        result["rows"] = rows_of_table(table, loaded.table())
        spent = time.process_time() - began
    else:
        estimates = loaded.consistent()
        spent = time.process_time() - began
        truth, widest = Rows(table.train, table.sizes), 3 if loaded.counts else 2
        said = measure(table.columns, truth, Estimates(table, loaded, estimates), widest=widest)
        result["said"] = {f"{key}_said": value for key, value in said.items()}
        result["rows"] = rows_of(table, loaded)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return result | {"cpu": spent, "cpu_release": released, "megabytes": peak}


class Estimates:
    """What `consistent` says about a few attributes, each atom of the release spread evenly over the codes that it holds."""

    def __init__(self, table, loaded, estimates) -> None:
        self.names, self.estimates = [column.name for column in table.columns], estimates
        self.spreads = [spread_of(column, loaded.axis(column.name)) for column in table.columns]

    def counts(self, axes) -> np.ndarray:
        """The expected counts of codes."""
        if len(axes) == 1 and not hasattr(self.estimates, "model"):
            (own,) = axes
            other = 0 if own else 1
            pair = self.counts((min(own, other), max(own, other)))
            return pair.sum(axis=1 if own < other else 0)
        if hasattr(self.estimates, "model"):
            places = list(self.estimates.axes)
            found = self.estimates.model.table(tuple(places.index(self.names[axis]) for axis in axes))
            spreads = [self.spreads[axis][self.estimates.kept[self.names[axis]]] for axis in axes]
        else:
            found = self.estimates.marginal(*(self.names[axis] for axis in axes)).value
            spreads = [self.spreads[axis] for axis in axes]
        for place, spread in enumerate(spreads):
            found = np.moveaxis(np.moveaxis(found, place, -1) @ spread, -1, place)
        return found


def spread_of(column, axis) -> np.ndarray:
    """How much of each atom of an attribute belongs to each code."""
    found = np.zeros((len(axis), column.cells))
    for i, (span, leaves) in enumerate(zip(axis.spans, axis.leaves, strict=True)):
        codes = [
            code
            for code in range(column.cells)
            if (int(span[0]) <= code < int(span[1]) if span is not None else str(label(column, code)) in leaves)
        ]
        found[i, codes] = 1 / max(len(codes), 1)
    return found


def rows_of(table, loaded) -> np.ndarray:
    """Synthetic rows drawn from what a release holds, each atom's codes equally likely."""
    drawn = loaded.synthetic(len(table.train))
    places = np.asarray(drawn.codes)
    found = []
    for column in table.columns:
        spread = spread_of(column, loaded.axis(column.name))
        found.append(draw_codes(spread, places[:, list(drawn.columns).index(column.name)]))
    return np.stack(found, axis=1)


def rows_of_table(table, view) -> np.ndarray:
    """The published rows of one table, each label replaced by one of the codes that it stands for."""
    places, counts = view.tuples
    places, found = np.repeat(places, counts, axis=0), []
    for column in table.columns:
        labels = view.meanings[column.name].labels
        spread = np.zeros((len(labels), column.cells))
        for i, one in enumerate(labels):
            codes = [code for code in range(column.cells) if one.everything or stands_for(one, label(column, code))]
            spread[i, codes] = 1 / max(len(codes), 1)
        found.append(draw_codes(spread, places[:, list(view.columns).index(column.name)]))
    return np.stack(found, axis=1)


def stands_for(one, value) -> bool:
    """Whether a label stands for a value."""
    if isinstance(value, int):
        return any((low is None or low <= value) and (high is None or value < high) for low, high in one.spans)
    return value in one.values


def draw_codes(spread: np.ndarray, places: np.ndarray) -> np.ndarray:
    """For each row one of the codes that its label or atom stands for, at random."""
    running = np.cumsum(spread, axis=1) / np.maximum(spread.sum(axis=1, keepdims=True), 1e-300)
    turn = np.random.default_rng().random(len(places))
    return np.minimum((turn[:, None] > running[places]).sum(axis=1), spread.shape[1] - 1)
