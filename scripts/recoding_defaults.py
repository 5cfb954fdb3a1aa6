"""How a tree should grow by default: measured on generated worlds, never on anybody's table (decision 0002).

    python scripts/recoding_defaults.py [--runs N] [--only WORD] [--out FILE]

A world is a generated table. In each, trees are grown with one parameter changed at a time, at several epsilons and sampling
rates, with the same chance for every setting. For each setting: the mean granularity, the share of sampled rows that are
published, the mean total variation of marginals, its mean rank, and its regret: how far it stays behind the best setting
tried in that world, on average and at worst. Wide attributes are compared in 32 bins of neighbouring cells.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.generalize.tree import model, sides
from shoal.anonymize.generalize.tree import safe_tree as tree
from shoal.anonymize.generalize.tree.boxes import BoxTree
from shoal.anonymize.generalize.tree.model import CellCounts
from shoal.anonymize.generalize.tree.safe_tree import SafeTree, TreeParameters
from shoal.anonymize.generalize.tree.sides import SideTree
from shoal.chance.source import Source
from shoal.data.cells import AttributeCells, cells_of
from shoal.data.schema import Schema
from shoal.datasets.simulate import simulate
from shoal.datasets.visits import visits
from shoal.engine.base import open_engine
from shoal.guarantee.safe_k.frontier import setting_by_preference
from shoal.guarantee.safe_k.setting import solve
from shoal.guarantee.unit import ONE_ROW
from shoal.policy.model.release import SHARES
from shoal.policy.policy import Policy

ROOT = Path(__file__).resolve().parent.parent
DELTA = Fraction(1, 10**6)
BINS = 32
MOST_REMEMBERED = 6000
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """A generated table: visits, or a stand-in for a schema with so many attributes."""

    name: str
    rows: int
    attributes: int
    seed: int
    skew: float | None = None
    dependence: float = 0.5
    clinic: bool = False

    def coded(self) -> CellCounts:
        """The table as cells."""
        schema = self.schema()
        if self.skew is None:
            table = visits(self.rows, self.seed).select([each.name for each in schema.attributes])
        else:
            with Source.seeded(f"world {self.seed}") as source:
                table = simulate(schema, self.rows, source, skew=self.skew, dependence=self.dependence)
        pieces = tuple(cells_of(attribute) for attribute in schema.published)
        counted = open_engine().scan(table, schema).recode({each.name: each.level for each in pieces})
        return CellCounts.of(counted.count_by([each.name for each in pieces]), pieces)

    def schema(self) -> Schema:
        """The attributes of the visits, of the clinic, or of both and once more of the visits."""
        shipped = [
            Policy.load(ROOT / "examples" / name / "policy.yaml").schema.published for name in ("visits", "clinic")
        ]
        known = shipped[1] if self.clinic else shipped[0]
        if self.attributes > len(known):
            again = [
                replace(each, name=f"{each.name} {i}") for i, part in enumerate([*shipped, *shipped]) for each in part
            ]
            known = tuple(again)
        return Schema(tuple(known[: self.attributes]))


WORLDS = (
    World("visits, 3,000", 3_000, 10, 1),
    World("visits, 30,000", 30_000, 10, 2),
    World("visits, 200,000", 200_000, 10, 3),
    World("visits, 4 of them, 30,000", 30_000, 4, 4),
    World("stand-in, 4, even", 10_000, 4, 5, 0.5, 0.2),
    World("stand-in, 8, even", 30_000, 8, 6, 0.5, 0.2),
    World("stand-in, 8", 30_000, 8, 7, 1.0, 0.5),
    World("stand-in, 8, tied", 30_000, 8, 8, 1.0, 0.9),
    World("stand-in, 8, skewed", 100_000, 8, 9, 2.0, 0.5),
    World("stand-in, 8, small", 3_000, 8, 10, 1.0, 0.5),
    World("clinic, 5", 10_000, 5, 11, 1.0, 0.5, clinic=True),
    World("stand-in, 20", 30_000, 20, 12, 1.0, 0.5),
    World("stand-in, 20, tied", 100_000, 20, 13, 1.0, 0.8),
)
CASES = tuple(
    (Fraction(epsilon), Fraction(beta)) for epsilon, beta in (("0.5", "0.3"), ("1", "0.1"), ("1", "0.6"), ("2", "0.85"))
)


@dataclass(frozen=True)
class Setting:
    """A way to grow: the part of epsilon that it takes, and its parameters."""

    name: str
    share: Fraction
    parameters: TreeParameters


@dataclass(frozen=True)
class Judged:
    """One release: granularity, share of the sampled rows that are published, mean total variations."""

    granularity: float
    rows: float
    one: float
    two: float


class Judge:
    """How good the published rows of a table are, for any tree over its cells."""

    def __init__(self, coded: CellCounts, bins: int = BINS) -> None:
        self.coded = coded
        self.of = [_binned(each, bins) for each in coded.pieces]
        self.wide = [int(own.max()) + 1 for own in self.of]
        found = [own[held] for own, held in zip(self.of, coded.cells, strict=True)]
        self.pairs = list(combinations(range(len(found)), 2))
        rows = float(coded.counts.sum())
        self.ones = [np.bincount(a, coded.counts, self.wide[j]) / rows for j, a in enumerate(found)]
        self.twos = [
            np.bincount(found[i] * self.wide[j] + found[j], coded.counts, self.wide[i] * self.wide[j]) / rows
            for i, j in self.pairs
        ]

    def judge(self, grown: BoxTree, k: int, beta: Fraction, seed: int) -> Judged:
        """Draw a sample, drop small boxes, look at the rest."""
        # Chance that carries no promise: a seeded generator is what is wanted here.
        chance = np.random.Generator(np.random.PCG64(seed))  # noqa: TID251
        kept = chance.binomial(self.coded.counts, float(beta))
        held = np.bincount(grown.find_nodes(self.coded.cells), kept, len(grown.splits))
        return self.of_boxes(grown, np.where(held >= k, held, 0.0), int(kept.sum()))

    def of_boxes(self, grown: BoxTree, held: Floats, sampled: int) -> Judged:
        """The same, for so many published rows in each node of the tree."""
        shown = np.flatnonzero(held)
        if not len(shown):
            return Judged(0.0, 0.0, 1.0, 1.0)
        mass, faces = held[shown], grown.faces[shown]
        layout, loss, parts = grown.layout, np.zeros(len(shown)), []
        for j, (side, offset) in enumerate(zip(layout.sides, layout.offsets, strict=False)):
            nodes = faces[:, j] - offset
            loss += side.losses[nodes]
            parts.append(self._spread(j, side.order, side.start[nodes], side.stop[nodes]))
        share = mass / mass.sum()
        one = [float(np.abs(share @ part - own).sum()) / 2 for part, own in zip(parts, self.ones, strict=True)]
        two = [
            float(np.abs(((parts[i] * share[:, None]).T @ parts[j]).ravel() - own).sum()) / 2
            for (i, j), own in zip(self.pairs, self.twos, strict=True)
        ]
        detail = float((mass * (1 - loss / len(parts))).sum()) / sampled
        return Judged(detail, float(mass.sum()) / sampled, float(np.mean(one)), float(np.mean(two or one)))

    def _spread(self, j: int, order: Any, start: Any, stop: Any) -> Floats:
        """The bins of labels, each label spread evenly over its leaves; a missing value has none unless it is alone."""
        sizes = np.array([float(size) for size in self.coded.pieces[j].sizes])[order]
        bins = self.of[j][order]
        ends = np.zeros((len(order) + 1, self.wide[j]))
        for at in range(self.wide[j]):
            ends[1:, at] = np.cumsum(np.where(bins == at, sizes, 0.0))
        found = ends[stop] - ends[start]
        alone = found.sum(axis=1) == 0
        found[alone, bins[start[alone]]] = 1.0
        return np.asarray(found / found.sum(axis=1, keepdims=True))


def _binned(piece: AttributeCells, bins: int) -> npt.NDArray[np.int64]:
    """The bin of each cell: itself where there are few, else neighbours together; a missing value by itself."""
    many = len(piece) - (piece.missing is not None)
    found = np.arange(len(piece), dtype=np.int64)
    if many > bins:
        found = np.minimum(found, many) * bins // many
    return found


@cache
def crowd(epsilon: Fraction, beta: Fraction) -> int:
    """The tight k of a promise."""
    return int(solve(epsilon=epsilon, delta=DELTA, beta=beta).k)


def measured(world: World, settings: Sequence[Setting], runs: int) -> list[list[Judged]]:
    """For each setting, the mean of the runs in each case."""
    coded = world.coded()
    judge, schema = Judge(coded), world.schema()
    found = []
    for setting in settings:
        each = []
        for epsilon, beta in CASES:
            paid = epsilon * setting.share
            k = crowd(epsilon - paid, beta)
            plan = SafeTree(schema, paid, k, beta, parameters=setting.parameters)
            judged = []
            for run in range(runs):
                with Source.seeded(f"{world.seed} {run}") as source:
                    judged.append(judge.judge(plan.grow(coded, source), k, beta, run))
            each.append(mean(judged))
        found.append(each)
    return found


def mean(judged: Sequence[Judged]) -> Judged:
    """The mean of several releases."""
    columns = zip(*((each.granularity, each.rows, each.one, each.two) for each in judged), strict=True)
    return Judged(*(float(np.mean(column)) for column in columns))


def settings() -> list[Setting]:
    """The defaults, each parameter changed by itself, and a few joint settings."""
    usual, share = TreeParameters(), SHARES["tree"]
    found = [Setting("defaults", share, usual)]
    found += [Setting(f"share {text}", Fraction(text), usual) for text in ("0.05", "0.1", "0.2", "0.3")]
    for first, second in (("0.5", "0.5"), ("0.8", "0.2")):
        shares = (Fraction(first), Fraction(second))
        found.append(Setting(f"surveys {first} {second}", share, replace(usual, measurement_shares=shares)))
    thirds = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))
    parts = (*usual.count_shares, usual.count_shares[-1])
    found += [
        Setting("surveys 0.5 0.25 0.25", share, replace(usual, measurement_shares=thirds, count_shares=parts)),
        Setting(
            "one survey", share, replace(usual, measurement_shares=(Fraction(1),), count_shares=usual.count_shares[:1])
        ),
    ]
    for text in ("0.25", "0.5", "0.9"):
        counts = (usual.count_shares[0], Fraction(text))
        found.append(Setting(f"second survey's counts {text}", share, replace(usual, count_shares=counts)))
    counts = (Fraction(1, 4), usual.count_shares[1])
    found.append(Setting("first survey's count 0.25", share, replace(usual, count_shares=counts)))
    varied: dict[str, tuple[float, ...]] = {
        "frontier_factor": (5, 20, 50),
        "expected_count_error": (0.1, 0.3, 0.5),
        "prior_count_error": (0.3, 1.5),
        "domain_share_variance": (1.0, 1e9),
        "box_share_variance": (0.03, 0.3),
        "bits_offset": (0.02, 0.3),
        "bits_power": (1.0, 2.0),
    }
    for name, values in varied.items():
        for value in values:
            changed: dict[str, Any] = {name: value}
            found.append(Setting(f"{name} {value:g}", share, replace(usual, **changed)))
    eager = replace(
        usual, expected_count_error=0.1, prior_count_error=1.5, count_shares=(usual.count_shares[0], Fraction(9, 10))
    )
    found.append(Setting("divide eagerly, count more", share, eager))
    careful = replace(
        usual, frontier_factor=20, box_share_variance=0.3, count_shares=(usual.count_shares[0], Fraction(1, 2))
    )
    found.append(Setting("believe histograms more, share 0.2", Fraction(1, 5), careful))
    return found


def remember_sides() -> None:
    """Settings that share a first survey share its sides: building them once halves the time."""
    known: dict[tuple[int, bytes], SideTree] = {}

    def remembered(piece: AttributeCells, masses: Floats) -> SideTree:
        key = (id(piece), masses.tobytes())
        if key not in known:
            if len(known) > MOST_REMEMBERED:
                known.clear()
            known[key] = sides.build_sides(piece, masses)
        return known[key]

    for room in (tree, model):
        vars(room)["build_sides"] = remembered


def one(world: World, asked: Sequence[Setting], runs: int) -> list[list[Judged]]:
    """A world in a process of its own."""
    remember_sides()
    return measured(world, asked, runs)


def table(asked: Sequence[Setting], found: dict[str, list[list[Judged]]]) -> list[dict[str, Any]]:
    """For each setting: means over all worlds and cases, mean rank, mean and worst regret, and means by world."""
    detail = np.array([[[case.granularity for case in each] for each in world] for world in found.values()])
    flat = detail.transpose(1, 0, 2).reshape(len(asked), -1)
    regret = flat.max(axis=0) - flat
    rank = 1 + (flat[:, None, :] < flat[None, :, :] - 1e-4).sum(axis=1).mean(axis=1)
    lines = []
    for i, setting in enumerate(asked):
        cases = [case for world in found.values() for case in world[i]]
        average = mean(cases)
        lines.append(
            {
                "setting": setting.name,
                "granularity": average.granularity,
                "rows": average.rows,
                "one_way": average.one,
                "two_way": average.two,
                "rank": float(rank[i]),
                "regret": float(regret[i].mean()),
                "worst": float(regret[i].max()),
                "by_world": dict(zip(found, detail[:, i].mean(axis=1).tolist(), strict=True)),
            }
        )
    return lines


def rates(runs: int) -> list[dict[str, Any]]:
    """Trees at every sampling rate, and at the one that `pick` takes: rows published, and detail of all rows and of those."""
    found = []
    share = SHARES["tree"]
    for world in WORLDS[1::3]:
        coded, schema = world.coded(), world.schema()
        judge = Judge(coded)
        for epsilon in (Fraction(1, 2), Fraction(1), Fraction(2)):
            paid = epsilon * share
            picked = {
                setting_by_preference(
                    epsilon=epsilon, delta=DELTA, epsilon_recoding=paid, unit=ONE_ROW, bound="tight", prefer=prefer
                ).beta: prefer
                for prefer in ("detail", "balance", "rows")
            }
            for beta in sorted({*map(Fraction, ("0.05", "0.1", "0.3", "0.6", "0.85")), *picked}):
                k = crowd(epsilon - paid, beta)
                plan = SafeTree(schema, paid, k, beta)
                judged = []
                for run in range(runs):
                    with Source.seeded(f"{world.seed} {run}") as source:
                        judged.append(judge.judge(plan.grow(coded, source), k, beta, run))
                own = mean(judged)
                line = {"world": world.name, "epsilon": float(epsilon), "beta": float(beta), "k": k}
                line |= {"picked": picked.get(beta, ""), "published": own.rows * float(beta)}
                found.append(line | {"granularity": own.granularity, "two_way": own.two})
    return found


def main() -> None:
    """Measure, print two tables, and keep them where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1, help="trees for each world, case and setting")
    parser.add_argument("--only", default="", help="settings whose names contain this, beside the defaults")
    parser.add_argument("--out", type=Path, help="a JSON file for the results")
    given = parser.parse_args()
    asked = [each for each in settings() if given.only in each.name or each.name == "defaults"]
    order = sorted(WORLDS, key=lambda world: -world.rows * world.attributes)
    with ProcessPoolExecutor() as pool:
        futures = {world.name: pool.submit(one, world, asked, given.runs) for world in order}
        found = {world.name: futures[world.name].result() for world in WORLDS}
    lines = table(asked, found)
    print(f"{len(WORLDS)} worlds, {len(CASES)} cases each, {given.runs} run(s)\n")
    print(f"{'setting':36}{'detail':>8}{'rows':>7}{'1-way':>7}{'2-way':>7}{'rank':>6}{'regret':>8}{'worst':>7}")
    for line in lines:
        numbers = f"{line['granularity']:8.4f}{line['rows']:7.3f}{line['one_way']:7.3f}{line['two_way']:7.3f}"
        print(f"{line['setting']:36}{numbers}{line['rank']:6.1f}{line['regret']:8.4f}{line['worst']:7.3f}")
    print("\nby world, the defaults:")
    for name, value in lines[0]["by_world"].items():
        print(f"{name:36}{value:8.4f}")
    chosen = [] if given.only else rates(given.runs)
    if chosen:
        print(f"\n{'sampling rates':36}{'epsilon':>8}{'beta':>7}{'k':>6}{'shown':>8}{'detail':>8}{'2-way':>7}")
    for line in chosen:
        numbers = f"{line['epsilon']:8g}{line['beta']:7.2f}{line['k']:6}{line['published']:8.3f}"
        print(f"{line['world']:36}{numbers}{line['granularity']:8.3f}{line['two_way']:7.3f}  {line['picked']}")
    if given.out is not None:
        given.out.write_text(json.dumps({"settings": lines, "rates": chosen}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
