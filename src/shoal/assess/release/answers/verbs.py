"""Questions of the common language to a release: each group is a condition, and each verb an estimator with its interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import inf, isfinite, isnan, nan, prod
from typing import Any

from shoal.assess.release.answer import count, odds_ratio, ratio, total
from shoal.assess.release.answers.mean import Bounds, mean, number_ends, sum_of
from shoal.assess.release.answers.quantile import quantile
from shoal.assess.release.answers.variance import variance
from shoal.assess.release.condition import Condition, Where, both, condition, label_of_values
from shoal.assess.release.estimate import Estimate, risk_of
from shoal.assess.release.load import LoadedRelease
from shoal.errors import ParameterError, UsageError
from shoal.guarantee.rounding import exact
from shoal.language.cell_sets import cell_sets
from shoal.language.cells import CellSpec
from shoal.language.condition.plain import condition_text
from shoal.language.interface import question_words
from shoal.language.result import Result, ResultRow
from shoal.policy.text.problem import nearest

MOST_GROUPS = 4_096
"""Groups of one question: each is estimated by itself."""
NOBODY = "nothing published says that there is any such record"
QUOTIENT = "the interval of the numerator by that of the denominator, each at half the risk (Bonferroni)"
Estimator = Callable[[Condition], tuple[Estimate, Callable[[float], Any]]]


def answer(loaded: LoadedRelease, kind: str, options: Mapping[str, Any], level: float) -> Result:
    """The result of a question: a value with its interval, or one for each group.

    Raises     UsageError for what the release does not hold, or holds no two ends for.
    """
    estimate = ESTIMATORS[kind](loaded, options, level)
    wanted = condition(loaded, {} if options.get("where") is None else options["where"])
    by: Sequence[CellSpec] = options.get("by") or ()
    rows, methods, sources = [], {}, {}
    for labels, group in _groups(loaded, by):
        found, shown = estimate(both(loaded, wanted, group) if by else wanted)
        rows.append(_row(labels, found, shown))
        methods[found.method] = sources[found.view] = True
    return Result(
        question_words(kind, {name: _in_words(loaded, name, given) for name, given in options.items()}),
        tuple(each.attribute for each in by),
        tuple(rows),
        level,
        "; or ".join(methods),
        ", ".join([*sources][:3]) + (" and others" if len(sources) > 3 else ""),
        (loaded.records, *_clamped(loaded, options)),
    )


def _clamped(loaded: LoadedRelease, options: Mapping[str, Any]) -> tuple[str, ...]:
    """What is done to values beyond the bounds that were asked for, in words; nothing where they leave every value as it is."""
    bounds = _bounds(options.get("bounds"))
    if bounds is None or (bounds := _within_domain(bounds, number_ends(loaded, options["attribute"]))) is None:
        return ()
    return (f"values of '{options['attribute']}' outside {bounds[0]:g}..{bounds[1]:g} count as the nearest end",)


def _row(labels: tuple[str, ...], found: Estimate, shown: Callable[[float], Any]) -> ResultRow:
    low, high = _end(found.low, shown), _end(found.high, shown)
    if isnan(found.value):
        return ResultRow(labels, None, low, high, NOBODY)
    return ResultRow(labels, shown(found.value), low, high)


def _in_words(loaded: LoadedRelease, name: str, given: Any) -> Any:
    """An option as the words of the question have it: conditions in their one spelling, where the policy is known."""
    written = isinstance(given, Mapping | list) and name in ("where", "numerator", "denominator")
    if loaded.schema is None or given is None or not (written or (name == "where" and isinstance(given, str))):
        return given or None
    try:
        return condition_text(given, loaded.schema)
    except UsageError:
        return given  # it names a label that only the tables have, such as a union of values


def _end(end: float, shown: Callable[[float], Any]) -> Any:
    return shown(end) if isfinite(end) else end


def _groups(loaded: LoadedRelease, by: Sequence[CellSpec]) -> list[tuple[tuple[str, ...], Condition]]:
    """Each group: its labels, and the condition that its records satisfy."""
    axes = [each.axis(loaded.known_schema) for each in by]
    if (many := prod(len(axis) for axis in axes)) > MOST_GROUPS:
        raise UsageError(
            "too many groups", came=f"{many:,}", allowed=f"{MOST_GROUPS:,}", fix="use a coarser level, edges or values"
        )
    cells = [
        [
            (text, (axis.attribute.name, label_of_values(own)))
            for text, own in zip(axis.labels, cell_sets(axis), strict=True)
        ]
        for axis in axes
    ]
    return [(tuple(text for text, _ in each), [dict(own for _, own in each)]) for each in product(*cells)]


def _number(at: float) -> float:
    return at


def _counting(loaded: LoadedRelease, options: Mapping[str, Any], level: float) -> Estimator:
    del options
    return lambda wanted: (total(loaded, level) if wanted == [{}] else count(loaded, wanted, level), _number)


def _of_attribute(
    estimator: Callable[[LoadedRelease, str, Condition, float, Bounds | None], Estimate],
) -> Callable[[LoadedRelease, Mapping[str, Any], float], Estimator]:
    def make(loaded: LoadedRelease, options: Mapping[str, Any], level: float) -> Estimator:
        name, bounds = _attribute(loaded, options["attribute"]), _bounds(options.get("bounds"))
        if bounds is not None:
            ends = number_ends(loaded, name)
            if not (bounds[0] < ends[1] and ends[0] < bounds[1]):
                raise ParameterError(
                    f"the bounds of '{name}' leave nothing of its values",
                    came=f"{bounds[0]:g}, {bounds[1]:g}",
                    allowed=f"low < high, within {ends[0]:g}..{ends[1]:g}",
                )
            bounds = _within_domain(bounds, ends)
        return lambda wanted: (estimator(loaded, name, wanted, level, bounds), _number)

    return make


def _within_domain(bounds: Bounds, ends: tuple[float, float]) -> Bounds | None:
    """The bounds within the ends of the domain, beyond which no value lies; None where they leave every value as it is."""
    kept = max(bounds[0], ends[0]), min(bounds[1], ends[1])
    return None if kept == ends else kept


def _quantile(loaded: LoadedRelease, options: Mapping[str, Any], level: float) -> Estimator:
    name = _attribute(loaded, options["attribute"])
    if options.get("bounds") is not None:
        raise UsageError(
            "a quantile of a release takes no bounds", fix="leave them out: its candidates are the published labels"
        )
    return lambda wanted: quantile(loaded, name, options["q"], wanted, level)


def _odds_ratio(loaded: LoadedRelease, options: Mapping[str, Any], level: float) -> Estimator:
    part, other = condition(loaded, options["numerator"]), condition(loaded, options["denominator"])
    return lambda _: (odds_ratio(loaded, part, other, level), _number)


def _ratio(loaded: LoadedRelease, options: Mapping[str, Any], level: float) -> Estimator:
    above, below = options["numerator"], options.get("denominator")
    part = None if _is_attribute(loaded, above) else condition(loaded, above)
    if part is not None and below is None:
        return lambda wanted: (ratio(loaded, part, wanted, level), _number)
    if isinstance(below, str) and _is_attribute(loaded, below) and (least := number_ends(loaded, below)[0]) < 0:
        raise UsageError(
            "a ratio whose divisor can be negative",
            came=f"{below}, from {least:g} up",
            allowed="a condition, whose records are counted, or an attribute that is never below 0",
        )
    each = 1 - risk_of(level) / 2

    def amount(text: Where | None, wanted: Condition) -> Estimate:
        if isinstance(text, str) and _is_attribute(loaded, text):
            return sum_of(loaded, text, wanted, each)
        return count(loaded, wanted if text is None else both(loaded, wanted, condition(loaded, text)), each)

    def divide(wanted: Condition) -> tuple[Estimate, Callable[[float], Any]]:
        top, bottom = amount(above, wanted), amount(below, wanted)
        low, high = quotient_bounds((top.low, top.high), (bottom.low, bottom.high))
        value = top.value / bottom.value if bottom.value else nan
        method = f"{QUOTIENT}; {top.method}"
        return Estimate(min(max(value, low), high), low, high, level, top.view, method, loaded.records), _number

    return divide


def quotient_bounds(top: tuple[float, float], bottom: tuple[float, float]) -> tuple[float, float]:
    """Bound a quotient by the ends of its numerator, and of a divisor that is not below 0 and perhaps as near to 0 as one likes.

    >>> quotient_bounds((2, 6), (1, 4)), quotient_bounds((2, 6), (0, 4)), quotient_bounds((-2, 0), (0, 4))
    ((0.5, 6.0), (0.5, inf), (-inf, 0.0))
    """

    def divide(end: float, by: float, nothing: float) -> float:
        return end / by if by > 0 else nothing

    least, most = bottom
    low = divide(top[0], most, 0.0) if top[0] >= 0 else divide(top[0], least, -inf)
    high = divide(top[1], least, inf) if top[1] > 0 else divide(top[1], most, 0.0)
    return low, high


def _is_attribute(loaded: LoadedRelease, text: Where | None) -> bool:
    return isinstance(text, str) and text in loaded.attributes


def _attribute(loaded: LoadedRelease, name: object) -> str:
    """An attribute of the release; arithmetic on columns is refused, because labels do not tell single values."""
    if not isinstance(name, str):
        raise UsageError("an attribute is named by a text", came=type(name).__name__)
    if name in loaded.attributes:
        return name
    close = nearest(name, loaded.attributes)
    listed = None if close else ", ".join(loaded.attributes[:12])
    raise UsageError(
        "no published attribute of this name; arithmetic on columns is for sessions",
        came=name,
        allowed=listed,
        fix=close,
    )


def _bounds(given: object) -> Bounds | None:
    if given is None:
        return None
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise UsageError("bounds are two numbers", came=type(given).__name__, allowed="(low, high)")
    low, high = (float(exact(end, "a bound")) for end in given)
    if not low < high:
        raise ParameterError("bounds are not in increasing order", came=f"{low:g}, {high:g}", allowed="low < high")
    return low, high


ESTIMATORS: Mapping[str, Callable[[LoadedRelease, Mapping[str, Any], float], Estimator]] = {
    "count": _counting,
    "sum": _of_attribute(sum_of),
    "mean": _of_attribute(mean),
    "variance": _of_attribute(variance),
    "quantile": _quantile,
    "ratio": _ratio,
    "odds ratio": _odds_ratio,
}
"""The estimator of each kind of question."""
