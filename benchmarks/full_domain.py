"""k-anonymity by full-domain recoding: the optimum on Adult beside ARX's, criteria, local recoding, and lattices of many schemes.

ARX 3.9 was measured on the same machine with the same hierarchies: k = 5, suppression without a limit, its loss metric.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

from shoal.anonymize.generalize.lattice import Lattice
from shoal.anonymize.generalize.search.best_scheme import find_scheme, pose
from shoal.anonymize.generalize.search.records import encode_records
from shoal.anonymize.generalize.search.requirement import Requirement
from shoal.anonymize.method.k_anonymity import FullDomain
from shoal.chance.source import Source
from shoal.data.domain import Interval
from shoal.data.hierarchy.build import hierarchy
from shoal.data.schema import Attribute, Role, Type
from shoal.engine.duckdb.engine import DuckDB
from shoal.guarantee.unit import Unit
from shoal.policy.policy import Policy

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("SHOAL_DATA", ROOT.parent / "shared" / "data"))
QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
ARX = {"rows": 27_113, "cold": 4.0, "warm": 2.5}
SOME = Fraction(99, 100)
ALONE = """
import sys
sys.path.insert(0, "benchmarks")
import full_domain
made = full_domain.run(full_domain.adult(), full_domain.Requirement(5))
print(int(made.kept.sum()))
"""


def adult():
    """The table with the hierarchies of ARX: eight quasi-identifiers, 6,480 schemes."""
    folder = DATA / "adult"
    attributes = {
        name: {
            "role": "quasi",
            "type": "category",
            "hierarchy": {"file": str(folder / "hierarchies" / f"adult_hierarchy_{name}.csv")},
        }
        for name in QUASI
    }
    attributes["age"] |= {"type": "integer", "domain": [1, 100]}
    attributes["salary-class"] = {"role": "confidential", "type": "category", "domain": ["<=50K", ">50K"]}
    head = {"version": 1, "dataset": "adult", "unit": "row", "neighbours": "add_remove"}
    return DuckDB().scan(folder / "adult.csv", Policy.of({**head, "attributes": attributes}).schema)


def run(table, required, **options):
    """One recoding; suppression has no limit unless one is given."""
    with Source.secure() as source:
        method = FullDomain(required, Unit.row("add_remove"), **{"suppression": SOME, **options})
        return method.run(table, source)


def timed(work, *arguments, **options):
    """What a call gives, and its CPU seconds."""
    start = time.process_time()
    found = work(*arguments, **options)
    return found, time.process_time() - start


def cold():
    """CPU seconds of a new process that imports everything, reads the table, searches and recodes."""
    before = os.times()
    made = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True, cwd=ROOT)  # noqa: S603
    after = os.times()
    rows = int(made.stdout)
    return rows, after.children_user + after.children_system - before.children_user - before.children_system


def wide(columns, rows=30_000, kinds=30):
    """Records of many attributes that hang together through a hidden kind, and their lattice."""
    rng = np.random.default_rng(1)
    common = 1 / np.arange(1, kinds + 1)
    kind = rng.choice(kinds, rows, p=common / common.sum())
    attributes, values = [], {}
    for number in range(columns):
        many = (30, 8, 12, 20)[number % 4]
        chances = rng.dirichlet(np.full(many, 0.25), kinds).cumsum(axis=1)
        domain = Interval(0, many - 1)
        steps = hierarchy({"intervals": [5, 10] if number % 4 == 0 else [4]}, Type.INTEGER, domain)
        attributes.append(Attribute(f"a{number}", Role.QUASI, Type.INTEGER, domain, steps))
        values[f"a{number}"] = np.minimum((rng.random(rows)[:, None] > chances[kind]).sum(axis=1), many - 1)
    return pose(
        Lattice.of(attributes, limit=1 << 200),
        encode_records(attributes, (), values),
        Requirement(5),
        "granularity",
        {},
        SOME,
    )


def main():
    """One table for Adult, one for large lattices, and both as JSON."""
    if not (DATA / "adult" / "adult.csv").exists():
        print("no data folder: nothing measured")
        return
    report = {"adult": [], "lattices": []}
    rows, seconds = cold()
    print(f"{'Adult, k = 5':44}{'rows':>8}{'loss':>14}{'looked at':>11}{'CPU s':>8}{'ARX':>8}{'to beat':>9}")
    print(
        f"{'new process: import, read, search, recode':44}{rows:8,}{'':>14}{'':>11}{seconds:8.2f}{ARX['cold']:8}{2.0:9}"
    )
    report["adult"].append({"what": "cold", "rows": rows, "seconds": round(seconds, 3), "arx": ARX})
    table = adult()
    cases = {
        "granularity": (Requirement(5), {}),
        "discernibility": (Requirement(5), {"loss": "discernibility"}),
        "class_size": (Requirement(5), {"loss": "class_size"}),
        "granularity, at most 5 % suppressed": (Requirement(5), {"suppression": Fraction(1, 20)}),
        "granularity, nothing suppressed": (Requirement(5), {"suppression": Fraction(0)}),
        "granularity, l = 2": (Requirement(5, l=2), {}),
        "granularity, t = 0.2": (Requirement(5, t=Fraction(1, 5)), {}),
        "granularity, entropy l = 1.5": (Requirement(5, entropy_l=Fraction(3, 2)), {}),
        "granularity, local recoding": (Requirement(5), {"local": True}),
    }
    for name, (required, options) in cases.items():
        made, seconds = timed(run, table, required, **options)
        found, kept = made.search, int(made.kept.sum())
        if name == "granularity" and kept != ARX["rows"]:
            raise SystemExit(f"{kept} rows are kept, and {ARX['rows']} at ARX's optimum")
        peer = ARX["warm"] if name == "granularity" else "-"
        loss = f"{float(found.loss):,.{0 if found.loss > 1000 else 4}f}"
        print(f"{name:44}{kept:8,}{loss:>14}{found.examined:11,}{seconds:8.2f}{peer:>8}{'-':>9}")
        report["adult"].append(
            {"what": name, "rows": kept, "loss": float(found.loss), "examined": found.examined, "seconds": seconds}
        )
    print(
        f"\n{'30,000 rows, k = 5':34}{'schemes':>14}{'looked at':>11}{'loss':>8}{'at least':>10}{'exact':>7}{'CPU s':>8}"
    )
    for columns in (8, 10, 16):
        problem = wide(columns)
        found, seconds = timed(find_scheme, problem)
        loss, bound = (float(problem.loss.value(total)) for total in (found.best.total, found.lower_bound))
        print(
            f"{f'{columns} attributes':34}{len(problem.lattice):14,}{found.examined:11,}{loss:8.4f}{bound:10.4f}"
            f"{'yes' if found.is_exact else 'no':>7}{seconds:8.1f}"
        )
        report["lattices"].append(
            {"attributes": columns, "schemes": len(problem.lattice), "examined": found.examined, "loss": loss,
             "lower_bound": bound, "is_exact": found.is_exact, "seconds": seconds}
        )  # fmt: skip
    print("\n" + json.dumps(report))


if __name__ == "__main__":
    main()
