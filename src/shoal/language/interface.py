"""The verbs that a release and a session share: the same question, in the same words, gives the same kind of result.

    asked = shoal.load("visits-2026")                                  a release: what is asked of it costs nothing
    asked = shoal.session("hospital-visits", epsilon="0.1")            a session: each new question costs epsilon

    asked.count("age >= 65", by="sex")
    asked.mean("income", "region@1 = 'North'", by=["sex", "age@2"], bounds=(0, 200_000))
    asked.quantile("income", 0.5, {"age": (40, 65)})
    asked.ratio("sex = 'female'", by="department")
    asked.table("sex", "age@3")

A condition is a text or plain values (`shoal.language.condition`). Groups are attributes, each by its declared values, by a level
of its hierarchy (`age@2`) or by cells of one's own ({"attribute": "age", "edges": [18, 65]}).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

from shoal.errors import ParameterError, UsageError
from shoal.guarantee.rounding import Number
from shoal.language.cells import CellSpec, parse_level, read_groups
from shoal.language.condition.plain import Where
from shoal.language.result import Result
from shoal.policy.text.problem import excerpt

LEVEL = 0.95
"""The level of an interval, unless another is given: the probability that it contains the true value."""
GroupCells = str | CellSpec | Mapping[str, Any]
"""The cells of one attribute: `age`, `age@2`, or {"attribute": "age", "edges": [18, 65]}."""
Groups = GroupCells | Sequence[GroupCells]


class PriceTerms(TypedDict, total=False):
    """What an answer may cost, for a session; a release costs nothing, whatever is allowed."""

    epsilon: Number
    delta: Number
    share: Number
    """In place of epsilon: which part of the budget the answer is worth, such as "1%"."""
    within: Number
    """In place of epsilon: how far off the answer may be in 95 of 100 cases."""
    mechanism: str


class QueryInterface(ABC):
    """Questions to a release or a session.

    Every verb takes a condition `where` (every record if not given), `by` (groups; one value if not given), `level` (of the
    intervals) and, for a session, `epsilon`, `delta` and `mechanism`. All groups together are one question with one price.
    """

    @abstractmethod
    def _answer(self, kind: str, options: dict[str, Any], level: float, price: PriceTerms) -> Result:
        """The result of a question, given its kind and what was asked for; None is what was left out."""

    def count(
        self, where: Where | None = None, *, by: Groups | None = None, level: float = LEVEL, **price: Unpack[PriceTerms]
    ) -> Result:
        """The number of records that satisfy a condition."""
        return self._ask("count", {"where": where, "by": by}, level, price)

    def sum(
        self,
        attribute: str,
        where: Where | None = None,
        *,
        by: Groups | None = None,
        bounds: tuple[Number, Number] | None = None,
        level: float = LEVEL,
        **price: Unpack[PriceTerms],
    ) -> Result:
        """The sum of an attribute, or of arithmetic such as "income / 12"; values beyond `bounds` count as the nearest bound."""
        asked = {"attribute": attribute, "where": where, "by": by, "bounds": bounds}
        return self._ask("sum", asked, level, price)

    def mean(
        self,
        attribute: str,
        where: Where | None = None,
        *,
        by: Groups | None = None,
        bounds: tuple[Number, Number] | None = None,
        level: float = LEVEL,
        **price: Unpack[PriceTerms],
    ) -> Result:
        """The mean of an attribute over the records that have a value of it; `bounds` as for `sum`."""
        asked = {"attribute": attribute, "where": where, "by": by, "bounds": bounds}
        return self._ask("mean", asked, level, price)

    def variance(
        self,
        attribute: str,
        where: Where | None = None,
        *,
        by: Groups | None = None,
        bounds: tuple[Number, Number] | None = None,
        level: float = LEVEL,
        **price: Unpack[PriceTerms],
    ) -> Result:
        """The variance of an attribute: the mean squared distance to the mean; `bounds` as for `sum`."""
        asked = {"attribute": attribute, "where": where, "by": by, "bounds": bounds}
        return self._ask("variance", asked, level, price)

    def quantile(
        self,
        attribute: str,
        q: Number = "0.5",
        where: Where | None = None,
        *,
        by: Groups | None = None,
        bounds: tuple[Number, Number] | None = None,
        level: float = LEVEL,
        **price: Unpack[PriceTerms],
    ) -> Result:
        """The value with a share q of the records at or below it; the median if q is not given."""
        asked = {"attribute": attribute, "q": q, "where": where, "by": by, "bounds": bounds}
        return self._ask("quantile", asked, level, price)

    def ratio(
        self,
        numerator: str,
        denominator: str | None = None,
        where: Where | None = None,
        *,
        by: Groups | None = None,
        level: float = LEVEL,
        **price: Unpack[PriceTerms],
    ) -> Result:
        """The ratio of two sums, or the share of the records that satisfy a condition.

        Each of the two is an attribute or arithmetic, whose values are added up, or a condition, whose records are counted;
        without a denominator all records that satisfy `where` are counted.
        """
        asked = {"numerator": numerator, "denominator": denominator, "where": where, "by": by}
        return self._ask("ratio", asked, level, price)

    def share(
        self, where: Where, *, by: Groups | None = None, level: float = LEVEL, **price: Unpack[PriceTerms]
    ) -> Result:
        """The share of the records that satisfy a condition, of all or in each group: a `ratio` of two counts."""
        return self._ask("ratio", {"numerator": where, "by": by}, level, price)

    def histogram(
        self,
        attribute: str,
        where: Where | None = None,
        *,
        edges: Sequence[object] | None = None,
        values: Sequence[object] | None = None,
        bins: int | None = None,
        level: float = LEVEL,
        **price: Unpack[PriceTerms],
    ) -> Result:
        """The number of records in each cell of one attribute: by value, by level (`age@2`), by edges, values or bins."""
        own = {"edges": edges, "values": values, "bins": bins}
        cells = {**parse_level(_name(attribute)), **{key: given for key, given in own.items() if given is not None}}
        return self._ask("count", {"where": where, "by": [cells]}, level, price)

    def table(
        self, *attributes: GroupCells, where: Where | None = None, level: float = LEVEL, **price: Unpack[PriceTerms]
    ) -> Result:
        """The number of records in each combination of cells of several attributes."""
        if not attributes:
            raise UsageError(
                "a table needs at least one attribute", fix="name the attributes, such as table('age@2', 'sex')"
            )
        return self._ask("count", {"where": where, "by": list(attributes)}, level, price)

    def _ask(self, kind: str, options: dict[str, Any], level: object, price: PriceTerms) -> Result:
        if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
            raise ParameterError(
                "the level of an interval is not between 0 and 1", came=excerpt(level), allowed="above 0 and below 1"
            )
        by = options.get("by")
        return self._answer(kind, {**options, "by": read_groups(by)}, float(level), price)


def _name(attribute: object) -> str:
    if not isinstance(attribute, str):
        raise UsageError("an attribute is named by a text", came=excerpt(attribute))
    return attribute


def question_words(kind: str, options: Mapping[str, Any]) -> str:
    """A question as a person reads it: what is computed, of which records, by which groups."""
    named = options.get("attribute")
    if kind == "quantile":
        kind = "median" if str(options.get("q")) in ("0.5", "1/2") else f"quantile {options.get('q')}"
    if kind == "odds ratio":
        named = f"{options['numerator']} by {options['denominator']}"
    if kind == "ratio":
        named = str(options["numerator"]) + (f" to {options['denominator']}" if options.get("denominator") else "")
        kind = kind if options.get("denominator") else "share"
    of = f" of {named}" if named else ""
    where = f" where {options['where']}" if options.get("where") is not None else ""
    by = options.get("by")
    names = [each.attribute + (f"@{each.level}" if each.level is not None else "") for each in by or ()]
    return f"{kind}{of}{where}" + (f", by {' and '.join(names)}" if names else "")
