"""Commands of these tests have temporary files of their own: they touch nobody else's."""

from __future__ import annotations

import tempfile

import pytest


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path_factory, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))
