"""What the locked plan of a release declares about each attribute: the values that may occur, and whether one may be missing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Domain:
    """What a locked plan declares about one attribute."""

    values: tuple[str, ...] | None
    """Every declared value, where they are listed."""
    missing: bool
    """Whether a value may be missing."""


UNKNOWN = Domain(None, missing=True)
"""Nothing is known, so everything is possible."""


def read_domains(path: Path) -> dict[str, Domain]:
    """The declared domain of each attribute, from `policy.lock.yaml`; none when there is no plan to read."""
    if not path.is_file():
        return {}
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        plan = YAML(typ="safe").load(path)
        declared = dict(plan["attributes"].items())
    except (YAMLError, KeyError, TypeError, AttributeError):
        return {}
    return {str(name): _domain(keys) for name, keys in declared.items() if isinstance(keys, dict)}


def _domain(keys: dict[str, Any]) -> Domain:
    domain = keys.get("domain")
    listed = domain.get("values") if isinstance(domain, dict) else None
    values = tuple(map(str, listed)) if isinstance(listed, list) and listed else None
    # A value outside the domain that is suppressed is missing from then on.
    return Domain(values, missing=keys.get("missing", "value") == "value" or keys.get("outside") == "suppress")
