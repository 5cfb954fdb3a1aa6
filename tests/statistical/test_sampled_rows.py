"""Rows are kept at the rate, independently of each other, of other keys, files and words."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.chance.source import Source
from tests.statistical.fit import LEVEL, fits, p_value

ROWS = 400_000


def at_rate(kept, rate):
    """Counts of kept rows in runs of eight: sensitive to the rate, and to rows that go together."""
    from scipy.stats import binom

    runs = kept.reshape(-1, 8).sum(axis=1)
    return fits(runs, binom.pmf(np.arange(9), 8, float(rate)))


def independent(one, other):
    """Whether two sets of kept rows overlap as often as chance has it."""
    both = 2 * one.astype(int) + other
    expected = np.outer([1 - one.mean(), one.mean()], [1 - other.mean(), other.mean()]).ravel() * len(one)
    return p_value(np.bincount(both, minlength=4), expected) > LEVEL


@pytest.mark.parametrize("beta", [Fraction(1, 100), Fraction(1, 5), Fraction(1, 2), Fraction(9, 10)])
def test_rows_are_kept_at_the_rate_and_no_other(beta, effort):
    mask = Source.seeded(f"rate {beta}").row_mask(beta)
    kept = mask.keep(0, ROWS * effort)
    off = min(beta, 1 - beta) / 5
    assert at_rate(kept, beta)
    assert not at_rate(kept, beta + off)
    assert not at_rate(kept, beta - off)


def test_rows_that_are_sampled_together_are_noticed():
    twins = np.repeat(Source.seeded("twins").row_mask(Fraction(1, 2)).keep(0, ROWS // 2), 2)
    assert not at_rate(twins, 0.5)


def test_masks_files_streams_and_seeds_are_independent(effort):
    rows, beta = ROWS * effort, Fraction(3, 10)
    source = Source.seeded("independent")
    mask = source.row_mask(beta)
    kept = mask.keep(0, rows)
    others = {
        "another mask": source.row_mask(beta).keep(0, rows),
        "another stream": source.stream("a").row_mask(beta).keep(0, rows),
        "another file": mask.keep(0, rows, file_id=1),
        "the next rows": mask.keep(1, rows),
        "another seed": Source.seeded("independent 2").row_mask(beta).keep(0, rows),
        "the words": mask.words(0, rows) < np.uint64(1 << 62),
    }
    assert all(independent(kept, other) for other in others.values())
    impostor = np.where(Source.seeded("few").row_mask(Fraction(1, 50)).keep(0, rows), kept, others["another mask"])
    assert not independent(kept, impostor)


def test_the_smallest_random_word_picks_each_row_of_a_person_equally_often():
    mask = Source.seeded("person").row_mask(Fraction(1, 2))
    words, kept = mask.words(0, ROWS).reshape(-1, 4), mask.keep(0, ROWS).reshape(-1, 4)
    picked = words.argmin(axis=1)
    assert fits(picked, np.full(4, 0.25))
    assert not fits(picked, [0.24, 0.25, 0.25, 0.26])
    # Among those picked, half are kept: the word says nothing about the coin.
    assert fits(kept[np.arange(len(picked)), picked].astype(int), [0.5, 0.5])
    # The impostor picks by the coin's own bits: a kept row wins too often.
    unfair = np.take_along_axis(kept, np.argmax(kept, axis=1)[:, None], axis=1)[:, 0]
    assert not fits(unfair.astype(int), [0.5, 0.5])


def test_streams_are_uniform_and_uncorrelated():
    source = Source.seeded("streams")
    streams = [np.frombuffer(source.stream(name).bytes(ROWS), np.uint8) for name in ("a", "a", "b")]
    even = np.full(256, 1 / 256)
    assert all(fits(stream, even) for stream in streams)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert fits(streams[one] ^ streams[other], even)
    assert not fits(streams[0] ^ streams[0], even)
    assert not fits(streams[0] & 0xFE, even)
