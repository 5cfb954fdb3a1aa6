"""Grids and trees on Adult: rows, detail and total variation; what each idea brought; and how long a tree takes.

    python benchmarks/recoding.py [--no-speed] [--plot FILE]

Granularity is the mean over all sampled records of 1 − mean loss where a record is published, 0 where it is not. Total
variation compares the published records, each label spread evenly over its leaves, with the whole table: the mean over
all marginals of one attribute, and of two. Means over 20 runs. Adult confirms; the defaults come from generated tables.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import lattice
import numpy as np

import engine
from shoal.anonymize.generalize.scores import Ramp
from shoal.anonymize.generalize.tree.model import CellCounts
from shoal.anonymize.generalize.tree.safe_tree import SafeTree, TreeParameters
from shoal.chance.source import Source
from shoal.data.schema import Schema
from shoal.engine.duckdb.engine import DuckDB
from shoal.guarantee.safe_k.setting import solve
from shoal.policy.model.release import SHARES
from shoal.policy.policy import Policy

sys.path.insert(0, str(lattice.ROOT / "scripts"))
from recoding_defaults import Judge, Judged, mean

RUNS, DELTA = 20, Fraction(1, 10**6)
BETAS = ("0.05", "0.1", "0.2", "0.3", "0.5", "0.7", "0.85")
WIDE, WIDE_ROWS = 60, 100_000


class Adult:
    """The table as cells and as a lattice."""

    def __init__(self):
        self.table, self.lattice = lattice.adult()
        self.schema = Schema(self.lattice.attributes)
        self.pieces = SafeTree(self.schema, Fraction(1), 5, Fraction(1, 2)).pieces
        self.counts = self.table.count_by(self.lattice.names)
        self.coded = CellCounts.of(self.counts, self.pieces)
        self.judge = Judge(self.coded, bins=10**9)

    def trees(self, epsilon, beta, share=None, parameters=None):
        """k, and the mean judgement of trees."""
        paid = epsilon * (SHARES["tree"] if share is None else share)
        k = solve(epsilon=epsilon - paid, delta=DELTA, beta=beta).k
        plan = SafeTree(self.schema, paid, k, beta, parameters=parameters or TreeParameters())
        judged = []
        for run in range(RUNS):
            with Source.seeded(run) as source:
                judged.append(self.judge.judge(plan.grow(self.coded, source), k, beta, run))
        return k, mean(judged)

    def drawn(self, epsilon, beta, paid):
        """k, and the mean judgement of grids drawn with the ramp score."""
        k = solve(epsilon=epsilon - paid, delta=DELTA, beta=beta).k
        score = Ramp(k, beta)
        weights = lattice.log_weights(score.of_all(self.lattice, self.counts), paid, score.spread(self.lattice))
        with Source.seeded(1) as source:
            found = source.choices(weights, RUNS).tolist()
        return k, mean(
            [self.scheme_judged(self.lattice.scheme(index), k, beta, run) for run, index in enumerate(found)]
        )

    def fixed(self, epsilon, beta):
        """k, and the mean judgement of the levels half-way up each hierarchy, which nobody pays for."""
        k = solve(epsilon=epsilon, delta=DELTA, beta=beta).k
        levels = {each.name: len(each.hierarchy) // 2 for each in self.schema.attributes}
        return k, mean([self.scheme_judged(levels, k, beta, run) for run in range(RUNS)])

    def scheme_judged(self, levels, k, beta, seed):
        """One release with a level for each attribute."""
        chance = np.random.default_rng(seed)
        kept = chance.binomial(self.coded.counts, float(beta))
        key = np.zeros(len(kept), dtype=np.int64)
        groups, shares, losses = [], [], []
        for attribute, piece, cells in zip(self.schema.attributes, self.pieces, self.coded.cells, strict=True):
            table = {row[0]: row[levels[attribute.name]] for row in attribute.hierarchy.rows}
            group = np.unique([table.get(label, label) for label in piece.labels], return_inverse=True)[1]
            spread = (group[:, None] == group[None, :]).astype(float)
            losses.append((spread.sum(axis=1) - 1) / (len(table) - 1))
            shares.append(spread / spread.sum(axis=1, keepdims=True))
            groups.append(group)
            key = np.unique(key * len(group) + group[cells], return_inverse=True)[1]
        shown = np.where(np.bincount(key, kept)[key] >= k, kept, 0)
        if not shown.any():
            return Judged(0.0, 0.0, 1.0, 1.0)
        mass = shown / shown.sum()
        columns = list(zip(self.coded.cells, shares, strict=True))
        one = [
            np.abs(np.bincount(cells, mass, len(share)) @ share - own).sum() / 2
            for (cells, share), own in zip(columns, self.judge.ones, strict=True)
        ]
        two = []
        for (i, j), own in zip(self.judge.pairs, self.judge.twos, strict=True):
            (a, left), (b, right) = columns[i], columns[j]
            pair = np.bincount(a * len(right) + b, mass, len(left) * len(right)).reshape(len(left), len(right))
            two.append(np.abs((left.T @ pair @ right).ravel() - own).sum() / 2)
        detail = 1 - np.mean([loss[cells] for loss, cells in zip(losses, self.coded.cells, strict=True)], axis=0)
        sampled = kept.sum()
        return Judged(
            float((detail * shown).sum() / sampled),
            float(shown.sum() / sampled),
            float(np.mean(one)),
            float(np.mean(two)),
        )


def show(words, epsilon, beta, k, found, to_beat="-"):
    """One line of a table."""
    numbers = f"{found.rows:8.1%}{found.granularity:8.3f}{found.one:8.3f}{found.two:8.3f}"
    print(f"{words:40}{float(epsilon):8g}{float(beta):8.3f}{k:5}{numbers}{to_beat:>14}", flush=True)
    return {"what": words, "epsilon": float(epsilon), "beta": float(beta), "k": k} | vars(found)


def ideas():
    """From the domain alone to the defaults, one idea after another; the same epsilon for all."""
    tiny = Fraction(1, 10**4)
    plain = TreeParameters(
        measurement_shares=(Fraction(1),),
        count_shares=(1 - tiny,),
        bits_power=1.0,
        domain_share_variance=5.0,
        prior_count_error=0.2,
        expected_count_error=0.2,
        frontier_factor=20,
    )
    yield "domain shares only", plain
    measured = replace(plain, count_shares=(Fraction(1, 4),), domain_share_variance=1e9)
    yield "+ one survey of every attribute", measured
    yield "+ little of it for the count", (measured := replace(measured, count_shares=(Fraction(1, 20),)))
    yield "+ smoothed by the domain", (measured := replace(measured, domain_share_variance=5.0))
    yield "+ bits to the power 1.5", (measured := replace(measured, bits_power=1.5))
    later = replace(measured, measurement_shares=(Fraction(2, 3), Fraction(1, 3)), frontier_factor=10)
    yield "+ histograms of a frontier, no count", replace(later, count_shares=(Fraction(1, 20), tiny))
    yield "+ boxes counted and put back (defaults)", TreeParameters()
    yield "the same, nothing for a frontier", TreeParameters(count_shares=(Fraction(1, 20), 1 - tiny))


def speed(report):
    """CPU seconds, each job in a process of its own."""
    print(f"\n{'CPU seconds':48}{'ours':>8}{'wall s':>8}{'to beat':>9}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        command = [sys.executable, str(Path(engine.__file__)), str(10 * engine.MILLION), str(path)]
        subprocess.run(command, check=True)  # noqa: S603
        cpu = {}
        for job, words in (
            ("wide", f"tree, {WIDE} attributes x {WIDE_ROWS:,} rows"),
            ("fixed", "fixed levels, 8 attributes x 10,000,000 rows"),
            ("tree", "tree, the same file: grow, sample, label, write"),
            ("sampled", "tree grown on a separate tenth, the same"),
        ):
            command = [sys.executable, __file__, "--job", job, str(path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
            cpu[job], wall = json.loads(done.stdout)
            limit = {"wide": 30.0, "tree": 3 * cpu.get("fixed", 0.0), "sampled": 3 * cpu.get("fixed", 0.0)}.get(job)
            print(f"{words:48}{cpu[job]:8.2f}{wall:8.2f}{f'{limit:.1f}' if limit else '-':>9}", flush=True)
            report["cpu_seconds"].append({"what": words, "seconds": cpu[job], "to_beat": limit})
        print(f"{'tree / fixed (to beat: 3)':48}{cpu['tree'] / cpu['fixed']:8.2f}")


def work(job, path):
    """One job, from a file or frame to a written file."""
    beta, k = Fraction(1, 2), 20
    schema, levels = (wide_schema(), {}) if job == "wide" else engine.meaning()
    if job == "wide":
        from shoal.datasets.simulate import simulate

        with Source.seeded(1) as source:
            path = simulate(schema, WIDE_ROWS, source)
    out = Path(tempfile.mkdtemp()) / "out.parquet"
    start = time.process_time(), time.perf_counter()
    table = DuckDB().scan(path, schema)
    with Source.secure() as source:
        if job == "fixed":
            labelled = table.keep(source.row_mask(beta).keep).recode(levels)
        else:
            rate = Fraction(1, 10) if job == "sampled" else Fraction(1)
            seen = table.keep(source.stream("separate").row_mask(rate).keep) if rate < 1 else table
            plan = SafeTree(schema, Fraction("0.15"), k, beta, sample=rate)
            boxes = plan.settle(seen, source.stream("tree"))
            labelled = boxes.apply(table.keep(source.stream("sample").row_mask(beta).keep))
        labelled.suppress_below(labelled.columns, k).write(out)
    print(json.dumps([time.process_time() - start[0], time.perf_counter() - start[1]]))
    out.unlink()
    out.parent.rmdir()


def wide_schema():
    """Sixty attributes: numbers, categories and dates in turn."""
    kinds = (
        "integer, domain: [0, 99], hierarchy: {intervals: [5, 25]}",
        "category, domain: [a, b, c, d, e, f, g, h]",
        "date, domain: [2024-01-01, 2025-12-31], hierarchy: {date: [month, quarter, year]}",
        "ordinal, domain: [low, middle, high]",
    )
    lines = [f"  x{i}: {{role: quasi, type: {kinds[i % len(kinds)]}}}\n" for i in range(WIDE)]
    head = "version: 1\ndataset: wide\nunit: row\nneighbours: add_remove\nattributes:\n"
    return Policy.parse(head + "".join(lines)).schema


def plot(lines, file):
    """Rows against detail, and rows against total variation: one line for each epsilon, a point for each beta."""
    from matplotlib.figure import Figure

    from shoal.page.plots import COLOURS, plot_style

    with plot_style():
        figure = Figure(figsize=(9, 4), layout="constrained")
        for axes, key, words in zip(
            figure.subplots(1, 2),
            ("granularity", "two"),
            ("granularity", "total variation, two attributes"),
            strict=True,
        ):
            for colour, epsilon in zip(COLOURS, (1.0, 2.0), strict=False):
                own = [line for line in lines if line["epsilon"] == epsilon and line["what"] == "tree"]
                shown = [line["beta"] * line["rows"] for line in own]
                axes.plot(shown, [line[key] for line in own], "o-", color=colour, label=f"tree, epsilon {epsilon:g}")
                for line, at in zip(own, shown, strict=True):
                    axes.annotate(
                        f"{line['beta']:g}", (at, line[key]), xytext=(4, 5), textcoords="offset points", size=7
                    )
            for mark, kind in (("s", "drawn grid"), ("^", "levels half-way")):
                own = [line for line in lines if line["what"] == kind and line["epsilon"] == 2.0]
                shown = [line["beta"] * line["rows"] for line in own]
                label = f"{kind}, epsilon 2"
                axes.plot(shown, [line[key] for line in own], mark, color="0.45", markersize=5, label=label)
            axes.set_xlabel("share of the table's rows that is published")
            axes.set_title(words, loc="left", fontsize=10)
        axes.legend(fontsize=7)
        figure.savefig(file, metadata={"Date": None, "Creator": None} if file.suffix == ".svg" else None)


def main():
    """The issue's figures, the frontier, the ideas, the times, and all of it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--job", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--no-speed", action="store_true")
    parser.add_argument("--plot", type=Path)
    given = parser.parse_args()
    if given.job:
        work(given.job[0], Path(given.job[1]))
        return
    report = {"figures": [], "frontier": [], "ideas": [], "cpu_seconds": []}
    if (lattice.DATA / "adult" / "adult.csv").exists():
        adult = Adult()
        head = f"{'epsilon':>8}{'beta':>8}{'k':>5}{'rows':>8}{'detail':>8}{'1-way':>8}{'2-way':>8}"
        print(f"{'Adult, means of 20 runs':40}{head}{'to beat':>14}")
        two, tenth = Fraction(2), Fraction(1, 10)
        _, rate = lattice.setting(tenth)
        report["figures"] = [
            show("full-domain draw with .1", two, rate, *adult.drawn(two, rate, tenth), "detail .56"),
            show("tree", two, Fraction("0.85"), *adult.trees(two, Fraction("0.85")), "detail .58"),
            show("tree", two, Fraction("0.3"), *adult.trees(two, Fraction("0.3")), ".68, 85 %"),
        ]
        print(f"\n{'the frontier':40}{head}")
        for epsilon in (Fraction(1), two):
            for beta in map(Fraction, BETAS):
                report["frontier"].append(show("tree", epsilon, beta, *adult.trees(epsilon, beta)))
            for beta in map(Fraction, ("0.1", "0.3", "0.85")):
                share = epsilon * SHARES["choose"]
                report["frontier"].append(show("drawn grid", epsilon, beta, *adult.drawn(epsilon, beta, share)))
                report["frontier"].append(show("levels half-way", epsilon, beta, *adult.fixed(epsilon, beta)))
        print(f"\n{'what each idea brought':40}{head}")
        for epsilon, beta in ((Fraction(1), Fraction("0.3")), (two, Fraction("0.85"))):
            for words, parameters in ideas():
                report["ideas"].append(show(words, epsilon, beta, *adult.trees(epsilon, beta, parameters=parameters)))
        if given.plot is not None:
            plot(report["frontier"], given.plot)
    else:
        print("no data folder: nothing measured on Adult")
    if not given.no_speed:
        speed(report)
    print("\n" + json.dumps(report))


if __name__ == "__main__":
    main()
