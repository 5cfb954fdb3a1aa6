"""Plans of noisy counts: what is counted with how much noise, what it is composed of, and what is refused beforehand."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from shoal.errors import InfeasibleError, PolicyError, PreconditionError, UsageError
from shoal.guarantee.compose import compose
from shoal.guarantee.differential import PureDP
from shoal.guarantee.noise import ExponentialDP, NoisyTablesDP
from shoal.guarantee.noisy_counts import noise_half_width
from shoal.publish.plan.methods import CERTIFIED, PLANS, plan
from shoal.publish.plan.noisy_counts import NoisyCountsPlan
from shoal.publish.plan.safe_k import SafeKPlan
from tests.publish import clinic

PROMISE = {"method": "safe-k", "epsilon": 1, "delta": "1e-6"}
COUNTS = {**PROMISE, "views": {"show": "counts", "every": "pairs"}}


def planned(**keys: object) -> NoisyCountsPlan:
    """The clinic's plan with other keys of the release."""
    found = plan(clinic.policy({"release": {**PROMISE, **keys}}))
    assert isinstance(found, NoisyCountsPlan)
    return found


def shown(**views: object) -> NoisyCountsPlan:
    return planned(views={"show": "counts", **views})


# --- which tables -----------------------------------------------------------------------------------------------------


def test_merged_tables_count_single_attributes_first():
    found = shown(every="pairs")
    assert found.method.columns == ("age", "sex", "diag")
    assert found.method.groups == (("age", "sex"), ("age", "diag"), ("sex", "diag"))
    assert (found.setting.singles, found.setting.tables[0][0], found.method.merged) == (3, 3, True)
    assert [type(part) for part, _ in found.parts] == [NoisyTablesDP, NoisyTablesDP]
    assert found.claims[0].theorems == ("noisy-tables", "adaptive-tables", "pld-composition")


@pytest.mark.parametrize("views", [{"every": "pairs", "cells": "declared"}, {"every": "singles"}])
def test_declared_cells_are_counted_once(views):
    """Of single attributes too: nothing has to be known before they are counted."""
    found = shown(**views)
    assert (found.setting.singles, found.setting.tables[0][0], found.method.merged) == (0, 3, False)
    assert found.claims[0].theorems == ("noisy-tables",)
    assert found.setting.tables[0][1] < shown(every="pairs").setting.tables[0][1]


def test_an_attribute_may_have_ten_thousand_values():
    """More than a tree of boxes may have: single attributes are counted in all of them, pairs in few bins."""
    many = {"role": "quasi", "type": "text", "domain": {"pattern": "[0-9]{4}"}}
    found = plan(clinic.policy({"attributes.sex": many, "release": COUNTS}))
    assert isinstance(found, NoisyCountsPlan)
    assert len(found.method.cells[found.method.columns.index("sex")]) == 10_001


def test_a_workload_may_name_single_attributes():
    found = shown(workload=[["diag", "age"], ["sex"]])
    assert found.method.groups == (("age", "diag"),)
    assert found.method.columns == ("age", "sex", "diag")
    declared = shown(workload=[["diag", "age"], ["sex"]], cells="declared")
    assert declared.method.groups == (("age", "diag"), ("sex",))
    assert shown(workload=[["sex", "diag"]]).method.columns == ("sex", "diag"), "what is in no table is not counted"


@pytest.mark.slow
def test_tables_that_are_chosen():
    once = shown(choose={})
    assert [number for number, _ in once.setting.tables] == [1, 2, 3]
    assert once.setting.candidates == 3
    assert [number for number, _ in shown(choose={"count": 2}).setting.tables] == [2]
    rounds = shown(adapt={"rounds": 2})
    assert [type(part) for part, _ in rounds.parts] == [NoisyTablesDP, ExponentialDP, NoisyTablesDP]
    assert rounds.claims[0].theorems[:3] == ("noisy-tables", "bounded-range", "adaptive-tables")
    assert len(shown(adapt={"width": 3}).method.groups) == 4, "three pairs and a triple"
    assert shown(choose={"width": 3}).setting.candidates == 4


