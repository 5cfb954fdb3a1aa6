"""Row masks: the standard's own vector, counter mode against block mode, edges of the rate."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.chance.key import SecretKey
from shoal.chance.row_mask import CHUNK, WORD, RowMask
from shoal.chance.source import Source
from shoal.errors import ParameterError, UsageError

HALF = Fraction(1, 2)
# FIPS 197, appendix C.3: AES-256 of 00112233445566778899aabbccddeeff under 00010203…1f.
FILE, ROW = 0x0011223344556677, 0x8899AABBCCDDEEFF
FIRST, SECOND = 0x8EA2B7CA516745BF, 0xEAFC49904B496089


def standard(beta):
    return RowMask(SecretKey(bytearray(range(32))), beta)


def by_hand(file_id, row):
    """The two words of a row, by the cipher alone, on a block put together here."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    cipher = Cipher(algorithms.AES(bytes(range(32))), modes.ECB()).encryptor()  # noqa: S305
    block = cipher.update(file_id.to_bytes(8, "big") + row.to_bytes(8, "big")) + cipher.finalize()
    return int.from_bytes(block[:8], "big"), int.from_bytes(block[8:], "big")


def test_the_vector_of_the_standard():
    assert by_hand(FILE, ROW) == (FIRST, SECOND)
    assert standard(HALF).words(ROW, 1, FILE) == [SECOND]
    assert standard(HALF).words_rows([ROW], FILE) == [SECOND]
    for beta, kept in ((Fraction(FIRST, WORD), False), (Fraction(FIRST + 1, WORD), True)):
        assert standard(beta).keep(ROW, 1, FILE) == [kept]
        assert standard(beta).keep_rows([ROW], FILE) == [kept]


@pytest.mark.parametrize("file_id", [0, 1, 7, 1 << 32, WORD - 1])
@pytest.mark.parametrize("start", [0, 1000, (1 << 32) - 5, (1 << 63) - 5, WORD - 10])
def test_masks_agree_with_the_cipher_by_hand(file_id, start):
    beta = Fraction(37, 100)
    blocks = [by_hand(file_id, row) for row in range(start, start + 10)]
    assert standard(beta).keep(start, 10, file_id).tolist() == [first < beta * WORD for first, _ in blocks]
    assert standard(beta).words(start, 10, file_id).tolist() == [second for _, second in blocks]


@pytest.mark.slow
@given(
    st.integers(0, WORD - 1 - 50),
    st.integers(0, 50),
    st.integers(0, WORD - 1),
    st.fractions(0, 1),
    st.randoms(use_true_random=False),
)
def test_a_range_and_a_list_agree(start, count, file_id, beta, chance):
    mask = Source.seeded(1).row_mask(beta)
    places = list(range(count))
    chance.shuffle(places)
    ids = np.array([start + place for place in places], dtype=np.uint64)
    assert np.array_equal(mask.keep(start, count, file_id)[places], mask.keep_rows(ids, file_id))
    assert np.array_equal(mask.words(start, count, file_id)[places], mask.words_rows(ids, file_id))


def test_chunks_leave_no_seam():
    mask = Source.seeded(2).row_mask(HALF)
    count = 2 * CHUNK + 3
    kept, words = mask.keep(5, count), mask.words(5, count)
    assert np.array_equal(kept, mask.keep_rows(np.arange(5, 5 + count)))
    assert np.array_equal(words, mask.words_rows(np.arange(5, 5 + count)))
    seam = slice(CHUNK - 2, CHUNK + 2)
    assert np.array_equal(kept[seam], mask.keep(5 + CHUNK - 2, 4))


def test_rows_of_several_files_in_one_call():
    mask = Source.seeded(3).row_mask(HALF)
    rows, files = np.array([0, 0, 1, 9]), np.array([0, 1, 1, 1 << 40])
    expected = [bool(mask.keep(row, 1, file)[0]) for row, file in zip(rows.tolist(), files.tolist(), strict=True)]
    assert mask.keep_rows(rows, files).tolist() == expected


def test_the_rate_is_rounded_down():
    third = standard(Fraction(1, 3))
    assert third.rate == Fraction(WORD // 3, WORD) < third.beta == Fraction(1, 3)
    assert standard(HALF).rate == HALF
    assert standard(Fraction(1, WORD + 1)).rate == 0
    assert standard(Fraction(WORD - 1, WORD)).rate < 1 == standard(1).rate


@pytest.mark.parametrize(("beta", "kept"), [(0, 0), (Fraction(1, 10**30), 0), (1, 1000)])
def test_rates_at_the_ends(beta, kept):
    mask = Source.seeded(4).row_mask(beta)
    assert mask.keep(0, 1000).sum() == mask.keep_rows(np.arange(1000)).sum() == kept


def test_a_larger_rate_keeps_the_same_rows_and_more():
    key = SecretKey.seeded(5)
    low, high = (RowMask(key, Fraction(rate, 10)).keep(0, 1000) for rate in (3, 6))
    assert not np.any(low & ~high)


def test_nothing_asked_nothing_given():
    mask = Source.seeded(6).row_mask(HALF)
    for given_back in (mask.keep(0, 0), mask.keep_rows([]), mask.words(0, 0), mask.words_rows([])):
        assert given_back.shape == (0,)


def test_only_a_portable_mask_travels():
    mask = Source.secure().row_mask(HALF)
    with pytest.raises(UsageError, match=r"never copied, pickled or saved; .* mask\.portable\(\)"):
        pickle.dumps(mask)
    sent = pickle.loads(pickle.dumps(mask.portable()))  # noqa: S301
    assert np.array_equal(sent.keep(0, 1000, 3), mask.keep(0, 1000, 3))
    assert sent.carries_guarantee
    assert sent.beta == HALF
    assert repr(sent) == "RowMask(beta=1/2, key hidden, portable)"
    seeded = pickle.dumps(Source.seeded(1).row_mask(1).portable())
    assert not pickle.loads(seeded).carries_guarantee  # noqa: S301


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda mask: mask.keep(-1, 1), "the first row is out of range; got -1; allowed"),
        (lambda mask: mask.keep(0, -1), "the number of rows is out of range; got -1; allowed"),
        (lambda mask: mask.keep(WORD - 1, 2), "runs past the last number"),
        (lambda mask: mask.keep(0, 1, WORD), "the number of a file is out of range"),
        (lambda mask: mask.keep_rows([-1]), "the number of a row is wrong"),
        (lambda mask: mask.keep_rows([0.5]), "the number of a row is wrong; got type float64; allowed: whole"),
        (lambda mask: mask.keep_rows([WORD]), "the number of a row is wrong"),
        (lambda mask: mask.keep_rows([1], [-1]), "the number of a file is wrong"),
        (lambda mask: mask.keep_rows([1, 2], [1]), "do not fit together"),
        (lambda mask: mask.keep_rows([[1]]), "do not fit together"),
    ],
)
def test_wrong_numbers_are_refused(call, message):
    with pytest.raises(ParameterError, match=message):
        call(standard(HALF))


@pytest.mark.parametrize("beta", [0.5, "0.5", True, None])
def test_a_rate_is_exact(beta):
    with pytest.raises(ParameterError, match=r"the sampling rate is not exact; got .*; allowed: a Fraction"):
        standard(beta)


@pytest.mark.parametrize("beta", [-1, 2, Fraction(11, 10)])
def test_a_rate_is_a_probability(beta):
    with pytest.raises(ParameterError, match=r"the sampling rate is not a probability; got .*; allowed: a fraction"):
        standard(beta)
