"""Which cells a synthetic release counts when the policy does not say: by domains and promise, and never against the policy."""

from __future__ import annotations

import pytest

from shoal.policy.policy import Policy

BASE = {"version": 1, "dataset": "people", "unit": "row", "neighbours": "add_remove"}


def cells(values=6, columns=4, unit=BASE["unit"], **release):
    """The word for columns of so many values each."""
    column = {"role": "quasi", "type": "integer", "domain": [0, values - 1], "missing": "refuse"}
    attributes = {f"c{number}": column for number in range(columns)}
    if unit != "row":
        attributes["who"] = {"role": "identifier", "type": "text"}
    asked = {"method": "synthetic", "epsilon": "1", "delta": "1e-6", **release}
    found = Policy.of({**BASE, "unit": unit, "attributes": attributes, "release": asked}).release
    assert found is not None
    assert found.noisy_counts is not None
    return found.noisy_counts.cells


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        ({}, "declared"),
        ({"values": 30}, "declared"),
        ({"values": 32}, "merged"),  # more than a thousand cells in a table
        ({"values": 30, "epsilon": "0.3"}, "merged"),  # 900 cells, 6 tables: 33 records of noise in each, 23,600 in all
        ({"values": 20, "epsilon": "0.3"}, "merged"),
        ({"values": 18, "epsilon": "0.3"}, "declared"),
        ({"values": 18, "epsilon": "0.3", "unit": {"column": "who", "max_rows": 3}}, "merged"),
        ({"views": {"workload": [["c0", "c1", "c2"], ["c3"]]}}, "declared"),
        ({"views": {"workload": [["c0", "c1"], ["c2"]]}}, "merged"),  # c3 is in no table
        ({"values": 13, "views": "triples"}, "merged"),  # 2,197 cells
        ({"values": 32, "recoding": {"levels": {}}}, "merged"),
        ({"views": {"every": "pairs", "cells": "merged"}}, "merged"),
        ({"values": 32, "views": {"every": "pairs", "cells": "declared"}}, "declared"),
        ({"views": {"adapt": {}}}, "merged"),
        ({"views": {"choose": {}}}, "merged"),
        ({"method": "safe-k", "views": {"show": "counts", "every": "pairs"}}, "merged"),
    ],
)
def test_the_word(asked, word):
    assert cells(**asked) == word


def test_a_lock_says_it():
    """A lock has the word, so that a later rule changes no release that was locked."""
    column = {"role": "quasi", "type": "integer", "domain": [0, 5], "missing": "refuse"}
    release = {"method": "synthetic", "epsilon": "1", "delta": "1e-6"}
    policy = Policy.of({**BASE, "attributes": dict.fromkeys("abc", column), "release": release})
    assert 'cells: "declared"' in policy.lock().text
