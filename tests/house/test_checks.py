"""The house's own checks catch what they are there to catch."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PINNED = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+")


def check(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def offences(text: str) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = runpy.run_path(str(ROOT / "scripts" / "addresses.py"))["offences"](text)
    return found


@pytest.mark.parametrize(
    "planted",
    [
        "open('/" + "home/ada/table.csv')",
        "see /" + "work/notes",
        "cd /" + "root",
        "path = C:" + "\\Users\\ada",
        "https://py" + "pi.org/simple",
        "https://files.python" + "hosted.org/x",
        "https://registry.npm" + "js.org",
        "--extra-index" + "-url x",
    ],
)
def test_paths_of_one_machine_and_hosts_of_registries_are_caught(planted):
    assert offences(f"fine\n{planted}\n")[0][0] == 2


@pytest.mark.parametrize("innocent", ["docs/home/x", "the work/root ratio", "https://example.org/work/", "a/home"])
def test_text_that_only_looks_like_a_path_passes(innocent):
    assert offences(innocent) == []


def test_the_script_fails_on_a_file_that_names_a_path(tmp_path):
    planted = tmp_path / "planted.txt"
    planted.write_text("/" + "home/ada\n")
    done = check("addresses.py", planted)
    assert done.returncode == 1
    assert "planted.txt:1: names a path of one machine" in done.stderr


@pytest.mark.slow
def test_no_file_of_the_repository_names_a_path_or_a_registry():
    done = check("addresses.py")
    assert done.returncode == 0, done.stderr


def test_constraints_are_versions_and_nothing_else():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#") and not PINNED.fullmatch(line)] == []


def test_every_declared_dependency_is_pinned():
    def name(requirement: str) -> str:
        return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", requirement)[0]).lower()

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    declared = {name(requirement) for group in groups for requirement in group} - {"shoal"}
    pinned = {name(line) for line in (ROOT / "constraints.txt").read_text().splitlines()}
    assert declared | {"hatchling", "editables"} <= pinned


def test_make_help_lists_every_command():
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S607
    listed = re.findall(r"^  make (\w+)", done.stdout, re.MULTILINE)
    assert listed == ["help", "demo", "test", "quick", "check", "slow", "docs", "bench", "clean"]


def test_a_missing_or_old_python_is_named(tmp_path):
    old = tmp_path / "old"
    old.write_text('#!/bin/sh\n[ "$1" = -V ] && echo "Python 3.8.1" && exit\nexit 1\n')
    old.chmod(0o755)
    for candidate, said in ((old, "is Python 3.8.1"), ("no-such-python", "none found")):
        done = subprocess.run(
            [ROOT / "scripts" / "find-python", candidate], capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert "needs Python 3.11 or newer" in done.stderr
        assert said in done.stderr


def test_a_debian_package_is_not_asked_for_when_nothing_needs_it():
    done = subprocess.run(
        [ROOT / "scripts" / "debian-need", "no-such-package", "command", "-v", "sh"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("document", ["README", "ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "SECURITY"], ids=str.lower)
def test_links_between_root_documents_lead_somewhere(document):
    text = (ROOT / f"{document}.md").read_text()
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    assert [target for target in targets if not (ROOT / target).exists()] == []
