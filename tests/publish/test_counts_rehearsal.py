"""A rehearsal of noisy counts: on simulated tables, the same for the same seed, nearer the more rows there are."""

from __future__ import annotations

import json

import pytest

from shoal.errors import ParameterError
from shoal.publish.plan.methods import plan
from tests.cli.run import answer, shoal
from tests.publish import clinic

RELEASE = {"method": "synthetic", "epsilon": 1, "delta": "1e-6", "views": {"every": "pairs", "cells": "merged"}}


@pytest.mark.slow
def test_more_rows_are_nearer():
    found = plan(clinic.policy({"release": RELEASE})).rehearse(rows=[500, 6000], runs=2, seed=3)
    few, many = found.expected
    assert few.tables.mean == many.tables.mean == 6
    assert [each.attributes for each in few.distances] == [1, 2]
    for small, large in zip(few.distances, many.distances, strict=True):
        assert large.counts.mean < small.counts.mean
        assert large.synthetic.mean < small.synthetic.mean
        assert 0 <= large.synthetic.least <= large.synthetic.most <= 1
    assert json.loads(json.dumps(found.to_json()))["charged"] is False
    assert "2 runs" in repr(found)


def test_sizes_that_no_rehearsal_has():
    with pytest.raises(ParameterError, match="rows of a rehearsal"):
        plan(clinic.policy({"release": RELEASE})).rehearse(rows=[0])


@pytest.mark.slow
def test_on_the_command_line(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(clinic.policy({"release": RELEASE}).dump())
    asked = ("rehearse", path, "--rows", "300", "--runs", "2", "--seed", "1")
    done = shoal(*asked)
    assert done.exit_code == 0, done.output
    words = " ".join(done.stdout.split())
    assert "tables of counts 6" in words
    assert "of synthetic rows, 2 attributes" in words
    assert answer(*asked)["expected"] == answer(*asked)["expected"], "the same seed repeats it"
