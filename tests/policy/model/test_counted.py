"""Which cells a synthetic release counts when the policy does not say: by domains and promise, and never against the policy."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shoal.errors import PolicyError
from shoal.policy.model.counted import cells_for_rows
from shoal.policy.policy import Policy
from shoal.publish.verify.lock import policy_of_lock

BASE = {"version": 1, "dataset": "people", "unit": "row", "neighbours": "add_remove"}


def counted(values=6, columns=4, unit=BASE["unit"], **release):
    """The tables of counts for columns of so many values each, with every default written out."""
    column = {"role": "quasi", "type": "integer", "domain": [0, values - 1], "missing": "refuse"}
    attributes = {f"c{number}": column for number in range(columns)}
    if unit != "row":
        attributes["who"] = {"role": "identifier", "type": "text"}
    asked = {"method": "synthetic", "epsilon": "1", "delta": "1e-6", **release}
    found = Policy.of({**BASE, "unit": unit, "attributes": attributes, "release": asked}).release
    assert found is not None
    assert found.noisy_counts is not None
    return found.noisy_counts


PEOPLE = {"column": "who", "max_rows": 3}


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        ({}, "declared"),
        ({"values": 31}, "declared"),
        ({"values": 32}, "merged"),  # more than a thousand cells in a table
        ({"values": 30, "epsilon": "0.3"}, "declared"),  # 900 cells, 6 tables: 33 of noise in each, 23,600 in all
        ({"values": 30, "epsilon": "0.2"}, "merged"),
        ({"values": 20, "epsilon": "0.2"}, "declared"),
        ({"values": 20, "epsilon": "0.2", "unit": PEOPLE}, "merged"),
        ({"views": {"workload": [["c0", "c1", "c2"], ["c3"]]}}, "declared"),
        ({"views": {"workload": [["c0", "c1"], ["c2"]]}}, "merged"),  # c3 is in no table
        ({"values": 13, "views": "triples"}, "merged"),  # 2,197 cells
        ({"values": 32, "recoding": {"levels": {}}}, "merged"),
        ({"views": {"every": "pairs", "cells": "merged"}}, "merged"),
        ({"values": 32, "views": {"every": "pairs", "cells": "declared"}}, "declared"),
        ({"views": {"adapt": {}}}, "merged"),
        ({"views": {"every": "pairs", "adapt": {}}}, "declared"),
        ({"values": 32, "views": {"every": "pairs", "adapt": {}}}, "merged"),
        ({"views": {"choose": {}}}, "merged"),
        ({"method": "safe-k", "views": {"show": "counts", "every": "pairs"}}, "merged"),
    ],
)
def test_the_word(asked, word):
    assert counted(**asked).cells == word


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ({"values": 20}, None),  # 400 cells of a noise of 10: about 3,300 records
        ({"values": 22}, "3/20"),
        ({"values": 20, "epsilon": "0.5"}, "3/20"),
        ({"values": 20, "epsilon": "0.3"}, "3/10"),  # 10,200 records
        ({"values": 32}, None),  # merged cells: the tables of single attributes that these need
        ({"values": 20, "epsilon": "0.3", "views": {"every": "pairs", "adapt": {}}}, "3/10"),
        ({"values": 20, "epsilon": "0.3", "views": {"every": "pairs", "cells": "declared"}}, None),  # as it is said
        ({"values": 20, "epsilon": "0.3", "views": {"every": "pairs", "singles": "0.1"}}, "1/10"),
        (
            {"values": 20, "epsilon": "0.1", "views": {"workload": [["c0"], ["c1"], ["c2", "c3"]]}},
            None,
        ),  # some are there
        ({"views": {"choose": {}}}, None),
        ({"views": {"choose": {}, "singles": "0.4"}}, "2/5"),
        ({"method": "safe-k", "views": {"show": "counts", "every": "pairs"}}, None),
        ({"method": "safe-k", "views": {"show": "counts", "every": "pairs", "singles": "0.1"}}, "1/10"),
    ],
)
def test_the_part_of_tables_of_single_attributes(asked, part):
    assert counted(**asked).singles == (None if part is None else Fraction(part))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"views": {"every": "singles", "singles": "0.1"}}, "beside tables of one attribute"),
        ({"views": {"workload": [["c0"], ["c1", "c2", "c3"]], "singles": "0.1"}}, "beside tables of one attribute"),
        ({"views": {"every": "pairs", "singles": "0.5"}}, "above 0 and below 1/2"),
        ({"views": {"every": "pairs", "singles": 0}}, "above 0 and below 1/2"),
        ({"method": "safe-k", "views": {"every": "pairs", "singles": "0.1"}}, "only views that show counts have it"),
    ],
)
def test_a_part_that_cannot_be(asked, said):
    with pytest.raises(PolicyError, match=said):
        counted(**asked)


def told(rows, values=6, **release):
    """What a plan for so many rows says about the cells of a synthetic table."""
    column = {"role": "quasi", "type": "integer", "domain": [0, values - 1], "missing": "refuse"}
    asked = {"method": "synthetic", "epsilon": "1", "delta": "1e-6", **release}
    policy = Policy.of({**BASE, "attributes": {f"c{number}": column for number in range(4)}, "release": asked})
    return cells_for_rows(policy.model.release, policy.schema.published, policy.unit, rows)


def test_whoever_knows_the_number_of_rows_is_told_which_cells_are_nearer():
    """400 cells of a noise of 10 records add up to about 3,300: four for each of 830 rows."""
    assert "below about 830 rows `cells: merged` comes nearer" in told(None, 20)
    assert told(840, 20) is None
    assert "add `views: {every: pairs, cells: merged}`" in told(800, 20)
    assert "add `cells: merged` to `views`" in told(
        800, 20, views={"workload": [["c0", "c1"], ["c2", "c3"]]}, epsilon="0.5"
    )
    assert "from about 8,400 rows on `cells: declared` comes nearer" in told(None, 30, epsilon="0.2")
    assert told(8_000, 30, epsilon="0.2") is None
    assert "add `views: {every: pairs, cells: declared, singles: 0.3}`" in told(9_500, 30, epsilon="0.2")


@pytest.mark.parametrize(
    "release",
    [
        {"views": {"every": "pairs", "cells": "merged"}},
        {"views": {"choose": {}}},
        {"method": "safe-k", "views": {"show": "counts", "every": "pairs"}},
        {"values": 40},  # too many cells to count them all
    ],
)
def test_nothing_is_said_where_the_cells_are_not_open(release):
    assert told(100, **release) is None


def test_a_lock_says_it():
    """A lock has the word, so that a later rule changes no release that was locked."""
    column = {"role": "quasi", "type": "integer", "domain": [0, 5], "missing": "refuse"}
    release = {"method": "synthetic", "epsilon": "1", "delta": "1e-6"}
    policy = Policy.of({**BASE, "attributes": dict.fromkeys("abc", column), "release": release})
    assert 'cells: "declared"' in policy.lock().text
    assert "singles" not in policy.lock().text
    noisy = Policy.of({**BASE, "attributes": dict.fromkeys("abc", column), "release": {**release, "epsilon": "0.01"}})
    assert 'singles: "0.3"' in noisy.lock().text
    assert policy_of_lock(noisy.lock().text).lock() == noisy.lock()


@pytest.mark.parametrize(
    ("values", "columns", "views", "rounds"),
    [
        (6, 9, None, None),
        (6, 9, {"every": "pairs"}, None),
        (6, 9, {"every": "pairs", "adapt": {}}, 4),
        (6, 3, {"every": "pairs", "adapt": {}}, 1),
        (32, 9, {"every": "pairs", "adapt": {}}, 4),
        (6, 9, {"every": "pairs", "adapt": {"rounds": 2}}, 2),
        (6, 9, {"every": "pairs", "adapt": {"share": "0.2"}}, 4),
        (6, 9, {"every": "triples", "adapt": {"width": 2}}, 4),
        (6, 9, {"every": "pairs", "adapt": {"target": "c3"}}, 2),
        (6, 3, {"every": "pairs", "adapt": {"target": "c0"}}, 1),
        (6, 9, {"every": "triples", "adapt": {"width": 2, "target": "c3"}}, 2),
        (6, 9, {"workload": [["c0", "c1", "c2"], ["c0", "c3"]], "adapt": {"target": "c2"}}, 2),
        (6, 4, {"workload": [["c0", "c1", "c2"], ["c0", "c3"]], "adapt": {}}, 2),
        (6, 3, {"workload": [["c0", "c1", "c2"], ["c0", "c1"]], "adapt": {}}, 1),
    ],
)
def test_tables_are_chosen_after_those_that_the_policy_names(values, columns, views, rounds):
    column = {"role": "quasi", "type": "integer", "domain": [0, values - 1], "missing": "refuse"}
    attributes = {f"c{number}": column for number in range(columns)}
    release = {"method": "synthetic", "epsilon": "1", "delta": "1e-6"} | ({"views": views} if views else {})
    policy = Policy.of({**BASE, "attributes": attributes, "release": release})
    found = policy.release.views
    assert (None if found.adapt is None else found.adapt.rounds) == rounds
    names = list(attributes)
    before, after = (
        {frozenset(group) for group in own} for own in (found.first_groups(names), found.candidates(names))
    )
    assert not before & after
    if rounds is not None:
        assert len(found.candidates(names)) == found.count_candidates(columns, counts=True)
        assert before
        assert found.adapt.width == (2 if views and views.get("every") == "triples" else 3)
        target = found.adapt.target
        assert all(target is None or target in group for group in found.candidates(names))
    assert policy_of_lock(policy.lock().text).lock() == policy.lock()


@pytest.mark.parametrize(
    ("views", "said"),
    [
        ({"every": "singles", "adapt": {}}, "beside tables of one attribute"),
        ({"workload": [["c0"], ["c1", "c2"]], "adapt": {}}, "beside tables of one attribute"),
        ({"every": "pairs", "choose": {}}, "exactly one of these keys"),
        ({"every": "pairs", "workload": [["c0", "c1"]], "adapt": {}}, "exactly one of these keys"),
        ({"every": "pairs", "adapt": {"rounds": 5}}, "too many rounds"),
        ({"every": "pairs", "adapt": {"width": 2}}, "none is left to choose"),
        ({"every": "pairs", "adapt": {"rounds": 4, "target": "c0"}}, "too many rounds"),
        ({"every": "pairs", "adapt": {"target": "c9"}}, "no attribute|not an attribute|c9"),
        ({"every": "pairs", "limit": 3, "adapt": {"target": "c0"}}, "`target` beside `limit`"),
        ({"adapt": {"target": "c0"}}, "`target` where all tables are chosen"),
        ({"adapt": {"share": "0.2"}}, "`adapt: {share: ...}` where every table is chosen"),
        ({"every": "pairs", "adapt": {"share": "0.5"}}, "above 0 and below 1/2"),
        ({"every": "pairs", "adapt": {"share": "0"}}, "above 0 and below 1/2"),
    ],
)
def test_tables_before_rounds_that_cannot_be(views, said):
    column = {"role": "quasi", "type": "integer", "domain": [0, 5], "missing": "refuse"}
    attributes = {f"c{number}": column for number in range(4)}
    release = {"method": "synthetic", "epsilon": "1", "delta": "1e-6", "views": views}
    with pytest.raises(PolicyError, match=said):
        _ = Policy.of({**BASE, "attributes": attributes, "release": release}).release
