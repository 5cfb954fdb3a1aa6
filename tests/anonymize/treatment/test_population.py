"""The population threshold, by declared counts and by the rows of the table."""

from __future__ import annotations

import numpy as np

from shoal.anonymize.treatment.population import PopulationThreshold
from tests.anonymize.treatment.attributes import TOWN, masked

COUNTS = {"a": 9, "b": 10, "c": 500, "other": 0}
TOWNS = masked(np.array(["a", "b", None, "c", "a"], dtype=object), 2)


def treated(step, values=TOWNS):
    return step.apply({"town": values}, None)["town"].tolist()


def test_values_below_the_threshold_become_one_value_or_missing():
    assert treated(PopulationThreshold(TOWN, 10, COUNTS, "other")) == ["other", "b", None, "c", "other"]
    assert treated(PopulationThreshold(TOWN, 10, COUNTS, None)) == [None, "b", None, "c", None]
    assert treated(PopulationThreshold(TOWN, 1, COUNTS, None)) == ["a", "b", None, "c", "a"]


def test_what_stands_for_the_others_is_never_small():
    assert not PopulationThreshold(TOWN, 10, COUNTS, "other").is_small("other", COUNTS)


def test_without_counts_rows_are_counted_so_others_decide():
    step = PopulationThreshold(TOWN, 2, None, "other")
    assert treated(step) == ["a", "other", None, "other", "a"]
    assert treated(step, TOWNS[:4]) == ["other", "other", None, "other"], "one record less changed another"
    assert "among the rows of the table" in step.words()


def test_its_words():
    words = PopulationThreshold(TOWN, 10_000, COUNTS, "other").words()
    assert words == (
        "Values of town with a population below 10,000 by the declared counts, which are 3 of 4, become other "
        "(population threshold)."
    )
