"""Rules for columns whose names say nothing: their values decide, and the cautious choice where they do not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from shoal.data.schema import Role
from shoal.draft.opening import open_table
from shoal.draft.profile import profile_table
from shoal.draft.recognize.table import recognize_table
from tests.draft.tables import KINDS


def recognized(values, name="xyz", **others):
    table = pa.table({name: pa.array(list(values)), **{key: pa.array(list(given)) for key, given in others.items()}})
    return recognize_table(profile_table(open_table(table).stored))[0]


@pytest.mark.parametrize(
    ("kind", "role", "type_"),
    [
        ("male female", Role.QUASI, "category"),
        ("email", Role.IDENTIFIER, None),
        ("phone", Role.IDENTIFIER, None),
        ("ssn", Role.IDENTIFIER, None),
        ("ip", Role.IDENTIFIER, None),
        ("iban", Role.IDENTIFIER, None),
        ("code letters", Role.IDENTIFIER, None),
        ("counting", Role.IDENTIFIER, None),
        ("long number", Role.IDENTIFIER, None),
        ("free text", Role.DROP, None),
        ("constant", Role.DROP, None),
        ("icd", Role.CONFIDENTIAL, "category"),
        ("iso3", Role.QUASI, "category"),
        ("month words", Role.QUASI, "ordinal"),
        ("education", Role.QUASI, "ordinal"),
        ("agreement", Role.CONFIDENTIAL, "ordinal"),
        ("date", Role.QUASI, "date"),
        ("datetime", Role.QUASI, "datetime"),
        ("money", Role.CONFIDENTIAL, "decimal"),
        ("bp", Role.CONFIDENTIAL, "integer"),
        ("yes no", Role.QUASI, "boolean"),
        ("letters", Role.QUASI, "category"),
        ("zip", Role.IDENTIFIER, None),
    ],
)
def test_values_decide_where_a_name_says_nothing(kind, role, type_):
    found = recognized(KINDS[kind](np.random.default_rng(7), 400))
    assert (found.role, found.type.value if found.type else None) == (role, type_), found.reason


def test_codes_that_look_like_numbers_are_categories():
    assert recognized([1, 2, 1, 2] * 20, "region_code").type.value == "category"
    assert recognized(["01", "02", "10"] * 20).type.value == "category"
    assert recognized([3, 1, 0, 2] * 20, "num_children").type.value == "integer"


def test_floating_point_numbers_are_no_categories_because_nothing_reads_them_so():
    assert recognized([1.0, 2.0, None] * 20, "sex").type.value == "integer"


def test_a_weight_is_of_a_body_where_other_columns_are_about_bodies():
    kilos = [60.5 + place % 30 for place in range(60)]
    assert recognized(kilos, "weight").role is Role.WEIGHT
    assert recognized(kilos, "weight", height=[170] * 60).role is Role.QUASI
    assert recognized([0.5 + place / 60 for place in range(60)], "weight", bmi=[22.5] * 60).role is Role.WEIGHT


def test_a_survey_weight_is_a_number_that_is_never_negative():
    weights = [0.5 + place / 60 for place in range(60)]
    found = recognized(weights, "fnlwgt")
    assert (found.role, found.type.value) == (Role.WEIGHT, "decimal")
    assert found.reason == "by its name a survey weight, which tells how somebody was sampled; no count uses it"
    assert recognized([60.5 + place % 30 for place in range(60)], "wt", height=[170] * 60).role is Role.QUASI
    assert recognized([212.5 + 30 * place for place in range(60)], "wgt", health=[1, 2] * 30).role is Role.WEIGHT
    assert (
        recognized([2500 + 30 * place for place in range(60)], "weight", height=[50] * 60).role is Role.QUASI
    )  # grams
    for values in ([-value for value in weights], ["light", "heavy"] * 30):
        assert recognized(values, "wt").role is not Role.WEIGHT


def test_education_in_years_is_counted_and_its_levels_are_steps():
    assert recognized([*range(8, 19)] * 6, "yrs_sch").type.value == "integer"
    found = recognized([0, 1, 2, 3, 4, 5, 6, 99] * 8, "hiqual")
    assert (found.role, found.type.value) == (Role.QUASI, "ordinal")


def test_a_date_that_reads_in_two_ways_says_so():
    found = recognized(["01/02/2024", "03/04/2024"] * 20, "visit_date")
    assert (found.format, found.other_format) == ("%d/%m/%Y", "%m/%d/%Y")


def test_dates_in_two_spellings_are_noticed():
    typed = ["2024-01-05"] * 30 + ["31.12.2024", "7.2.2024"] * 5
    found = recognized(typed, "Aufnahmedatum")
    assert (found.role, found.type.value) == (Role.QUASI, "category")
    assert found.reason.startswith("it holds dates in two spellings, 2024-12-31 and 31.12.2024: spell them alike")
    assert 'type: date, format: "%d.%m.%Y"' in found.reason
    assert "two spellings" not in recognized([*typed, "soon"], "Aufnahmedatum").reason
    assert "two spellings" not in recognized(["1.2.2024", "7.2.2024"] * 20).reason


def test_a_name_that_promises_dates_over_words_is_not_believed():
    assert recognized(["urgent", "planned"] * 20, "admission").subject is None


def test_a_time_of_a_login_names_nobody():
    moments = KINDS["datetime"](np.random.default_rng(7), 400)
    found = recognized(moments, name="last_login")
    assert (found.role, found.type.value) == (Role.QUASI, "datetime")
    assert recognized([f"user{number}" for number in range(400)], name="login").role is Role.IDENTIFIER


def test_numbers_of_rows_and_people_that_have_the_form_of_diagnoses_are_none():
    rows = [f"F{place:06d}" for place in range(1, 301)]
    assert recognized(rows).role is Role.IDENTIFIER
    assert recognized(rows[:150] * 2).codes is None
    diagnoses = [f"{letter}{place}.{place % 10}" for letter in "CEFIJ" for place in range(10, 40)]
    assert recognized(diagnoses * 3).codes.key == "icd-10"
    cancers = [f"C{place}{place % 10}" for place in range(10, 40)]
    assert recognized(cancers * 3).codes.key == "icd-10"


def test_a_german_weight_is_of_a_body_where_other_columns_are_about_bodies():
    kilos = [60.5 + place % 30 for place in range(60)]
    assert recognized(kilos, "Gewicht").role is Role.WEIGHT
    assert recognized(kilos, "Gewicht", Blutdruck=["120/80"] * 60).role is Role.QUASI
    assert recognized(kilos, "Gewicht_kg").role is Role.QUASI


@pytest.mark.parametrize(
    "words",
    [
        ["sehr unzufrieden", "unzufrieden", "teils/teils", "zufrieden", "sehr zufrieden"],
        ["Hauptschule", "Abitur", "Berufsausbildung", "Bachelor", "Diplom", "Promotion"],
        ["nie", "selten", "manchmal", "häufig", "täglich"],
        ["sehr schlecht", "schlecht", "mittelmäßig", "gut", "sehr gut"],
    ],
)
def test_german_words_of_a_scale_have_their_order(words):
    found = recognized(sorted(words) * 20)
    assert (found.type.value, list(found.order)) == ("ordinal", words)
