"""The questions of benchmarks/answers.py, answered by OpenDP, diffprivlib or SmartNoise; run by the Python of its environment.

    python answers.py LIBRARY TABLE.csv EPSILON DRAWS        prints JSON: for each question the answers, one after the other

The table has the columns age, stay, income and department (0 to 9). Each library is used as its documentation shows, with the
same bounds as ours and all of epsilon for each question; what it cannot do is left out. diffprivlib takes the number of rows,
and of the rows in each group, for public.
"""

import csv
import json
import sys
from pathlib import Path

import numpy as np

BOUNDS = {"age": (0, 110), "stay": (0, 365), "income": (0, 500_000)}
GROUPS = 10


def read(path):
    """The columns of the table."""
    with Path(path).open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in ("age", "stay", "income", "department")}


def by_diffprivlib(table, epsilon, draws):
    """IBM's diffprivlib: its tools, each with its own noise."""
    from diffprivlib import tools
    from diffprivlib.accountant import BudgetAccountant

    BudgetAccountant().set_default()
    old = table["age"] >= 65
    groups = [table["income"][table["department"] == group] for group in range(GROUPS)]
    stay, income, department = table["stay"], table["income"], table["department"]
    questions = {
        "count": lambda: tools.count_nonzero(old, epsilon=epsilon),
        "sum": lambda: tools.sum(stay, epsilon=epsilon, bounds=BOUNDS["stay"]),
        "mean": lambda: tools.mean(income, epsilon=epsilon, bounds=BOUNDS["income"]),
        "quantile": lambda: tools.median(income, epsilon=epsilon, bounds=BOUNDS["income"]),
        "histogram": lambda: list(tools.histogram(department, epsilon=epsilon, bins=GROUPS, range=(-0.5, 9.5))[0]),
        "group means": lambda: [float(tools.mean(own, epsilon=epsilon, bounds=BOUNDS["income"])) for own in groups],
    }
    return {name: [as_plain(ask()) for _ in range(draws)] for name, ask in questions.items()}


def by_opendp(table, epsilon, draws):
    """OpenDP: transformations and measurements, calibrated to epsilon."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "floating-point")
    integers = dp.vector_domain(dp.atom_domain(T=int))
    metric = dp.symmetric_distance()

    def calibrated(make, least=1e-6, most=1e12):
        scale = dp.binary_search_param(make, d_in=1, d_out=epsilon, bounds=(least, most))
        return make(scale)

    old = (table["age"] >= 65).astype(int)
    counted = calibrated(lambda scale: (integers, metric) >> dp.t.then_count() >> dp.m.then_laplace(scale))
    days = [int(value) for value in table["stay"]]
    total = calibrated(
        lambda scale: (
            (integers, metric) >> dp.t.then_clamp(BOUNDS["stay"]) >> dp.t.then_sum() >> dp.m.then_laplace(scale)
        )
    )
    whole = [int(value) for value in table["income"]]
    half = epsilon / 2

    def halved(make):
        scale = dp.binary_search_param(make, d_in=1, d_out=half, bounds=(1e-6, 1e12))
        return make(scale)

    summed = halved(
        lambda scale: (
            (integers, metric) >> dp.t.then_clamp(BOUNDS["income"]) >> dp.t.then_sum() >> dp.m.then_laplace(scale)
        )
    )
    number = halved(lambda scale: (integers, metric) >> dp.t.then_count() >> dp.m.then_laplace(scale))
    candidates = [float(value) for value in np.linspace(*BOUNDS["income"], 10_001)]
    scores = (dp.vector_domain(dp.atom_domain(T=float, nan=False)), metric) >> dp.t.then_quantile_score_candidates(
        candidates, alpha=0.5
    )
    chosen = calibrated(lambda scale: scores >> dp.m.then_noisy_max(dp.max_divergence(), scale=scale, negate=True))
    cells = (integers, metric) >> dp.t.then_count_by_categories(categories=list(range(GROUPS)), null_category=False)
    binned = calibrated(lambda scale: cells >> dp.m.then_laplace(scale))
    kept = [int(value) for value, one in zip(table["age"], old, strict=True) if one]
    departments = [int(value) for value in table["department"]]
    groups = [[value for value, own in zip(whole, departments, strict=True) if own == group] for group in range(GROUPS)]
    middle = (BOUNDS["income"][0] + BOUNDS["income"][1]) / 2

    def mean(values):
        many = number(values)
        return summed(values) / many if many > 0 else middle

    questions = {
        "count": lambda: counted(kept),
        "sum": lambda: total(days),
        "mean": lambda: mean(whole),
        "quantile": lambda: candidates[chosen(table["income"].tolist())],
        "histogram": lambda: list(binned(departments)),
        "group means": lambda: [mean(own) for own in groups],
    }
    return {name: [as_plain(ask()) for _ in range(draws)] for name, ask in questions.items()}


def by_smartnoise(table, epsilon, draws):
    """SmartNoise SQL: a private reader over a frame."""
    import pandas as pd
    from snsql import Privacy, from_df

    frame = pd.DataFrame({name: table[name].astype(int) for name in table})
    frame["pid"] = np.arange(len(frame))
    columns = {name: {"type": "int", "lower": low, "upper": high} for name, (low, high) in BOUNDS.items()}
    columns |= {
        "department": {"type": "int", "lower": 0, "upper": GROUPS - 1},
        "pid": {"type": "int", "private_id": True},
    }
    own = {"max_ids": 1, "row_privacy": False, "censor_dims": False, "clamp_counts": False, **columns}
    meta = {"": {"MySchema": {"MyTable": own}}}
    reader = from_df(frame, privacy=Privacy(epsilon=epsilon, delta=0.0), metadata=meta)
    asked = {
        "count": "SELECT COUNT(*) AS n FROM MySchema.MyTable WHERE age >= 65",
        "sum": "SELECT SUM(stay) AS s FROM MySchema.MyTable",
        "mean": "SELECT AVG(income) AS m FROM MySchema.MyTable",
        "histogram": "SELECT department, COUNT(*) AS n FROM MySchema.MyTable GROUP BY department ORDER BY department",
        "group means": "SELECT department, AVG(income) AS m FROM MySchema.MyTable GROUP BY department ORDER BY department",
    }
    spent = {}
    for name, text in asked.items():
        spent[name] = float(reader.get_privacy_cost(text)[0])
    found = {}
    for name, text in asked.items():
        # One question may spend a multiple of the epsilon of one noisy column; all of them get the same total.
        reader = from_df(
            frame, privacy=Privacy(epsilon=epsilon**2 / max(spent[name], epsilon), delta=0.0), metadata=meta
        )
        found[name] = []
        for _ in range(draws):
            rows = reader.execute(text)[1:]
            found[name].append(
                [float(row[-1]) for row in rows] if name in ("histogram", "group means") else float(rows[0][-1])
            )
    return found


def as_plain(value):
    """An answer that JSON can hold."""
    return [float(each) for each in value] if isinstance(value, list) else float(value)


if __name__ == "__main__":
    library, path, epsilon, draws = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
    run = {"opendp": by_opendp, "diffprivlib": by_diffprivlib, "smartnoise": by_smartnoise}[library]
    print(json.dumps(run(read(path), epsilon, draws)))
