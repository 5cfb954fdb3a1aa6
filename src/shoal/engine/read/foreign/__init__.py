"""Files of other programs: compressed text, workbooks, JSON lines, statistical files and databases, each brought to columns.

Each kind has a module of its own, which is imported where such a file is read; their endings stand here.
"""

from __future__ import annotations

from typing import Final

STATA: Final = (".dta",)
SPSS: Final = (".sav", ".zsav", ".por")
SAS: Final = (".sas7bdat", ".xpt")
STATISTICAL: Final = STATA + SPSS + SAS
"""The endings of files of statistics programs that are read."""
SQLITE: Final = (".sqlite", ".sqlite3", ".db")
DUCKDB: Final = (".duckdb",)
DATABASES: Final = SQLITE + DUCKDB
"""The endings of database files."""