@pytest.mark.slow
@pytest.mark.parametrize("cells", ["merged", "declared"])
def test_the_share_of_chosen_tables_is_the_policys(cells):
    """Precision is the sum of squared changes over sigma^2: 1 for a table, times the number of tables."""
    first_share = {}
    for share in (None, "0.05", "0.2", "0.49"):
        adapt = {"rounds": 1} if share is None else {"rounds": 1, "share": share}
        found = shown(every="pairs", adapt=adapt, cells=cells)
        setting, chosen = found.setting, Fraction(share or "0.05")
        first, (rounds, sigma) = setting.first, setting.tables[0]
        assert rounds == 1
        tables = first[0] / first[1] ** 2
        single = 0 if setting.single_sigma is None else setting.singles / setting.single_sigma**2
        whole = (tables + single) / (1 - chosen)
        assert float(1 / sigma**2 / whole) == pytest.approx(float(chosen * Fraction(9, 10)), rel=1e-3)
        assert float(single / whole) == pytest.approx(0.3 if cells == "merged" else 0, rel=1e-3)
        first_share[share] = first[1]
        assert compose(found.parts).epsilon_at(found.total.delta) <= found.total.epsilon
    assert first_share[None] == first_share["0.05"] < first_share["0.2"] < first_share["0.49"]


def test_cells_are_of_the_level_that_is_fixed():
    found = planned(views={"show": "counts", "every": "pairs"}, recoding={"levels": {"age": 2}})
    assert [len(each) for each in found.method.cells] == [3, 3, 4], "each with the missing value"


# --- what it promises ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("views", [{"every": "pairs"}, {"choose": {}}, {"adapt": {"rounds": 2}}])
@pytest.mark.parametrize("delta", ["1e-6", "1e-13"])
def test_everything_together_keeps_the_promise_and_hardly_less(views, delta):
    found = planned(delta=delta, views={"show": "counts", **views})
    reached = compose(found.parts).epsilon_at(found.total.delta)
    assert 0.995 < reached <= 1
    assert found.cost.parts == tuple(found.parts)
    composition = "pld-composition" if delta == "1e-6" else "concentrated-composition"
    assert composition in found.claims[0].theorems
    assert found.epsilon_composed <= found.total.epsilon


def test_less_noise_than_was_solved_for_is_refused():
    found = shown(every="singles")
    number, sigma = found.setting.tables[0]
    loud = NoisyTablesDP([(number, sigma * Fraction(99, 100))])
    setting = replace(found.setting, tables=((number, sigma * Fraction(99, 100)),), parts=((loud, 1),))
    with pytest.raises(PreconditionError, match="costs more than the plan promises"):
        replace(found, method=replace(found.method, setting=setting))


def test_another_unit_is_refused():
    other = clinic.policy({"release": COUNTS, "neighbours": "replace_one"})
    with pytest.raises(UsageError, match="another unit"):
        replace(shown(every="pairs"), policy=other)


@pytest.mark.slow
def test_a_person_with_several_rows_costs_more():
    alone = shown(every="pairs").setting.tables[0][1]
    changes = {"unit": {"column": "patient", "max_rows": 3}, "release": COUNTS}
    several = plan(clinic.policy(changes))
    assert several.setting.tables[0][1] > 2.9 * alone
    assert several.claims[0].theorems == ("noisy-tables", "adaptive-tables", "concentrated-composition")
    assert "At most 3 rows of each 'patient' are drawn at random" in several.sentences()[2]


# --- rows beside counts -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_rows_and_counts_share_one_promise():
    found = planned(counts={"every": "pairs", "share": "0.5"}, recoding={"levels": {"age": 1}})
    assert isinstance(found.rows, SafeKPlan)
    assert found.rows.claims[0].theorems[0] in found.claims[0].theorems
    assert 0.99 < compose(found.parts).epsilon_at("1e-6") <= 1
    alone, other = (
        shown(every="pairs"),
        plan(clinic.policy({"release": {**PROMISE, "recoding": {"levels": {"age": 1}}}})),
    )
    assert found.setting.tables[0][1] > alone.setting.tables[0][1]
    own, whole = found.rows.promise, other.promise
    assert own.k / own.beta > whole.k / whole.beta, "each has less than it would have alone"
    assert [claim.guarantee.kind for claim in found.claims] == ["approx-dp", "k-anonymity"]


@pytest.mark.long
def test_views_of_rows_beside_counts():
    found = planned(counts="pairs", views="pairs", recoding={"levels": {"age": 2}}, sampling={"beta": "0.2"})
    assert len(found.rows.views) == 3
    assert 0.95 < compose(found.parts).epsilon_at("1e-6") <= 1


