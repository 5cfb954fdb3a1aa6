"""Yardsticks: the table goes out as codes of declared cells and comes back as values; what is missing, late or broken is said.

The library is large and its pins are not ours, so a stand-in takes its place: a program that answers as the process does. One
test runs the real thing where a Python that has it is at hand.
"""

from __future__ import annotations

import importlib.util
import json
import os
import stat
import sys
from fractions import Fraction

import numpy as np
import pytest

from shoal.chance.source import Source
from shoal.data.cells import cells_of
from shoal.engine.base import open_engine
from shoal.errors import DataError, ParameterError, UsageError
from shoal.guarantee.differential import ApproxDP
from shoal.guarantee.noise import ConcentratedDP
from shoal.publish.comparison.methods import UNSEEDED, compare_methods, name_yardsticks, steps
from shoal.publish.comparison.synthesizer_process import ATTEMPTS, NEEDED, versions, with_rounding
from shoal.publish.comparison.yardstick import Yardsticks, YardstickTarget, encode, yardstick_targets
from shoal.publish.plan.methods import plan
from tests.cli.run import answer, refused
from tests.publish import clinic

K5 = {"release": {"method": "k-anonymity", "k": 5}, "budget": None}
STAND_IN = """#!{python}
import json, shutil, signal, sys
word = sys.argv[-1]
if word == "check":
    print(json.dumps({versions}))
    raise SystemExit
job = json.load(open(word))
json.dump({{name: job[name] for name in ("kind", "rho", "contributions", "domains")}}, open({seen!r}, "w"))
if job["kind"] == "{late}":
    signal.pause()
if job["kind"] == "{broken}":
    raise ValueError("a code of somebody: 77")
shutil.copy(job["table"], job["output"])
print("a word of the library")
print(json.dumps({{"cpu": 1.5}}))
"""


@pytest.fixture
def stand_in(tmp_path):
    def make(versions='{"opendp": "9.9", "mbi": "1", "polars": "1"}', late="", broken=""):
        path = tmp_path / "python"
        seen = str(tmp_path / "seen.json")
        path.write_text(STAND_IN.format(python=sys.executable, versions=versions, seen=seen, late=late, broken=broken))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return make


@pytest.mark.slow
def test_a_yardstick_is_a_line_at_the_promise_of_the_policy(stand_in, tmp_path):
    """The stand-in gives the very codes back: cells of one value come back as they were, so the line is at no distance."""
    table = clinic.write_table(tmp_path / "table.csv", 100)
    ticks = []
    found = compare_methods(
        {"k": clinic.policy(K5), "safe": clinic.policy()}, table, yardsticks=Yardsticks(("mst",), stand_in()), seed=1,
        full=False, tick=lambda: ticks.append(1),
    )  # fmt: skip
    assert len(ticks) == steps(3, ["diag"], full=False)
    line = found.methods[-1]
    assert (line.name, line.method, line.rows, line.cpu) == ("MST", "yardstick: MST of OpenDP", 80, 1.5)
    assert line.claim == "(1, 0.001)-DP of one row added or removed"
    assert line.status == "claimed by OpenDP 9.9, not by Shoal"
    assert line.measures["pairs"].value == pytest.approx(0, abs=1e-12)
    assert "prosecutor.largest" not in line.measures
    assert UNSEEDED in line.notes
    told = json.loads((tmp_path / "seen.json").read_text())
    assert told["contributions"] == 1
    promised = ConcentratedDP(Fraction(told["rho"]))
    assert promised.epsilon_at(Fraction(1, 1000)) == pytest.approx(1, abs=1e-5)
    assert all(name.startswith("c") for name in told["domains"])  # names of columns stay here


@pytest.mark.slow
def test_one_that_is_late_or_fails_is_a_line_that_says_so(stand_in, tmp_path):
    table = clinic.write_table(tmp_path / "table.csv", 40)
    python = stand_in(late="aim", broken="mst")
    found = compare_methods(
        {"safe": clinic.policy()}, table, yardsticks=Yardsticks(("mst", "aim"), python, seconds=1), seed=1, full=False
    )
    assert [one.why_not for one in found.methods[1:]] == ["MST of OpenDP failed: ValueError", "not finished within 1 s"]
    assert "77" not in found.page()
    assert "not finished within 1 s" in found.page()


def test_what_is_missing_is_told_before_a_table_is_read(stand_in, tmp_path):
    lacking = stand_in('{"opendp": "0.16", "mbi": None, "polars": None}')
    with pytest.raises(UsageError, match=r"got no mbi, polars; .*pip install \"shoal\[synthesizers\]\""):
        Yardsticks(("mst",), lacking)
    with pytest.raises(UsageError, match="cannot be run"):
        Yardsticks(("mst",), str(tmp_path / "nothing"))
    with pytest.raises(UsageError, match="cannot be run"):
        Yardsticks(("mst",), "/bin/true")
    with pytest.raises(UsageError, match="not a list of yardsticks; got mwem"):
        Yardsticks(("mwem",))
    with pytest.raises(ParameterError, match="needs time"):
        Yardsticks(("mst",), lacking, seconds=0)
    clinic.policy().save(tmp_path / "policy.yaml")
    policy = str(tmp_path / "policy.yaml")
    refused("compare", policy, "none.csv", "--yardstick", "mst", "--yardstick-python", lacking, code=2)
    refused("compare", policy, "none.csv", "--yardstick-seconds", "5", code=2)


