"""Draft a policy for a table: types, roles with a reason for each, domains, hierarchies; a person confirms it.

`shoal.draft` is this room and, called, what `shoal.api.draft` is: a package and a function cannot share a name otherwise.

Arguments  `data` and the options of `shoal.api.draft`.
Raises     what `shoal.api.draft` raises.

>>> import pyarrow as pa, shoal
>>> found = shoal.draft(pa.table({"age": [31, 45, 62], "sex": ["f", "m", "f"]}), schema_only=True)
>>> found["age"].role.value, found["age"].domain
('quasi', [0, 120])
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.draft.draft import Draft


class _Room(ModuleType):
    """The package `shoal.draft`, which can be called."""

    def __call__(self, data: object, **options: Any) -> Draft:
        from shoal.draft.request import draft

        return draft(data, **options)


sys.modules[__name__].__class__ = _Room
