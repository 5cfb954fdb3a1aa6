"""Draw docs/_static/release.png, the picture of a release in README.md: `python scripts/readme_picture.py`.

The people do not exist. The run is seeded, so that the picture can be drawn again; such a run carries no guarantee.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

import shoal
from shoal.anonymize.generalize.tree.boxes import BoxRecoding
from shoal.chance.source import Source
from shoal.engine.base import open_engine
from shoal.page.diagrams import BoxDiagram, DiagramBox, boxes_side_by_side
from shoal.page.picture import PlotAxis
from shoal.page.plots import render
from shoal.publish.plan.safe_k import SafeKPlan

AXES = PlotAxis("age", limits=(0, 100)), PlotAxis("income, in thousands", limits=(0, 120))
POLICY = """
version: 1
dataset: a-town
unit: row
neighbours: add_remove
attributes:
  age: {role: quasi, type: integer, domain: [0, 99], missing: refuse, hierarchy: {intervals: [5, 10, 20]}}
  income: {role: quasi, type: integer, domain: [0, 119], missing: refuse, hierarchy: {intervals: [5, 10, 20, 60]}}
release: {method: safe-k, epsilon: 1, delta: 1e-6}
"""


def people(random: np.random.Generator) -> pa.Table:
    """Six thousand people: the young earn little, the old have pensions, and those between spread out."""
    age = [random.normal(24, 4, 1800), random.normal(42, 9, 3000), random.normal(74, 6, 1200)]
    income = [random.normal(16, 5, 1800), random.gamma(9, 5.5, 3000), random.normal(28, 6, 1200)]
    return pa.table(
        {
            "age": np.clip(np.concatenate(age), 0, 99).astype(int),
            "income": np.clip(np.concatenate(income), 0, 119).astype(int),
        }
    )


def ends(label: str, axis: PlotAxis) -> tuple[float, float]:
    """Where a label begins and ends: [30, 40) is 30 to 40, 37 is 37 to 38, and * the whole axis."""
    if label == "*":
        low, high = axis.limits
        return float(low or 0), float(high or 0)
    numbers = [float(text) for text in label.strip("[)").split(",")]
    return numbers[0], numbers[-1] if len(numbers) > 1 else numbers[0] + 1


def main() -> None:
    """Run the release with a seed and draw the table beside what is published of it."""
    random = np.random.default_rng(5)
    table = people(random)
    plan = shoal.plan(shoal.Policy.parse(POLICY))
    if not isinstance(plan, SafeKPlan):
        raise TypeError("the policy above asks for safe-k")
    rows = open_engine().scan(table, plan.schema)
    with Source.seeded(1) as source:
        recoding = plan.method.settle(rows, source.stream("settle"))
        if not isinstance(recoding, BoxRecoding):
            raise TypeError("the policy above grows a tree")
        published = plan.method.run(rows, recoding, source.stream("release"))
        groups = published.count_by(published.columns)
    counts = dict(zip(zip(*groups.tuples, strict=True), groups.counts.tolist(), strict=True))
    boxes = [
        DiagramBox(*ends(one, AXES[0]), *ends(two, AXES[1]), str(counts.get((one, two), "")), (one, two) in counts)
        for one, two in zip(*recoding.labels, strict=True)
    ]
    dots = [(a + random.random(), b + random.random()) for a, b in zip(*table.to_pydict().values(), strict=True)]
    panels = [
        BoxDiagram("The table: one point is one person", [], dots),
        BoxDiagram("The release: labels and counts", boxes),
    ]
    target = Path(__file__).resolve().parents[1] / "docs" / "_static" / "release.png"
    target.write_bytes(render(boxes_side_by_side(panels, *AXES, size=(4.6, 3.6)), "png"))
    print(f"{target.name}: {len(counts)} of {len(boxes)} boxes published, {groups.rows} rows")


if __name__ == "__main__":
    main()