@pytest.mark.slow
def test_the_command_runs_both(stand_in, tmp_path):
    clinic.policy().save(tmp_path / "policy.yaml")
    table = clinic.write_table(tmp_path / "table.csv", 60)
    told = answer(
        "compare", tmp_path / "policy.yaml", table, "--fast", "--seed", 1, "--yardstick", "mst, AIM", "--yardstick-python",
        stand_in(),
    )  # fmt: skip
    assert [one["name"] for one in told["methods"]] == ["policy", "MST", "AIM"]


def test_promises_are_those_of_the_policies_each_once():
    one, k = plan(clinic.policy()), plan(clinic.policy(K5))
    (target,) = yardstick_targets([one, k, one])
    assert (target.epsilon, target.delta) == (1, Fraction(1, 1000))
    assert ApproxDP(1, "0.001").epsilon_at(target.delta) == 1
    with pytest.raises(UsageError, match="no policy has both"):
        yardstick_targets([k])
    replaced = plan(clinic.policy({"neighbours": "replace_one", "release.epsilon": 2}))
    two = yardstick_targets([one, replaced])
    assert [each.contributions for each in two] == [1, 2]
    assert name_yardsticks(None, [one]) == {}


def test_rows_of_a_person_are_bounded_and_counted():
    unit = plan(clinic.policy({"unit": {"column": "patient", "max_rows": 2}})).unit
    target = YardstickTarget(Fraction(1), Fraction(1, 1000), unit, plan(clinic.policy()).schema)
    assert target.contributions == 2


def test_codes_are_those_of_the_declared_cells(tmp_path):
    made = plan(clinic.policy())
    table = open_engine().scan(clinic.write_table(tmp_path / "table.csv", 30), made.schema)
    cells = [cells_of(attribute) for attribute in made.schema.published]
    codes = encode(table, cells)
    assert codes.shape == (30, len(cells))
    for place, own in enumerate(cells):
        counts = table.recode({own.name: own.level}).count_by([own.name])
        expected = dict(zip(map(str, counts.tuples[0].tolist()), counts.counts.tolist(), strict=True))
        labels = [own.labels[code] for code in codes[:, place]]
        assert {label: labels.count(label) for label in set(labels)} == expected


def test_a_refusal_by_rounding_is_tried_again_and_no_other():
    tried = []

    def release(rho):
        tried.append(rho)
        if len(tried) < 4:
            raise RuntimeError('FailedFunction("insufficient budget for query: 0.2 > 0.1")')
        return "released"

    assert with_rounding(release, 1.0) == "released"
    assert tried == sorted(tried, reverse=True)
    assert 1 - 1e-7 < tried[-1] < tried[0] == 1.0

    def broken(rho):
        raise RuntimeError("something else")

    with pytest.raises(RuntimeError, match="something else"):
        with_rounding(broken, 1.0)

    def never(rho):
        tried.append(rho)
        raise RuntimeError("insufficient budget")

    tried.clear()
    with pytest.raises(RuntimeError, match="insufficient"):
        with_rounding(never, 1.0)
    assert len(tried) == ATTEMPTS
    assert set(versions()) == set(NEEDED)


@pytest.mark.slow
def test_the_real_mst_is_near_a_table_of_two_attributes_that_hang_together(tmp_path):
    """Run where SHOAL_YARDSTICK_PYTHON names a Python with opendp[mbi], or this one has it."""
    python = os.environ.get("SHOAL_YARDSTICK_PYTHON") or (sys.executable if importlib.util.find_spec("mbi") else None)
    if python is None:
        pytest.skip(
            "cannot run here: opendp[mbi] is not installed (SHOAL_YARDSTICK_PYTHON names no Python that has it)"
        )
    made = plan(clinic.policy())
    table = open_engine().scan(clinic.write_table(tmp_path / "table.csv", 2_000), made.schema)
    (target,) = yardstick_targets([made])
    with Source.seeded(1) as source:
        drawn, cpu = Yardsticks(("mst",), python).run("mst", target, table, source)
    assert cpu > 0
    assert drawn.num_rows == pytest.approx(2_000, abs=300)
    own = cells_of(made.schema["sex"])
    shares = [np.mean([value == label for value in drawn.column("sex").to_pylist()]) for label in own.labels[:2]]
    assert sum(shares) == pytest.approx(1, abs=0.1)
    with pytest.raises(DataError, match="not finished within"), Source.seeded(1) as source:
        Yardsticks(("mst",), python, seconds=0.2).run("mst", target, table, source)
