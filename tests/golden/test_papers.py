"""Numbers printed in the papers, with the place, against the command that recomputes them."""

from __future__ import annotations

import pytest

from tests.cli.run import answer

# LQS11 Table 2 (section 3.3), LQS10 Table 1 (section 3): k = 20; rows beta, columns epsilon.
EPSILONS = ("0.25", "0.5", "0.75", "1", "1.5", "2")
TABLE_2 = {
    "0.05": ("6.83e-10", "2.50e-14", "3.19e-17", "1.76e-19", "3.97e-22", "2.00e-24"),
    "0.1": ("4.19e-06", "1.61e-09", "3.44e-12", "4.07e-14", "3.22e-16", "1.89e-18"),
    "0.2": ("2.16e-03", "8.02e-06", "1.89e-07", "6.03e-09", "4.79e-11", "1.59e-12"),
}


@pytest.mark.slow
@pytest.mark.parametrize("beta", list(TABLE_2))
def test_lqs11_table_2_from_the_planner(beta):
    for epsilon, printed in zip(EPSILONS, TABLE_2[beta], strict=True):
        found = answer("plan", "--k", 20, "--beta", beta, "--epsilon", epsilon, "--bound", "published")
        assert f"{found['delta_published']:.2e}" == printed
        assert found["delta_tight"] < found["delta_published"]


# LQS11 Table 1 (section 2.4): an algorithm that is (ln 11, 1e-5)-DP, and one that is (1, 0)-DP, under sampling.
TABLE_1 = ["11", "2.40", "1e-5", "2", "0.69", "1e-6", "1.1", "0.095", "1e-7", "1", "0.159", "0.017"]


@pytest.mark.slow
def test_lqs11_table_1_is_compared_as_printed():
    (table,) = answer("paper", "lqs11-table-1")["papers"]
    assert [finding["printed"] for finding in table["findings"]] == TABLE_1
    assert {finding["verdict"] for finding in table["findings"]} == {"reproduced"}


def test_lqs11_section_2_7_fifty_times_two_hundredths():
    assert answer("compose", "--sampled", "0.2,0.02,0,times=50", "--delta", "0")["epsilon"] == 1.0


@pytest.mark.slow
def test_cm06_errata_numbers():
    (errata,) = answer("paper", "cm06-errata")["papers"]
    lemma, theorem = errata["findings"]
    assert lemma["ours"].startswith("0.064")
    assert theorem["ours"] == "1"


# The plans that decide the product's story: (epsilon, delta, beta) -> k, tight and published.
@pytest.mark.parametrize(("beta", "tight", "published"), [("0.6321205588285577", 58, 74), ("0.2", 12, 14)])
def test_crowds_at_epsilon_one(beta, tight, published):
    for bound, k in (("tight", tight), ("published", published)):
        assert answer("plan", "--epsilon", 1, "--delta", "1e-6", "--beta", beta, "--bound", bound)["k"] == k
