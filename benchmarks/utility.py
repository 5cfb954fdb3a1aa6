"""What is left of a table after its release: our candidates beside other synthesizers, on ten tables, by one set of measures.

`quick`, which is what is done when nothing is said, is Adult at epsilon 1 and delta 1e-6 with three repeats (about half an
hour, most of it AIM; `--methods` leaves peers out); `full` is every table at five epsilons and two deltas with ten (days);
`report` prints the results that are there, `map` one measure of them by epsilon, and `csv` the means of all of them.

Every run is a process of its own; its figures are one line of build/bench/utility.jsonl with the revision of the code, and a
run whose line is there is not repeated, so a long series can be stopped and resumed. A peer runs in its own environment under
build/peers/, made on first use; where it cannot be had, its line says so, and one that needs more than `--seconds` of CPU is
stopped and not tried again.
Measures: mean and worst total variation of 1, 2 and 3 attributes; 1000 random range queries; Cramer's V of pairs, as it is and
less what chance alone shows (Bergsma 2013), and correlations; area under the ROC curve of three classifiers trained on the
result and tested on originals that were held out.

    python benchmarks/utility.py                                     Adult at (1, 1e-6), three repeats, everything
    python benchmarks/utility.py full --methods "synthetic, default" --tables fars,wide-16
    python benchmarks/utility.py map --measure auc --tables adult
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from itertools import combinations
from pathlib import Path

import numpy as np
from _utility_measures import Rows, measure
from _utility_ours import CANDIDATES, run
from _utility_tables import ROOT, TABLES

from shoal.guarantee.differential import GaussianDP

RESULTS = ROOT / "build" / "bench" / "utility.jsonl"
PEERS = ROOT / "build" / "peers"
ENVIRONMENTS = {
    "opendp": ("opendp", ["opendp[mbi]==0.16.0", "polars", "pandas", "scikit-learn==1.9.1"]),
    "smartnoise": ("smartnoise", ["smartnoise-synth==1.0.8"]),
    "privbayes": ("datasynthesizer", ["DataSynthesizer==0.1.13"]),
}
"""For each family of peers its environment and what is installed there; classifiers run in the first."""
PEER_METHODS = ("smartnoise-mst", "opendp-aim2", "opendp-aim2small", "opendp-aim3", "smartnoise-aim2", "privbayes-2")
BASELINES = ("originals", "Gaussian, all pairs")
EPSILONS, DELTAS = ("0.1", "0.3", "1", "3", "10"), ("1e-6", "1e-9")
SHOWN = (
    "tv1", "tv2", "tv2_worst", "tv3", "tv3_worst", "range", "association", "association_beyond_chance", "correlation", "auc",
    "cpu", "megabytes",
)  # fmt: skip
SINGLE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


def python_of(family: str) -> Path | None:
    """The interpreter of a family's environment, made on first use; None where it cannot be had."""
    name, packages = ENVIRONMENTS[family]
    home = PEERS / name
    python = home / "bin" / "python"
    if not python.exists():
        print(f"making {home.relative_to(ROOT)}", file=sys.stderr)
        venv.create(home, with_pip=True, clear=True)
        done = subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=False)  # noqa: S603 - our own words
        if done.returncode:
            shutil.rmtree(home)  # so that the next run tries again
            return None
    return python


def write_codes(path: Path, table, codes: np.ndarray) -> Path:
    """Codes as a CSV file with a header."""
    header = ",".join(column.name for column in table.columns)
    np.savetxt(path, codes, fmt="%d", delimiter=",", header=header, comments="")
    return path


def read_codes(path: Path) -> np.ndarray:
    """The codes of a CSV file with a header."""
    return np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64, ndmin=2)


def call(python: Path | str, script: Path, job: dict, folder: Path, name: str) -> tuple[dict | None, str]:
    """Run one of the peers' scripts; its last line of output, or None and what went wrong."""
    path = folder / f"{name}.json"
    path.write_text(json.dumps(job))
    command = ["nice", "-n", "5", str(python), "-W", "ignore", str(script), str(path)]
    done = subprocess.run(  # noqa: S603 - our own words
        command, capture_output=True, text=True, check=False, env={**os.environ, **SINGLE_THREAD, "PYTHONPATH": ""}
    )
    if done.returncode:
        stopped = done.returncode in (-9, -24, 137, 152)
        said = (done.stderr.strip().splitlines() or ["nothing was said"])[-1][:200]
        return None, f"not finished in {job.get('seconds')} CPU s" if stopped else said
    return json.loads(done.stdout.strip().splitlines()[-1]), ""


