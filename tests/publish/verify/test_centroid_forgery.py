"""Somebody changes a release of noisy centroids, its plan or its certificate, and seals it again: both verifiers see it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.publish.verify.centroid_forgery import BY_HAND, KINDS, centroids
from tests.publish.verify.forgery import alone, caught, certificate, write

__all__ = ["centroids"]

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", KINDS)
def test_an_honest_folder_is_verified_by_both(centroids, kind):
    assert caught(centroids(kind)) == set()
    code, checks = alone(centroids(kind))
    assert code == 0
    assert all(check.agrees is not None for check in checks if check.promise)


@pytest.mark.parametrize("name", BY_HAND)
def test_a_forgery_by_hand_is_caught_by_its_check_in_both(centroids, tmp_path, name):
    kind, change, check = BY_HAND[name]
    folder = Path(shutil.copytree(centroids(kind), tmp_path / "out"))
    content = certificate(folder)
    change(folder, content)
    write(folder, content)
    assert check in caught(folder)
    code, checks = alone(folder)
    assert code == 3
    assert check in {each.id for each in checks if each.agrees is False}
