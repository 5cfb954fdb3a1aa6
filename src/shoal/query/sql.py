"""Questions in SQL: the part of SELECT that means a question of a session; everything else is refused by its name.

SELECT region, AVG(income), COUNT(*) FROM visits WHERE age >= 65 AND LEVEL(zip, 1) = '10**' GROUP BY region, LEVEL(age, 2)

The text is parsed and translated, and never run. A session has one table, so the name after FROM is not looked up. WHERE has the
meaning of SQL: a comparison with a missing value is unknown, and so is its NOT, so that neither keeps the row. Several
aggregates over the same groups are one workload. Numbers that choose a quantile or a level are written out, not computed, and
what stands beside a part that is read here is refused: left out in silence it would be another question.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.errors import UsageError
from shoal.language.cells import CellSpec
from shoal.language.condition.parse import quoted_text
from shoal.policy.text.problem import excerpt
from shoal.query.questions.base import Question
from shoal.query.questions.count import Count
from shoal.query.questions.moments import Mean, Sum, Variance
from shoal.query.questions.quantile import Quantile
from shoal.query.questions.workload import Workload

if TYPE_CHECKING:
    from sqlglot import exp

MOST_LETTERS = 1 << 14
SUPPORTED = (
    "SELECT columns and aggregates FROM one table WHERE … GROUP BY columns or LEVEL(column, n), with COUNT(*), "
    "COUNT(column), SUM, AVG, VAR_POP, MEDIAN, PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY column), and AND OR NOT = <> < <= > >= "
    "IN BETWEEN IS NULL"
)
_FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?")
_CASTS = {"DATE": _DAY, "TIMESTAMP": _TIME, "DATETIME": _TIME}
"""The types to which a text is cast where it is written as a value of that type, so that nothing of it is cut off."""
_CLAUSES = {
    "having": "HAVING", "joins": "JOIN", "distinct": "DISTINCT", "order": "ORDER BY", "limit": "LIMIT", "offset": "OFFSET",
    "with": "WITH", "with_": "WITH", "windows": "WINDOW", "qualify": "QUALIFY", "laterals": "LATERAL",
}  # fmt: skip


@dataclass(frozen=True)
class SqlQuestion:
    """A question that was asked in SQL, and the name of each aggregate in the order of the text."""

    question: Question
    names: tuple[str, ...]


def read_sql(text: str) -> SqlQuestion:
    """The question that a SELECT means; UsageError, with what is supported, for anything else. No row is read.

    >>> read_sql("SELECT sex, AVG(age) FROM t WHERE age >= 18 GROUP BY sex").question.to_saved()["by"]
    [{'attribute': 'sex'}]
    """
    tree = _parse(text)
    groups = [_group(each) for each in _listed(tree, "group")]
    by = tuple(groups) or None
    condition = tree.args.get("where")
    where = None if condition is None else _condition(condition.this, negated=False)
    questions: list[Question] = []
    names: list[str] = []
    for each in tree.expressions:
        inner, name = (each.this, each.alias) if _is(each, "Alias") else (each, each.sql())
        if _is(inner, "Column") or _is(inner, "Anonymous"):
            if _group(inner) not in groups:
                raise _refused(f"column {inner.sql()} that is not in GROUP BY")
            continue
        questions.append(_aggregate(inner, where, by))
        names.append(name)
    if not questions:
        raise _refused("SELECT without an aggregate")
    if len(questions) == 1:
        return SqlQuestion(questions[0], tuple(names))
    if any(isinstance(each, Quantile) for each in questions):
        raise _refused("quantile beside other aggregates", fix="ask for the quantile by itself")
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise _refused(f"two aggregates with the name {twice[0]}", fix="give each a name of its own with AS")
    return SqlQuestion(Workload(tuple(questions)), tuple(names))


def _refused(what: str, *, fix: str | None = None) -> UsageError:
    return UsageError("SQL that is no question of a session", came=excerpt(what), allowed=SUPPORTED, fix=fix)


def _parse(text: object) -> exp.Select:
    import sqlglot
    from sqlglot.errors import SqlglotError

    if not isinstance(text, str) or not text.strip():
        raise UsageError("SQL is not a text", came=excerpt(text), allowed=SUPPORTED)
    if len(text) > MOST_LETTERS:
        raise UsageError("SQL too long to read", came=f"{len(text):,} letters", allowed=f"{MOST_LETTERS:,}")
    try:
        found = [each for each in sqlglot.parse(text) if each is not None]
    except (SqlglotError, RecursionError, ValueError, AttributeError):
        raise UsageError("SQL that cannot be read", came=excerpt(text), allowed=SUPPORTED) from None
    if len(found) != 1:
        raise _refused(f"{len(found)} statements")
    tree = found[0]
    if not isinstance(tree, sqlglot.exp.Select):
        raise _refused(type(tree).__name__.upper())
    for key, value in tree.args.items():
        if value and key not in ("expressions", "from", "from_", "where", "group", "kind", "operation_modifiers"):
            raise _refused(_CLAUSES.get(key, key.upper()))
    table = tree.args.get("from") or tree.args.get("from_")
    if table is None or not _is(table.this, "Table") or table.this.args.get("joins"):
        raise _refused("SELECT without one table" if table is None else "subquery or several tables")
    # What else stands with the table's name, such as TABLESAMPLE or PIVOT, would change which rows are meant.
    more = [key for key, value in table.this.args.items() if value and key not in ("this", "db", "catalog", "alias")]
    alias = table.this.args.get("alias")
    if more or not _is(table.this.this, "Identifier") or (alias is not None and alias.args.get("columns")):
        raise _refused(f"more than the name of a table: {table.this.sql()}")
    _refuse_other_tables(table.this, tree.find_all(sqlglot.exp.Column))
    return tree


def _refuse_other_tables(table: Any, columns: Iterable[Any]) -> None:
    """Refuse a column of another table than the one after FROM, or a part of a column: `w.age`, `address.zip`."""
    names = [str(part.name).lower() for part in table.parts]
    names = [table.alias.lower()] if table.alias else names
    for node in columns:
        before = [str(part.name).lower() for part in node.parts[:-1]]
        if before and before != names[-len(before) :]:
            raise _refused(f"column {node.sql()} of another table", fix="write the name of the column alone")


def _is(node: object, name: str) -> bool:
    """Whether a node is of a class of the parser, by its name."""
    return type(node).__name__ == name


def _refuse_more(node: Any, *parts: str) -> None:
    """Refuse what stands beside the parts of a node that are read: it would be left out in silence."""
    if any(value and name not in parts for name, value in node.args.items()):
        raise _refused(node.sql())


def _bare(node: Any) -> Any:
    """A node without the parentheses around it."""
    while _is(node, "Paren"):
        node = node.this
    return node


def _written_number(node: Any, what: str) -> str:
    """A number that is written out; arithmetic is refused, and so is a text."""
    node = _bare(node)
    if not _is(node, "Literal") or node.is_string:
        raise _refused(f"{node.sql()} as {what}", fix="write the number itself")
    return str(node.name)


def _listed(tree: exp.Select, key: str) -> list[Any]:
    found = tree.args.get(key)
    if found is None:
        return []
    for name, value in found.args.items():
        if value and name != "expressions":
            raise _refused(f"GROUP BY {name.upper()}")
    return list(found.expressions)


def _name(node: Any) -> str:
    """The name of a column, without that of its table."""
    node = _bare(node)
    if not _is(node, "Column") or _is(node.this, "Star"):
        raise _refused(f"{node.sql()} in place of a column")
    return str(node.name)


def _group(node: Any) -> CellSpec:
    """An attribute to group by, or a level of its hierarchy."""
    level = _level(node)
    return CellSpec(_name(node)) if level is None else CellSpec(level[0], level=level[1])


def _level(node: Any) -> tuple[str, int] | None:
    """The column and the number of LEVEL(column, n)."""
    node = _bare(node)
    if not _is(node, "Anonymous"):
        return None
    arguments = node.expressions
    if str(node.this).upper() != "LEVEL" or len(arguments) != 2:
        raise _refused(f"function {node.sql()}")
    level = _written_number(arguments[1], "a level")
    if not (level.isascii() and level.isdigit()):
        raise _refused(f"function {node.sql()}", fix="a level is a whole number")
    return _name(arguments[0]), int(level)


# --- aggregates -------------------------------------------------------------------------------------------------------


_PLAIN: dict[str, type[Sum | Mean | Variance]] = {"Sum": Sum, "Avg": Mean, "VariancePop": Variance}


def _aggregate(node: Any, where: str | None, by: tuple[CellSpec, ...] | None) -> Question:
    kind = type(node).__name__
    if kind == "Count":
        _refuse_more(node, "this", "big_int")
        if node.this is None or _is(node.this, "Distinct"):
            raise _refused(node.sql())
        if _is(node.this, "Star") or (_is(node.this, "Literal") and not node.this.is_string):
            if _is(node.this, "Star"):
                _refuse_more(node.this)
            return Count(where, by)
        present = f"{_quoted(_name(node.this))} is not missing"
        return Count(present if where is None else f"{present} and ({where})", by)
    if kind in (*_PLAIN, "Median"):
        _refuse_more(node, "this")
    if kind in _PLAIN:
        return _PLAIN[kind](_arithmetic(node.this), where, by=by)
    if kind == "Median":
        return Quantile(_arithmetic(node.this), "1/2", where, by=by)
    if kind == "WithinGroup" and type(node.this).__name__ in ("PercentileCont", "PercentileDisc"):
        return _percentile(node, where, by)
    if kind in ("Variance", "Stddev", "StddevSamp", "StddevPop"):
        raise _refused(node.sql(), fix="VAR_POP is the variance that a session gives; its square root is yours to take")
    raise _refused(node.sql())


def _percentile(node: Any, where: str | None, by: tuple[CellSpec, ...] | None) -> Question:
    """PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY column); rows without a value take no part, wherever SQL would order them."""
    _refuse_more(node.this, "this")
    _refuse_more(node.expression, "expressions")
    if len(node.expression.expressions) != 1:
        raise _refused(node.sql())
    (ordered,) = node.expression.expressions
    if ordered.args.get("desc"):
        raise _refused(node.sql(), fix="order ascending, and take 1 - q")
    _refuse_more(ordered, "this", "nulls_first")
    return Quantile(_arithmetic(ordered.this), _written_number(node.this.this, "the share of a quantile"), where, by=by)


_SIGNS = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}
_FUNCTIONS = {"Abs": "abs", "Least": "min", "Greatest": "max"}


def _arithmetic(node: Any) -> str:
    """A column, or arithmetic on columns, in the language of questions."""
    node = _bare(node)
    return _name(node) if _is(node, "Column") else _expression(node)


def _expression(node: Any) -> str:
    kind = type(node).__name__
    if kind == "Column":
        return _quoted(_name(node))
    if kind == "Literal" and not node.is_string:
        return str(node.name)
    if kind == "Paren":
        return f"({_expression(node.this)})"
    if kind == "Neg":
        return f"-({_expression(node.this)})"
    if kind in _SIGNS:
        return f"({_expression(node.this)}) {_SIGNS[kind]} ({_expression(node.expression)})"
    if kind in _FUNCTIONS:
        _refuse_more(node, "this", "expressions", "ignore_nulls")
        parts = [node.this, *node.args.get("expressions", [])]
        return f"{_FUNCTIONS[kind]}({', '.join(_expression(part) for part in parts)})"
    raise _refused(node.sql())


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


# --- conditions -------------------------------------------------------------------------------------------------------

_COMPARED = {"EQ": "=", "NEQ": "!=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}


def _condition(node: Any, *, negated: bool) -> str:
    """A condition, or where it is false; NOT goes down to the comparisons, because an unknown one stays unknown under it."""
    kind = type(node).__name__
    if kind == "Paren":
        return _condition(node.this, negated=negated)
    if kind == "Not":
        return _condition(node.this, negated=not negated)
    if kind in ("And", "Or"):
        word = "and" if (kind == "And") != negated else "or"
        parts = (_condition(part, negated=negated) for part in (node.this, node.expression))
        return f" {word} ".join(f"({part})" for part in parts)
    if kind in _COMPARED:
        return _comparison(node, _COMPARED[kind], negated=negated)
    column: Callable[[], str] = lambda: _compared(node.this)  # noqa: E731
    no = "not " if negated else ""
    if kind == "In":
        if not node.expressions or node.args.get("query"):
            raise _refused("IN with a subquery")
        _refuse_more(node, "this", "expressions")
        return f"{column()} {no}in ({', '.join(_value(each) for each in node.expressions)})"
    if kind == "Between":
        _refuse_more(node, "this", "low", "high")
        return f"{column()} {no}between {_value(node.args['low'])} and {_value(node.args['high'])}"
    if kind == "Is" and _is(node.expression, "Null"):
        return f"{column()} is {no}missing"
    raise _refused(node.sql())


def _comparison(node: Any, sign: str, *, negated: bool) -> str:
    left, right = _bare(node.this), _bare(node.expression)
    columns = [_is(each, "Column") or _is(each, "Anonymous") for each in (left, right)]
    if not any(columns):
        raise _refused(f"{left.sql()} in place of a column", fix="compare a column with values")
    if not columns[0]:
        left, right, sign = right, left, _FLIPPED[sign]
    return f"{_compared(left)} {_NEGATED[sign] if negated else sign} {_value(right)}"


def _compared(node: Any) -> str:
    """A column in a condition, or a level of its hierarchy."""
    level = _level(node)
    return _quoted(_name(node)) if level is None else f"{_quoted(level[0])}@{level[1]}"


def _value(node: Any) -> str:
    node = _bare(node)
    kind = type(node).__name__
    if kind == "Literal":
        return quoted_text(str(node.name)) if node.is_string else str(node.name)
    if kind == "Neg" and _is(node.this, "Literal") and not node.this.is_string:
        return f"-{node.this.name}"
    if kind == "Boolean":
        return "true" if node.this else "false"
    if kind == "Cast" and _is(node.this, "Literal") and node.this.is_string:
        _refuse_more(node, "this", "to")
        written = _CASTS.get(node.to.sql())
        if written is not None and written.fullmatch(str(node.this.name)):
            return quoted_text(str(node.this.name))
    raise _refused(f"{node.sql()} in place of a value", fix="compare a column with values")