def classify(table, rows: np.ndarray, folder: Path) -> dict[str, float]:
    """The areas of three classifiers, and their mean; nothing where no rows were held out."""
    python = python_of("opendp")
    if not len(table.test) or python is None:
        return {}
    domains = folder / "domains.json"
    domains.write_text(json.dumps({column.name: column.cells for column in table.columns}))
    job = {
        "train": str(write_codes(folder / "train.csv", table, rows)),
        "test": str(write_codes(folder / "test.csv", table, table.test)),
        "domains": str(domains),
        "ordered": [column.name for column in table.columns if column.ordered],
        "target": table.target,
        "positive": list(table.positive),
    }
    found, said = call(python, ROOT / "benchmarks" / "peers" / "classifiers.py", job, folder, "classify")
    if found is None:
        print(f"classifiers: {said}", file=sys.stderr)
        return {}
    return found | {"auc": float(np.mean(list(found.values())))}


class Pairs:
    """A result that says pairs alone: a single attribute is the mean of what its pairs say."""

    def __init__(self, pairs: dict[tuple[int, int], np.ndarray], attributes: int) -> None:
        self.pairs, self.attributes = pairs, attributes

    def counts(self, axes) -> np.ndarray:
        """The counts of one attribute or of two."""
        if len(axes) == 2:
            return np.asarray(self.pairs[tuple(axes)])
        (own,) = axes
        sums = [table.sum(axis=1 if pair[0] == own else 0) for pair, table in self.pairs.items() if own in pair]
        return np.mean([one / one.sum() for one in sums], axis=0)


def gaussian_pairs(table, truth: Rows, epsilon: str, delta: str) -> dict[tuple[int, int], np.ndarray]:
    """The yardstick: Gaussian noise on all pairs for the same promise, each projected to counts that are not negative."""
    pairs = list(combinations(range(len(table.columns)), 2))
    low, high = len(pairs) ** 0.5 / 20, 1e5
    for _ in range(60):
        middle = (low * high) ** 0.5
        fits = GaussianDP(len(pairs) ** 0.5 / middle).delta_at(float(epsilon)) <= float(delta)
        low, high = (low, middle) if fits else (middle, high)
    chance, found = np.random.default_rng(), {}
    for pair in pairs:
        exact = truth.counts(pair)
        noisy = (exact + chance.normal(0, high, exact.shape)).ravel()
        total = max(noisy.sum(), 1.0)
        falling = np.sort(noisy)[::-1]
        excess = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
        found[pair] = np.maximum(noisy - excess[np.flatnonzero(falling > excess)[-1]], 0).reshape(exact.shape)
    return found


