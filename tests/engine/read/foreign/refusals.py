"""Whether an altered file is read or refused, and that a refusal quotes nothing of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.data.schema import STANDARD, FileFormat
from shoal.engine.read.input import recognize
from shoal.errors import DataError


def outcome(path: Path, held: str, form: FileFormat = STANDARD) -> str:
    """`read`, or `refused` by an error that does not say what the file held."""
    try:
        found = recognize(path, form)
        for _ in found.opener(range(len(found.names))):
            pass
    except DataError as error:
        if held in str(error):
            pytest.fail("a refusal quotes the file")
        return "refused"
    return "read"
