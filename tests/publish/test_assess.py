"""An assessment from files and frames: another tool's table, a control group, a population, weights, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from shoal.errors import DataError, ParameterError, UsageError
from shoal.policy.policy import Policy
from shoal.publish.assess import assess_release

POLICY = Policy.of(
    {
        "version": 1,
        "dataset": "ward",
        "unit": "row",
        "neighbours": "add_remove",
        "attributes": {
            "age": {"role": "quasi", "type": "integer", "domain": [0, 99], "hierarchy": {"intervals": [10, 50]}},
            "sex": {"role": "quasi", "type": "category", "domain": {"values": ["f", "m"]}},
            "ill": {"role": "confidential", "type": "category", "domain": {"values": ["flu", "ulcer"]}},
            "weight": {"role": "weight", "type": "decimal", "domain": [0, 100]},
        },
    }
)
SEXES, ILLS = ("f", "m"), ("flu", "ulcer")


def people(rows, shift=0):
    ages = [(7 * i + shift) % 60 + 20 for i in range(rows)]
    return pa.table(
        {
            "age": ages,
            "sex": [SEXES[i % 2] for i in range(rows)],
            "ill": [ILLS[age > 50] for age in ages],
            "weight": [2.5] * rows,
        }
    )


def masked(table, width=10):
    """As another tool may write it: ages as 20-29, sexes of the first two rows suppressed, one cell that says nothing."""
    ages = [f"{age // width * width}-{age // width * width + width - 1}" for age in table["age"].to_pylist()]
    ages[-1] = "about fifty"
    sexes = ["*", "*", *table["sex"].to_pylist()[2:]]
    return pa.table({"age": ages, "sex": sexes, "ill": table["ill"]})


def test_a_table_of_another_tool_is_read_by_its_cells():
    original = people(120)
    found = assess_release(original, masked=masked(original), policy=POLICY, aligned=True, full=False)
    assert [one.name for one in found.utility.columns] == ["age", "sex", "ill"]
    assert len(found.utility.notes) == 1
    assert found.utility.notes[0].startswith("'age' has 1 different cell that could not be read: ")
    assert found.before is not None
    assert found.after is not None
    # 60 ages × 2 sexes that alternate with them: every (age, sex) occurs twice; six decades × 2 sexes after masking.
    assert found.before.prosecutor.largest.value == 0.5
    assert found.after.prosecutor.mean.value < 0.2
    age = found.utility.columns[0]
    assert age.total_variation < 0.25
    assert age.mean is not None
    assert abs(age.mean[0] - age.mean[1]) < 1
    assert found.utility.lost_columns == ("weight",)
    # Decades in place of ages, each the mean of its ten ages; the cell that says nothing is the mean of the whole domain.
    ages = np.array(original["age"].to_pylist())
    shown = ages // 10 * 10 + 4.5
    shown[-1] = 49.5
    loss = found.utility.information_loss
    assert loss is not None
    assert [change.name for change in loss.changes] == ["age"]
    assert loss.loss == pytest.approx(100 * ((ages - shown) ** 2).mean() / ages.var())
    unpaired = assess_release(original, masked=masked(original), policy=POLICY, full=False)
    assert unpaired.utility.information_loss is None
    json.dumps(found.to_json(), allow_nan=False)


@pytest.mark.slow
def test_attacks_and_models_are_judged_by_a_control_group_and_say_without_one_that_there_is_none():
    original = people(240)
    alone = assess_release(original, masked=masked(original), policy=POLICY, targets=["ill"])
    held = assess_release(original, masked=masked(original), policy=POLICY, control=people(240, 3), targets=["ill"])
    assert (alone.control, held.control) == (None, 240)
    for found, against in ((alone, "baseline"), (held, "control")):
        inference = next(one for one in found.attacks if one.attack == "inference of 'ill'")
        assert inference.measured_against == against
        assert found.utility.learning[0].control == (against == "control")
    # The illness follows from the age for everybody, in the table or not: the control group shows it.
    risks = {
        found.control: next(one for one in found.attacks if one.attack == "inference of 'ill'").risk.value
        for found in (alone, held)
    }
    assert risks[None] > 0.8
    assert risks[240] < 0.3


def test_a_population_weights_and_a_fraction_give_the_risks_of_people_outside():
    original = people(60)
    population = pa.concat_tables([people(600), people(7, 30)]).select(["age", "sex"])
    found = assess_release(
        original,
        masked=masked(original),
        policy=POLICY,
        population=population,
        weights="weight",
        fraction=0.1,
        full=False,
    )
    assert found.before is not None
    assert found.before.journalist is not None
    assert found.before.journalist.largest.value <= 0.1
    assert found.before.individual is not None
    assert set(found.before.population_models) >= {"zayatz"}
    assert found.before.population_uniques is not None


def test_lenient_matching_lets_a_suppressed_cell_match_anything():
    original = people(120)
    strict, lenient = (
        assess_release(original, masked=masked(original), policy=POLICY, lenient=way, full=False)
        for way in (False, True)
    )
    assert (strict.matching, lenient.matching) == ("strict", "lenient")
    assert strict.after is not None
    assert lenient.after is not None
    assert lenient.after.prosecutor.mean.value < strict.after.prosecutor.mean.value


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({}, UsageError, "one release"),
        ({"masked": people(5)}, UsageError, "needs a policy"),
        ({"masked": people(5), "policy": POLICY, "fraction": 1.5}, ParameterError, "fraction"),
        ({"masked": people(5), "policy": POLICY, "fraction": 1}, ParameterError, "no sample"),
        ({"masked": people(5), "policy": POLICY, "targets": ["height"]}, UsageError, "target"),
        ({"masked": people(5), "policy": POLICY, "weights": "height"}, UsageError, "name"),
        ({"masked": people(4), "policy": POLICY, "aligned": True}, UsageError, "pair"),
        ({"masked": pa.table({"other": [1]}), "policy": POLICY}, UsageError, "no column"),
    ],
)
def test_what_cannot_be_assessed_is_refused(options, error, words):
    with pytest.raises(error, match=words):
        assess_release(people(5), full=False, **options)


def test_labels_that_nobody_explained_still_part_the_rows():
    """Sexes as words that the policy does not have hide nothing: classes are those of the letters."""
    original = people(120)
    words = pa.table({**dict(zip(original.column_names, original.columns, strict=True)), "sex": ["woman", "man"] * 60})
    plain, renamed = (assess_release(original, masked=each, policy=POLICY, full=False) for each in (original, words))
    assert plain.after is not None
    assert renamed.after is not None
    assert renamed.after.prosecutor.mean.value == plain.after.prosecutor.mean.value
    assert "2 different cells" in renamed.utility.notes[0]


def test_a_folder_that_is_no_release_and_tables_without_a_row_are_refused(tmp_path):
    for folder, words in ((tmp_path, "not the folder of a release"), (tmp_path / "nothing", "no such release")):
        with pytest.raises(UsageError, match=words):
            assess_release(people(5), folder=folder)
    for options, whose in (({}, "original"), ({"control": people(0)}, "control group")):
        with pytest.raises(DataError, match=f"the {whose} has no row"):
            assess_release(people(0 if whose == "original" else 5), masked=people(5), policy=POLICY, **options)


@pytest.mark.slow
def test_records_that_pair_with_originals_are_linked_to_their_own():
    """60 ages with 2 sexes, each pair twice in 120 records: who knows both takes the right one of two, or one of more."""
    original = people(120)
    wide = masked(original, 30)
    risks = []
    for table in (original, wide):
        found = assess_release(original, masked=table, policy=POLICY, aligned=True, targets=["sex"])
        risks.append(next(one for one in found.attacks if one.attack == "record linkage"))
    assert risks[0].risk.low > risks[1].risk.high
    assert risks[0].baseline.value == 1 / 120
    assert risks[0].measured_against == "baseline"


@pytest.mark.slow
def test_a_control_group_that_is_too_small_for_singling_out_is_said():
    original = people(40)
    found = assess_release(original, masked=original, policy=POLICY, control=people(10, 3), full=True, targets=["sex"])
    assert any(said.startswith("singling out against the control group: that has 10") for said in found.left_out)
    assert [one.measured_against for one in found.attacks] == ["control", "baseline", "control"]
    said = found.words()
    assert sum("Without a control group" in one for one in said) == 1
    assert any("parts of its range" in one for one in said)


def test_an_empty_masked_table_is_assessed_as_one_that_shows_nothing():
    original = people(30)
    found = assess_release(original, masked=masked(original).slice(0, 0), policy=POLICY)
    assert found.after is None
    assert all(one.total_variation == 1 for one in found.utility.columns)
    assert any("no row" in said for said in found.left_out)
    assert "The release has no row." in found.words()


@pytest.mark.slow
def test_intruders_know_values_and_not_the_parts_by_which_tables_are_compared():
    """Sixty exact ages and two sexes, each pair twice in the original: a condition on both singles nobody out. With one of each
    age and sex left, every row is singled out, though sixty ages are compared in twenty parts.
    """
    twice, once = people(120), people(60)
    for original, least, most in ((twice, 0, 0.05), (once, 0.9, 1)):
        found = assess_release(original, masked=original.select(["age", "sex", "ill"]), policy=POLICY, targets=["ill"])
        single = next(one for one in found.attacks if one.attack == "singling out")
        assert least <= single.success.value <= most
