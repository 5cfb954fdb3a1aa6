"""`shoal compose`: totals, the grammar of parts, and what does not compose."""

from __future__ import annotations

import pytest

from shoal.guarantee.compose import compose
from shoal.guarantee.differential import ApproxDP, GaussianDP, LaplaceDP, PureDP, SafeKSampling
from shoal.guarantee.noise import ConcentratedDP, ExponentialDP, NoisyTablesDP
from tests.cli.run import answer, refused, shoal

D = ("--delta", "1e-6")


@pytest.mark.slow
def test_many_views_cost_little():
    found = answer("compose", "--safe-k", "k=20,beta=.15,times=28", *D)
    assert found["epsilon"] == found["pld"] == pytest.approx(0.987, abs=1e-3)
    assert found["pld_add"] == pytest.approx(0.741, abs=1e-3)
    assert found["basic"] > 10 * found["epsilon"]
    assert (found["count"], found["bound"], found["theorem"]) == (28, "pld", "pld-composition")
    assert found["parts"][0] == {
        "kind": "safe-k-sampling", "k": 20, "beta": "0.15", "times": 28,
        "epsilon_alone": SafeKSampling(20, "0.15").epsilon_at("1e-6"),
    }  # fmt: skip


@pytest.mark.slow
def test_every_kind_of_part_enters_the_total():
    options = {"safe-k": "20,.15", "sampled": ".2,.02,0", "pure": ".1", "approx": ".1,1e-9", "laplace": ".2"}
    given = [word for name, text in options.items() for word in (f"--{name}", text)] + ["--gaussian", ".3,times=2"]
    pure = [ApproxDP("0.02", 0), PureDP("0.1"), ApproxDP("0.1", "1e-9")]
    parts = [SafeKSampling(20, "0.15"), *pure, LaplaceDP("0.2"), (GaussianDP("0.3"), 2)]
    found = answer("compose", *given, *D)
    assert found["count"] == 7
    assert found["epsilon"] == pytest.approx(compose(parts).epsilon_at("1e-6"), rel=1e-9)
    text = shoal("compose", *given, *D).stdout
    assert all(f"  {kind} " in text for kind in ("safe-k", "pure", "approx", "laplace", "gaussian"))


@pytest.mark.slow
def test_parts_of_noisy_counts_enter_the_total():
    given = ("--tables", "105,45", "--choice", "epsilon=.02,times=20", "--concentrated", "rho=.0001")
    parts = [NoisyTablesDP([(105, 45)]), (ExponentialDP("0.02"), 20), ConcentratedDP("0.0001")]
    found = answer("compose", *given, *D)
    assert found["epsilon"] == found["pld"] == compose(parts).epsilon_at("1e-6")
    assert found["concentrated"] > found["pld"]
    assert found["parts"][0]["choices"] == [[105, "45"]]
    text = shoal("compose", *given, *D).stdout
    assert all(f"  {kind} " in text for kind in ("tables", "choice", "concentrated"))
    assert "counts 105, sigma 45" in text
    rare = answer("compose", *given, "--delta", "1e-13")
    assert (rare["bound"], rare["theorem"], rare["pld"]) == ("concentrated", "concentrated-composition", None)
    assert rare["epsilon"] == rare["concentrated"] == compose(parts).epsilon_at("1e-13")
    wide = answer("compose", *given, "--epsilon", "3")
    assert (wide["bound"], wide["delta"]) == ("concentrated", compose(parts).delta_at(3))
    refused("compose", "--tables", "1.5,45", *D, code=2)
    refused("compose", "--tables", "105,.1", *D, code=2)


@pytest.mark.slow
def test_names_and_order_say_the_same():
    assert answer("compose", "--safe-k", "beta=.15,k=20", *D) == answer("compose", "--safe-k", "20,.15", *D)


def test_fifty_fresh_samples_of_the_paper():
    found = answer("compose", "--sampled", ".2,.02,0,times=50", "--delta", "0")
    assert (found["epsilon"], found["bound"], found["pld"]) == (1.0, "basic", None)
    assert "(1, 0)-differentially private" in shoal("compose", "--sampled", ".2,.02,0,times=50", "--delta", "0").stdout


@pytest.mark.slow
def test_delta_at_an_epsilon():
    found = answer("compose", "--gaussian", ".3,times=3", "--epsilon", "2")
    assert found["delta"] == compose([(GaussianDP("0.3"), 3)]).delta_at(2)
    assert found["solved"] == "delta"
    exact = answer("compose", "--pure", ".02,times=50", "--epsilon", "1")
    assert (exact["delta"], exact["bound"]) == (0.0, "basic")
    assert "epsilon alone" not in shoal("compose", "--pure", ".02,times=50", "--epsilon", "1").stdout


@pytest.mark.slow
def test_one_part_keeps_its_own_curve():
    found = answer("compose", "--safe-k", "20,.15", *D)
    assert (found["bound"], found["theorem"]) == ("single", None)


def test_an_unreachable_total_says_so():
    done = shoal("compose", "--approx", "1,1e-3", "--delta", "1e-6")
    assert done.exit_code == 0
    assert "No epsilon is proved" in done.stdout
    assert answer("compose", "--approx", "1,1e-3", "--delta", "1e-6")["epsilon"] is None


def test_the_help_says_what_does_not_compose():
    text = " ".join(shoal("compose", "--help").stdout.split())
    assert "k-anonymity does not compose" in text
    assert "two results from one sample do not compose" in text


@pytest.mark.parametrize(
    "given",
    [
        (), ("--pure", "1"), ("--pure", "1", *D, "--epsilon", "1"), D,
        ("--safe-k", "20", *D), ("--safe-k", "20,.15,3", *D), ("--safe-k", "k=20,k=20", *D), ("--safe-k", "k=20,rate=.1", *D),
        ("--safe-k", "k=20,beta=", *D), ("--safe-k", "0,.15", *D), ("--safe-k", "20,1", *D), ("--pure", "-1", *D),
        ("--pure", "1,times=0", *D), ("--pure", "1,times=1.5", *D), ("--approx", "1,2", *D), ("--laplace", "0", *D),
        ("--gaussian", "nan", *D), ("--pure", "1", "--delta", "2"), ("--pure", "1", "--epsilon", "-1"),
        ("--pure", "1", "--epsilon", "1", "--plot", "x.png"), ("--pure", "1", *D, "--plot", "x.gif"),
    ],
)  # fmt: skip
def test_bad_requests(given):
    refused("compose", *given, code=2)


@pytest.mark.slow
def test_growth_is_drawn(tmp_path):
    path = tmp_path / "growth.svg"
    done = shoal("compose", "--safe-k", "20,.15", *D, "--plot", path)
    assert done.exit_code == 0, done.output
    assert path.stat().st_size > 8000
    refused("compose", "--safe-k", "20,.15", *D, "--plot", path, code=2)
