"""The folders that the tests of releases, refusals and verification share."""

from __future__ import annotations

import pytest

from tests.cli.custodian import asked, furnished
from tests.cli.run import shoal


@pytest.fixture
def place(tmp_path):
    """A folder with a policy and a table."""
    return furnished(tmp_path)


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """One release with its report, made once; tests that change it work on a copy."""
    folder = furnished(tmp_path_factory.mktemp("made"))
    assert shoal(*asked(folder)).exit_code == 0
    return folder
