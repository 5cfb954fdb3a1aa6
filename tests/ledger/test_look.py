"""Looks at the real table: what is on record of them, what is counted as another plan's, and what is said of them."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import LedgerError, UsageError
from shoal.ledger.ledger import Ledger, record_look
from shoal.ledger.look import KINDS_OF_LOOK, OTHER, Look, LookCount, count_looks, look_words, other_plan_words

OWN, ANOTHER = "a" * 64, "b" * 64


def test_a_look_is_on_record_with_its_kind_and_its_plan():
    with Ledger("sqlite://") as book:
        book.record_look("visits", "a draft", kind="init")
        for lock in (OWN, OWN, ANOTHER):
            book.record_look("visits", "a check", kind="check", lock=lock)
        account = book.account("visits")
    assert account.looks == 4
    assert dict(account.looks_on_record) == {Look("init"): 1, Look("check", OWN): 2, Look("check", ANOTHER): 1}
    assert account.count_looks(OWN) == (LookCount("init", 1, 0), LookCount("check", 3, 1))
    assert account.count_looks(ANOTHER) == (LookCount("init", 1, 0), LookCount("check", 3, 2))


def test_a_look_from_before_kinds_were_on_record_counts_as_one_with_another_plan():
    with Ledger("sqlite://") as book:
        book.record_look("visits", "a histogram")
        assert book.events()[0].payload == {"what": "a histogram"}
        assert book.account("visits").count_looks(OWN) == (LookCount(OTHER, 1, 1),)


def test_a_kind_that_is_not_on_the_list_is_refused():
    with Ledger("sqlite://") as book:
        with pytest.raises(UsageError, match="unknown kind of look; got peek; allowed: init, check, dry-run"):
            book.record_look("visits", "x", kind="peek")
        with pytest.raises(UsageError, match="named by the hash of its lock; got abc"):
            book.record_look("visits", "x", kind="check", lock="abc")
        assert book.events() == []


@pytest.mark.parametrize(
    "payload",
    [
        '{"what": "x", "kind": "peek", "lock": null}',
        '{"what": "x", "kind": ["init"]}',
        '{"what": "x", "kind": "check", "lock": "no hash"}',
    ],
)
def test_a_look_that_no_program_wrote_is_not_read(tmp_path, payload):
    path = tmp_path / "ledger.sqlite"
    with Ledger(str(path)) as book:
        book.record_look("visits", "x", kind="check", lock=OWN)
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE events SET payload = ?", (payload,))
    with Ledger(str(path)) as book, pytest.raises(LedgerError):
        book.account("visits")


looks = st.lists(
    st.tuples(st.builds(Look, st.sampled_from((*KINDS_OF_LOOK, OTHER)), st.sampled_from((None, OWN, ANOTHER))), st.integers(1, 9))
)  # fmt: skip


@given(looks)
def test_every_look_is_counted_once_and_a_draft_is_of_no_plan(made):
    counts = count_looks(made, OWN)
    assert sum(count.times for count in counts) == sum(times for _, times in made)
    assert [count.kind for count in counts] == [
        kind for kind in (*KINDS_OF_LOOK, OTHER) if any(look.kind == kind for look, _ in made)
    ]
    assert all(0 <= count.other_plan <= count.times for count in counts)
    of_others = sum(times for look, times in made if look.kind != "init" and look.lock != OWN)
    assert sum(count.other_plan for count in counts) == of_others


def test_what_is_said_of_looks():
    assert look_words(()) == "Before this release no look at the real table is on record."
    assert "1 look at the real table is on record: 1 dry run. None of them" in look_words([LookCount("dry-run", 1, 0)])
    assert "until a person confirms it" in look_words([LookCount("init", 2, 0)])
    several = [LookCount("init", 1, 0), LookCount("check", 1_000, 2), LookCount(OTHER, 1, 1)]
    said = look_words(several)
    assert "1,002 looks" in said
    assert "1 draft of the policy, 1,000 checks of the table, 1 look of another kind. 3 of them were made" in said
    assert "(2 checks of the table, 1 look of another kind)" in other_plan_words(several)


def test_no_ledger_is_begun_for_a_look_unless_it_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.delenv("SHOAL_LEDGER", raising=False)
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *_: str(tmp_path / "home"))
    assert record_look("visits", "check", lock=OWN) is None
    assert not (tmp_path / "home").exists()
    place = record_look("visits", "init", begin=True)
    assert place == record_look("visits", "check", lock=OWN)
    with Ledger(place) as book:
        assert book.account("visits").count_looks(OWN) == (LookCount("init", 1, 0), LookCount("check", 1, 0))
    with pytest.raises(LedgerError, match="there is no ledger here"):
        record_look("visits", "check", ledger=str(tmp_path / "lodger.sqlite"))
