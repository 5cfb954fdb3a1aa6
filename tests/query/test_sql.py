"""Questions in SQL: translated with SQL's meaning, refused by name outside the subset, and never run."""

from __future__ import annotations

import duckdb
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.engine.base import open_engine
from shoal.errors import UsageError
from shoal.policy.policy import Policy
from shoal.query.questions.count import Count
from shoal.query.questions.moments import Mean, Sum, Variance
from shoal.query.questions.quantile import Quantile
from shoal.query.questions.workload import Workload
from shoal.query.sql import SUPPORTED, read_sql
from tests.query.asking import SURE, opened, rich


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("SELECT COUNT(*) FROM t", Count()),
        ("select count(1) from t where age >= 65", Count("age >= 65")),
        ("SELECT COUNT(diag) FROM t", Count("diag is not missing")),
        ("SELECT COUNT(diag) FROM t WHERE age < 5 OR age > 9", Count("diag is not missing and (age < 5 or age > 9)")),
        ("SELECT sex, AVG(age) AS a FROM t GROUP BY sex", Mean("age", by="sex")),
        ("SELECT LEVEL(age, 1), SUM(age) FROM t GROUP BY LEVEL(age, 1), sex", Sum("age", by=["age@1", "sex"])),
        ("SELECT SUM(2 * age - ABS(age - 3)) FROM t", Sum("2 * age - abs(age - 3)")),
        ("SELECT AVG(LEAST(age, 50)) FROM t", Mean("min(age, 50)")),
        ("SELECT VAR_POP(age) FROM t", Variance("age")),
        ("SELECT MEDIAN(age) FROM t WHERE sex IN ('f')", Quantile("age", "1/2", "sex = 'f'")),
        ("SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age) FROM t", Quantile("age", "0.9")),
        ("SELECT COUNT(*), AVG(age) FROM t", Workload([Count(), Mean("age")])),
        ("SELECT COUNT(*) FROM t WHERE NOT (age < 5 AND sex = 'f')", Count("age >= 5 or sex != 'f'")),
        ("SELECT COUNT(*) FROM t WHERE diag IS NULL OR NOT diag = 'flu'", Count("diag is missing or diag != 'flu'")),
        ("SELECT COUNT(*) FROM t WHERE age NOT BETWEEN 5 AND 9", Count("age not between 5 and 9")),
        (
            "SELECT COUNT(*) FROM t WHERE 5 < age AND LEVEL(age, 2) <> '[0, 50)'",
            Count("age > 5 and age@2 != '[0, 50)'"),
        ),
        ('SELECT COUNT(*) FROM t WHERE "age" >= 5;', Count("age >= 5")),
        ("SELECT COUNT(*) FROM a.t AS v WHERE (V.age) > (3)", Count("age > 3")),
        ("SELECT COUNT(*) FROM a.t WHERE a.t.age > 3 AND t.age < 9", Count("age > 3 and age < 9")),
    ],
)
def test_sql_is_the_question_that_it_means(tmp_path, text, question):
    with opened(tmp_path) as asking:
        schema = asking.dataset.schema
    assert read_sql(text).question.canonical(schema) == question.canonical(schema)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT COUNT(*) FROM t HAVING COUNT(*) > 3", "HAVING"),
        ("SELECT COUNT(*) FROM t JOIN u ON t.a = u.a", "JOIN"),
        ("SELECT COUNT(*) FROM t, u", "JOIN|several tables"),
        ("SELECT COUNT(*) FROM (SELECT * FROM t)", "subquery"),
        ("SELECT COUNT(*) FROM t WHERE age IN (SELECT age FROM t)", "subquery"),
        ("SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1)", "EXISTS"),
        ("SELECT DISTINCT sex FROM t", "DISTINCT"),
        ("SELECT COUNT(DISTINCT sex) FROM t", "DISTINCT"),
        ("SELECT COUNT(*) FROM t TABLESAMPLE (10)", "more than the name of a table: t TABLESAMPLE"),
        ("SELECT COUNT(*) FROM t FOR SYSTEM_TIME AS OF '2024-01-01'", "more than the name of a table"),
        ("SELECT COUNT(*) FROM t PIVOT (SUM(age) FOR sex IN ('a'))", "more than the name of a table"),
        ("SELECT COUNT(*) FROM generate_series(1, 3)", "more than the name of a table"),
        ("SELECT COUNT(*) FROM t AS u(a, b)", "more than the name of a table"),
        ("SELECT sex FROM t GROUP BY sex", "without an aggregate"),
        ("SELECT sex, COUNT(*) FROM t", "not in GROUP BY"),
        ("SELECT COUNT(*) FROM t ORDER BY 1", "ORDER BY"),
        ("SELECT COUNT(*) FROM t LIMIT 3", "LIMIT"),
        ("SELECT SUM(age) OVER (PARTITION BY sex) FROM t", "OVER"),
        ("WITH a AS (SELECT 1) SELECT COUNT(*) FROM a", "WITH"),
        ("SELECT STDDEV(age) FROM t", "VAR_POP"),
        ("SELECT VARIANCE(age) FROM t", "VAR_POP"),
        ("SELECT MAX(age) FROM t", "MAX"),
        ("SELECT * FROM t", "no question"),
        ("SELECT COUNT(*), MEDIAN(age) FROM t", "by itself"),
        ("SELECT COUNT(*) FROM t GROUP BY CUBE (sex)", "no question"),
        ("SELECT COUNT(*) FROM t WHERE age > height", "in place of a value"),
        ("SELECT COUNT(*) FROM t WHERE age + 1 > 3", "no question"),
        ("SELECT COUNT(*) FROM t WHERE name LIKE 'a%'", "LIKE"),
        ("SELECT AVG(SQRT(age)) FROM t", "SQRT"),
        # Each of these was once answered as if the part that is named were not there.
        ("SELECT PERCENTILE_CONT(0.5 + 0.4) WITHIN GROUP (ORDER BY age) FROM t", r"0\.5 \+ 0\.4 as the share"),
        ("SELECT PERCENTILE_CONT(-0.5) WITHIN GROUP (ORDER BY age) FROM t", "-0.5 as the share"),
        ("SELECT PERCENTILE_CONT(CAST(0.9 AS INT)) WITHIN GROUP (ORDER BY age) FROM t", "as the share"),
        ("SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age, sex) FROM t", "ORDER BY age, sex"),
        ("SELECT COUNT(*) FROM t GROUP BY LEVEL(age, 1 + 1)", r"1 \+ 1 as a level"),
        ("SELECT COUNT(*) FROM t WHERE LEVEL(age, -1) = '[0, 50)'", "-1 as a level"),
        ("SELECT COUNT(*) FROM t WHERE seen >= CAST('2020-05-17 13:00' AS DATE)", "AS DATE"),
        ("SELECT COUNT(*) FROM t WHERE name = CAST('abcdef' AS VARCHAR(3))", "VARCHAR"),
        ("SELECT COUNT(*) FROM t WHERE age > -'3'", "in place of a value"),
        ("SELECT COUNT(*) FROM t WHERE age BETWEEN SYMMETRIC 4 AND 9", "BETWEEN"),
        ("SELECT COUNT(* EXCEPT (age)) FROM t", "EXCEPT"),
        ("SELECT COUNT(*) FROM t AS v WHERE w.age > 3", "column w.age of another table"),
        ("SELECT COUNT(*) FROM t WHERE age.x > 3", "column age.x of another table"),
        ("SELECT AVG(age) AS x, SUM(age) AS x FROM t", "two aggregates with the name x"),
        ("SELECT COUNT(*) FROM t WHERE UPPER(name) = 'A'", "UPPER\\(name\\) in place of a column"),
        ("SELECT COUNT() FROM t", "COUNT"),
        ("SELECT COUNT(*)", "without one table"),
        ("DROP TABLE t", "DROP"),
        ("SELECT COUNT(*) FROM t; SELECT 1", "2 statements"),
        ("SELECT COUNT(*) FROM t UNION SELECT 1", "UNION"),
        ("SELEC (", "cannot be read|no question"),
        ("", "not a text"),
        ("x" * 20_000, "too long"),
    ],
)
def test_everything_else_is_refused_by_name_with_what_is_supported(text, words):
    with pytest.raises(UsageError, match=words) as error:
        read_sql(text)
    assert SUPPORTED[:30] in str(error.value) or "letters" in str(error.value)


