"""Commands of these tests have temporary files and a user's data folder of their own: they touch nobody else's."""

from __future__ import annotations

import tempfile

import pytest


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path_factory, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))


@pytest.fixture(autouse=True)
def _own_data_folder(tmp_path_factory, monkeypatch):
    """`shoal check` notes its look in the ledger of the user, where there is one."""
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *_: str(tmp_path_factory.mktemp("home") / "shoal"))
