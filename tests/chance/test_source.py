"""The door: streams that never repeat, seeds that are marked, and nothing after it is closed."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

from shoal.chance.source import Source
from shoal.errors import ParameterError, UsageError


def everything(source):
    """One of each thing that a source can give, as text."""
    half = Fraction(1, 2)
    return [
        source.bytes(5).hex(),
        *(
            repr(drawn.tolist())
            for drawn in (
                source.words(3),
                source.integers(10, 5),
                source.integers(10**30, 2),
                source.permutation(6),
                source.shuffle_within([1, 1, 2, 2]),
                source.bernoulli(half, 5),
                source.bernoulli_exp(half, 5),
                source.geometric(half, 5),
                source.discrete_laplace(3, 5),
                source.discrete_gaussian(3, 5),
                source.choices([0, 1], 5),
                source.row_mask(half).keep(0, 9),
                source.stream("a").words(3),
                source.stream("a").words(3),
            )
        ),
        repr(source.choose([1, 2, 3])),
    ]


def test_a_seed_repeats_everything_and_another_seed_does_not():
    assert everything(Source.seeded(7)) == everything(Source.seeded(7)) != everything(Source.seeded(8))


def test_the_bits_of_a_seed_stay_what_they_are():
    assert Source.seeded(0).bytes(8).hex() == "94d8cb3994841b5a"
    assert Source.seeded(0).stream("noise").bytes(8).hex() == "6be9e845b494d315"


def test_everything_from_a_seed_is_marked():
    source = Source.seeded(1)
    for each in (source, source.stream("a"), source.stream("a").stream("b")):
        assert not each.carries_guarantee
        assert "no guarantee" in repr(each)
    for mask in (source.row_mask(1), source.row_mask(1).portable()):
        assert not mask.carries_guarantee
        assert "no guarantee" in repr(mask)


def test_everything_from_the_system_is_not():
    source = Source.secure()
    assert source.carries_guarantee
    assert source.stream("a").carries_guarantee
    assert source.row_mask(1).carries_guarantee
    assert repr(source.stream("b")) == "Source(release/b#0, secure)"


def test_two_secure_sources_differ():
    assert Source.secure().bytes(16) != Source.secure().bytes(16)


def test_bits_do_not_depend_on_how_they_are_asked_for():
    size = (1 << 20) + 40
    source = Source.seeded(2)
    pieces = source.bytes(3) + source.bytes(0) + source.bytes(13) + source.bytes(size - 16)
    assert pieces == Source.seeded(2).bytes(size)
    assert Source.seeded(2).words(size // 8).astype("<u8").tobytes() == pieces


def test_a_name_asked_for_again_is_another_stream():
    source = Source.seeded(3)
    streams = [source.stream(name) for name in ("a", "a", "b", "a/b")] + [source.stream("a").stream("b"), source]
    assert len({stream.bytes(16) for stream in streams}) == 6
    assert [stream.purpose for stream in streams[:2]] == ["release/a#0", "release/a#1"]


def test_a_stream_does_not_depend_on_other_names_nor_on_what_was_drawn():
    busy = Source.seeded(4)
    busy.bytes(100)
    busy.stream("other").bytes(10)
    assert busy.stream("a").bytes(16) == Source.seeded(4).stream("a").bytes(16)


def test_masks_have_their_own_keys():
    source = Source.seeded(5)
    first, second = source.row_mask(Fraction(1, 2)), source.row_mask(Fraction(1, 2))
    assert not np.array_equal(first.words(0, 8), second.words(0, 8))
    assert not np.array_equal(Source.secure().row_mask(1).words(0, 8), Source.secure().row_mask(1).words(0, 8))


def test_threads_share_a_source_and_get_different_bits():
    source = Source.seeded(6)
    with ThreadPoolExecutor(4) as pool:
        pieces = list(pool.map(lambda _: source.bytes(16), range(400)))
    whole = Source.seeded(6).bytes(16 * 400)
    assert sorted(pieces) == sorted(whole[start : start + 16] for start in range(0, len(whole), 16))


def test_nothing_is_drawn_after_closing():
    with Source.secure() as source:
        stream, mask = source.stream("a"), source.row_mask(Fraction(1, 2))
        stream.bytes(1)
        sent = pickle.loads(pickle.dumps(mask.portable()))  # noqa: S301
    after = [
        lambda: source.bytes(1),
        lambda: source.words(1),
        lambda: source.stream("a"),
        lambda: source.row_mask(1),
        lambda: source.geometric(1, 1),
        lambda: stream.bytes(1),
        lambda: stream.stream("b"),
        lambda: mask.keep(0, 1),
        lambda: mask.keep_rows([0]),
        lambda: mask.portable().words(0, 1),
    ]
    for draw in after:
        with pytest.raises(UsageError, match="closed and its key destroyed"):
            draw()
    assert source.closed
    assert stream.closed
    assert "closed" in repr(source)
    assert "destroyed" in repr(mask)
    assert sent.keep(0, 4).shape == (4,), "a copy that was sent away is out of reach, as its docstring says"


@pytest.mark.parametrize("take", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_source_is_not_copied(take):
    with pytest.raises(UsageError, match="never copied, pickled or saved"):
        take(Source.secure())


def test_no_text_shows_a_key():
    source = Source.secure()
    stream, mask = source.stream("a"), source.row_mask(Fraction(1, 2))
    secrets = [bytes(each._key.secret()) for each in (source, stream, mask)] + [bytes(stream._bits.secret())]
    texts = [
        take(each) for take in (repr, str) for each in (source, stream, mask, mask.portable(), source._key, [source])
    ]
    for secret in secrets:
        assert not any(repr(secret) in text or secret.hex() in text for text in texts)


@pytest.mark.slow
def test_the_door_opens_quickly():
    code = "import sys, shoal.chance.source; assert 'cryptography' not in sys.modules and 'scipy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("seed", [1.5, True, None, b"x"])
def test_a_seed_is_a_number_or_a_text(seed):
    with pytest.raises(UsageError, match="a seed of another type; got"):
        Source.seeded(seed)


def test_bad_requests_say_what_is_allowed():
    source = Source.seeded(1)
    with pytest.raises(UsageError, match="a stream has no purpose; got ''; allowed: a name"):
        source.stream("")
    with pytest.raises(ParameterError, match="the number of bytes is out of range; got -1; allowed: a whole number"):
        source.bytes(-1)
    with pytest.raises(ParameterError, match=r"the number of words is not a whole number; got 1\.0; allowed"):
        source.words(1.0)  # type: ignore[arg-type]
