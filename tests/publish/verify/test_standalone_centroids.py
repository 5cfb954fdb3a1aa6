"""The one-file verifier's arithmetic of noisy centroids against Shoal's own, and against numbers by hand."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoal.anonymize.cluster.lattice import ConceptLattice, NumberLattice, lattices_of
from shoal.guarantee.centroids import CentroidAttribute, CentroidSetting, solve_centroids
from shoal.guarantee.rounding import exact_text
from shoal.guarantee.unit import Unit
from shoal.policy.policy import Policy
from shoal.publish.verify import standalone as verifier

ROW = Unit.row("replace_one")


def told(setting: CentroidSetting) -> tuple[verifier.CentroidsPlan, dict[str, Any]]:
    """A setting as a certificate states it, and as the verifier reads its locked plan."""
    own = setting.to_saved()["attributes"]
    for entry, saved in zip(setting.entries, own, strict=True):
        saved["rho"] = None if entry.rho is None else exact_text(entry.rho)
    declared = {"provenance": {"domain": "declared", "hierarchy": "declared"}, "domain": None, "hierarchy": None}
    release = {
        "grouping": setting.grouping,
        "noise": "auto" if setting.noise_found else setting.noise,
        "calibration": setting.calibration,
        "rows": setting.rows,
        "epsilon": exact_text(setting.epsilon),
        "delta": exact_text(setting.delta),
        **({} if setting.k_found else {"k": setting.k}),
        **({} if setting.grouping == "ranking" else {"corners": setting.corners}),
    }
    weights = {each.name: exact_text(each.attribute.weight) for each in setting.entries}
    attributes = {name: {"role": "quasi", "weight": weight, **declared} for name, weight in weights.items()}
    parts = [{"guarantee": part.to_saved(), "times": times} for part, times in setting.parts]
    clusters = {"k": setting.k, "noise": setting.noise}
    certificate = {"clusters": clusters, "attributes": own, "parts": parts, "ledger": {}}
    return verifier.read_centroids_plan({"attributes": attributes, "release": release}, certificate), certificate


def some_setting(chance: random.Random) -> CentroidSetting:
    """A setting of any kind."""
    grouping = chance.choice(["insensitive", "insensitive", "ranking"])
    attributes = []
    for place in range(chance.randint(1, 4)):
        weight = Fraction(chance.choice(["1", "1", "2", "0.5"]))
        if grouping == "insensitive" and chance.random() < 0.3:
            spread, concepts = chance.randint(10, 10**6), chance.randint(2, 50)
            own = CentroidAttribute(f"a{place}", "categorical", spread=spread, concepts=concepts, weight=weight)
        else:
            own = CentroidAttribute(f"a{place}", "numeric", steps=chance.choice([1, 7, 100, 10**6]), weight=weight)
        attributes.append(own)
    rows = chance.choice([10, 100, 1080])
    k = chance.choice([None, None, 2, rows // 2])
    noises = [None, "laplace", "gaussian"] if grouping == "ranking" else [None, "laplace", "optimal", "gaussian"]
    noise, delta = chance.choice(noises), chance.choice(["1e-6", "1e-3"])
    by_record = k is not None and grouping == "insensitive" and chance.random() < 0.2
    return solve_centroids(
        chance.choice(["0.1", "1", "10"]),
        0 if by_record or (noise != "gaussian" and chance.random() < 0.5) else delta,
        rows=rows,
        attributes=attributes,
        unit=ROW,
        k=k,
        grouping=grouping,
        corners=chance.choice([None, 2]) if grouping == "insensitive" else None,
        noise="laplace" if by_record else noise,
        calibration="per_record" if by_record else "whole",
    )


@pytest.mark.slow
def test_noise_and_costs_of_any_setting_are_found_again(effort):
    chance = random.Random(1)  # noqa: S311 - which settings are tried is no secret
    for _ in range(20 * effort):
        setting = some_setting(chance)
        plan, certificate = told(setting)
        assert (plan.clusters, plan.nodes, plan.corners) == (setting.clusters, setting.nodes, setting.corners)
        assert plan.epsilon == (setting.cost if plan.by_record else setting.epsilon)
        assert all(verifier.noise_of(own, plan) for own in certificate["attributes"])
        assert verifier.shares_fit(certificate, plan)
        parts = [(verifier.read_part(part["guarantee"]), part["times"]) for part in certificate["parts"]]
        assert verifier.centroid_parts(certificate, plan) == parts
        assert verifier.found_check(certificate, plan).agrees
        bound = verifier.ErrorBound(certificate["attributes"], plan, plan.noise).at(plan.k)
        assert bound == pytest.approx(setting.error_bound, rel=1e-3)
        for own in certificate["attributes"]:
            if own["kind"] == "numeric":
                assert verifier.half_width_of(own, plan) == pytest.approx(setting.half_width(own["name"]), rel=4e-3)


NUMBERS = [CentroidAttribute("a", "numeric", steps=100), CentroidAttribute("b", "numeric", steps=7, weight=Fraction(2))]
MIXED = [*NUMBERS, CentroidAttribute("c", "categorical", spread=1000, concepts=5)]
SETTINGS: dict[str, dict[str, Any]] = {
    "several corners": {"attributes": NUMBERS, "noise": "laplace", "corners": 4},
    "one corner": {"attributes": MIXED, "noise": "laplace", "corners": 1},
    "a box": {"attributes": MIXED, "noise": "optimal", "corners": 8},
    "a box along one order": {"attributes": NUMBERS, "noise": "optimal", "corners": 1},
    "Gaussian": {"attributes": MIXED, "noise": "gaussian", "delta": "1e-6", "corners": 8},
    "Gaussian along one order": {"attributes": NUMBERS, "noise": "gaussian", "delta": "1e-6", "corners": 1},
    "ranks": {"attributes": NUMBERS, "noise": "laplace", "grouping": "ranking"},
    "ranks with Gaussian noise": {"attributes": NUMBERS, "noise": "gaussian", "delta": "1e-6", "grouping": "ranking"},
    "per record": {"attributes": MIXED, "noise": "laplace", "calibration": "per_record"},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_less_noise_than_the_promise_asks_for_is_refused(name):
    setting = solve_centroids(1, rows=100, k=10, unit=ROW, **SETTINGS[name])
    plan, certificate = told(setting)
    for own in certificate["attributes"]:
        for key in ("scale", "side", "sigma"):
            if own[key] is not None:
                less = own[key] - 1 if key == "side" else exact_text(Fraction(own[key]) * 99 / 100)
                assert not verifier.noise_of({**own, key: less}, plan)
        if own["choice_epsilon"] is not None:
            more = exact_text(Fraction(own["choice_epsilon"]) * 101 / 100)
            assert not verifier.noise_of({**own, "choice_epsilon": more}, plan)
        assert verifier.noise_of(own, plan)
        assert not verifier.noise_of({**own, "scale": "1", "sigma": "1"}, plan)
        assert not verifier.noise_of({**own, "epsilon": None, "rho": None}, plan)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_share_that_its_weight_does_not_give_is_refused(name):
    plan, certificate = told(solve_centroids(1, rows=100, k=10, unit=ROW, **SETTINGS[name]))
    key = "rho" if plan.noise == "gaussian" else "epsilon"
    for own in certificate["attributes"]:
        kept = own[key]
        for factor in (Fraction(99, 100), Fraction(101, 100)):
            own[key] = exact_text(Fraction(kept) * factor)
            assert not verifier.shares_fit(certificate, plan)
        own[key] = kept
    assert verifier.shares_fit(certificate, plan)


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["laplace", "optimal", "gaussian"])
def test_another_k_than_the_rule_finds_is_refused(noise):
    setting = solve_centroids(10, "1e-6", rows=10_000, unit=ROW, noise=noise, attributes=NUMBERS, corners=1)
    plan, certificate = told(setting)
    assert 4 * setting.k <= plan.rows
    assert verifier.found_check(certificate, plan).agrees
    for k in (setting.k // 2, 2 * setting.k):
        assert not verifier.found_check(certificate, plan._replace(k=k)).agrees


def test_another_noise_than_the_rule_finds_is_refused():
    plan, certificate = told(solve_centroids(1, rows=1000, k=100, unit=ROW, attributes=NUMBERS))
    assert plan.noise == "optimal"
    assert not verifier.found_check(certificate, plan._replace(noise="laplace")).agrees


# --- grids and trees ---------------------------------------------------------------------------------------------------


def locked(folder: Path, attribute: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """An attribute as it is locked, and its lattice; files of hierarchies lie where a release has them."""
    policy = {
        "version": 1,
        "dataset": "d",
        "unit": "row",
        "neighbours": "replace_one",
        "attributes": {"x": {"role": "quasi", "missing": "refuse", **attribute}},
        "release": {"method": "dp-microaggregation", "epsilon": "1", "rows": 100, "k": 10, "grouping": "insensitive"},
    }
    (folder / "policy.yaml").write_text(json.dumps(policy))
    read = Policy.load(folder / "policy.yaml")
    own = verifier.read_lock(read.lock().text)["attributes"]["x"]
    for held in (own["hierarchy"] or {}).values():
        if isinstance(held, dict) and "sha256" in held:
            (folder / "hierarchies").mkdir(exist_ok=True)
            named = attribute["hierarchy"].get("file") or attribute["hierarchy"].get("taxonomy")
            (folder / "hierarchies" / f"{held['sha256'][:32]}.txt").write_bytes((folder / named).read_bytes())
    (lattice,) = lattices_of(read.schema)
    return own, lattice


GRIDS = [
    {"type": "integer", "domain": [-5, 10]},
    {"type": "integer", "domain": [-5, 10**12]},
    {"type": "integer", "domain": {"values": [1, 2, 4, 1000]}},
    {"type": "decimal", "domain": ["0", "1.5"]},
    {"type": "decimal", "domain": ["-1.25", "1e6"]},
    {"type": "decimal", "domain": ["0", "1e-9"]},
    {"type": "date", "domain": ["1900-01-01", "2100-12-31"]},
    {"type": "datetime", "domain": ["2020-01-01 00:00", "2021-01-01 00:00:01"]},
    {"type": "ordinal", "domain": ["low", "mid", "high"]},
    {"type": "integer", "domain": {"values": [0, 1_234_567, 1_000_000_000_003]}},
]


@pytest.mark.parametrize("attribute", GRIDS, ids=lambda own: f"{own['type']} {own['domain']}")
def test_grids_are_those_of_the_program_and_hold_what_it_shows(tmp_path, attribute):
    own, lattice = locked(tmp_path, attribute)
    assert isinstance(lattice, NumberLattice)
    grid = verifier.grid_of(own)
    assert (grid.low, grid.step, grid.steps) == (lattice.low, lattice.step, lattice.steps)
    codes = np.array([0, 1, lattice.steps // 3, lattice.steps - 1, lattice.steps])
    for cell in lattice.shown(codes).tolist():
        assert verifier.is_on_grid(repr(cell) if isinstance(cell, float) else str(cell), own, grid)


def test_a_value_beside_the_grid_is_none_of_it(tmp_path):
    own, _ = locked(tmp_path, {"type": "decimal", "domain": ["0", "1.5"]})
    grid = verifier.grid_of(own)
    assert verifier.is_on_grid("0.00001", own, grid)
    assert not any(verifier.is_on_grid(cell, own, grid) for cell in ("0.000001", "1.6", "-0.00001", "0.123456"))
    own, _ = locked(tmp_path, {"type": "integer", "domain": {"values": [1, 2, 4]}})
    assert not verifier.is_on_grid("3", own, verifier.grid_of(own))


TREES: dict[str, tuple[dict[str, Any], str]] = {
    "flat": ({"domain": ["a", "b", "c"]}, ""),
    "one level": ({"domain": ["a", "b", "c"], "hierarchy": "auto"}, ""),
    "groups": ({"domain": list("abcdef"), "hierarchy": {"groups": [{"x": ["a", "b"], "y": ["c"]}], "rest": "z"}}, ""),
    "groups of groups": (
        {"domain": list("abcd"), "hierarchy": {"groups": [{"x": ["a", "b"], "c": ["c", "d"]}, {"all": ["x", "c"]}]}},
        "",
    ),
    "a deep tree": (
        {"hierarchy": {"taxonomy": {"all": {"x": {"xx": ["a", "b"], "xy": {"xyz": ["c"]}}, "y": ["d", "e", "f"]}}}},
        "",
    ),
    "a mask": ({"type": "text", "domain": {"values": ["aab", "abb", "bbb", "bb"]}, "hierarchy": {"mask": "left"}}, ""),
    "prefixes": ({"domain": ["aab", "abb", "bbb"], "hierarchy": {"mask": {"prefix": [2, 1]}}}, ""),
    "a file of levels": ({"domain": list("abc"), "hierarchy": {"file": "levels"}}, "a;x;*\nb;x;*\nc;y;*\n"),
    "a file of names": (
        {"hierarchy": {"taxonomy": "tree"}},
        "# towns\nall:\n  north: [leeds, 'y o''rk'] # two\n  south:\n  - bath\n  - \"truro\"\n  west:\n    - far:\n        one\n",
    ),
}


@pytest.mark.parametrize("name", TREES)
def test_concepts_and_their_spread_are_those_of_the_program(tmp_path, name):
    attribute, text = TREES[name]
    for file in ("levels", "tree"):
        (tmp_path / file).write_text(text)
    own, lattice = locked(tmp_path, {"type": "category", **attribute})
    assert isinstance(lattice, ConceptLattice)
    tree = verifier.concept_tree(tmp_path, own)
    assert tree.drawn == set(lattice.candidates)
    assert tree.spread() == lattice.spread


def test_a_flat_domain_moves_a_choice_by_twice_one_distance(tmp_path):
    own, _ = locked(tmp_path, {"type": "boolean"})
    assert verifier.concept_tree(tmp_path, own).spread() == 2 * 736_966  # log2(5/3), of three ancestors one in common


@pytest.mark.slow
def test_spreads_of_made_up_trees_are_those_of_the_program(tmp_path, effort):
    chance = random.Random(2)  # noqa: S311 - which trees are tried is no secret
    for _ in range(15 * effort):
        names = iter(range(1000))

        def below(values: list[str], depth: int, names=names) -> Any:
            if depth == 0 or len(values) < 3:
                return values
            cut = chance.randint(1, len(values) - 1)
            return {f"c{next(names)}": below(part, depth - 1) for part in (values[:cut], values[cut:])}

        values = [f"v{number}" for number in range(chance.randint(2, 30))]
        tree = {"all": below(values, chance.randint(0, 5))}
        own, lattice = locked(tmp_path, {"type": "category", "hierarchy": {"taxonomy": tree}})
        assert verifier.concept_tree(tmp_path, own).spread() == lattice.spread


@pytest.mark.slow
def test_distances_are_rounded_as_the_program_rounds_them():
    every, common = (each.ravel() for each in np.meshgrid(np.arange(1, 120), np.arange(1, 60)))
    every, common = every[common <= every], common[common <= every]
    real = np.floor(np.log2(1.0 + (every - common) / every) * 1_000_000 + 0.5).astype(int)
    ours = [verifier.distance(int(e), int(c), int(c)) for e, c in zip(every, common, strict=True)]
    assert ours == real.tolist()


@pytest.mark.parametrize("text", ["a: &x [b]\n", "? a\n", "a: |\n  b\n", "a: {b: [c]}\n", "a: [b, [c]]\n", "\ta: b\n"])
def test_a_file_of_names_in_another_form_is_left_open(text):
    with pytest.raises(verifier.UnreadableError):
        verifier.read_names(text)