POLICY = Policy.of(
    {
        "version": 1,
        "dataset": "d",
        "unit": "row",
        "neighbours": "add_remove",
        "attributes": {
            "x": {"role": "quasi", "type": "integer", "domain": [0, 9], "missing": "value"},
            "c": {"role": "quasi", "type": "category", "domain": ["a", "b"], "missing": "value"},
        },
    }
)
FRAME = pd.DataFrame(
    {"x": pd.array([0, 1, 5, 9, None, None, 3, 5], dtype="Int64"), "c": ["a", "b", None, "a", "b", None, "a", "b"]}
)
ATOMS = [
    "x < 5",
    "x = 5",
    "c = 'a'",
    "c <> 'a'",
    "x IS NULL",
    "c IS NOT NULL",
    "x BETWEEN 1 AND 5",
    "c IN ('b')",
    "x NOT IN (5)",
]
conditions = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: (
        inner.map(lambda a: f"NOT ({a})")
        | st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})")
    ),
    max_leaves=5,
)


@given(where=conditions)
def test_conditions_have_the_meaning_of_a_database(where):
    """DuckDB counts the rows of the same text; a condition with a part that no row can satisfy may be refused."""
    people = FRAME  # noqa: F841 - DuckDB finds it by its name
    text = f"SELECT COUNT(*) FROM people WHERE {where}"  # noqa: S608 - the text of this test
    ((wanted,),) = duckdb.sql(text).fetchall()
    try:
        asked = read_sql(text).question.resolve(POLICY.schema, POLICY.unit)
    except UsageError:
        asked = None
    if asked is None:
        assert wanted == 0 or " OR " in where or "NOT" in where
    else:
        assert asked.truth(open_engine("duckdb").scan(FRAME, POLICY.schema)).tolist() == [wanted]


def test_a_session_answers_sql(tmp_path):
    with opened(tmp_path, rich()) as asking:
        found = asking.sql("SELECT sex, AVG(age), COUNT(*) AS n FROM clinic WHERE age < 50 GROUP BY sex", epsilon=SURE)
        assert found.by == ("answer", "sex")
        assert [row.labels[0] for row in found] == ["AVG(age)", "AVG(age)", "n", "n"]
        assert [row.value for row in found][2:] == [50, 50]
        again = asking.sql(
            "SELECT sex, AVG(age), COUNT(*) AS n FROM clinic WHERE NOT age >= 50 GROUP BY sex", epsilon=SURE
        )
        assert (again.free, again.rows) == (True, found.rows)
