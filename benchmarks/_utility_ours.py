"""Our candidates of utility.py: a policy, `shoal.release`, `shoal.load`, and the rows or counts that come out, as codes.

Every release goes through the real pipeline with a ledger of its own. A candidate that publishes no rows is asked for
synthetic ones (`LoadedRelease.synthetic`), so that classifiers have something to learn from; its own estimates of pairs
are measured as well (`result.npz`).
"""

import resource
import time
from itertools import combinations
from pathlib import Path

import numpy as np

CANDIDATES: dict[str, dict] = {
    "one wide table": {"method": "safe-k", "recoding": "tree"},
    "views of rows": {"method": "safe-k", "views": "pairs"},
    "counts, all pairs": {"method": "safe-k", "views": {"show": "counts", "every": "pairs"}},
    "synthetic, all pairs": {"method": "synthetic", "views": {"every": "pairs"}},
    "synthetic, chosen": {"method": "synthetic", "views": {"choose": {}}},
    "synthetic, adapted": {"method": "synthetic", "views": {"adapt": {}}},
    "synthetic, default": {"method": "synthetic"},
}
"""The keys of the release; epsilon and delta are added."""


def label(column, code: int) -> object:
    """The value that stands for a code in the table that is released: a number where codes have an order, else a word."""
    return int(code) if column.ordered else f"c{code:03d}"


def policy_of(table, keys: dict, epsilon, delta) -> dict:
    """The policy of a table of codes."""
    attributes = {
        column.name: {"role": "quasi", "type": "integer", "domain": [0, column.cells - 1], "hierarchy": "auto"}
        if column.ordered
        else {
            "role": "quasi",
            "type": "category",
            "domain": [label(column, code) for code in range(column.cells)],
            "hierarchy": "auto",
        }
        for column in table.columns
    }
    return {
        "version": 1,
        "dataset": table.name,
        "unit": "row",
        "neighbours": "add_remove",
        "attributes": attributes,
        "release": {**keys, "epsilon": str(epsilon), "delta": str(delta)},
    }


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
    """Release, load, and give `rows` (codes) and `pairs` where the release says them itself; CPU seconds and memory."""
    import pyarrow.parquet as pq

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
    synthetic = next((path for path in out.glob("synthetic.*")), None)
    result: dict = {}
    if synthetic is not None:
        result["rows"] = codes_of(table, pq.read_table(synthetic).to_pydict())
    spent = time.process_time() - began
    if synthetic is None and len(loaded.names) == 1:
        result["rows"] = rows_of_table(table, loaded.table())
        spent = time.process_time() - began
    elif synthetic is None:
        result["pairs"] = pairs_of(table, loaded)
        spent = time.process_time() - began
        result["rows"] = rows_of(table, loaded)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return result | {"cpu": spent, "cpu_release": released, "megabytes": peak}


def pairs_of(table, loaded) -> dict[tuple[int, int], np.ndarray]:
    """The estimates of all pairs, each atom of the release spread evenly over the codes that it holds."""
    estimates = loaded.consistent()
    spreads = [spread_of(column, loaded.axis(column.name)) for column in table.columns]
    return {
        (i, j): spreads[i].T @ estimates.marginal(table.columns[i].name, table.columns[j].name).value @ spreads[j]
        for i, j in combinations(range(len(table.columns)), 2)
    }


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
