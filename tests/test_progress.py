"""Progress of long work: what is told to whoever watches, and that counted work ends at all of it."""

from __future__ import annotations

from shoal.progress import StageProgress, each_of, report_progress, silent, within


def parts(told):
    return [(each.name, each.done, each.total) for each in told]


def test_a_share_is_a_text_that_says_it():
    share = StageProgress("choosing the recoding", 1, 8)
    assert share == "choosing the recoding (12 %)"
    assert StageProgress("nothing to do", 0, 0) == "nothing to do (0 %)"


def test_progress_is_reported_in_whole_percents_and_never_beyond_all():
    told: list[StageProgress] = []
    report = report_progress(told.append, "reading")
    for done in range(1, 1001):
        report(done, 900)
    assert len(told) == 101
    assert parts(told)[-1] == ("reading", 900, 900)


def test_things_are_gone_through_and_counted():
    told: list[StageProgress] = []
    assert list(each_of("abcd", told.append, "writing")) == list("abcd")
    assert parts(told) == [("writing", done, 4) for done in range(5)]


def test_of_nothing_all_is_done():
    told: list[StageProgress] = []
    assert list(each_of([], told.append, "writing")) == []
    assert parts(told) == [("writing", 0, 0)]


def test_the_stages_of_a_part_bear_its_name_and_keep_their_share():
    told: list[str] = []
    stage = within(told.append, "verifying")
    stage("the plan")
    stage(StageProgress("files", 2, 4))
    assert told == ["verifying, the plan", "verifying, files (50 %)"]
    assert parts(told[1:]) == [("verifying, files", 2, 4)]


def test_nobody_is_told_anything():
    assert silent("reading") is None
