"""Releases of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.publish.handbook import survey


@pytest.fixture(params=survey.EVERY)
def made(request) -> Path:
    """The folder of a release, one after another of every kind; nobody changes it."""
    return survey.released(request.param)
