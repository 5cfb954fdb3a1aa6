"""Whatever was altered in a release, loading it ends in an error of ours, or in the estimates of the genuine one."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from shoal.assess.release import sealed_folder
from shoal.assess.release.load import LoadedRelease, load
from shoal.data import archive
from shoal.errors import ShoalError, UsageError, VerificationError
from shoal.publish.verify import standalone
from tests.assess.release.altered import FROZEN, KINDS, alter, copy
from tests.assess.release.released import reseal

CASES = 60
"""Altered folders of one run; 20 times as many in `make slow`."""


def everything(loaded: LoadedRelease) -> list[Any]:
    """What an analyst would compute: tables, labels, estimates."""
    found: list[Any] = [loaded.names, loaded.records, repr(loaded)]
    for view in loaded.views:
        codes, counts = view.tuples
        order = np.lexsort(codes.T)
        found += [view.name, view.k, view.beta, view.cells, codes[order].tolist(), counts[order].tolist()]
        for name in view.columns:
            found.append([view.meanings[name].stands_for(text) for text in view.meanings[name].texts])
    found.append(loaded.total().to_json())
    for name in loaded.attributes:
        marginal = loaded.marginal(name)
        found += [marginal.labels, marginal.value.tolist(), marginal.low.tolist(), marginal.high.tolist()]
        found.append(loaded.count({name: {"label": loaded.covering((name,))[0].meanings[name].texts[0]}}).to_json())
    return found


def outcome(folder: Path, *, verify: bool) -> str | list[Any]:
    """The kind of the error, or everything that can be computed; nothing but our own errors passes."""
    try:
        return everything(shoal.load(folder, verify=verify))
    except ShoalError as error:
        assert str(error).isprintable()  # noqa: PT017 - what came before it may raise or not
        return type(error).__name__


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_altered_releases_end_in_our_errors_or_in_the_genuine_estimates(tmp_path, part, effort):
    genuine: dict[str, Any] = {}
    chance = random.Random(part)  # noqa: S311
    refused = 0
    for number in range(CASES * effort):
        kind = chance.choice(KINDS)
        folder = copy(kind, tmp_path / "altered")
        said = alter(folder, chance)
        found = outcome(folder, verify=number % 6 == 0)
        refused += isinstance(found, str)
        if number % 6 == 0 and not isinstance(found, str):
            if kind not in genuine:
                genuine[kind] = outcome(FROZEN / kind, verify=True)
            assert found[3:] == genuine[kind][3:], f"{kind}, {part}, {number}: {said}"
    assert refused > CASES * effort // 2


@pytest.mark.parametrize("verify", [True, False])
def test_an_edited_beta_is_refused(tmp_path, verify):
    """Without its seal, a tenth of the rate makes estimates ten times too large."""
    folder = copy("levels", tmp_path / "r")
    path = folder / "certificate.json"
    path.write_text(path.read_text().replace('"beta": "0.3"', '"beta": "0.03"'))
    with pytest.raises(VerificationError, match="not as it was sealed"):
        shoal.load(folder, verify=verify)


def test_an_edited_beta_that_was_sealed_anew_does_not_verify(tmp_path):
    folder = copy("levels", tmp_path / "r")
    path = folder / "certificate.json"
    path.write_text(path.read_text().replace('"beta": "0.3"', '"beta": "0.03"'))
    with pytest.raises(VerificationError, match="checks failed"):
        shoal.load(reseal(folder))


def test_a_certificate_without_a_seal_is_refused(tmp_path):
    folder = copy("levels", tmp_path / "r")
    path = folder / "certificate.json"
    path.write_text(path.read_text().replace('"seal"', '"seel"'))
    with pytest.raises(VerificationError, match="not as it was sealed"):
        load(folder)


@pytest.mark.parametrize("kind", ["microaggregation", "probabilistic-k", "ranking"])
def test_a_release_that_is_no_sample_is_no_release_to_load(kind):
    with pytest.raises(UsageError, match="not a random sample"):
        load(FROZEN / kind)


def test_as_many_files_are_loaded_as_are_verified_and_unpacked(tmp_path, monkeypatch):
    """A release of 10,000 views by trees, of two files each, verified and could not be loaded."""
    assert sealed_folder.MOST_FILES == standalone.MOST_FILES == archive.MOST_FILES
    folder = copy("levels", tmp_path / "r")
    files = len(load(folder).certificate["files"])
    monkeypatch.setattr(sealed_folder, "MOST_FILES", files)
    load(folder)
    monkeypatch.setattr(sealed_folder, "MOST_FILES", files - 1)
    with pytest.raises(VerificationError, match="lists its files in a way"):
        load(folder)


@pytest.mark.parametrize("name", ["certificate.json", "table.csv", "recoding/01-age.json"])
@pytest.mark.parametrize("what", ["link", "pipe", "folder", "endless"])
def test_only_plain_files_are_opened(tmp_path, name, what):
    import os

    folder = copy("levels", tmp_path / "r")
    path = folder / name
    content = path.read_bytes()
    path.unlink()
    if what == "link":
        (tmp_path / "other").write_bytes(content)
        path.symlink_to(tmp_path / "other")
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(VerificationError):
        load(folder)


def test_a_file_that_changes_after_loading_is_noticed(tmp_path):
    folder = copy("levels", tmp_path / "r")
    loaded = load(folder)
    with (folder / "table.csv").open("a") as file:
        file.write('"[0, 50)",f,flu\n')
    with pytest.raises(VerificationError, match=r"table\.csv"):
        loaded.total()
