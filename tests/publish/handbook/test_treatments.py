"""What a recipient reads of the steps before the method: in README, codebook and datapackage, from certificate and lock alone."""

from __future__ import annotations

import json

import numpy as np
import pytest

from shoal.publish.handbook.codebook import codebook_page
from shoal.publish.handbook.content import make_handbook
from shoal.publish.handbook.data_package import data_package_text
from shoal.publish.handbook.readme import readme_text
from shoal.publish.handbook.treatments import large_matrices, readings, transition_matrices, treated_columns
from shoal.publish.plan.methods import plan
from shoal.publish.verify.standalone import read_lock
from tests.publish import counted_clinic

STEPS = [
    {"top": {"age": 80}},
    {"bottom": {"age": 20}},
    {"random_round": {"age": 5}},
    {"pram": {"attribute": "sex", "keep": "0.75"}},
    {"population_threshold": {"attribute": "diag", "least": 1000, "counts": {"flu": 9999, "cold": 5000, "rare": 3}}},
    {"swap": {"attributes": ["diag", "age"], "rate": "0.3", "within": ["sex"]}},
]
MATRIX = {
    "f": {"f": "0.9", "m": "0.1"},
    "m": {"m": "2/3", "f": "1/3"},
    "(missing)": {"(missing)": 1},
}


def handbook(steps):
    made = plan(counted_clinic.policy("swap", {"treatments": steps} if steps else None))
    columns = ["age", "sex", "diag"]
    shows = made.method.rules(made.policy.schema)
    table = {
        "file": "table.csv",
        "k": 5,
        "columns": columns,
        "quasi": ["age", "sex"],
        "confidential": ["diag"],
        "shows": shows,
    }
    content = {
        "dataset": "clinic",
        "date": "2026-03-01",
        "software": {"shoal": "1"},
        "method": "probabilistic-k",
        "status": "checked",
        "sentence": "s",
        "explanation": made.sentences(),
        "not_promised": ["n"],
        "how_to_verify": "v",
        "guarantee": {"unit": {"column": None}},
        "tables": [table],
        "files": {},
        **made.treatment_fields(),
    }
    return make_handbook(content, read_lock(made.lock.text), json.loads)


def test_each_column_says_what_its_values_stand_for():
    book = handbook(STEPS)
    assert treated_columns(book) == ["age", "sex", "diag"]
    assert readings(book, "age") == [
        "what was 80 or more at this step became 80 (top coding)",
        "what was 20 or less at this step became 20 (bottom coding)",
        (
            "rounded at random to a multiple of 5 or an end of the domain, without bias: a sum over n values has the right mean "
            "and a variance of at most 6 n from it"
        ),
        (
            "in about 0.3 of the records exchanged with another record among records that agree in sex, together with diag "
            "(swapping)"
        ),
    ]
    assert (
        "a missing value may stand for a value whose population by declared counts is below 1000"
        in readings(book, "diag")[0]
    )


def test_a_code_says_what_it_stands_for_where_nothing_else_moves_values_to_it():
    """78 may be rounded up to 80, and 85 down to it, so 80 alone tells nothing once values are rounded or drawn."""
    coded = [{"bottom": {"age": 20}}, {"top": {"age": 80}}]
    assert readings(handbook(coded), "age") == [
        "20 stands for 20 or less (bottom coding)",
        "80 stands for 80 or more (top coding)",
    ]
    for step in ({"round": {"age": 10}}, {"random_round": {"age": 10}}):
        for steps in ([step, *coded], [*coded, step]):
            assert not any("stands for" in each for each in readings(handbook(steps), "age"))


def test_every_page_says_it():
    book = handbook(STEPS)
    readme, page, package = readme_text(book), codebook_page(book), json.loads(data_package_text(book))
    assert "## What was done to the values before" in readme
    for text in (readme, page):
        assert "what was 80 or more at this step became 80" in text
    fields = {each["name"]: each for each in package["resources"][0]["schema"]["fields"]}
    assert "what was 80 or more at this step became 80" in fields["age"]["description"]


def test_a_release_without_steps_says_nothing_of_them():
    book = handbook([])
    assert treated_columns(book) == []
    assert "before" not in readme_text(book).partition("## What was promised")[0]
    assert "What was done to the values before" not in readme_text(book)


@pytest.mark.parametrize(
    "steps", [STEPS[3:4], [{"pram": {"attribute": "sex", "matrix": MATRIX}}]], ids=["keep", "matrix"]
)
def test_counts_can_be_corrected_by_the_matrix(steps):
    (matrix,) = transition_matrices(handbook(steps))
    assert matrix.values == ("f", "m", "(missing)")
    cells = np.array([[float(eval(cell)) for cell in row] for row in matrix.rows])  # noqa: S307 - 1/3
    assert np.allclose(cells.sum(1), 1)
    true = np.array([700.0, 300.0, 50.0])
    assert np.allclose(true @ cells @ np.linalg.inv(cells), true)
    text = readme_text(handbook(steps))
    assert "multiply counts of the treated table, or estimates of them, by its inverse" in text
    assert "| `m` | " in text


def test_a_large_matrix_is_in_the_lock_alone(monkeypatch):
    monkeypatch.setattr("shoal.publish.handbook.treatments.MOST_CATEGORIES", 2)
    book = handbook(STEPS[3:4])
    assert transition_matrices(book) == []
    assert large_matrices(book) == ["sex"]
    assert "`policy.lock.yaml`, under `treatments`" in readme_text(book)
