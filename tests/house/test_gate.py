"""A skip that could have run, or too few tests, closes the gate; with and without xdist."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import gate

pytestmark = pytest.mark.slow

PYPROJECT = """
[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["."]
addopts = ["--import-mode=importlib"]
markers = ["slow: seconds", "long: minutes"]
[tool.shoal.tests]
floor = 2
"""
PASSES = "def test_one(): pass\ndef test_two(): pass\n"
SKIPS = PASSES + "import pytest\ndef test_three(): pytest.skip({reason!r})\n"


@pytest.fixture
def run(tmp_path):
    """Run pytest on a small project that has this house's conftest; give its exit code and output."""
    project = tmp_path / "project"
    (project / "tests").mkdir(parents=True)
    (project / "pyproject.toml").write_text(PYPROJECT)
    for name in ("conftest.py", "gate.py"):
        shutil.copy(gate.ROOT / "tests" / name, project / "tests" / name)

    def run(source: str, *arguments: str, ci: bool = False, data: Path | None = None) -> tuple[int, str]:
        (project / "tests" / "test_it.py").write_text(source)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "CI"))}
        # No plugin but xdist: loading the others takes two thirds of such a run, and none of them takes part.
        own = {"SHOAL_DATA": str(data or tmp_path / "absent"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        environment = kept | own | ({"CI": "true"} if ci else {})
        command = [sys.executable, "-m", "pytest", "-p", "xdist", "-p", "no:cacheprovider", *arguments]
        done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
class TestBothWays:
    """Everything holds in one process and under two workers."""

    def test_enough_tests_pass(self, run, workers):
        assert run(PASSES, *workers)[0] == 0

    def test_too_few_tests_fail_a_full_run_alone(self, run, workers):
        code, output = run("def test_one(): pass\n", *workers)
        assert code == 1
        assert "1 tests collected; the floor is 2" in output
        assert run("def test_one(): pass\n", "tests/test_it.py", *workers)[0] == 0

    def test_unexcused_skip_fails_in_ci_alone(self, run, workers):
        source = SKIPS.format(reason="felt like it")
        code, output = run(source, *workers, ci=True)
        assert code == 1
        assert "test_three was skipped and could have run: felt like it" in output
        assert run(source, *workers)[0] == 0

    def test_skipped_file_is_a_skip(self, run, workers):
        source = PASSES + "import pytest\npytest.skip('not today', allow_module_level=True)\n"
        code, output = run(source, "-k", "test", *workers, ci=True)
        assert code == 1
        assert "could have run: not today" in output

    def test_excused_skip_passes(self, run, workers):
        assert run(SKIPS.format(reason=f"{gate.EXCUSE} no browser"), *workers, ci=True)[0] == 0


def test_missing_data_is_an_excuse_only_where_it_is_missing(run, tmp_path):
    source = SKIPS.format(reason=gate.NO_DATA)
    assert run(source, ci=True)[0] == 0
    assert run(source, data=tmp_path)[0] == 1


def test_data_fixture_gives_the_folder_or_the_excuse(run, tmp_path):
    source = PASSES + "def test_three(shared_data): assert shared_data.is_dir()\n"
    assert "3 passed" in run(source, ci=True, data=tmp_path)[1]
    code, output = run(source, ci=True)
    assert code == 0
    assert "2 passed, 1 skipped" in output


def test_a_selected_subset_is_not_held_to_the_floor(run):
    assert run(PASSES, "-k", "one")[0] == 0
    assert run(PASSES, "-m", "not slow", "--deselect", "tests/test_it.py::test_two")[0] == 0


def test_long_tests_run_with_their_switch_alone(run):
    source = PASSES + "import pytest\n@pytest.mark.long\ndef test_three(effort): assert effort > 1\n"
    assert "2 passed, 1 deselected" in run(source)[1]
    assert "3 passed" in run(source, "--run-slow")[1]


def test_the_last_line_is_the_summary_of_pytest(run):
    last = run(SKIPS.format(reason="felt like it"), ci=True)[1].strip().splitlines()[-1]
    assert "2 passed, 1 skipped in" in last
