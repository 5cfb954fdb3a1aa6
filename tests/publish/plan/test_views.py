"""Releases of views: planned from the total, drawn each from its own sample, composed, verified; and forgeries."""

import itertools
import json
import re
import shutil
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from shoal.anonymize.method.views import choose_views, draw_all
from shoal.chance.source import Source
from shoal.errors import InfeasibleError, PolicyError
from shoal.guarantee.compose import compose
from shoal.guarantee.differential import SafeKSampling
from shoal.policy.model.release import ViewsModel
from shoal.policy.policy import Policy
from shoal.policy.text.problem import RefusedPolicyError
from shoal.publish.folder import rule_file
from shoal.publish.plan.methods import plan
from shoal.publish.plan.views import view_names
from shoal.publish.verify import rebuild
from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.release import require, verify
from tests.engine.oracle import engine_named
from tests.publish.certificate.test_page import SCHEMA
from tests.publish.clinic import planned, publish, write_table
from tests.publish.release_folder import account, alone, certificate, failures, forge

PAIRS = {"release.views": "pairs", "release.delta": "1e-4"}


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Releases of views of several kinds, made once."""
    kinds = {
        "pairs": PAIRS,
        "parquet": PAIRS | {"release.output": "parquet"},
        "tree": PAIRS | {"release.recoding": {"tree": {"epsilon": "0.3"}}},
        "chosen": PAIRS | {"release.views": {"choose": {"epsilon": "0.2", "count": 2}}},
        "limit": PAIRS | {"release.views": {"every": "pairs", "limit": 2}},
    }
    return {kind: publish(tmp_path_factory.mktemp(kind), changes, rows=4000).folder for kind, changes in kinds.items()}


@pytest.fixture
def copied(released, tmp_path):
    def copy(kind):
        return shutil.copytree(released[kind], tmp_path / "out")

    return copy


# --- the plan -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_all_views_together_keep_the_promise():
    made = planned(PAIRS)
    assert [view.columns for view in made.views] == [("age", "sex"), ("age", "diag"), ("sex", "diag")]
    own = made.views[0].method.promise
    crowd = SafeKSampling(own.k, own.beta)
    assert compose([(crowd, 3)]).epsilon_at(Fraction("1e-4")) <= 1
    fewer = SafeKSampling(own.k - 1, own.beta)
    assert compose([(fewer, 3)]).epsilon_at(Fraction("1e-4")) > 1  # no smaller k would do
    assert made.cost.epsilon == 1
    assert made.claims[0].theorems[-1] == "pld-composition"


@pytest.mark.slow
def test_the_golden_composition_of_all_pairs_of_eight_attributes():
    """theory.md 1.7: 28 views at k = 20, beta = .15 and delta 1e-6 compose to .987."""
    text = "".join(f"  x{i}: {{role: quasi, type: category, domain: [a, b]}}\n" for i in range(8))
    policy = Policy.parse(
        "version: 1\ndataset: d\nunit: row\nneighbours: add_remove\nattributes:\n" + text + "release: {method: safe-k, "
        "epsilon: 1, delta: 1e-6, views: pairs, recoding: {levels: {}}, sampling: {beta: 0.15}}\n"
    )
    made = plan(policy)
    assert len(made.views) == 28
    assert {view.method.promise.k for view in made.views} == {20}
    assert compose(made.parts).epsilon_at(Fraction("1e-6")) == pytest.approx(0.987, abs=0.001)
    assert compose(made.parts).basic_epsilon(Fraction("1e-6")) > 5


@pytest.mark.slow
def test_weights_give_heavier_views_smaller_crowds():
    made = planned(
        PAIRS | {"release.views": {"every": "pairs", "allocation": "weighted"}, "attributes.diag.weight": "3"}
    )
    crowds = {view.columns: view.method.promise.k for view in made.views}
    assert crowds["age", "diag"] < crowds["age", "sex"]
    assert compose(made.parts).epsilon_at(Fraction("1e-4")) <= 1


@pytest.mark.slow
def test_groups_workloads_singles_and_limits():
    groups = planned(PAIRS | {"release.views": {"groups": [["age", "sex"], ["diag"]]}})
    assert [view.columns for view in groups.views] == [("age", "sex"), ("diag",)]
    assert len(planned(PAIRS | {"release.views": "singles"}).views) == 3
    assert len(planned(PAIRS | {"release.views": {"every": "pairs", "limit": 2}}).views) == 2
    assert len(planned(PAIRS | {"release.views": {"workload": "pairs", "limit": 2}}).views) == 2
    assert len({view.name for view in planned(PAIRS).views}) == 3


@pytest.mark.slow
@given(
    st.lists(st.text("abcxyzAB_é0", min_size=1, max_size=4), min_size=3, max_size=7, unique=True),
    st.integers(1, 40),
    st.sampled_from(["pairs", "triples"]),
    st.randoms(use_true_random=False),
)
def test_views_of_a_limit_follow_from_the_names_alone(names, limit, width, chance):
    """A lock does not keep the order of declaration, and both verifiers must find the same views as the plan."""
    views = ViewsModel(every=width, limit=str(limit))
    declared = chance.sample(names, len(names))
    found = {frozenset(group) for group in views.candidates(declared)}
    assert found == {frozenset(group) for group in views.candidates(sorted(names))}
    every = list(itertools.combinations(sorted(names), 2 if width == "pairs" else 3))
    assert found == {frozenset(group) for group in verifier.limit_views(every, limit)}
    assert len(found) == min(limit, len(every))


def test_other_views_than_those_of_the_limit_are_refused():
    declared = {"sex", "age", "diag"}
    views = {"every": "pairs", "limit": 2}
    asked = ViewsModel(every="pairs", limit="2")
    own = [frozenset(group) for group in asked.candidates(sorted(declared))]
    others = [frozenset(group) for group in itertools.combinations(sorted(declared), 2) if frozenset(group) not in own]
    assert verifier._are_locked_views(views, own, declared)
    assert not verifier._are_locked_views(views, [own[0], *others], declared)
    assert rebuild._could_be(asked, own, declared)
    assert not rebuild._could_be(asked, [own[0], *others], declared)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"release.views": {"workload": [["age", "patient"]]}}, RefusedPolicyError, "never published"),
        ({"release.views": {"workload": [["age", "height"]]}}, RefusedPolicyError, "no such attribute"),
        ({"release.views": {"workload": [["age", "sex"], ["sex", "age"]]}}, RefusedPolicyError, "named twice"),
        ({"release.views": {"workload": [[]]}}, RefusedPolicyError, "empty view"),
        ({"release.views": {"choose": {"epsilon": "0.1", "count": 9}}}, RefusedPolicyError, "more views than"),
        ({"release.views": "pairs", "release.repeat": 2}, PolicyError, "released once"),
        (
            {"release.views": "pairs", "release.k": 3, "release.sampling": {"beta": "0.9"}},
            InfeasibleError,
            "do not fit",
        ),
        ({"release.views": {"groups": [["age", "sex", "diag"]], "limit": 1}}, RefusedPolicyError, "limit"),
    ],
)
def test_what_cannot_be_planned(changes, error, words):
    with pytest.raises(error, match=words):
        planned(changes)


# --- the release --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pairs", "parquet", "tree", "chosen", "limit"])
def test_both_verifiers_agree_and_the_schema_knows_it(released, kind):
    require(verify(released[kind]))
    assert alone(released[kind]) == 0
    Draft7Validator(SCHEMA).validate(certificate(released[kind]))


@pytest.mark.slow
def test_the_index_names_every_view(released):
    listed = json.loads((released["pairs"] / "views.json").read_text(encoding="utf-8"))["views"]
    assert [entry["attributes"] for entry in listed] == [["age", "sex"], ["age", "diag"], ["sex", "diag"]]
    assert all(Fraction(entry["beta"]) * Fraction(entry["weight"]) == 1 for entry in listed)
    assert all((released["pairs"] / entry["file"]).is_file() for entry in listed)


@pytest.mark.slow
def test_one_entry_in_the_ledger_for_all(tmp_path):
    publish(tmp_path, PAIRS, rows=1000)
    (cost,) = account(tmp_path).costs
    assert cost.epsilon == 1
    assert [(part.to_saved()["kind"], times) for part, times in cost.parts] == [("safe-k-sampling", 3)]


@pytest.mark.slow
def test_a_crash_leaves_no_release(tmp_path, monkeypatch):
    calls = []

    def broken(self, path, **_):
        calls.append(path)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")

    for name in ("shoal.engine.duckdb.table.DuckDBTable.write", "shoal.engine.grouped.GroupedTable.write"):
        monkeypatch.setattr(name, broken, raising=False)
    with pytest.raises(Exception, match="charge stands"):
        publish(tmp_path, PAIRS, rows=1000)
    assert not (tmp_path / "out").exists()
    assert len(account(tmp_path).costs) == 1


@pytest.mark.slow
def test_people_with_several_rows(tmp_path):
    changes = PAIRS | {"unit": {"column": "patient", "max_rows": 1}}
    done = publish(tmp_path, changes, table=write_table(tmp_path / "people.csv", 4000, patients=2000))
    require(verify(done.folder))


@pytest.mark.slow
def test_a_view_may_be_empty(tmp_path):
    done = publish(tmp_path, PAIRS, rows=20)
    require(verify(done.folder))
    assert done.rows_published == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "check"),
    [
        (lambda c: c["views"].update(count=2), "view-count"),
        (lambda c: c["views"].update(epsilon_composed="0.1"), "views-composed"),
        (lambda c: c["views"].update(epsilon_added_up="0.1"), "views-added-up"),
        (lambda c: c["curve"][0].update(delta="1e-12"), "curve"),
        (lambda c: c["tables"][0].update(k=1), "samples"),
        (lambda c: c["tables"][0].update(name=c["tables"][1]["name"]), "view-names"),
        (lambda c: c["samples"][0].update(times=1), "samples"),
        (lambda c: c["tables"].pop(), "samples"),
        (lambda c: c.pop("views"), "keys"),
        (lambda c: c["tables"][0].update(sample=1), "samples"),
        (lambda c: c["explanation"].__setitem__(2, "All is well."), "wording"),
        (lambda c: c["views"].update(choice={"epsilon": "0.1", "candidates": 3, "rows_changed": 1}), "view-choice"),
    ],
)
def test_forgeries_are_caught_by_their_check(copied, change, check):
    folder = copied("pairs")
    forge(folder, change)
    assert check in failures(folder)


@pytest.mark.slow
def test_another_view_than_was_locked_is_caught(copied):
    folder = copied("pairs")
    listed = json.loads((folder / "views.json").read_text(encoding="utf-8"))
    listed["views"][0]["beta"] = "0.9"
    (folder / "views.json").write_text(json.dumps(listed), encoding="utf-8")
    forge(folder, lambda _: None)
    assert "view-index" in failures(folder)
    assert verifier.sha256(folder / "views.json")


class Fixed:
    """Masks in a given order."""

    def __init__(self, order):
        self.left = [Source.seeded(i).row_mask(Fraction(1, 2)) for i in order]

    def row_mask(self, _):
        return self.left.pop(0)


@pytest.mark.slow
def test_views_do_not_depend_on_their_order_or_the_engine(tmp_path):
    text = write_table(tmp_path / "t.csv", 3000)
    made = planned(PAIRS)
    seen = []
    for name in ("duckdb", "oracle"):
        table = engine_named(name).scan(text, made.schema)
        methods = [view.method for view in made.views]
        recodings = [method.partition.settle(table, Source.seeded(1)) for method in methods]
        forward = [t.digest() for t in draw_all(table, methods, recodings, Fixed([0, 1, 2]))]
        backward = [t.digest() for t in draw_all(table, methods[::-1], recodings[::-1], Fixed([2, 1, 0]))]
        assert forward == backward[::-1]
        seen.append(forward)
    assert seen[0] == seen[1]


# --- choosing views -----------------------------------------------------------------------------------------------


def dependent(rows, seed=1):
    chance = np.random.default_rng(seed)
    x = chance.integers(0, 4, rows)
    return {
        "w": x,
        "x": np.where(chance.random(rows) < 0.9, x, chance.integers(0, 4, rows)),
        "y": chance.integers(0, 4, rows),
        "z": chance.integers(0, 4, rows),
    }


@pytest.mark.slow
def test_dependent_views_are_chosen():
    text = "version: 1\ndataset: d\nunit: row\nneighbours: add_remove\nattributes:\n" + "".join(
        f"  {name}: {{role: quasi, type: integer, domain: [0, 3], missing: refuse}}\n" for name in "wxyz"
    )
    schema = Policy.parse(text).schema
    table = engine_named("duckdb").scan(pa.table({k: pa.array(v) for k, v in dependent(5000).items()}), schema)
    candidates = list(itertools.combinations("wxyz", 2))
    for seed in range(5):
        assert choose_views(table, candidates, 1, Fraction(1), Source.seeded(seed)) == [("w", "x")]
    two = choose_views(table, candidates, 2, Fraction(1), Source.seeded(9))
    assert ("w", "x") in two
    assert len(set(two)) == 2
    picked = {choose_views(table, candidates, 1, Fraction(1, 10**6), Source.seeded(seed))[0] for seed in range(12)}
    assert len(picked) > 1  # next to no epsilon: next to a uniform draw


@pytest.mark.slow
def test_weighted_views_are_released_and_verified(tmp_path):
    weights = {"attributes.age.weight": "3", "release.views": {"every": "pairs", "limit": 2, "allocation": "weighted"}}
    done = publish(tmp_path, PAIRS | weights, rows=3000)
    require(verify(done.folder))
    made = certificate(done.folder)
    assert len(made["samples"]) == len({sample["k"] for sample in made["samples"]}) >= 1
    assert all(Fraction(sample["epsilon"]) <= 1 for sample in made["samples"])
    with pytest.raises(PolicyError, match="weights are shared out for one row"):
        planned(PAIRS | weights | {"neighbours": "replace_one", "release.epsilon": "3"})


AUTO = {"release.sampling": {}, "release.delta": "1e-3"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"release.views": "pairs", "release.recoding": {"choose": {"epsilon": "0.5"}}, "release.delta": "1e-6"},
        {"release.views": {"choose": {"epsilon": "0.1", "count": 1}}},
        {"release.views": {"workload": [["age", "sex"]]}, "release.recoding": {"tree": {"epsilon": "0.3"}}},
        {"release.views": "pairs", "release.delta": "1e-20", "release.epsilon": "2"},
        {
            "release.views": "pairs",
            "release.recoding": {"tree": {"epsilon": "0.5", "grow": "surveys"}},
            "release.delta": "1e-6",
        },
    ],
)
def test_what_is_planned_passes_its_own_verification(tmp_path, changes):
    """Found by a review: the plan was fine, the charge was taken, and the certificate failed its own checks."""
    done = publish(tmp_path, AUTO | changes, rows=1500)
    require(verify(done.folder))


@pytest.mark.slow
def test_the_rate_is_not_caught_in_a_local_minimum():
    own = planned(AUTO | {"release.views": "pairs"}).promise
    assert own.k / own.beta < 40  # k = 6 at beta .2 has crowds of 30


def test_a_given_k_and_beta_for_people_with_several_rows():
    several = {"unit": {"column": "patient", "max_rows": 2}, "release.k": 400, "release.sampling": {"beta": "0.05"}}
    assert planned(PAIRS | several).promise.k == 400


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        (
            {"release.recoding": {"choose": {"score": "target", "target": "diag"}}},
            RefusedPolicyError,
            "most views lack the target",
        ),
        (
            {"release.views": {"every": "pairs", "allocation": "weighted"}, "release.k": 50},
            PolicyError,
            "a k of their own",
        ),
        ({"release.recoding": {"tree": {"depth": 20000}}}, RefusedPolicyError, "from 1 to 256"),
    ],
)
def test_what_is_refused_before_it_is_charged(changes, error, words):
    with pytest.raises(error, match=words):
        planned(AUTO | {"release.views": "pairs"} | changes)


@pytest.mark.slow
def test_the_one_file_verifier_composes_views_itself(copied):
    folder = copied("pairs")
    promised = [check for check in verifier.verify(folder) if check.promise]
    assert promised
    assert all(check.agrees for check in promised)

    def change(content):
        content["guarantee"]["delta"] = content["claims"][0]["guarantee"]["delta"] = "1e-30"

    forge(folder, change)
    assert alone(folder) == 3


def test_an_unreachable_workload_is_told_how_many_views_fit():
    asked = {"release.views": "pairs", "release.delta": "1e-4", "release.k": 12, "release.sampling": {"beta": "0.3"}}
    with pytest.raises(InfeasibleError) as refused:
        planned(asked | {"release.epsilon": "0.5"})
    assert "of this kind" in refused.value.allowed
    most = int(refused.value.allowed.split()[0])
    assert 0 <= most < 3


@pytest.mark.slow
def test_views_with_crowds_of_their_own_are_not_told_as_the_first_one():
    changes = PAIRS | {"release.views": {"every": "pairs", "allocation": "weighted"}, "attributes.age.weight": 4}
    made = planned(changes)
    crowds = sorted({view.method.promise.k for view in made.views})
    assert len(crowds) > 1
    facts = {name: (value, note) for name, value, note in made.facts()}
    assert facts["k"] == (f"{crowds[0]} to {crowds[-1]}", "the smallest class that each view shows")
    assert facts["delta, tight"][1].startswith("of the first view alone")
    assert made.to_json()["k"] == crowds[0]


def test_names_of_files_cannot_meet_leave_the_folder_or_be_reserved():
    odd = ["a b", "a_b", "a.b", "../b", "/etc/passwd", "CON", "nul", "é", "ü", ".", "..", "x" * 500, "x" * 499 + "y"]
    names = view_names([(name,) for name in odd] + [("a b", "a_b"), ("a_b", "a b")])
    files = [rule_file(number, name) for number, name in enumerate(odd, 1)]
    for found in (names, files):
        assert len({each.lower() for each in found}) == len(found)
        assert all(re.fullmatch(r"(recoding/)?[0-9]{2,}-[A-Za-z0-9_-]+(\.json)?", each) for each in found)
        assert max(map(len, found)) <= 120
