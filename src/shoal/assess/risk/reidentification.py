"""Re-identification by the quasi-identifiers: prosecutor, journalist and marketer (El Emam and Dankar 2008), and uniques.

    prosecutor   knows that a person is in the table, and that person's quasi-identifiers; finds f records that match and picks
                 one: succeeds with probability 1/f
    journalist   knows a population and not who of it is in the table; a record is one of F people of the population: 1/F
    marketer     wants to re-identify many, not somebody: the expected share of records that are re-identified

All numbers are counted on the tables at hand, so they are exact. They are the success of somebody who knows these
attributes, exactly and no others, and picks at random among what matches.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shoal.assess.disclosure.classes import Floats
from shoal.assess.quantity import Quantity
from shoal.assess.risk.class_sizes import STRICT, KeyClasses, Keys, PopulationSizes, matching_words, plain
from shoal.errors import ParameterError

THRESHOLD = 0.2
"""A record is at risk above this probability unless another is given: in classes of fewer than five."""


@dataclass(frozen=True)
class ReidentificationRisk:
    """What one attacker achieves: the largest and the mean probability, records above a threshold, expected re-identifications.

    `attacker` is prosecutor or journalist, `matching` the treatment of suppressed cells. `mean` is also what a marketer expects.
    """

    attacker: str
    matching: str
    rows: int
    threshold: float
    largest: Quantity
    mean: Quantity
    at_risk: Quantity
    expected: Quantity

    def to_json(self) -> dict[str, Any]:
        """Give the fields as plain values for JSON."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}

    def words(self) -> str:
        """Give the result in sentences."""
        return (
            f"A {self.attacker} re-identifies a record with probability {self.mean.value:.3g} on average and "
            f"{self.largest.value:.3g} at most; {self.at_risk.value:.2%} of {self.rows:,} records are above {self.threshold:g}; "
            f"{self.expected.value:,.4g} records are expected to be re-identified ({matching_words(self.matching)})."
        )


def check_threshold(threshold: float) -> float:
    """Give a threshold of a probability or a share; ParameterError outside 0 to 1."""
    if not 0 < threshold <= 1:
        raise ParameterError("the threshold is no probability", came=threshold, allowed="above 0, at most 1")
    return float(threshold)


def prosecutor(keys: Keys, *, matching: str = STRICT, threshold: float = THRESHOLD) -> ReidentificationRisk:
    """Measure the prosecutor's risk: a record in a class of f is re-identified with probability 1/f.

    Arguments  `keys`: codes, records × quasi-identifiers, −1 for hidden cells; `matching`: 'strict' or 'lenient';
               `threshold`: the probability above which a record is at risk
    Raises     DataError for keys that are no table of codes, ParameterError for another matching or threshold

    >>> prosecutor([[0], [0], [1]]).largest.value
    1.0
    """
    classes = KeyClasses.of(keys, matching)
    return _summary("prosecutor", classes, 1 / classes.sizes, threshold, "1/f, f records of the table that match")


def journalist(
    keys: Keys, population: ArrayLike | PopulationSizes, *, counts: ArrayLike | None = None, matching: str = STRICT,
    threshold: float = THRESHOLD,
) -> ReidentificationRisk:  # fmt: skip
    """Measure the journalist's risk with a population: a record whose class has F people there is re-identified with 1/F.

    Arguments  `keys`: codes of the table; `population`: the same quasi-identifiers of everybody, in the same codes; `counts`: how
               many people each row of the population stands for; `matching`: 'strict' or 'lenient'; `threshold`: the
               probability above which a record is at risk
    Raises     DataError where the population lacks a record's class, ParameterError for another matching or threshold

    >>> journalist([[0], [0], [1]], [[0], [1], [2]], counts=[10, 4, 1]).largest.value
    0.25
    """
    classes = KeyClasses.of(keys, matching)
    sizes = classes.population_sizes(population, counts)
    return _summary("journalist", classes, 1 / sizes, threshold, "1/F, F people of the population that match")


def marketer(
    keys: Keys,
    population: ArrayLike | PopulationSizes | None = None,
    *,
    counts: ArrayLike | None = None,
    matching: str = STRICT,
) -> Quantity:
    """Measure the marketer's risk: the expected share of all records that are re-identified, with a population or without.

    Arguments  `keys`: codes of the table; `population`, `counts`: as for `journalist`; without them the marketer knows who is in
               the table, and the share is the number of classes divided by that of records; `matching`: 'strict' or 'lenient'
    Raises     DataError where the population lacks a record's class, ParameterError for another matching

    >>> round(marketer([[0], [0], [1]]).value, 4)
    0.6667
    """
    classes = KeyClasses.of(keys, matching)
    sizes = classes.sizes if population is None else classes.population_sizes(population, counts)
    where = "1/f, f records of the table" if population is None else "1/F, F people of the population"
    return Quantity.fact((1 / sizes).mean(), f"mean of {where} that match; {matching_words(matching)}")


def sample_uniques(keys: Keys, *, matching: str = STRICT) -> Quantity:
    """Count the sample uniques: records that no other record of the table matches.

    Arguments  `keys`: codes of the table; `matching`: 'strict' or 'lenient'
    Raises     DataError for keys that are no table of codes, ParameterError for another matching

    >>> sample_uniques([[0], [0], [1]]).value
    1.0
    """
    sizes = KeyClasses.of(keys, matching).sizes
    return Quantity.fact(
        int(np.count_nonzero(sizes == 1)), f"records that are alone in their class; {matching_words(matching)}"
    )


def population_uniques(
    keys: Keys, population: ArrayLike | PopulationSizes, *, counts: ArrayLike | None = None, matching: str = STRICT
) -> Quantity:
    """Count the records of the table that are population uniques: nobody else in the population matches them.

    Arguments  `keys`, `population`, `counts`, `matching`: as for `journalist`
    Raises     DataError where the population lacks a record's class, ParameterError for another matching

    >>> population_uniques([[0], [1]], [[0], [1], [1]]).value
    1.0
    """
    sizes = KeyClasses.of(keys, matching).population_sizes(population, counts)
    return Quantity.fact(
        int(np.count_nonzero(sizes == 1)),
        f"records that one person of the population matches; {matching_words(matching)}",
    )


def _summary(attacker: str, classes: KeyClasses, risks: Floats, threshold: float, how: str) -> ReidentificationRisk:
    """Summarize the probability of each record."""
    limit = check_threshold(threshold)
    told = f"{how}; {matching_words(classes.matching)}"
    return ReidentificationRisk(
        attacker=attacker,
        matching=classes.matching,
        rows=classes.rows,
        threshold=limit,
        largest=Quantity.fact(risks.max(), f"largest {told}"),
        mean=Quantity.fact(risks.mean(), f"mean of {told}"),
        at_risk=Quantity.fact(
            np.count_nonzero(risks > limit) / classes.rows, f"share of records above {limit:g}; {told}"
        ),
        expected=Quantity.fact(risks.sum(), f"sum of {told}"),
    )
