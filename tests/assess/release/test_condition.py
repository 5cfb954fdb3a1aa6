"""A condition that is written means what the same condition in plain values means, and what it means to a session."""

from __future__ import annotations

import pytest

import shoal
from shoal.assess.release.condition import MOST_ALTERNATIVES
from shoal.assess.release.load import load
from shoal.datasets.visits import write_policy, write_visits
from shoal.errors import UsageError


@pytest.fixture(scope="module")
def received(tmp_path_factory):
    folder = tmp_path_factory.mktemp("received")
    shown = {"show": "counts", "workload": [["age", "sex"], ["income", "region"], ["zip"]]}
    changes = {"release.recoding": None, "release.total": None, "release.sampling": None, "release.views": shown}
    policy = shoal.Policy.load(write_policy(folder)).with_changes(changes)
    data = write_visits(folder / "visits.csv", 2_000, seed=3)
    shoal.release(policy, data, folder / "visits", ledger=folder / "ledger.sqlite", new_ledger=True, report=False)
    return shoal.load(folder / "visits", verify=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("age >= 65", {"age": (65, None)}),
        ("age between 40 and 64 and sex = 'female'", {"age": (40, 65), "sex": "female"}),
        ("age < 10 or sex in ('male', 'other')", [{"age": (None, 10)}, {"sex": {"male", "other"}}]),
        ("income < 40000", {"income": (None, 40000)}),
        ("age is missing", {"age": None}),
        ("age >= 40 and not age >= 60 and not age is missing", {"age": (40, 60)}),
        (
            "(age < 20 or age >= 80) and (sex = 'male' or age < 40)",
            [{"age": (None, 20)}, {"age": (80, None), "sex": "male"}],
        ),
        ("everything", {}),
    ],
)
def test_both_spellings_give_one_estimate(received, text, plain):
    one, other = received.count(text), received.count(plain)
    assert (one.rows, one.method, one.source) == (other.rows, other.method, other.source)


@pytest.mark.slow
def test_a_label_of_a_level_stands_for_the_values_under_it(received):
    schema = received.known_schema
    labels = schema["region"].hierarchy.labels(1)
    under = {row[0] for row in schema["region"].hierarchy.rows if row[1] == labels[0]}
    assert len(under) > 1
    assert received.count(f"region@1 = '{labels[0]}'").rows == received.count({"region": under}).rows
    # As in a session the level may be left out, also where the tables show the values themselves.
    assert received.count({"region": labels[0]}).rows == received.count({"region": under}).rows
    assert received.count({"region": {"label": labels[0]}}).rows == received.count({"region": under}).rows
    with pytest.raises(UsageError, match="neither a declared value nor a label"):
        received.count({"region": "Nort"})


@pytest.mark.slow
def test_what_a_release_cannot_answer_is_refused(received):
    with pytest.raises(UsageError, match="no attribute of that name"):
        received.count("height > 3")
    with pytest.raises(UsageError, match="which no question may read"):
        received.count("patient_id = 3")
    with pytest.raises(UsageError, match="does not list the values of a pattern"):
        received.count("zip != '12345'")
    parts = " and ".join(f"(age < {i} or income < {1000 * i} or sex = 'male')" for i in range(1, 9))
    with pytest.raises(UsageError, match=f"too many alternatives; got more than {MOST_ALTERNATIVES:,}"):
        received.count(parts)
    with pytest.raises(UsageError, match=r"takes no written condition.*shoal\.load"):
        load(received.folder).count("age >= 65")
    with pytest.raises(UsageError, match="no published attribute of this name"):
        received.count("diagnosis = 'A11'")
