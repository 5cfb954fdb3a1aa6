"""Releases of every kind, removed when the tests are done."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.publish.handbook import survey


@pytest.fixture(scope="session", autouse=True)
def _removed_afterwards():
    yield
    for kind in survey.EVERY:
        if survey.is_released(kind):
            shutil.rmtree(survey.released(kind).parent)


@pytest.fixture(params=survey.EVERY)
def made(request) -> Path:
    """The folder of a release, one after another of every kind; nobody changes it."""
    return survey.released(request.param)
