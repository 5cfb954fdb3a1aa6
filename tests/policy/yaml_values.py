"""A policy as another program reads it: by YAML's own rules, in the values of JSON."""

from __future__ import annotations

import datetime as dt
from typing import Any

from ruamel.yaml import YAML


def as_an_editor_reads(text: str) -> Any:
    """Numbers as numbers, `true` as true, and dates as texts, which JSON has instead."""
    return _json(YAML(typ="safe", pure=True).load(text))


def _json(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_json(item) for item in value]
    return value.isoformat() if isinstance(value, dt.date) else value
