"""Whole numbers and permutations favour nothing, and the usual mistakes are caught."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shoal.chance.source import Source
from tests.statistical.fit import fits

DRAWS = 240_000


@pytest.mark.parametrize("bound", [2, 3, 5, 10, 200])
def test_integers_are_uniform_and_remainders_are_not(bound, effort):
    source = Source.seeded(f"even {bound}")
    even = np.full(bound, 1 / bound)
    assert fits(source.integers(bound, DRAWS * effort), even)
    # The impostors reduce as many bits as are needed modulo the bound, or are one short.
    reduced = source.integers(1 << (bound - 1).bit_length(), DRAWS) % bound
    assert not fits(reduced, even) or bound == 2
    assert not fits(source.integers(bound - 1, DRAWS), even)


@pytest.mark.parametrize("bound", [3 << 62, 3 << 63, 3 << 100])
def test_integers_below_a_large_bound_are_uniform_and_wrapped_ones_are_not(bound):
    drawn = Source.seeded(f"thirds {bound}").integers(bound, 20_000)
    thirds = np.array([int(number) * 3 // bound for number in drawn])
    bits = (bound - 1).bit_length()
    assert fits(thirds, np.full(3, 1 / 3))
    wrapped = Source.seeded(f"wrapped {bound}").integers(1 << bits, 20_000)
    assert not fits([int(number) % bound * 3 // bound for number in wrapped], np.full(3, 1 / 3))


def ranks(orders):
    """The number of each order in the dictionary of all orders."""
    count = orders.shape[1]
    total = np.zeros(len(orders), dtype=np.int64)
    for place in range(count):
        smaller = (orders[:, place + 1 :] < orders[:, [place]]).sum(axis=1)
        total += smaller * math.factorial(count - 1 - place)
    return total


@pytest.mark.slow
def test_all_permutations_of_four_are_equally_likely(effort):
    source = Source.seeded("orders")
    even = np.full(24, 1 / 24)
    orders = np.array([source.permutation(4) for _ in range(24_000 * effort)])
    assert fits(ranks(orders), even)
    assert not fits(ranks(naive_shuffle(source, 24_000)), even)
    assert not fits(ranks(orders[:, [1, 0, 2, 3]][orders[:, 0] != 0]), even)


def naive_shuffle(source, many):
    """The well-known mistake: each place is exchanged with any place, instead of one not yet passed."""
    orders = np.tile(np.arange(4), (many, 1))
    lines = np.arange(many)
    for place in range(4):
        other = source.integers(4, many)
        orders[lines, place], orders[lines, other] = orders[lines, other], orders[lines, place].copy()
    return orders


def test_each_group_is_permuted_uniformly_and_independently(effort):
    groups, many = np.array([5, 5, 5, -1, -1, -1]), 40_000 * effort
    # One call shuffles many pairs of groups: the labels of each copy are its own.
    copies = (groups[None, :] + 10 * np.arange(many)[:, None]).ravel()
    order = (Source.seeded("groups").shuffle_within(copies) % 6).reshape(many, 6)
    first, second = ranks(order[:, :3]), ranks(order[:, 3:])
    assert fits(first, np.full(6, 1 / 6))
    assert fits(second, np.full(6, 1 / 6))
    assert fits(6 * first + second, np.full(36, 1 / 36))
    assert not fits(6 * first + first, np.full(36, 1 / 36))
    assert not fits(6 * first + np.where(first == 0, 0, second), np.full(36, 1 / 36))
