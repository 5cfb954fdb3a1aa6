"""Which table, view or query of a database is read, and the SQL that names it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from shoal.data.schema import FileFormat
from shoal.errors import DataError, NextCommand, PolicyError

MOST_NAMES = 12
"""Tables that a message lists."""
GIVEN = "given"
"""What a query is called in the query around it."""


def choose_relation(form: FileFormat, tables: Mapping[str, str], source: str) -> str:
    """Give the SQL for what is read, of all tables and views: the name of each as a policy writes it, and quoted.

    A query becomes a part of the query that reads it, so that it can give rows and do nothing else. Where the policy names
    neither a table nor a query, the only table is read.

    Raises  DataError where there is no such table, or several and none is named; PolicyError where a query may be several

    >>> from shoal.data.schema import STANDARD
    >>> choose_relation(STANDARD, {"visits": '"visits"'}, "clinic.sqlite")
    '"visits"'
    """
    if form.query is not None:
        query = form.query.strip().removesuffix(";")
        if ";" in query:
            raise PolicyError(
                "the query of the policy has a semicolon inside",
                allowed="one SELECT",
                fix="take the semicolon out; where a text needs one, make a view in the database and name that",
            )
        return f"({query}\n) AS {GIVEN}"
    if form.table is not None and form.table in tables:
        return tables[form.table]
    if form.table is None and len(tables) == 1:
        return next(iter(tables.values()))
    listed = ", ".join(map(repr, list(tables)[:MOST_NAMES])) + (", …" if len(tables) > MOST_NAMES else "")
    if not tables:
        raise DataError("the database has no table", came=source, fix="check that it is the right database")
    if form.table is None:
        raise DataError(
            "the policy does not say which table of the database is read",
            came=source,
            allowed=listed,
            fix="name one: `--table NAME` of shoal init, or `file: {table: NAME}` in the policy; or give a query, `--query` or "
            "`file: {query: SELECT ...}`",
            step=NextCommand(add=("--table", next(iter(tables))), only=("init",)),
        )
    nearest = next(iter(difflib.get_close_matches(form.table, tables, n=1)), next(iter(tables)))
    raise DataError(
        "the database has no such table",
        came=f"{form.table!r} in {source}",
        allowed=listed,
        fix="name one of them: `--table NAME` of shoal init, or `file: {table: NAME}` in the policy",
        step=NextCommand(replace=(form.table, nearest), only=("init",)),
    )


def quote_name(name: str) -> str:
    """Quote a name as SQL does.

    >>> quote_name('5" pipe')
    '"5"" pipe"'
    """
    return '"' + name.replace('"', '""') + '"'
