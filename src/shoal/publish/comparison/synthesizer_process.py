"""The process in which another library's synthesizer runs: MST or AIM as OpenDP has them, on a table of codes.

It runs as a program of its own, imports nothing of Shoal, and needs `opendp[mbi]`, which brings polars and JAX. With the word
`check` it prints the versions of what it needs, None for what is not there. Else the word is a file of JSON: `kind`, the CSV file
`table` of codes 0 to n − 1, `domains` (name and number of codes), `rho` of zero-concentrated privacy, `contributions` (rows by
which neighbouring tables differ at most), `output`, where synthetic codes go. CPU seconds of the mechanism and of drawing rows,
without imports, are printed as one line of JSON.

rho is divided as the papers have it and not as OpenDP does by default: of MST a third each for single attributes, for the
choice of pairs and for pairs; of AIM, which is asked for all pairs, a sixteenth for single attributes. `aim-small`, for
benchmarks, has a model of at most 4 MB instead of 80, which leaves out tables that would make it larger. mbi draws rows by
rounding in the order of the rows, so that two attributes that hang on the same third rise and fall together; `draw_rows` rounds
in an order of chance along the junction tree of the same model, which is nearer to it.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import resource
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

NEEDED = ("opendp", "mbi", "polars")
Table = list[tuple[int, ...]]
ATTEMPTS = 20
"""How often a synthesizer is begun at most."""


def versions() -> dict[str, str | None]:
    """The version of each library that is needed; None where it is not installed."""
    return {
        name: None if importlib.util.find_spec(name) is None else importlib.metadata.version(name) for name in NEEDED
    }


def cpu_seconds() -> float:
    """CPU seconds of this process and of those that it has waited for."""
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def draw_rows(model: Any, rows: int) -> dict[str, Any]:
    """Rows of an mbi model: attribute after attribute along the junction tree, rounded within each combination of parents."""
    import numpy as np

    tree_of, oracles = importlib.import_module("mbi.junction_tree"), importlib.import_module("mbi.marginal_oracles")
    chance = np.random.default_rng()  # noqa: TID251 - the model is published, its rows are nobody's, and Shoal is not here
    tree, order = tree_of.make_junction_tree(model.domain, [tuple(one) for one in model.cliques])
    cliques = list(tree.nodes)
    marginals = oracles.message_passing_stable(model.potentials.expand(cliques))
    data: dict[str, Any] = {}
    for name in reversed(order):
        parents = tuple(sorted(set(data) & set().union(*(set(one) for one in cliques if name in one))))
        joint = np.asarray(marginals.project((*parents, name)).datavector(flatten=False), dtype=np.float64)
        table = np.maximum(joint.reshape(-1, joint.shape[-1]), 0.0) + 1e-300
        running = np.cumsum(table / table.sum(axis=1, keepdims=True), axis=1)
        state = (
            np.ravel_multi_index([data[one] for one in parents], joint.shape[:-1]) if parents else np.zeros(rows, int)
        )
        turn = chance.permutation(rows)
        turn = turn[np.argsort(state[turn], kind="stable")]
        _, first, counts = np.unique(state[turn], return_index=True, return_counts=True)
        # One random start for each combination, then equal steps: a value comes up as often as expected, or once more or less.
        place = (
            np.arange(rows) - np.repeat(first, counts) + np.repeat(chance.random(len(counts)), counts)
        ) / np.repeat(counts, counts)
        codes = np.empty(rows, dtype=np.int64)
        codes[turn] = [
            min(int(np.searchsorted(running[own], at, side="right")), joint.shape[-1] - 1)
            for own, at in zip(state[turn].tolist(), place.tolist(), strict=True)
        ]
        data[name] = codes
    return data


def with_rounding(release: Callable[[float], Any], rho: float) -> Any:
    """What is released at rho, or at one that is smaller by some billionths.

    OpenDP divides rho among the steps of MST, and refuses its own last step where the parts add up to more by rounding. Whether
    they do depends on rho alone.
    """
    for attempt in range(ATTEMPTS - 1):
        try:
            return release(rho * (1 - attempt * 1e-9))
        except Exception as error:  # the library's own class is not known before it is imported
            if "insufficient budget" not in str(error):
                raise
    return release(rho * (1 - ATTEMPTS * 1e-9))


def synthesize(
    kind: str, table: str, domains: dict[str, int], rho: float, contributions: int, shipped: bool = False
) -> tuple[Table, Table, float]:
    """Synthetic rows as `draw_rows` draws them, those that the library draws if asked, and the CPU seconds that it took."""
    dp, pl = importlib.import_module("opendp.prelude"), importlib.import_module("polars")
    dp.enable_features("contrib")
    names = list(domains)
    algorithm = {
        "mst": lambda: dp.mbi.MST(oneway_split=1 / 3, measure_split=1 / 2),
        "aim": lambda: dp.mbi.AIM(queries=2, oneway_split=1 / 16),
        "aim-small": lambda: dp.mbi.AIM(queries=2, oneway_split=1 / 16, max_size=4.0),
        "aim3": lambda: dp.mbi.AIM(queries=3, oneway_split=1 / 16),
        "fixed": lambda: dp.mbi.Fixed(queries=[dp.mbi.Count(pair) for pair in combinations(names, 2)]),
    }[kind]()
    frame = pl.scan_csv(table, schema=dict.fromkeys(names, pl.Int64))
    began = cpu_seconds()
    keys = {name: list(range(size)) for name, size in domains.items()}
    unit = dp.unit_of(contributions=contributions)

    def release(rho: float) -> Any:
        context = dp.Context.compositor(data=frame, privacy_unit=unit, privacy_loss=dp.loss_of(rho=rho))
        return context.query(rho=rho).contingency_table(keys=keys, algorithm=algorithm).release()

    found = with_rounding(release, rho)
    own: Table = []
    if shipped:  # mbi needs pandas for it
        drawn = found.synthesize()
        own = drawn.select(pl.col(name).fill_null(domains[name] - 1) for name in names).rows()
    again = draw_rows(found.model, max(0, round(float(found.model.total))))
    spent = cpu_seconds() - began
    rows = zip(*(again[name].clip(0, domains[name] - 1).tolist() for name in names), strict=True)
    return list(rows), own, spent


def main(word: str) -> None:
    """Say what is installed, or run one job."""
    if word == "check":
        sys.stdout.write(json.dumps(versions()) + "\n")
        return
    job = json.loads(Path(word).read_text(encoding="utf-8"))
    rows, _, spent = synthesize(job["kind"], job["table"], job["domains"], job["rho"], job["contributions"])
    lines = (",".join(str(int(code)) for code in row) for row in rows)
    Path(job["output"]).write_text("\n".join([",".join(job["domains"]), *lines]) + "\n", encoding="utf-8")
    sys.stdout.write(json.dumps({"cpu": spent}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
