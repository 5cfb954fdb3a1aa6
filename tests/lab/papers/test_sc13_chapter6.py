"""SC13 chapter 6: the score of its tables is the product, not the quotient that its text prints."""

from __future__ import annotations

from shoal.lab.papers.sc13_chapter6 import Balance


def test_balance_is_the_product_that_the_tables_hold():
    found = Balance(information=2.0, risk=3.0)
    assert (found.score, found.product) == (2 / 3, 6.0)
    assert Balance(information=2.0, risk=0.0).score == float("inf")
