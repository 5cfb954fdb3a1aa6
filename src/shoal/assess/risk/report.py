"""The risks of one table by name, and of two tables side by side: before and after masking.

What could not be estimated is said with its reason; nothing is left out silently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from shoal.assess.quantity import Quantity
from shoal.assess.risk.attack import AttackRisk
from shoal.assess.risk.attribute_disclosure import DOMINANT, HomogeneityRisk, homogeneity
from shoal.assess.risk.class_sizes import STRICT, KeyClasses, Keys, PopulationSizes, matching_words, plain
from shoal.assess.risk.individual_risk import IndividualRisk, individual_risk
from shoal.assess.risk.population_models import MODELS, class_size_frequencies
from shoal.assess.risk.reidentification import (
    THRESHOLD,
    ReidentificationRisk,
    journalist,
    marketer,
    population_uniques,
    prosecutor,
    sample_uniques,
)
from shoal.assess.risk.special_uniques import SpecialUniques, special_uniques
from shoal.errors import TargetError, UsageError

VERSION = 1
SMALL_SETS = 3
"""Special uniques are looked for on so many attributes unless another number is given."""


@dataclass(frozen=True)
class RiskReport:
    """Every risk of one table that was asked for, by name.

    `population_models` has the estimates of population uniques by model, `refusals` the reason of each model or search that gave
    none; `journalist`, `marketer_outside` and `population_uniques` are there with a population, `individual` with sampling
    weights. `marketer` knows who is in the table, `marketer_outside` knows the population.
    """

    rows: int
    attributes: tuple[str, ...]
    matching: str
    prosecutor: ReidentificationRisk
    marketer: Quantity
    sample_uniques: Quantity
    journalist: ReidentificationRisk | None
    marketer_outside: Quantity | None
    population_uniques: Quantity | None
    population_models: dict[str, Quantity]
    individual: IndividualRisk | None
    special_uniques: SpecialUniques | None
    homogeneity: dict[str, HomogeneityRisk]
    attacks: tuple[AttackRisk, ...]
    refusals: dict[str, str]

    def quantities(self) -> dict[str, Quantity]:
        """Give the main number of every risk by a dotted name, such as 'prosecutor.mean'."""
        found: dict[str, Quantity | None] = {
            "prosecutor.largest": self.prosecutor.largest,
            "prosecutor.mean": self.prosecutor.mean,
            "prosecutor.at_risk": self.prosecutor.at_risk,
            "prosecutor.expected": self.prosecutor.expected,
            "marketer": self.marketer,
            "sample_uniques": self.sample_uniques,
            "marketer_outside": self.marketer_outside,
            "population_uniques": self.population_uniques,
        }
        for name, one in (("journalist", self.journalist), ("individual", self.individual)):
            if one is not None:
                found |= {
                    f"{name}.{field}": getattr(one, field) for field in ("largest", "mean", "at_risk", "expected")
                }
        found |= {f"population_models.{name}": one for name, one in self.population_models.items()}
        if self.special_uniques is not None:
            found |= {
                f"special_uniques.{name}": getattr(self.special_uniques, name) for name in ("found", "special", "dis")
            }
        for name, each in self.homogeneity.items():
            found |= {
                f"homogeneity.{name}.{field}": getattr(each, field)
                for field in ("homogeneous", "dominated", "guessing")
            }
        found |= {f"attacks.{attack.attack}": attack.risk for attack in self.attacks}
        return {name: one for name, one in found.items() if one is not None}

    def to_json(self) -> dict[str, Any]:
        """Give the report as plain values for JSON, with a version."""
        return {"version": VERSION} | {
            name: plain(getattr(self, name)) for name in self.__dataclass_fields__
        }  # fmt: skip

    def words(self) -> str:
        """Give the report in sentences, each with what it is: counted, estimated or by a model."""
        said = [
            f"{self.rows:,} records, {len(self.attributes)} quasi-identifiers ({matching_words(self.matching)}).",
            self.prosecutor.words(),
            f"{self.sample_uniques.value:,.0f} records are alone in their class.",
        ]
        said += [one.words() for one in (self.journalist, self.individual, self.special_uniques) if one is not None]
        if self.population_uniques is not None:
            said.append(f"{self.population_uniques.value:,.0f} records are population uniques.")
        said += [f"Population uniques: {one.words()}." for one in self.population_models.values()]
        said += [f"'{name}': {one.words()}" for name, one in self.homogeneity.items()]
        said += [attack.words() for attack in self.attacks]
        said += [f"No number for {name}: {why}." for name, why in self.refusals.items()]
        said.append("These numbers describe attackers with this knowledge. They are no guarantee against others.")
        return "\n".join(said)


def measure_risk(
    keys: Keys, *, names: Sequence[str] | None = None, matching: str = STRICT, threshold: float = THRESHOLD,
    population: ArrayLike | PopulationSizes | None = None, population_counts: ArrayLike | None = None,
    fraction: float | None = None, weights: ArrayLike | None = None, confidential: Mapping[str, ArrayLike] | None = None,
    valued: Mapping[str, ArrayLike] | None = None, dominant: float = DOMINANT,
    largest_size: int | None = SMALL_SETS, attacks: Sequence[AttackRisk] = (),
) -> RiskReport:  # fmt: skip
    """Measure all risks of a table that its arguments allow.

    Arguments  `keys`: codes, records × quasi-identifiers, −1 for hidden cells; `names`: of the quasi-identifiers; `matching`:
               'strict' or 'lenient'; `threshold`: the probability above which a record is at risk; `population`,
               `population_counts`: as for `journalist`; `fraction`: the share of the population in the table, for population
               models and DIS; `weights`: sampling weights, for the individual risk; `confidential`: codes by attribute;
               `valued`: by attribute, for each record whether its confidential cell is a value and no label of several;
               `dominant`: the share above which a value dominates a class; `largest_size`: attributes of special uniques, at
               most all, None for no search; `attacks`: results of attacks that belong to the table
    Raises     DataError for arrays that do not fit, ParameterError for numbers outside their range, UsageError for names that
               do not fit the keys

    >>> found = measure_risk([[0], [0], [1]], fraction=0.5, confidential={"ill": [1, 1, 0]})
    >>> found.prosecutor.largest.value, found.homogeneity["ill"].homogeneous.value, sorted(found.population_models)
    (1.0, 1.0, ['decision_rule', 'zayatz'])
    """
    classes = KeyClasses.of(keys, matching)
    width = classes.tuples.shape[1]
    titles = tuple(names) if names is not None else tuple(f"attribute {i + 1}" for i in range(width))
    if len(titles) != width:
        raise UsageError(
            "the names do not fit the keys", came=f"{len(titles)} names", allowed=f"{width}, one for each column"
        )  # fmt: skip
    refusals: dict[str, str] = {}
    models: dict[str, Quantity] = {}
    if fraction is not None:
        frequencies = class_size_frequencies(classes)
        for name, model in MODELS.items():
            try:
                models[name] = model(frequencies, fraction)
            except TargetError as refusal:
                refusals[name] = str(refusal)
    uniques: SpecialUniques | None = None
    if largest_size is not None:
        try:
            most = min(largest_size, len(titles))
            uniques = special_uniques(classes, largest_size=most, fraction=fraction, matching=matching)
        except TargetError as refusal:
            refusals["special uniques"] = str(refusal)
    where: dict[str, Any] = {"counts": population_counts, "matching": matching}
    return RiskReport(
        rows=classes.rows,
        attributes=titles,
        matching=matching,
        prosecutor=prosecutor(classes, matching=matching, threshold=threshold),
        marketer=marketer(classes, matching=matching),
        sample_uniques=sample_uniques(classes, matching=matching),
        journalist=journalist(classes, population, threshold=threshold, **where) if population is not None else None,
        marketer_outside=marketer(classes, population, **where) if population is not None else None,
        population_uniques=population_uniques(classes, population, **where) if population is not None else None,
        population_models=models,
        individual=individual_risk(classes, weights, matching=matching, threshold=threshold)
        if weights is not None
        else None,
        special_uniques=uniques,
        homogeneity={
            name: homogeneity(classes, values, matching=matching, threshold=dominant, valued=(valued or {}).get(name))
            for name, values in (confidential or {}).items()
        },
        attacks=tuple(attacks),
        refusals=refusals,
    )


@dataclass(frozen=True)
class RiskComparison:
    """The risks of an original table and of its masked version, side by side.

    >>> both = RiskComparison(measure_risk([[0], [1]]), measure_risk([[0], [0]]))
    >>> both.changes()["prosecutor.largest"]
    (1.0, 0.5)
    """

    before: RiskReport
    after: RiskReport

    def changes(self) -> dict[str, tuple[float, float]]:
        """Give for each risk that both have its values before and after, by the names of `RiskReport.quantities`."""
        first, second = self.before.quantities(), self.after.quantities()
        return {name: (first[name].value, second[name].value) for name in first if name in second}

    def to_json(self) -> dict[str, Any]:
        """Give both reports as plain values for JSON, with a version."""
        return {"version": VERSION, "before": self.before.to_json(), "after": self.after.to_json()}

    def words(self) -> str:
        """Give what changed, one line for each risk that both tables have."""
        return "\n".join(f"{name}: {old:,.4g} before, {new:,.4g} after" for name, (old, new) in self.changes().items())
