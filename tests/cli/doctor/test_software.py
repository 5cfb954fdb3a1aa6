"""Versions against their declared ranges, and imports that fail only when they are needed."""

from __future__ import annotations

from importlib import metadata

import pytest

from shoal.cli.doctor import software
from shoal.cli.doctor.diagnosis import Health


@pytest.mark.parametrize(
    ("version", "range_", "inside"),
    [
        ("8.1", ">=8.1", True), ("8.1.0", ">=8.1", True), ("8.0.9", ">=8.1", False), ("10", ">=9", True),
        ("2.0rc1", ">=2.0,<3", True), ("3.0", ">=2.0,<3", False), ("1.5", "==1.5", True), ("1.5", "!=1.5", False),
        ("2", "", True),
    ],
)  # fmt: skip
def test_a_version_lies_in_its_range_or_not(version, range_, inside):
    assert software.fits(version, range_) is inside


@pytest.mark.slow
def test_everything_here_is_there():
    found = list(software.look())
    assert [each for each in found if each.state is Health.WRONG] == []
    assert any("libraries are there and can be imported" in each.words for each in found)
    assert any("modules of Shoal can be imported" in each.words for each in found)


def test_what_is_missing_too_old_or_broken_is_named(monkeypatch):
    monkeypatch.setattr(
        metadata, "requires", lambda _: ["click>=99", "no-such-library>=1", "duckdb>=2.0", "x; extra == 'dev'"]
    )
    monkeypatch.setattr(software, "_own_modules", lambda: iter(()))
    genuine = software.import_module

    def broken(name):
        if name == "duckdb":
            raise OSError("a library is missing")
        return genuine(name)

    monkeypatch.setattr(software, "import_module", broken)
    said = [each for each in software.look() if each.state is Health.WRONG]
    assert [each.words.split(" ")[0] for each in said] == ["click", "no-such-library", "duckdb"]
    assert "does not lie in the range >=99" in said[0].words
    assert 'install it: python -m pip install "no-such-library>=1"' in said[1].fix
    assert "cannot be imported (OSError)" in said[2].words


def test_a_part_of_ours_that_cannot_be_imported_is_named(monkeypatch):
    monkeypatch.setattr(metadata, "requires", lambda _: [])
    monkeypatch.setattr(software, "_import", lambda name: "ImportError" if name == "shoal.page.plots" else None)
    said = [each for each in software.look() if each.state is Health.WRONG]
    assert [each.words for each in said] == ["a part of Shoal cannot be imported: shoal.page.plots (ImportError)"]


def test_shoal_that_is_not_installed_is_said(monkeypatch):
    def missing(_):
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "metadata", missing)
    assert ["is not installed" in each.words for each in software.look()] == [True]