def one(table, truth: Rows, method: str, epsilon: str, delta: str, seconds: int, *, classified: bool = True) -> dict:
    """One run of one method: every measure, or why there is none."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if method == "originals":
            return classify(table, table.train, folder)
        if method == "Gaussian, all pairs":
            began = time.process_time()
            pairs = Pairs(gaussian_pairs(table, truth, epsilon, delta), len(table.columns))
            return {"cpu": time.process_time() - began} | measure(table.columns, truth, pairs, widest=2)
        if method in CANDIDATES:
            own = json.loads(ours_apart(table.name, method, epsilon, delta, folder))
            if "problem" in own:
                return own
        else:
            python = python_of(method.split("-", maxsplit=1)[0])
            if python is None:
                return {"problem": "could not be installed here"}
            domains = folder / "domains.json"
            domains.write_text(json.dumps({column.name: column.cells for column in table.columns}))
            job = {
                "method": method,
                "table": str(write_codes(folder / "table.csv", table, table.train)),
                "domains": str(domains),
                "epsilon": float(epsilon),
                "delta": float(delta),
                "output": str(folder / "rows.csv"),
                "shipped": str(folder / "shipped.csv"),
                "seconds": seconds,
            }
            own, said = call(python, ROOT / "benchmarks" / "peers" / "synthesizers.py", job, folder, "synthesize")
            if own is None:
                return {"problem": said}
        rows = read_codes(folder / "rows.csv")
        found = own | measure(table.columns, truth, Rows(rows, table.sizes))
        if classified:
            found |= classify(table, rows, folder)
        if (folder / "shipped.csv").exists():
            shipped = Rows(read_codes(folder / "shipped.csv"), table.sizes)
            found |= {f"{name}_shipped": value for name, value in measure(table.columns, truth, shipped).items()}
        return found


def ours_apart(table: str, method: str, epsilon: str, delta: str, folder: Path) -> str:
    """Run one of our candidates as a process of its own, so that memory and CPU are its own."""
    job = folder / "ours.json"
    job.write_text(
        json.dumps({"table": table, "method": method, "epsilon": epsilon, "delta": delta, "folder": str(folder)})
    )
    done = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, __file__, "ours", str(job)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **SINGLE_THREAD},
    )
    if done.returncode:
        return json.dumps({"problem": (done.stderr.strip().splitlines() or ["nothing was said"])[-1][:300]})
    return done.stdout.strip().splitlines()[-1]


def ours(path: str) -> None:
    """The other end of `ours_apart`."""
    job = json.loads(Path(path).read_text())
    folder, table = Path(job["folder"]), TABLES[job["table"]]()
    found = run(table, job["method"], job["epsilon"], job["delta"], folder)
    write_codes(folder / "rows.csv", table, found.pop("rows"))
    found |= found.pop("said", {})
    print(json.dumps(found))


def read_results(path: Path) -> dict[tuple, dict]:
    """What was measured before, by table, method, epsilon, delta and repeat; the last line of a run counts."""
    lines = path.read_text().splitlines() if path.exists() else []
    found = (json.loads(line) for line in lines if line.strip())
    return {tuple(line[key] for key in ("table", "method", "epsilon", "delta", "repeat")): line for line in found}


def half_width(values: list[float]) -> float:
    """Half the width of a 95 % interval (Student) for the mean over repeats."""
    from scipy.special import stdtrit

    return float(stdtrit(len(values) - 1, 0.975) * np.std(values, ddof=1) / len(values) ** 0.5)


def interval(values: list[float]) -> str:
    """The mean over repeats, with half the width of its interval where there are several."""
    mean = float(np.mean(values))
    digits = 1 if abs(mean) >= 20 else 4
    if len(values) < 2:
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ± {half_width(values):.{digits}f}"


def grouped(path: Path, tables=(), methods=()) -> dict[tuple[str, float, float], dict[str, list[dict]]]:
    """The results of some tables and methods, or of all: by table, epsilon and delta, then by method."""
    groups: dict[tuple, dict[str, list[dict]]] = {}
    for (table, method, epsilon, delta, _), line in read_results(path).items():
        if (not tables or table in tables) and (not methods or method in methods):
            groups.setdefault((table, float(epsilon), float(delta)), {}).setdefault(method, []).append(line)
    return dict(sorted(groups.items()))


def values_of(lines: list[dict], name: str) -> list[float]:
    """One measure of the runs that have it."""
    return [line[name] for line in lines if "problem" not in line and name in line]


def report(groups) -> None:
    """One Markdown table for each table and promise."""
    for (table, epsilon, delta), methods in groups.items():
        print(f"\n### {table}, epsilon {epsilon:g}, delta {delta:g}\n")
        print("| method | runs | " + " | ".join(SHOWN) + " |")
        print("| --- " * (len(SHOWN) + 2) + "|")
        for method, lines in methods.items():
            good = [line for line in lines if "problem" not in line]
            if not good:
                print(f"| {method} | 0 | {lines[-1]['problem']} |" + " |" * (len(SHOWN) - 1))
                continue
            for suffix, words in (("", ""), ("_shipped", ", drawn as shipped"), ("_said", ", its own estimates")):
                own = [line for line in good if f"tv2{suffix}" in line or not suffix]
                if own and not (suffix and method == "privbayes-2"):
                    found = [values_of(own, name + suffix) for name in SHOWN]
                    print(
                        f"| {method}{words} | {len(own)} | "
                        + " | ".join(interval(v) if v else "" for v in found)
                        + " |"
                    )


def report_by_epsilon(groups, measure: str) -> None:
    """One Markdown table for each table and delta: a line for each method, a column for each epsilon, runs in brackets."""
    epsilons = sorted({epsilon for _, epsilon, _ in groups})
    for table, delta in dict.fromkeys((table, delta) for table, _, delta in groups):
        print(f"\n### {measure} of {table}, delta {delta:g}\n")
        print("| method | " + " | ".join(f"{epsilon:g}" for epsilon in epsilons) + " |")
        print("| --- " * (len(epsilons) + 1) + "|")
        own = [groups.get((table, epsilon, delta), {}) for epsilon in epsilons]
        for method in dict.fromkeys(method for methods in own for method in methods):
            found = [values_of(methods.get(method, []), measure) for methods in own]
            print(f"| {method} | " + " | ".join(f"{interval(v)} ({len(v)})" if v else "" for v in found) + " |")


def report_as_csv(groups) -> None:
    """One line for each table, promise and method: the number of runs, each measure's mean and half the width of its interval."""
    print("table,epsilon,delta,method,runs," + ",".join(f"{name},{name}_half_width" for name in SHOWN))
    for (table, epsilon, delta), methods in groups.items():
        for method, lines in methods.items():
            runs = sum("problem" not in line for line in lines)
            cells = []
            for name in SHOWN:
                found = values_of(lines, name)
                cells += [
                    f"{np.mean(found):.4g}" if found else "",
                    f"{half_width(found):.2g}" if len(found) > 1 else "",
                ]
            print(f'{table},{epsilon:g},{delta:g},"{method}",{runs},' + ",".join(cells))


