"""Commands of these tests have temporary files of their own: what other tests leave behind is not theirs to sweep."""

from __future__ import annotations

import tempfile

import pytest


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path_factory, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))
