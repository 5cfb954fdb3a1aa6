"""What `shoal solve` refuses: with the right exit code, in one grammar, and with nothing half-written."""

from __future__ import annotations

import pytest

from tests.cli.run import refused, shoal

E, D, K, B = ("--epsilon", "1"), ("--delta", "1e-6"), ("--k", "20"), ("--beta", ".2")


@pytest.mark.parametrize("beta", ["0", "-0.1", "1.5", "2"])
def test_beta_outside_its_range(beta):
    assert refused("solve", *E, *D, "--beta", beta, code=2)["allowed"] == "0 < beta < 1"


def test_beta_one_is_refused_by_name_of_the_theorem():
    error = refused("solve", *E, *D, "--beta", "1", code=2)
    assert error["theorem"] == "no-sampling-no-privacy"


@pytest.mark.parametrize("k", ["0", "-3", "2.5", "many", "1e9"])
def test_k_that_is_no_crowd(k):
    assert "k" in refused("solve", *E, *B, "--k", k, code=2)["wrong"]


@pytest.mark.parametrize(
    "epsilon", ["-1", "inf", "-inf", "nan", "Infinity", "much", "", "1e999999999", "701", "1/0", "0x10"]
)
def test_epsilon_that_means_nothing(epsilon):
    assert "epsilon" in refused("solve", *D, *B, "--epsilon", epsilon, code=2)["wrong"]


@pytest.mark.parametrize("delta", ["-1e-9", "1.1", "nan", "1e-400"])
def test_delta_outside_its_range(delta):
    assert "delta" in refused("solve", *E, *B, "--delta", delta, code=2)["wrong"]


@pytest.mark.parametrize("given", [(), E, (*E, *D), (*E, *D, *K, *B)])
def test_three_numbers_are_needed(given):
    assert refused("solve", *given, code=2)["wrong"] == "exactly three of epsilon, delta, k and beta are needed"


def test_the_trivial_case_is_refused():
    assert refused("solve", *E, *B, "--delta", "0.2", code=2)["theorem"] == "safe-k-nontrivial"
    assert refused("solve", *E, *B, "--k", "1", code=2)["theorem"] == "safe-k-nontrivial"


def test_an_unreachable_delta_names_the_obstacle_and_the_nearest():
    error = refused("solve", *D, *B, "--k", "8", code=3)
    assert error["kind"] == "InfeasibleError"
    assert "beta^k = 0.00000256" in error["wrong"]
    assert "delta >= 0.00000256" in error["fix"]


def test_an_unreachable_delta_for_a_person_with_rows():
    error = refused("solve", *D, *B, "--k", "9", "--max-rows", "2", code=3)
    assert "beta^k = 5.12e-7" in error["wrong"]
    assert "the nearest delta is" in error["fix"]


@pytest.mark.parametrize("given", [(*E, *B), (*E, *K)])
def test_delta_zero_is_unreachable(given):
    assert "delta = 0" in refused("solve", *given, "--delta", "0", code=3)["wrong"]


def test_the_published_theorem_speaks_of_one_row():
    assert "one row" in refused("solve", *E, *D, *B, "--bound", "published", "--max-rows", "2", code=2)["wrong"]


def test_the_published_theorem_is_silent_at_small_epsilon():
    error = refused("solve", *K, "--beta", ".3", "--epsilon", ".2", "--bound", "published", code=2)
    assert error["theorem"] == "safe-k-published"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--bound", "loose"), ("--neighbours", "swap"), ("--max-rows", "0"), ("--max-rows", "1.5"),
        ("--units", "0"), ("--units", "many"), ("--epsilon-recoding", "1"), ("--epsilon-recoding", "-1"),
        ("--epsilon-recoding", "nan"),
    ],
)  # fmt: skip
def test_other_options_outside_their_range(option, value):
    refused("solve", *E, *D, *B, option, value, code=2)


def test_an_empty_promise_to_a_person_with_many_rows():
    error = refused("solve", "--epsilon", ".1", "--k", "3", "--beta", ".1", "--max-rows", "9", code=2)
    assert error["theorem"] == "safe-k-nontrivial"


@pytest.mark.slow
def test_no_file_is_replaced_without_force(tmp_path):
    path = tmp_path / "curve.svg"
    path.write_text("mine")
    error = refused("solve", *E, *D, *B, "--plot", path, code=2)
    assert (error["wrong"], path.read_text()) == ("the file exists", "mine")
    assert shoal("solve", *E, *D, *B, "--plot", path, "--force").exit_code == 0
    assert path.read_text().startswith("<?xml")


@pytest.mark.parametrize("name", ["curve", "curve.gif", "missing/curve.png"])
def test_a_plot_needs_a_place_and_a_kind(tmp_path, name):
    refused("solve", *E, *D, *B, "--plot", tmp_path / name, code=2)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_when_the_plan_is_refused(tmp_path):
    refused("solve", *D, *B, "--k", "8", "--plot", tmp_path / "curve.png", code=3)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["png", "svg", "pdf", "PNG"])
def test_plots_are_written_whole(tmp_path, suffix):
    path = tmp_path / f"curve.{suffix}"
    done = shoal("solve", *E, *D, *B, "--frontier", "--plot", path)
    assert done.exit_code == 0, done.output
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix.lower()]
    assert path.read_bytes().startswith(start)
    assert path.stat().st_size > 8000
    assert done.stderr == f"note: drew {path}\n"
