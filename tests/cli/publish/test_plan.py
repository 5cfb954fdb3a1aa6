"""`shoal plan POLICY`: the promise before any row is read, and its lock."""

import json

import pytest

from shoal.publish.compare import WayOutcome, WaysComparison
from shoal.publish.rehearse import Spread
from tests.cli.run import answer, refused, shoal
from tests.publish.clinic import POLICY, write_table


def written(folder, text=POLICY):
    path = folder / "policy.yaml"
    path.write_text(text)
    return path


def test_the_promise_in_words_and_numbers(tmp_path):
    policy = written(tmp_path)
    done = shoal("plan", policy)
    assert done.exit_code == 0
    assert "2.719 times what it is without it" in " ".join(done.stdout.split())
    assert "safe-k-tight" in done.stdout
    found = answer("plan", policy)
    assert (found["k"], found["beta"], found["epsilon"], found["delta"]) == (14, 0.5, 1.0, 0.001)
    assert found["levels"] == {"age": 2, "sex": 0, "diag": 0}
    assert found["status"] == "proved"


def test_the_plan_of_noisy_counts(tmp_path):
    head, _, _ = POLICY.partition("release:")
    views = "views: {every: pairs, cells: merged}"
    policy = written(tmp_path, f"{head}release: {{method: synthetic, epsilon: 1, delta: 1e-6, {views}}}\n")
    done = shoal("plan", policy)
    assert done.exit_code == 0
    words = " ".join(done.stdout.split())
    assert "A published count differs from the true one in a table of one attribute by at most" in words
    assert "Its rows are nobody's." in words
    assert "table cells ± 95 % age × sex up to" in words
    found = answer("plan", policy)
    assert (found["method"], found["noise"]["kind"], found["synthetic"]) == (
        "synthetic",
        "fixed",
        {"rows": None, "never": 0, "favour": "counts"},
    )


def test_the_noise_is_set_beside_the_average_cell_and_the_comparison_comes_next(tmp_path, monkeypatch):
    head, _, _ = POLICY.partition("release:")
    views = "views: {show: counts, every: pairs, cells: declared}"
    monkeypatch.chdir(tmp_path)
    policy = written(tmp_path, f"{head}release: {{method: safe-k, epsilon: 1, delta: 1e-6, {views}}}\n").name
    found = answer("plan", policy)
    (width,), sizes = found["half_widths"].values(), found["cells"]
    cells = sorted(sizes[one] * sizes[two] for one, two in found["groups"])[1]
    said = " ".join(shoal("plan", policy).stderr.split())
    assert f"holds as many rows from {width * cells:,} rows on" in said
    assert f"next: shoal plan {policy} --compare --rows N" in said
    few = " ".join(shoal("plan", policy, "--rows", width * cells - 1).stderr.split())
    assert f"warning: Of {width * cells - 1:,} rows" in few
    assert "the average count is below its error" in few
    assert (
        "most counts are mostly noise, and no cell of a table can"
        in answer("plan", policy, "--rows", 9)["noise_beside"]["words"]
    )
    assert f"--compare --rows {width * cells - 1} " in few
    assert answer("plan", policy, "--rows", width * cells)["noise_beside"]["outweighs"] is False
    assert f"next: shoal release {policy}" in shoal("plan", policy, "--rows", width * cells).stderr


def test_a_plan_of_a_synthetic_table_says_which_cells_are_nearer_for_so_many_rows(tmp_path):
    head, _, _ = POLICY.partition("release:")
    policy = written(tmp_path, f"{head}release: {{method: synthetic, epsilon: 1, delta: 1e-6}}\n")
    assert "`cells: merged` comes nearer to the originals" in answer("plan", policy)["noise_beside"]["words"]
    assert "add `views: {every: pairs, cells: merged}`" in answer("plan", policy, "--rows", 9)["noise_beside"]["words"]
    assert "cells: merged" not in answer("plan", policy, "--rows", 1_000_000)["noise_beside"]["words"]


def test_no_line_of_a_plan_is_too_long_for_a_screen(tmp_path):
    head, _, _ = POLICY.partition("release:")
    views = "{show: counts, choose: {}}"
    policy = written(tmp_path, f"{head}release: {{method: safe-k, epsilon: 1, delta: 1e-6, views: {views}}}\n")
    done = shoal("plan", policy)
    lines = (done.stdout + done.stderr).splitlines()
    assert max(map(len, lines)) <= 110
    assert any(line.startswith("  tables ") for line in lines)
    assert "as the scores decide: ±" in " ".join(done.stdout.split())


