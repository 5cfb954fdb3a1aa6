"""Intervals cover the truth at their stated rate, suppression included; conditions mean what they say."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from shoal.assess.release.answers.pooling import pooled_upper
from shoal.assess.release.estimate import lower_bound, lower_bound_published, upper_bound
from shoal.assess.release.load import load
from shoal.errors import ParameterError, UsageError
from tests.assess.release.released import categories, cuts, drawn, keep, reseal, write_release

K, BETA, LEVEL = 20, Fraction(3, 20), 0.95
RISK = (1 - LEVEL) / 2
COUNTS = np.arange(0, 400)


@pytest.mark.parametrize("beta", [Fraction(1, 100), Fraction(3, 20), Fraction(17, 20), Fraction(1)])
def test_bounds_are_the_inverted_binomial(beta):
    rate = float(beta)
    for t in (0, 1, 5, 19, 20, 60):
        n = np.arange(0, 20_000 if rate < 0.1 else 1500)
        high = n[binom.cdf(t, n, rate) > RISK].max()
        low = n[(binom.sf(t - 1, n, rate) > RISK) & (n >= t)].min()
        assert (lower_bound(t, beta, RISK), upper_bound(t, beta, RISK)) == (low, high)
        if t >= K:
            seen = binom.sf(K - 1, n, rate)
            given = n[(seen > 0) & (binom.sf(t - 1, n, rate) > RISK * seen) & (n >= t)].min()
            assert lower_bound_published(t, K, beta, RISK) == given


def test_bounds_of_large_and_unknown_counts():
    assert upper_bound(np.inf, BETA, RISK) == np.inf
    low, high = lower_bound(10**7, BETA, RISK), upper_bound(10**7, BETA, RISK)
    assert low < 10**7 / 0.15 < high
    assert (high - low) / (2 * 1.96 * np.sqrt(10**7 * 0.85) / 0.15) == pytest.approx(1, abs=0.01)
    assert lower_bound_published(3000, 3000, BETA, RISK) == 3000


def exact_coverage(n, low, high, hidden):
    """How often [low(c), high(c)] covers n, in all and among published cells; `hidden` is the interval below k."""
    mass = binom.pmf(COUNTS, n, float(BETA))
    shown = COUNTS >= K
    inside = (low <= n) & (n <= high)
    every = mass[shown & inside].sum() + mass[~shown].sum() * (hidden[0] <= n <= hidden[1])
    return every, mass[shown & inside].sum() / mass[shown].sum()


def test_cells_are_covered_exactly_whatever_their_size_and_impostors_are_not():
    ours_low = lower_bound_published(COUNTS, K, BETA, RISK)
    plain_low = lower_bound(COUNTS, BETA, RISK)
    high = upper_bound(COUNTS, BETA, RISK)
    hidden = (0, float(upper_bound(K - 1, BETA, RISK)))
    sizes = [20, 40, 60, 80, 100, 133, 150, 180, 200, 220, 260, 300, 400, 700, 1000]
    ours = np.array([exact_coverage(n, ours_low, high, hidden) for n in sizes])
    assert (ours >= LEVEL).all()
    # Impostors: a published cell as if there were no k; an unpublished cell as if none of it had been sampled; at its middle.
    plain = np.array([exact_coverage(n, plain_low, high, hidden) for n in sizes])
    assert plain[:, 1].min() < 0.5
    naive = np.array([exact_coverage(n, plain_low, high, (0, float(upper_bound(0, BETA, RISK)))) for n in sizes])
    assert naive[:, 0].min() < 0.5
    half = np.array([exact_coverage(n, ours_low, high, (0, (K - 1) / float(BETA))) for n in sizes])
    assert half[:, 0].min() < LEVEL


def too_many(misses, trials):
    """Whether so many misses would come about less than once in a billion times at the stated level."""
    return misses > binom.ppf(1 - 1e-9, trials, 1 - LEVEL)


@pytest.mark.slow
def test_counts_marginals_shares_and_totals_cover_on_simulated_releases(tmp_path):
    rng = np.random.default_rng(7)
    rules = categories([6, 8, 2])
    pair = np.round(1500 * np.outer(rng.dirichlet(np.full(6, 0.7)), rng.dirichlet(np.full(8, 0.7)))).astype(int)
    wide = rng.binomial(pair[:, :, None], [0.3, 0.7])
    pair = wide.sum(2)
    truth = {"count": pair[:3, 2:7].sum(), "either": pair[:3].sum() + pair[3:, 0].sum(), "total": pair.sum()}
    misses, trials = dict.fromkeys([*truth, "share", "margin", "wide", "impostor"], 0), 150
    cells = 0
    for run in range(trials):
        views = {
            "pair": ([rules["a0"], rules["a1"]], drawn(pair, K, 0.15, rng)),
            "wide": ([rules["a0"], rules["a1"], rules["a2"]], drawn(wide, K, 0.15, rng)),
            "least": ([rules["a2"]], drawn(wide.sum((0, 1)), K, 0.15, rng)),
        }
        loaded = load(write_release(tmp_path / str(run), views))
        rows, columns = {"v00", "v01", "v02"}, {f"v{i:02d}" for i in range(2, 7)}
        conditions = {
            "count": loaded.count({"a0": rows, "a1": columns}),
            "either": loaded.count([{"a0": rows}, {"a1": "v00"}]),
            "total": loaded.total(),
        }
        for name, found in conditions.items():
            misses[name] += not found.low <= truth[name] <= found.high
        found = loaded.share({"a0": rows, "a1": columns})
        misses["share"] += not found.low <= truth["count"] / truth["total"] <= found.high
        for name, known in (("margin", pair), ("wide", wide)):
            marginal = loaded.marginal(*(("a0", "a1") if name == "margin" else ("a0", "a1", "a2")))
            misses[name] += int((~((marginal.low <= known) & (known <= marginal.high))).sum())
        cells += 1
        shown = views["pair"][1][:3, 2:7].sum()
        misses["impostor"] += not (lower_bound(shown, BETA, RISK) <= truth["count"] <= upper_bound(shown, BETA, RISK))
    for name in ("count", "either", "total", "share"):
        assert not too_many(misses[name], trials), name
    assert not too_many(misses["margin"], cells * pair.size)
    assert not too_many(misses["wide"], cells * wide.size)
    assert too_many(misses["impostor"], trials)  # an interval that ignores suppression


def ages(folder, *names):
    """Three views, or those of these names: age by sex in tens, age by sex in halves and by place, place alone."""
    tens, halves = cuts("age", list(range(10, 100, 10)), 0, 99), cuts("age", [50], 0, 99)
    sex, place = keep("sex", ["f", "m"]), keep("place", ["n", "s", "e"])
    views = {
        "age-sex": ([tens, sex], np.full((10, 2), 40)),
        "age-sex-place": ([halves, sex, place], np.full((2, 2, 3), 66)),
        "place": ([place], np.array([300, 495, 0])),
    }
    views = {name: view for name, view in views.items() if name in names or not names}
    return load(write_release(folder / "-".join(["ages", *names]), views))


def test_views_that_fit_answer_together_the_narrowest_first(tmp_path):
    loaded = ages(tmp_path)
    assert loaded.count({"sex": "f"}).source == "age-sex-place and 1 other view"  # 12 cells against 20
    assert loaded.count({"age": (50, None)}).source == "age-sex-place and 1 other view"
    assert loaded.count({"age": (20, 40)}).source == "age-sex"  # the other one would cut a label
    assert loaded.count({"place": "n"}).source == "place and 1 other view"
    assert loaded.total().source == "place and 2 other views"
    assert loaded.marginal("sex").view == "age-sex-place"


def test_estimates_are_counts_over_beta(tmp_path):
    loaded = ages(tmp_path, "age-sex")
    found = loaded.count({"age": (20, 40), "sex": "f"})
    assert found.value == pytest.approx(80 / 0.15)
    assert found.low < found.value < found.high
    assert found.low == lower_bound(80, BETA, RISK)
    either = loaded.count([{"age": (20, 40)}, {"sex": "f", "age": (30, 50)}])
    assert either.value == pytest.approx((4 * 40 + 40) / 0.15)
    assert loaded.count({}).value == pytest.approx(800 / 0.15)
    assert loaded.count({"age": [25]}).value == pytest.approx(80 / 10 / 0.15)
    assert "pointwise" in found.method
    assert "interval" in found.words()
    assert found.to_json()["version"] == 1


def test_a_label_that_lies_across_a_condition_is_split_and_counted_from_nothing_to_all(tmp_path):
    loaded = ages(tmp_path, "age-sex")
    found = loaded.count({"age": (35, None), "sex": "f"})
    assert found.source == "age-sex"
    assert found.value == pytest.approx((6 * 40 + 20) / 0.15)
    assert found.low == lower_bound(6 * 40, BETA, RISK)
    assert found.high <= upper_bound(7 * 40, BETA, RISK * 3 / 4)
    inside = loaded.count({"age": (32, 33), "sex": "f"})
    assert inside.value == pytest.approx(4 / 0.15)
    assert inside.low == 0
    assert inside.high >= 40 / 0.15
    whole = loaded.count([{"age": (0, 35)}, {"age": (35, 100)}])  # the cut mends itself
    assert whole.low == lower_bound(800, BETA, RISK)


def test_an_unpublished_cell_is_bounded_by_k_and_beta(tmp_path):
    loaded = ages(tmp_path)
    marginal = loaded.marginal("place")
    assert marginal.published.tolist() == [True, True, False]
    assert (marginal.value[2], marginal.low[2]) == (0, 0)
    assert marginal.high[2] == upper_bound(K - 1, BETA, RISK)
    cell = list(marginal)[2]
    assert (cell.labels, cell.published) == (("e",), False)
    frame = marginal.to_pandas()
    assert list(frame.columns) == ["place", "value", "low", "high", "published", "status"]
    assert marginal.shares.sum() == pytest.approx(1)


def test_boxes_are_pieces_of_the_domain(tmp_path):
    rule = {
        "attribute": "age", "type": "integer", "domain": "0..99", "kind": "boxes", "labels": ["[0, 50)", "[50, 100)", "*"],
        "members": [[[0, 0]], [[1, 1]], [[0, 1]]], "cells": ["[0, 50)", "[50, 100)"], "level": cuts("age", [50], 0, 99),
    }  # fmt: skip
    sex = keep("sex", ["f", "m"])
    counts = np.array([[50, 0], [30, 0], [0, 40]])
    folder = write_release(
        tmp_path / "boxes", {"v": ([rule, sex], counts)}, boxes={"v": 'age,sex\n"[0, 50)",f\n"[50, 100)",f\n*,m\n'}
    )
    loaded = load(folder)
    assert loaded.published().cells == 3
    found = loaded.count({"age": (0, 50)})
    assert found.value == pytest.approx((50 + 20) / 0.15)
    assert found.low == lower_bound(50, BETA, RISK)
    marginal = loaded.marginal("age", "sex")
    assert marginal.value * 0.15 == pytest.approx(np.array([[50, 20], [30, 20]]))
    assert marginal.low[0, 1] == 0
    assert marginal.high[0, 1] == upper_bound(40, BETA, RISK)
    assert loaded.consistent().marginal("age", "sex").value.sum() == pytest.approx(loaded.consistent().total)


def test_a_masked_label_that_was_published_bounds_its_own_cell(tmp_path):
    masked = {
        "attribute": "zip", "type": "text", "domain": "texts that match [0-9]{5}", "kind": "masked", "labels": ["10*", "11*"],
        "side": "right", "kept": 2, "letter": "*",
    }  # fmt: skip
    sex = keep("sex", ["f", "m"])
    folder = write_release(tmp_path / "mask", {"z": ([masked], np.array([50, 70])), "s": ([sex], np.array([100, 120]))})
    rule = next(path for path in (folder / "recoding").iterdir() if "masked" in path.read_text())
    rule.write_text(rule.read_text().replace('["10*", "11*"]', "null"))
    loaded = load(reseal(folder))
    assert loaded.published("z").cells is None
    found = loaded.count({"zip": "10*"})
    everybody = pooled_upper([220, np.inf], [BETA] * 2, (1 - LEVEL) / 16)
    assert found.high == everybody - lower_bound(70, BETA, (1 - LEVEL) / 16)
    # The cell '10*' lies in its own label alone, so its view bounds it, whatever other labels there may be.
    assert loaded.marginal("zip").high.tolist() == upper_bound([50, 70], BETA, (1 - LEVEL) / 2).tolist()


def test_a_cell_that_unlisted_labels_may_hide_in_is_bounded_by_the_other_views(tmp_path):
    masked = {
        "attribute": "zip", "type": "text", "domain": "texts that match [0-9]{5}", "kind": "masked", "labels": ["10*", "11*"],
        "side": "right", "kept": 2, "letter": "*",
    }  # fmt: skip
    sex, age = keep("sex", ["f", "m"]), keep("age", ["old", "young"])
    both = ([masked, age], np.array([[50, 0], [0, 70]]))
    folder = write_release(tmp_path / "mask", {"z": both, "s": ([sex], np.array([100, 120]))})
    rule = next(path for path in (folder / "recoding").iterdir() if "masked" in path.read_text())
    rule.write_text(rule.read_text().replace('["10*", "11*"]', "null"))
    loaded = load(reseal(folder))
    risk = 1 - LEVEL
    by_zip = loaded.marginal("zip").high  # one more tuple of each zip may be hidden: the other age
    assert by_zip.tolist() == upper_bound([50 + K - 1, 70 + K - 1], BETA, risk / 2).tolist()
    everybody = pooled_upper([220, np.inf], [BETA] * 2, risk / 4)
    by_age = loaded.marginal("age").high  # the zips that were not published may hide any number of each age
    assert by_age.tolist() == (everybody - lower_bound([70, 50], BETA, risk / 4)).tolist()
    alone = write_release(tmp_path / "alone", {"z": both})
    rule = next(path for path in (alone / "recoding").iterdir() if "masked" in path.read_text())
    rule.write_text(rule.read_text().replace('["10*", "11*"]', "null"))
    assert np.isinf(load(reseal(alone)).marginal("age").high).all()  # nothing else bounds it


def test_a_view_that_shows_nothing_of_an_attribute_is_not_taken_for_one_that_does(tmp_path):
    sex, place = keep("sex", ["f", "m"]), keep("place", ["n", "s", "e"])
    whole = {"attribute": "place", "type": "category", "domain": "n, s, e", "kind": "whole", "labels": ["*"]}
    views = {
        "whole": ([sex, whole], np.array([[400], [500]])),
        "fine": ([place, keep("kind", ["a", "b", "c"])], np.full((3, 3), 100)),
    }
    loaded = load(write_release(tmp_path / "r", views))
    assert loaded.count({"place": "n"}).source == "fine"
    both = loaded.count({"place": "n", "sex": "f"})
    assert both.source == "whole"
    assert both.low == 0
    assert loaded.count({"place": {"n", "s", "e"}, "sex": "f"}).low == lower_bound(400, BETA, RISK)
    fitted = loaded.consistent()
    assert fitted.marginal("sex", "place").value.sum() == pytest.approx(fitted.total)


def test_a_whole_label_may_hold_missing_values(tmp_path):
    whole = {"attribute": "age", "type": "integer", "domain": "0..99", "kind": "whole", "labels": ["*"]}
    views = {"v": ([whole, keep("sex", ["f", "m"])], np.array([[400, 500]]))}
    strict = load(write_release(tmp_path / "strict", views))
    assert strict.count({"age": (0, 100)}).low == lower_bound(900, BETA, RISK)
    loose = load(write_release(tmp_path / "loose", views, missing="value"))
    assert loose.count({"age": (0, 100)}).low == 0
    assert loose.count({"age": (0, 50)}).value == pytest.approx(450 / 0.15)


def test_a_masked_label_holds_more_than_the_texts_in_sight(tmp_path):
    def rule(labels, kept):
        return {
            "attribute": "zip", "type": "text", "domain": "texts that match [0-9]{3}", "kind": "masked", "labels": labels,
            "side": "right", "kept": kept, "letter": "*",
        }  # fmt: skip

    views = {
        "coarse": ([rule(["1**", "2**"], 1), keep("sex", ["f", "m"])], np.full((2, 2), 60)),
        "fine": ([rule(["10*", "21*"], 2)], np.array([40, 50])),
    }
    folder = write_release(tmp_path / "r", views)
    for path in (folder / "recoding").iterdir():
        told = json.loads(path.read_text())
        path.write_text(json.dumps({**told, "labels": None} if told["kind"] == "masked" else told))
    loaded = load(reseal(folder))
    assert loaded.axis("zip").names == ("10*", "21*", "other 1**", "other 2**")
    assert loaded.count({"zip": "10*"}).source == "fine"  # in the other one it lies within labels
    found = loaded.count({"zip": "10*", "sex": "f"})
    assert (found.source, found.low) == ("coarse", 0)
    assert loaded.count({"zip": "1**", "sex": "f"}).low == lower_bound(60, BETA, RISK)
    assert loaded.consistent().marginal("zip").value.sum() == pytest.approx(loaded.consistent().total)


BAD = [
    ({"height": 3}, "no published attribute"),
    ({"sex": "x"}, "neither a declared value"),
    ({"sex": ("f", "m")}, "numbers, dates and times"),
    ({"age": (50, 40)}, "empty interval"),
    ({"age": ("old", None)}, "whole number"),
    ({"age": (1, 2, 3)}, "two ends"),
    ({"sex": set()}, "at least one value"),
    ([], "at least one mapping"),
    ("age > 3", "takes no written condition"),
    (3, "a mapping"),
]


@pytest.mark.parametrize(("where", "said"), BAD)
def test_bad_conditions_are_refused(tmp_path, where, said):
    with pytest.raises(UsageError, match=said):
        ages(tmp_path).count(where)


@pytest.mark.parametrize("level", [0, 1, 95, -1, True, "0.9"])
def test_bad_levels_are_refused(tmp_path, level):
    loaded = ages(tmp_path)
    for ask in (lambda: loaded.count({"sex": "f"}, level=level), lambda: loaded.marginal("sex", level=level)):
        with pytest.raises(ParameterError, match="level"):
            ask()


def test_attributes_that_no_view_holds_together_say_which_views_there_are(tmp_path):
    rules = categories([3, 2, 4])
    views = {
        "one": ([rules["a0"], rules["a1"]], np.full((3, 2), 30)),
        "two": ([rules["a1"], rules["a2"]], np.full((2, 4), 25)),
    }
    loaded = load(write_release(tmp_path / "r", views))
    with pytest.raises(UsageError, match=r"one: a0, a1; two: a1, a2"):
        loaded.count({"a0": "v00", "a2": "v00"})
    with pytest.raises(UsageError, match="name each once"):
        loaded.marginal("a0", "a0")
    with pytest.raises(UsageError, match="name each once"):
        loaded.marginal()
    with pytest.raises(UsageError, match="no published attribute"):
        loaded.marginal("a0", "a9")


def test_a_higher_level_makes_a_wider_interval(tmp_path):
    loaded = ages(tmp_path)
    narrow, wide = loaded.count({"sex": "f"}, level=0.5), loaded.count({"sex": "f"}, level=0.99)
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high