def revision() -> str:
    """The revision of this working copy, with a plus where files were changed since; empty where git does not know."""
    git = shutil.which("git")
    if git is None:
        return ""
    done = subprocess.run(  # noqa: S603 - our own words
        [git, "-C", str(ROOT), "describe", "--always", "--dirty=+", "--exclude=*"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


def parser() -> argparse.ArgumentParser:
    """What can be said on the command line."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("what", nargs="?", default="quick", choices=("quick", "full", "report", "map", "csv"))
    made.add_argument("--tables", metavar="A,B", help=f"of: {', '.join(TABLES)}")
    every = "; ".join((*BASELINES, *CANDIDATES, *PEER_METHODS))
    made.add_argument("--methods", metavar='"A;B"', help=f"of: {every}")
    made.add_argument("--epsilons", metavar="E,E", help=f"default of full: {','.join(EPSILONS)}")
    made.add_argument("--deltas", metavar="D,D", help=f"default of full: {','.join(DELTAS)}")
    made.add_argument("--repeats", type=int, metavar="N", help="3 for quick, 10 for full")
    made.add_argument(
        "--classified", type=int, metavar="N", help="repeats that train classifiers; all, if nothing is said"
    )
    made.add_argument("--seconds", type=int, default=3000, metavar="N", help="CPU seconds that a peer may take")
    made.add_argument("--measure", default="tv2", choices=SHOWN, help="what `map` shows")
    made.add_argument("--results", type=Path, default=RESULTS, metavar="FILE")
    return made


def chosen(said: str | None, separator: str, known, default) -> list[str]:
    """The names that were given, each one known; or the default."""
    names = said.split(separator) if said else list(default)
    for name in names:
        if name not in known:
            raise SystemExit(f"not known: {name!r}; allowed: {separator.join(known)}")
    return names


def main(arguments: list[str]) -> None:
    """Run what is not there yet, then print."""
    if arguments[:1] == ["ours"]:
        return ours(arguments[1])
    said = parser().parse_args(arguments)
    every = (*BASELINES, *CANDIDATES, *PEER_METHODS)
    if said.what in {"quick", "full"}:
        quick = said.what == "quick"
        series(
            said.results,
            [
                (table, method, epsilon, delta, repeat)
                for repeat in range(said.repeats or (3 if quick else 10))
                for table in chosen(said.tables, ",", TABLES, ["adult"] if quick else TABLES)
                for epsilon in (said.epsilons or ("1" if quick else ",".join(EPSILONS))).split(",")
                for delta in (said.deltas or ("1e-6" if quick else ",".join(DELTAS))).split(",")
                for method in chosen(said.methods, ";", every, every)
                if not (method == "originals" and repeat)
            ],
            said.seconds,
            said.classified,
        )
    groups = grouped(said.results, chosen(said.tables, ",", TABLES, ()), chosen(said.methods, ";", every, ()))
    if said.what == "map":
        report_by_epsilon(groups, said.measure)
    elif said.what == "csv":
        report_as_csv(groups)
    else:
        report(groups)
    return None


def series(path: Path, runs: list[tuple[str, str, str, str, int]], seconds: int, classified: int | None) -> None:
    """Run what is not there yet, and append each result as it comes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    done, code = read_results(path), revision()
    made: dict[str, tuple] = {}
    for key in runs:
        table, method, epsilon, delta, repeat = key
        known = [
            line for other, line in done.items() if other[:4] == key[:4] and "not finished" in line.get("problem", "")
        ]
        if known or "problem" not in done.get(key, {"problem": "not run"}):
            continue
        try:
            if table not in made:
                coded = TABLES[table]()
                made[table] = coded, Rows(coded.train, coded.sizes)
        except FileNotFoundError as error:
            print(f"left out: {table}: {error.filename} is not there", file=sys.stderr)
            continue
        found = one(*made[table], method, epsilon, delta, seconds, classified=classified is None or repeat < classified)
        line = dict(zip(("table", "method", "epsilon", "delta", "repeat"), key, strict=True)) | {"code": code} | found
        done[key] = line
        with path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        words = (
            found.get("problem")
            or f"tv2 {found.get('tv2', float('nan')):.4f}, auc {found.get('auc', float('nan')):.4f}"
        )
        print(
            f"{table}, epsilon {epsilon}, delta {delta}, {method}, run {repeat}: {words}", file=sys.stderr, flush=True
        )


if __name__ == "__main__":
    main(sys.argv[1:])