@pytest.mark.slow
def test_one_view_of_rows_that_is_chosen_beside_counts():
    """One chosen view is one sample, as where one view is named: it is solved beside the counts like a wide table."""
    views = {"choose": {"epsilon": "0.1", "count": 1, "width": 2}}
    keys = {"epsilon": 2, "delta": "1e-3", "recoding": {"levels": {"age": 2}}, "views": views, "counts": "pairs"}
    found = planned(**keys)
    assert len(found.rows.views) == 1
    assert (PureDP("0.1"), 1) in found.parts, "the choice is paid for"
    assert 1.9 < compose(found.parts).epsilon_at("1e-3") <= 2


@pytest.mark.long
def test_a_larger_share_is_more_for_the_counts():
    half, most = (
        planned(counts={"every": "pairs", "share": share}, recoding={"levels": {"age": 1}}) for share in ("0.5", "0.9")
    )
    assert most.setting.tables[0][1] < half.setting.tables[0][1]
    assert most.rows.promise.k / most.rows.promise.beta > half.rows.promise.k / half.rows.promise.beta


@pytest.mark.slow
def test_rows_that_do_not_fit_beside_counts_are_refused():
    with pytest.raises(InfeasibleError, match="rows beside the counts do not fit"):
        planned(counts="pairs", recoding={"levels": {"age": 1}}, k=2, sampling={"beta": "0.9"})


# --- synthetic rows -----------------------------------------------------------------------------------------------------


def test_a_synthetic_table_follows_from_the_counts():
    found = planned(method="synthetic", synthetic={"rows": 50, "never": [{"age": [0, 9], "diag": "rare"}]})
    assert found.name == "synthetic"
    assert found.claims[0].theorems[-1] == "post-processing"
    assert found.synthetic.rows == 50
    (box,) = found.synthetic.never
    assert [None if mask is None else sum(mask) for mask in box] == [10, None, 1]
    assert found.parts == shown(every="pairs", cells="declared").parts, "the rows cost nothing more"
    assert planned(method="synthetic").synthetic.rows is None


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (
            {"method": "synthetic", "recoding": {"levels": {"age": 1}}, "synthetic": {"never": [{"age": [0, 5]}]}},
            "partly",
        ),
        ({"method": "synthetic", "views": {"workload": [["age", "sex"]], "cells": "declared"}}, "got diag"),
    ],
)
def test_synthetic_tables_that_cannot_be(keys, said):
    with pytest.raises(PolicyError, match=said):
        planned(**keys)


def test_rules_that_leave_no_row_are_refused_before_anything_is_charged():
    rules = [{"sex": "f", "age": [0, 99]}, {"sex": "m"}]
    release = {"method": "synthetic", "epsilon": 1, "delta": "1e-6", "synthetic": {"never": rules}}
    changes = {"release": release, "budget": None, "attributes.sex.missing": "refuse"}
    with pytest.raises(PolicyError, match="leave no row"):
        plan(clinic.policy(changes | {"attributes.age.missing": "refuse"}))
    assert len(plan(clinic.policy(changes)).synthetic.never) == 2, "a woman of unknown age is left"


def test_every_attribute_is_in_a_synthetic_table():
    found = planned(method="synthetic", views={"workload": [["age", "sex"]]})
    assert found.method.columns == ("age", "sex", "diag")


# --- what is refused ----------------------------------------------------------------------------------------------------

WIDE = """
version: 1
dataset: wide
unit: row
neighbours: add_remove
attributes:
"""


def wide(number: int, views: dict[str, object], size: int = 400, epsilon: str = "1"):
    columns = "".join(
        f"  c{i}: {{role: quasi, type: integer, domain: [1, {size}], missing: refuse}}\n" for i in range(number)
    )
    text = f"{WIDE}{columns}release: {{method: safe-k, epsilon: {epsilon}, delta: 1e-6}}\n"
    return plan(clinic.Policy.parse(text).with_changes({"release.views": {"show": "counts", **views}}))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "views", "said"),
    [
        (3, {"every": "triples", "cells": "declared"}, r"the table of c0 × c1 × c2 has too many cells; got 64,000,000"),
        (24, {"every": "pairs", "cells": "declared"}, r"together may have too many cells; got 44,160,000"),
        (24, {"every": "triples"}, r"together may have too many cells; got 66,322,432"),
    ],
)
def test_tables_with_too_many_cells(number, views, said):
    with pytest.raises(PolicyError, match=said):
        wide(number, views)


@pytest.mark.slow
def test_forty_attributes_of_a_thousand_values():
    found = wide(40, {"every": "pairs"}, 1000)
    assert found.most_tables == 780
    width = f"{found.half_widths[found.setting.tables[0][1]]:,}"
    assert found.view_rows(780)[0] == ("c0 × c1", "up to 1,024", width)
    assert found.view_rows(12) == [("780 tables of 2 attributes", "1,024 at most", width)]


