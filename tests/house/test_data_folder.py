"""No test reaches the user's own data folder, in which the user's own ledger lies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shoal.ledger.ledger import record_look
from shoal.ledger.store import ENVIRONMENT, default_url


@pytest.fixture(scope="module")
def ledger_of_module():
    """Where a fixture that several tests share would begin a ledger."""
    return Path(default_url())


def test_a_ledger_that_nobody_names_lies_in_a_folder_of_the_run(ledger_of_module, data_home):
    assert ledger_of_module.is_relative_to(data_home)
    assert Path(default_url()).is_relative_to(data_home)
    assert Path(default_url()) != ledger_of_module


@pytest.mark.parametrize("time", ["first", "second"])
def test_no_test_finds_the_ledger_of_another(time, data_home):
    assert not Path(default_url()).exists(), time
    assert Path(record_look("visits", "init", begin=True)).is_relative_to(data_home)


def test_a_subprocess_inherits_the_folder_and_no_name_of_a_ledger(data_home):
    code = f"import os, platformdirs; print(platformdirs.user_data_dir('shoal'), os.environ.get({ENVIRONMENT!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    folder, ledger = done.stdout.split()
    assert Path(folder).is_relative_to(data_home)
    assert ledger == "None"
