"""Two publications from one sample: the difference is the person, from two samples it is chance."""

from __future__ import annotations

import pytest

from shoal.chance.source import Source
from shoal.lab.attacks.outcome import AttackSetting
from shoal.lab.attacks.same_sample import publish_twice, xor_and_majority


def test_the_papers_pair_tells_who_was_drawn():
    source = Source.seeded(5)
    without = [xor_and_majority(False, fresh=False, source=source) for _ in range(60)]
    # Without the target the bit is r itself; the noise of epsilon 1 hides it only where men and women are nearly as many.
    assert all(bit == (more > 0) for bit, more in without if abs(more) > 25)
    assert sum(bit for bit, _ in without) in range(15, 46)


@pytest.mark.slow
def test_one_sample_contradicts_the_sum_of_both_promises_and_two_do_not():
    found = publish_twice(AttackSetting(400, 40, seed=1))
    one, two = found.outcome("two safe-k tables: one"), found.outcome("two safe-k tables: two")
    assert one.contradicts
    assert one.control.value == 0.0
    assert one.success.low <= 0.5 <= one.success.high  # the rate of the sample
    assert not two.succeeds
    assert found.outcome("XOR, noisy majority: one").succeeds
    assert not found.outcome("XOR, noisy majority: two").succeeds
