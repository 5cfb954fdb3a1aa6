"""Random conditions: each as the text that a person writes, and as plain Python on one row."""

from __future__ import annotations

import operator

from hypothesis import strategies as st

from tests.engine.tables import NAMES, SCHEMA, TOWNS

AT = {name: place for place, name in enumerate(NAMES)}
OPERATORS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def written(value):
    """A value as a condition writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value)


@st.composite
def values(draw, name):
    """A value of an attribute's domain."""
    domain = SCHEMA[name].domain
    if name == "age":
        return draw(st.sampled_from([0, 9, 17, 65, 120]) | st.integers(0, 120))
    if name == "weight":
        return draw(st.sampled_from([-1000.0, 0.0, 0.1, 3.5, 1000.0]) | st.floats(-1000, 1000).map(lambda x: x + 0.0))
    if name == "town":
        return draw(st.sampled_from(TOWNS))
    if name == "zip":
        return draw(st.sampled_from(["123", "120", "999"]))
    if name == "smoker":
        return draw(st.booleans())
    strategy = st.dates if name == "visit" else st.datetimes
    return draw(strategy(domain.low, domain.high))


@st.composite
def comparisons(draw):
    """One comparison, with its meaning."""
    name = draw(st.sampled_from(["age", "weight", "town", "zip", "visit", "seen", "smoker"]))
    at = AT[name]
    ordered = SCHEMA[name].type.numeric
    form = draw(st.sampled_from(["compare", "in", "missing", *(["between"] * ordered)]))
    negated = draw(st.booleans())
    no = "not " if negated else ""
    if form == "missing":
        return f"{name} is {no}missing", lambda row: (row[at] is None) != negated
    if form == "in":
        some = draw(st.lists(values(name), min_size=1, max_size=4))
        text = f"{name} {no}in ({', '.join(map(written, some))})"
        return text, lambda row: row[at] is not None and (row[at] in some) != negated
    if form == "between":
        low, high = sorted(draw(st.tuples(values(name), values(name))))
        text = f"{name} {no}between {written(low)} and {written(high)}"
        return text, lambda row: row[at] is not None and (low <= row[at] <= high) != negated
    sign = draw(st.sampled_from(list(OPERATORS) if ordered else ["=", "!="]))
    value = draw(values(name))
    return f"{name} {sign} {written(value)}", lambda row: row[at] is not None and OPERATORS[sign](row[at], value)


def _joined(pairs, word):
    text = f" {word} ".join(f"({text})" for text, _ in pairs)
    parts = [holds for _, holds in pairs]
    return text, (lambda row: all(p(row) for p in parts)) if word == "and" else (lambda row: any(p(row) for p in parts))


def _negated(pair):
    text, holds = pair
    return f"not ({text})", lambda row: not holds(row)


conditions = st.recursive(
    comparisons(),
    lambda inner: (
        inner.map(_negated)
        | st.tuples(st.lists(inner, min_size=1, max_size=3), st.sampled_from(["and", "or"])).map(lambda x: _joined(*x))
    ),
    max_leaves=8,
)
"""A text, and what it says of a row."""
