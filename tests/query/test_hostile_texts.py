"""Whatever is done to a condition, a question file, a hierarchy file or a policy: it is read, or refused in plain words."""

from __future__ import annotations

import pytest

from tests.query.hostile import KINDS, run


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_altered_texts_are_read_or_refused(kind, tmp_path, effort):
    count = 100 if effort == 1 else 10_000
    ended = run(kind, count, tmp_path)
    assert sum(ended.values()) == count
    assert set(ended) <= {"accepted", "exit 2", "exit 3"}
    assert ended["exit 2"] > count // 4