@pytest.mark.slow
def test_a_lock_holds_the_meaning_and_not_the_spelling(tmp_path):
    policy, lock = written(tmp_path), tmp_path / "plan.lock"
    assert shoal("plan", policy, "--lock", lock).exit_code == 0
    assert json.loads(lock.read_text())["plan"] == answer("plan", policy)["plan"]
    table = write_table(tmp_path / "table.csv")
    written(tmp_path, "# a remark\n" + POLICY.replace("epsilon: 1\n", "epsilon: 1.0\n"))
    where = ("--out", tmp_path / "out", "--ledger", tmp_path / "ledger", "--no-report")
    assert shoal("release", policy, table, *where, "--new-ledger", "--lock", lock).exit_code == 0
    written(tmp_path, POLICY.replace("epsilon: 1\n", "epsilon: 1.5\n"))
    error = refused(
        "release", policy, table, "--out", tmp_path / "two", "--ledger", tmp_path / "ledger", "--lock", lock, code=2
    )
    assert error["wrong"] == "the policy was edited after it was locked"
    refused("release", policy, table, "--out", tmp_path / "two", "--lock", tmp_path / "none", code=2)
    refused("plan", policy, "--lock", lock, code=2)


def test_a_policy_says_its_numbers_itself(tmp_path):
    refused("plan", written(tmp_path), "--epsilon", 1, code=2)
    refused("plan", "--epsilon", 1, written(tmp_path), code=2)
    refused("plan", code=2)


@pytest.mark.slow
@pytest.mark.parametrize("more", [("--epsilon", "1"), ("--epsilon=1",), ("--curve", "--epsilon", "1", "--frontier")])
def test_numbers_without_a_policy_are_solved(more):
    rest = ("--delta", "1e-6", "--beta", ".2")
    assert answer("plan", *more, *rest) == answer("solve", *more, *rest)
    assert shoal("plan", *more, *rest).stdout == shoal("solve", *more, *rest).stdout


def test_a_plan_has_the_numbers_of_a_solution(tmp_path):
    found = answer("plan", written(tmp_path))
    solved = answer("solve", "--epsilon", found["epsilon"], "--k", found["k"], "--beta", found["beta"])
    names = ("epsilon_recoding", "epsilon_release", "k", "beta", "bound", "delta_tight", "delta_published")
    assert [found[name] for name in ("epsilon", *names)] == [solved[name] for name in ("epsilon", *names)]
    assert found["delta"] >= solved["delta"]  # what was promised, beside what is reached


def test_unreachable_targets_exit_with_three(tmp_path):
    policy = written(tmp_path, POLICY.replace("output: csv", "output: csv\n  k: 3"))
    error = refused("plan", policy, code=3)
    assert "do not reach the promise" in error["wrong"]


def test_a_tree_and_a_drawn_grid_are_planned(tmp_path):
    grown = answer("plan", written(tmp_path, POLICY.replace("{levels: {age: 2, diag: 0}}", "{tree: {epsilon: 0.1}}")))
    assert grown["recoding"]["kind"] == "tree"
    assert grown["levels"] is None
    assert grown["epsilon_recoding"] == 0.1
    assert grown["epsilon_recoding"] + grown["epsilon_release"] == pytest.approx(grown["epsilon"])
    drawn = answer("plan", written(tmp_path, POLICY.replace("{levels: {age: 2, diag: 0}}", "{choose: {epsilon: 0.1}}")))
    assert drawn["recoding"]["schemes"] > 1
    assert {"monotone-exponential", "ramp-score", "eps-safe-recoding"} <= set(drawn["theorems"])


def test_ways_are_compared_and_recommended(tmp_path, monkeypatch):
    policy, asked = written(tmp_path), {}

    def compared(given, *, rows, runs, tick):
        asked.update(rows=rows, runs=runs, dataset=given.dataset)
        near, far = Spread(0.05, 0.04, 0.06), Spread(0.5, 0.4, 0.6)
        ways = (
            WayOutcome("tree", "one wide table, a tree of boxes", True, far, far, Spread(70, 60, 80)),
            WayOutcome("rows", "views of rows, pairs", True, why_not="3 views do not fit"),
            WayOutcome("counts", "noisy counts of pairs", False, near, near, Spread(0, 0, 0)),
        )
        return WaysComparison("clinic", "1", "0.001", 3, 3, rows, runs, 0, ways)

    monkeypatch.setattr("shoal.publish.compare.compare", compared)
    done = shoal("plan", policy, "--compare", "--rows", "200", "--runs", "3")
    assert done.exit_code == 0, done.stderr
    assert asked == {"rows": 200, "runs": 3, "dataset": "clinic"}
    assert done.stderr.startswith("note: 5 ways are run on 3 simulated tables of 200 rows: a minute or two")
    assert "distance of columns" in done.stdout
    words = " ".join(done.stdout.split())
    assert "nothing was charged" in words
    assert "one wide table, a tree of boxes 0.500 (0.400 to 0.600) 0.500 70" in words
    assert "noisy counts of pairs 0.050 (0.040 to 0.060) 0.050 none" in words
    assert "views of rows, pairs: 3 views do not fit." in words
    assert "Recommended for tables, shares and their intervals: noisy counts of pairs" in words
    refused("plan", policy, "--rows", "200", code=2)
    refused("plan", policy, "--compare", "--lock", tmp_path / "lock", code=2)