def test_tables_that_are_alike_have_one_line():
    found = wide(4, {"workload": [["c0"], ["c0", "c1"], ["c2", "c3"], ["c1", "c2", "c3"]], "cells": "declared"}, 10)
    width = f"{found.half_widths[found.setting.tables[0][1]]:,}"
    assert [line for line, _, _ in found.view_rows(4)] == ["c0", "c0 × c1", "c2 × c3", "c1 × c2 × c3"]
    assert found.view_rows(3) == [
        ("1 table of one attribute", "10", width),
        ("2 tables of 2 attributes", "100", width),
        ("1 table of 3 attributes", "1,000", width),
    ]


@pytest.mark.parametrize(
    ("epsilon", "said"),
    [
        ("0.0001", "of 50,000 rows no cell of a table can hold that many"),
        ("0.0003", "of 50,000 rows at most one cell of a table can hold that many"),
        ("0.001", "of 50,000 rows at most 3 cells of a table can hold that many"),
        ("1", None),
    ],
)
def test_noise_that_drowns_the_counts_is_told_before_anything_is_charged(epsilon, said):
    found = wide(3, {"every": "pairs"}, 10, epsilon=epsilon)
    width = max(found.half_widths.values())
    if said is None:
        assert (found.warnings, 10 * width <= 50_000) == ([], True)
        return
    assert 10 * width > 50_000
    assert said in found.warnings[0]
    assert f"may be off by {width:,}" in found.warnings[0]
    assert f"10 such cells need {10 * width:,} rows" in found.warnings[0]


def test_an_attribute_that_is_called_like_a_column_of_counts():
    text = clinic.POLICY.replace("sex:", "count:").replace("sampling: {beta: 0.5}", "").replace(", diag: 0", "")
    policy = clinic.Policy.parse(text)
    with pytest.raises(PolicyError, match="a column of its own with this name"):
        plan(policy.with_changes({"release.views": {"show": "counts", "every": "pairs"}}))
    plan(policy.with_changes({"release.views": {"show": "counts", "workload": [["age", "diag"]]}}))


def test_rows_are_not_planned_without_the_counts_beside_them():
    with pytest.raises(PolicyError, match="planned together"):
        SafeKPlan.of(clinic.policy({"release": COUNTS}))
    with pytest.raises(PolicyError, match="no noisy counts"):
        NoisyCountsPlan.of(clinic.policy())


# --- words --------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "keys",
    [
        {"views": {"show": "counts", "every": "pairs"}},
        {"views": {"show": "counts", "choose": {}}},
        {"views": {"show": "counts", "adapt": {"rounds": 2}}},
        {"method": "synthetic", "views": {"every": "pairs", "cells": "merged"}},
    ],
    ids=["pairs", "once", "rounds", "synthetic"],
)
def test_a_plan_says_what_a_reader_gets(keys):
    found = planned(**keys)
    said = " ".join(found.sentences())
    for sigma, width in found.half_widths.items():
        assert width == noise_half_width(sigma)
    single = found.half_widths[found.setting.single_sigma]
    assert f"in a table of one attribute by at most {single} (sigma" in said
    assert "may be negative" in said
    assert ("Its rows are nobody's." in said) == ("method" in keys)
    assert json.loads(json.dumps(found.to_json()))["noise"]["singles"] == 3
    page = found.page()
    assert all(each in page for each in (found.setting.to_saved()["single_sigma"], "What it does not say"))
    assert found.repeat_words("entry 3", "appeared").endswith("draws new noise and costs (1, 0.000001) once more")
    assert "noisy table" in repr(found)


def test_what_was_drafted_from_the_data_is_said():
    changes = {"release": COUNTS, "attributes.age.provenance": {"domain": "profiled"}}
    found = plan(clinic.policy(changes))
    assert found.claims[0].status.value == "proved for a plan tuned on the data"
    assert "attributes.age.domain" in found.sentences()[-1]


def test_a_certificate_of_noisy_counts_is_of_this_plan():
    assert PLANS["synthetic"] is CERTIFIED["noisy-counts"] is NoisyCountsPlan


def test_attributes_of_thousands_of_cells_are_named_before_anything_is_charged():
    many = {"role": "quasi", "type": "text", "domain": {"pattern": "[0-9]{4}"}}
    (said,) = plan(clinic.policy({"attributes.sex": many, "release": COUNTS})).notes
    assert "'sex' (10,001)" in said
    assert plan(clinic.policy({"release": COUNTS})).notes == []
