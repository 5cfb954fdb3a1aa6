"""Short programs that open a release: Python with the folder's own reader, pandas, R, Stata and DuckDB, run in the folder."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator

from shoal.assess.frame.column import INTERVAL, PublishedColumn
from shoal.data.type import Type
from shoal.publish.handbook.content import Handbook, HandbookTable

Snippet = tuple[str, str, str]
"""What it is in a sentence, the language, and the lines."""


def snippets(handbook: Handbook) -> Iterator[Snippet]:
    """One program for each way of opening the release; they are run where the files are."""
    table = next(iter(handbook.tables))
    column = _example(handbook, table)
    options = 'intervals="columns", sets="codes"' if table.rules else ""
    call = f"release.to_pandas({table.name!r}{', ' * bool(options)}{options})"
    needs = ", without any library" if table.form == "csv" else "; Parquet files need pyarrow"
    yield (
        "Python, with the reader in this folder (rows as dictionaries, or frames with pandas and pyarrow):",
        "python",
        "\n".join(
            [
                "import sys",
                "",
                "sys.dont_write_bytecode = True    # else Python adds a folder __pycache__, and the release no longer verifies",
                "from read_release import open_release",
                "",
                'release = open_release(".")',
                f"rows = release.rows({table.name!r})        # a list of dictionaries{needs}",
                f"frame = {call}",
            ]
        ),
    )
    yield "pandas alone, labels as text:", "python", _pandas(table, column)
    for held in handbook.of_kind("groups"):
        yield (
            "pandas, both tables: each record with every line of its group, and its probability:",
            "python",
            _joined(table, held),
        )
    yield "DuckDB:", "sql", _duckdb(table, column)
    yield _about_r(table), "r", _r(handbook, table, column)
    if table.form == "csv":
        yield "Stata:", "stata", _stata(table, column)
    else:
        which = f" --which {shlex.quote(table.name)}" if len(handbook.tables) > 1 else ""
        yield (
            "Stata reads no Parquet; `shoal export` writes a file for it, beside this folder and not into it:",
            "console",
            f"shoal export . {shlex.quote(f'../{table.name}.dta')}{which}",
        )


def _example(handbook: Handbook, table: HandbookTable) -> str:
    """A column to show something with: one with intervals, if there is one."""
    by_name = handbook.by_name
    held = (name for name in table.columns if _has_intervals(by_name[name], table))
    return next(held, table.columns[0])


def _has_intervals(column: PublishedColumn, table: HandbookTable) -> bool:
    return any(label.kind == INTERVAL for label in column.labels_of(*table.rules.get(column.name, ())))


def _weight(table: HandbookTable) -> str:
    return "" if table.weight is None else f" * {table.weight:.6g}"


def _about_weight(table: HandbookTable, mark: str) -> str:
    return "" if table.weight is None else f"   {mark} a row stands for so many records on average"


def _pandas(table: HandbookTable, column: str) -> str:
    if table.form == "csv":
        read = f"pd.read_csv({table.file!r}, dtype=str, keep_default_na=False)"
    else:
        read = f"pd.read_parquet({table.file!r})"
    counted = f"table.groupby({column!r}, observed=True).size(){_weight(table)}"
    if table.kind == "counts":
        counted = f'table.astype({{"count": int}}).groupby({column!r}, observed=True)["count"].sum()'
    return "\n".join(["import pandas as pd", "", f"table = {read}", f"print({counted})" + _about_weight(table, "#")])


def _joined(records: HandbookTable, held: HandbookTable) -> str:
    """Records with the lines of their groups, each with its probability."""
    how = ", dtype=str, keep_default_na=False" if held.form == "csv" else ""
    read = "pd.read_csv" if held.form == "csv" else "pd.read_parquet"
    return "\n".join(
        [
            "import pandas as pd",
            "",
            f"records, held = {read}({records.file!r}{how}), {read}({held.file!r}{how})",
            f"many = held[{held.count!r}].astype(int)",
            f'held = held.assign(probability=many / many.groupby(held[{held.group!r}]).transform("sum"))',
            f"joined = records.merge(held, on={held.group!r})    # the probabilities of one record add up to 1",
        ]
    )


def _sql_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _sql_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _duckdb(table: HandbookTable, column: str) -> str:
    read = f"read_csv({_sql_text(table.file)}, all_varchar = true, header = true)"
    if table.form != "csv":
        read = f"read_parquet({_sql_text(f'{table.file}/*.parquet' if table.parts else table.file)})"
    counted = f"count(*){_weight(table)}"
    if table.kind == "counts":
        counted = 'sum("count"::BIGINT)'
    return f"SELECT {_sql_name(column)}, {counted} AS records\nFROM {read}\nGROUP BY ALL ORDER BY ALL;"


def _r_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _about_r(table: HandbookTable) -> str:
    if table.form == "csv":
        return "R:"
    needs = "the packages arrow and dplyr" if table.parts else "the package arrow"
    return f"R, with {needs} (`shoal export` writes a CSV file, which R reads alone):"


_R_NUMBER: dict[Type, str] = {Type.INTEGER: "as.numeric", Type.DECIMAL: "as.numeric", Type.DATE: "as.Date"}
"""What makes a number or a day of an end of an interval, which a codebook has as text; times stay text."""


def _r(handbook: Handbook, table: HandbookTable, column: str) -> str:
    every = 'colClasses = "character", na.strings = character(0), check.names = FALSE, encoding = "UTF-8"'
    every += ", blank.lines.skip = FALSE"  # a line of a table with one column is `""` where the record has no value
    name = _r_text(column)
    if table.form == "csv":
        lines = [f"table <- read.csv({_r_text(table.file)}, {every})"]
    else:
        lines = [f"table <- arrow::read_parquet({_r_text(table.file)})"]
        if table.parts:
            lines = [f"table <- dplyr::collect(arrow::open_dataset({_r_text(table.file)}))"]
    if _has_intervals(handbook.by_name[column], table):
        made = _R_NUMBER.get(handbook.by_name[column].type, "")
        lines += [
            f'codebook <- read.csv("codebook.csv", {every})',
            f'ends <- codebook[codebook$column == {name} & codebook$low != "", ]',
            f"low <- {made}(ends$low[match(table[[{name}]], ends$label)])     # the lower end of every row's interval",
        ]
    if table.kind == "counts":
        lines.append(f'tapply(as.numeric(table[["count"]]), table[[{name}]], sum)')
    else:
        lines.append(f"table(table[[{name}]]){_weight(table)}{_about_weight(table, '#')}")
    return "\n".join(lines)


_STATA_NAME = re.compile(
    r"(?!(_all|_b|_coef|_cons|_n|_N|_pi|_pred|_rc|_skip|byte|double|float|if|in|int|long|str[L0-9]*|using|with)$)"
    r"[A-Za-z_][A-Za-z0-9_]{0,31}"
)
"""A name that Stata takes as it is; of others, and of words that it keeps for itself, it makes its own."""


def _stata(table: HandbookTable, column: str) -> str:
    how = 'delimiters(",") varnames(1) case(preserve) stringcols(_all) bindquotes(strict) encoding("UTF-8") clear'
    lines = [f'import delimited using "{table.file}", {how}']
    if table.kind != "counts":
        return "\n".join([*lines, "count", *([] if table.weight is None else [f"display r(N){_weight(table)}"])])
    by = f", by({column})" if _STATA_NAME.fullmatch(column) else ""
    return "\n".join([*lines, "destring count, replace", f"collapse (sum) count{by}", "list"])
