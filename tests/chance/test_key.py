"""A key hides itself, derives independent keys, and is gone when destroyed."""

from __future__ import annotations

import copy
import gc
import os
import pickle

import pytest

from shoal.chance.key import SecretKey
from shoal.errors import UsageError


def test_derivation_is_hkdf_expand():
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

    info = b"shoal/1\0stream\0" + bytes([0, 0, 0, 0, 0, 0, 0, 3]) + "noise é".encode()
    other = HKDFExpand(algorithm=hashes.SHA256(), length=32, info=info).derive(bytes(range(32)))
    ours = SecretKey(bytearray(range(32))).derive("stream", "noise é", 3)
    assert ours.secret() == other


def test_every_kind_name_and_number_has_its_own_key():
    key = SecretKey.seeded(1)
    derived = [
        key.derive(kind, name, number)
        for kind in ("bits", "stream", "row mask")
        for name in ("", "a", "b", "ab")
        for number in (0, 1, 256)
    ]
    assert len({bytes(child.secret()) for child in [key, *derived]}) == 1 + 3 * 4 * 3


def test_fresh_keys_differ_and_seeds_repeat():
    assert SecretKey.fresh().secret() != SecretKey.fresh().secret()
    assert SecretKey.seeded(1).secret() == SecretKey.seeded(1).secret() != SecretKey.seeded("1").secret()


def test_the_mark_of_a_seed_is_inherited():
    assert SecretKey.fresh().derive("stream", "a", 0).carries_guarantee
    assert not SecretKey.seeded(1).derive("stream", "a", 0).derive("bits", "", 0).carries_guarantee


def test_destroying_overwrites_the_secret_and_all_that_came_from_it():
    key = SecretKey.fresh()
    child = key.derive("stream", "a", 0)
    grandchild = child.derive("bits", "", 0)
    secrets = [each.secret() for each in (key, child, grandchild)]
    key.destroy()
    assert all(secret == bytes(32) for secret in secrets)
    for each in (key, child, grandchild):
        assert each.is_destroyed
        with pytest.raises(UsageError, match=r"closed and its key destroyed; open a new one"):
            each.secret()
    key.destroy()


@pytest.mark.slow
def test_a_forgotten_key_is_overwritten():
    key = SecretKey.fresh()
    secret = key.secret()
    del key
    gc.collect()
    assert secret == bytes(32)


@pytest.mark.parametrize("take", [repr, str, lambda key: f"{key!r} {key}", lambda key: str([key])])
def test_no_text_shows_the_secret(take):
    assert take(SecretKey.fresh()) in {
        "SecretKey(hidden)",
        "SecretKey(hidden) SecretKey(hidden)",
        "[SecretKey(hidden)]",
    }


@pytest.mark.parametrize("take", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_key_is_not_copied(take):
    with pytest.raises(UsageError, match="never copied, pickled or saved"):
        take(SecretKey.fresh())


def test_another_process_may_not_repeat_the_bits(monkeypatch):
    key = SecretKey.fresh()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(UsageError, match="its bits would repeat"):
        key.fill(memoryview(bytearray(1)))
    with pytest.raises(UsageError, match="its bits would repeat"):
        key.derive("stream", "a", 0)
