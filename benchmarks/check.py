"""How long `shoal.check` takes beyond start-up: Adult, a hundred times Adult, and three million visits."""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyarrow import csv, parquet

from shoal.assess.disclosure.check import check
from shoal.datasets.visits import write_policy, write_visits
from shoal.policy.policy import Policy

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "bench"
DATA = Path(os.environ.get("SHOAL_DATA", ROOT.parent / "shared" / "data"))
TIMES = 100


def seconds(work, runs=3):
    """CPU seconds, all threads, of the best run."""
    best = float("inf")
    for _ in range(runs):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def read(path):
    """Reading the file and no more."""
    if path.suffix == ".parquet":
        return parquet.read_table(path)
    delimiter = ";" if path.name.startswith("adult") else ","
    return csv.read_csv(path, parse_options=csv.ParseOptions(delimiter=delimiter))


def tables():
    """(name, path, policy, target) of each table that can be had here."""
    if (DATA / "adult" / "adult.csv").exists():
        adult = DATA / "adult" / "adult.csv"
        policy = Policy.load(ROOT / "examples" / "adult" / "policy.yaml")
        rows = read(adult)
        many = pa.concat_tables([rows] * TIMES)
        parquet.write_table(many, FOLDER / "adult100.parquet", compression="zstd")
        csv.write_csv(many, FOLDER / "adult100.csv", csv.WriteOptions(delimiter=";", quoting_style="none"))
        yield "Adult, CSV", adult, policy, 0.1
        yield "Adult 100 times, CSV", FOLDER / "adult100.csv", policy, 2.5
        yield "Adult 100 times, Parquet", FOLDER / "adult100.parquet", policy, 2.5
    policy = Policy.load(write_policy(FOLDER / "visits", force=True))
    for kind, target in (("CSV", 2.5), ("Parquet", None)):
        data = write_visits(FOLDER / f"v3.{kind.lower()}", 3_000_000, 1, force=True)
        yield f"visits, 3,000,000 rows, {kind}", data, policy, target


def main():
    """One line for each table."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    print(f"{'CPU seconds':34}{'rows':>11}{'classes':>10}{'check':>8}{'to beat':>9}{'reading':>9}{'ratio':>7}")
    for name, path, policy, target in tables():
        found = check(path, policy)  # loads what is loaded once
        ours, reading = seconds(partial(check, path, policy)), seconds(partial(read, path))
        row = f"{name:34}{found.rows:11,}{found.classes:10,}{ours:8.3f}{target or '-':>9}{reading:9.3f}"
        print(f"{row}{ours / reading:7.1f}")


if __name__ == "__main__":
    main()
