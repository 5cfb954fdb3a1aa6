"""Assessment: what a table discloses, what a release says, what masking changed, and its risks; computed from tables alone.

`shoal.assess` is this room and, called, what `shoal.api.assess` is: a package and a function cannot share a name otherwise.

Arguments  `release`, `original` and the options of `shoal.api.assess`.
Raises     what `shoal.api.assess` raises.

>>> import pyarrow as pa, shoal
>>> age, ill = ({"role": "quasi", "type": "integer", "domain": [0, 99]}, {"role": "confidential", "type": "text"})
>>> unit = {"unit": "row", "neighbours": "add_remove"}
>>> columns = {"version": 1, "dataset": "ills", **unit, "attributes": {"age": age, "ill": ill}}
>>> people = pa.table({"age": [31, 45, 62, 38], "ill": ["flu", "ulcer", "flu", "flu"]})
>>> masked = pa.table({"age": ["30-49", "30-49", "50-69", "30-49"], "ill": ["flu", "ulcer", "flu", "flu"]})
>>> shoal.assess(original=people, masked=masked, policy=shoal.Policy.of(columns), full=False)
<Assessment of the masked table: 0 attacks, pairs at 0.463>
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.assess.assessment import Assessment


class _Room(ModuleType):
    """The package `shoal.assess`, which can be called; nothing in the room uses that."""

    def __call__(self, *given: Any, **options: Any) -> Assessment:
        found: Assessment = import_module("shoal.api").assess(*given, **options)
        return found


sys.modules[__name__].__class__ = _Room
