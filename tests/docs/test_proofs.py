"""Every theorem has a proof page that names its source and what enforces it, and the identities in the proofs hold."""

from __future__ import annotations

import ast
import math
import re
from fractions import Fraction
from functools import reduce
from importlib import import_module
from itertools import combinations_with_replacement, pairwise
from math import comb, prod
from pathlib import Path

import numpy as np
import pytest
from scipy.special import betainc

from shoal.guarantee.plain_sample import keeps_privacy
from shoal.guarantee.safe_k.curve import delta_add, delta_remove, delta_tight, on_grid, privacy_losses
from shoal.guarantee.theorem import THEOREMS

ROOT = Path(__file__).resolve().parents[2]
PROOFS = ROOT / "docs" / "proofs"
PAGES = {page.stem: page.read_text("utf-8") for page in PROOFS.glob("*.md")}
OTHER_PAGES = {"index", "reading", "errata"}
NAMES = sorted(THEOREMS)


# --- the pages and the registry ---------------------------------------------------------------------------------


def test_pages_and_theorems_are_the_same_set():
    assert set(PAGES) - OTHER_PAGES == set(THEOREMS)
    assert set(PAGES) >= OTHER_PAGES


def squeeze(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"\[(\w+)\]\(\.\./bibliography\.md#\w+\)", r"\1", text))


@pytest.mark.parametrize("name", NAMES)
def test_page_says_what_the_registry_says(name):
    page, theorem = squeeze(PAGES[name]), THEOREMS[name]
    assert f"# {theorem.title} Theorem `{name}`." in page
    assert theorem.citation in page
    for heading in ("Statement", "Source", "Preconditions", "Proof", "What it does not say", "Where the code is"):
        assert f"## {heading} " in page


@pytest.mark.parametrize("name", sorted(PAGES))
def test_page_links_the_works_that_it_cites_by_short_name(name):
    for work in set(re.findall(r"\b(?:LQS|CM|SC)\d\d\b", PAGES[name])):
        assert f"[{work}](../bibliography.md#{work.lower()})" in PAGES[name]


def table(page: str) -> list[tuple[str, str]]:
    section = page.split("## Preconditions\n", 1)[1].split("\n## ", 1)[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")
    ]
    assert not rows or rows[0] == ["premise", "enforced by"]
    return [(text, enforcer.strip("`")) for text, enforcer in rows[2:]]


@pytest.mark.parametrize("name", NAMES)
def test_page_lists_every_premise_with_what_enforces_it(name):
    assert table(PAGES[name]) == [(premise.text, premise.enforced_by) for premise in THEOREMS[name].premises]


def resolve(dotted: str) -> object:
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            module = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        return reduce(getattr, parts[cut:], module)
    raise ModuleNotFoundError(dotted)


ENFORCERS = sorted(
    {premise.enforced_by for theorem in THEOREMS.values() for premise in theorem.premises} - {"custodian"}
)


@pytest.mark.parametrize("dotted", ENFORCERS)
def test_what_enforces_a_premise_exists(dotted):
    assert callable(resolve(dotted))


def named_theorems() -> list[tuple[str, str]]:
    """Every string constant in the first argument of a PreconditionError or CompositionError in src."""
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in {"PreconditionError", "CompositionError"}:
                first = node.args[0]
                branches = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
                found += [(path.name, b.value) for b in branches if isinstance(b, ast.Constant)]
    return found


@pytest.mark.slow
def test_errors_name_theorems_of_the_registry():
    found = named_theorems()
    assert len(found) > 5
    assert [(where, name) for where, name in found if name not in THEOREMS] == []


@pytest.mark.parametrize("name", sorted(PAGES))
def test_pages_link_only_to_pages_that_exist(name):
    assert set(re.findall(r"\{doc\}`([^`]+)`", PAGES[name])) <= set(PAGES)


# --- the identities, in exact fractions -------------------------------------------------------------------------

CASES = [(1, Fraction(3, 10)), (2, Fraction(2, 5)), (3, Fraction(3, 10)), (4, Fraction(3, 5)), (6, Fraction(1, 4))]
ORDERS = [Fraction(text) for text in ("1/5", "7/10", "4/5", "1", "11/10", "3/2", "4")]
TOP = 40


def f(j: int, n: int, beta: Fraction) -> Fraction:
    return comb(n, j) * beta**j * (1 - beta) ** (n - j) if 0 <= j <= n else Fraction(0)


def at_least(k: int, n: int, beta: Fraction) -> Fraction:
    return sum((f(j, n, beta) for j in range(k, n + 1)), Fraction(0))


def crowd(k: int, beta: Fraction, n: int) -> list[Fraction]:
    """The law of the published count of a class of n: suppressed, k, k + 1, ..."""
    return [1 - at_least(k, n, beta), *(f(j, n, beta) for j in range(k, TOP + 1))]


def hockey(first: list[Fraction], second: list[Fraction], ratio: Fraction) -> Fraction:
    return sum((max(Fraction(0), p - ratio * q) for p, q in zip(first, second, strict=True)), Fraction(0))


def largest_needed(k: int, beta: Fraction, ratio: Fraction) -> float:
    gamma = 1 - (1 - beta) * max(ratio, 1 / ratio)
    return max(k, (k - 1) / gamma) if gamma > 0 else 0


@pytest.mark.slow
@pytest.mark.parametrize(("k", "beta"), CASES)
def test_waiting_times_dominate_at_every_order_and_are_attained(k, beta):
    laws = [crowd(k, beta, n) for n in range(TOP + 1)]
    waiting = [comb(m + k - 1, m) * beta**k * (1 - beta) ** m for m in range(TOP + 1)]
    below = [sum(waiting[: m + 1], Fraction(0)) for m in range(TOP + 1)]
    for ratio in ORDERS:
        remove = max(hockey(laws[n], laws[n - 1], ratio) for n in range(1, TOP + 1))
        add = max(hockey(laws[n - 1], laws[n], ratio) for n in range(1, TOP + 1))
        # M against M + 1 favours an initial stretch, M + 1 against M a final one: finite sums, so exact
        steps = list(pairwise([Fraction(0), *below]))  # Pr[M < m] and Pr[M <= m]
        pair_remove = max(1 - ratio, *(through - ratio * before for before, through in steps))
        pair_add = max(0, 1 - ratio, *((1 - before) - ratio * (1 - through) for before, through in steps))
        if largest_needed(k, beta, ratio) < TOP - k:
            assert pair_remove == remove
            assert pair_add == add


def test_the_pair_has_the_losses_the_page_prints():
    k, beta = 5, Fraction(1, 4)
    mass = lambda m: comb(m + k - 1, m) * beta**k * (1 - beta) ** m  # noqa: E731
    assert all(mass(m) / mass(m - 1) == (1 - beta) * Fraction(m + k - 1, m) for m in range(1, 60))
    assert all(sum(mass(i) for i in range(m + 1)) == at_least(k, m + k, beta) for m in range(20))


@pytest.mark.parametrize(("k", "beta"), CASES)
def test_increments_of_both_directions(k, beta):
    for ratio in [order for order in ORDERS if order >= 1]:
        gamma, gamma_add = 1 - (1 - beta) / ratio, 1 - (1 - beta) * ratio
        T = lambda n: at_least(k, n, beta) - ratio * at_least(k, n - 1, beta)  # noqa: B023, E731
        W = lambda n: (1 - at_least(k, n - 1, beta)) - ratio * (1 - at_least(k, n, beta))  # noqa: B023, E731
        for n in range(k, 15):
            rise = ((k - 1) - gamma * n) / (n * (1 - gamma))
            assert T(n + 1) - T(n) == beta * f(k - 1, n, beta) * rise
            other = beta * (1 - beta) * f(k - 1, n - 1, beta) * ((k - 1) - gamma * n) / ((n - k + 1) * (1 - gamma))
            assert T(n + 1) - T(n) == other
            assert W(n + 1) - W(n) == beta * f(k - 1, n - 1, beta) * ((k - 1) - gamma_add * n) / (n - k + 1)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "beta"), CASES)
def test_closed_forms_are_the_brute_force_supremum(k, beta):
    laws = [crowd(k, beta, n) for n in range(TOP + 1)]
    for epsilon in (0.0, 0.05, 0.3, 0.7, 1.2, -0.2):
        ratio = Fraction(math.exp(epsilon)).limit_denominator(10**13)
        if largest_needed(k, beta, ratio) >= TOP - k:
            continue
        remove = max(hockey(laws[n], laws[n - 1], ratio) for n in range(1, TOP + 1))
        add = max(hockey(laws[n - 1], laws[n], ratio) for n in range(1, TOP + 1))
        assert delta_remove(k, beta, epsilon) == pytest.approx(float(remove), rel=1e-12, abs=1e-15)
        assert delta_add(k, beta, epsilon) == pytest.approx(float(add), rel=1e-12, abs=1e-15)


def test_at_a_whole_break_both_class_sizes_give_the_same_value():
    # k = 4, beta = 1/2 and ratio = 1: gamma = 1/2, (k - 1)/gamma = 6
    value = [at_least(4, n, Fraction(1, 2)) - at_least(4, n - 1, Fraction(1, 2)) for n in range(4, 10)]
    assert value[2] == value[3] == max(value)


def test_a_smaller_rate_gains_more_than_its_share():
    for k, beta, epsilon in [(5, 0.3, 0.5), (20, 0.2, 1.0), (3, 0.6, 0.0)]:
        for share in (0.9, 0.5, 0.1):
            assert delta_tight(k, beta * share, epsilon) <= share * delta_tight(k, beta, epsilon) * (1 + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_chords_between_grid_points_lie_on_or_above_the_curve(direction):
    curve = {"remove": delta_remove, "add": delta_add}[direction]
    atoms = privacy_losses(8, Fraction(3, 10), direction)
    for grid in (0.3, 0.05):
        chords = on_grid(atoms, grid)
        for epsilon in np.linspace(-0.5, 1.5, 29):
            above, exact = float(chords.get_delta_for_epsilon(epsilon)), curve(8, Fraction(3, 10), float(epsilon))
            assert above >= exact * (1 - 1e-9) - 1e-15
        for step in range(-1, 5):  # on the grid the chord touches
            above, exact = float(chords.get_delta_for_epsilon(step * grid)), curve(8, Fraction(3, 10), step * grid)
            assert above == pytest.approx(exact, rel=1e-9, abs=1e-15)


def test_splitting_a_loss_between_grid_points_keeps_both_masses():
    for loss, low, grid in [(0.33, 0.3, 0.1), (-0.07, -0.1, 0.1), (0.4, 0.4, 0.1)]:
        upper = math.expm1(-(loss - low)) / math.expm1(-grid)
        assert (1 - upper) * math.exp(-low) + upper * math.exp(-low - grid) == pytest.approx(math.exp(-loss))


@pytest.mark.parametrize(
    ("k", "beta"),
    [(1, 0.01), (20, 0.1), (500, 0.5), (10_000, 0.9), (1_000_000, 0.98)],
)
def test_masses_of_the_privacy_losses_of_a_class_add_up_to_one(k, beta):
    for direction in ("remove", "add"):
        atoms = privacy_losses(k, Fraction(str(beta)), direction)
        assert abs(1 - float(atoms.masses.sum()) - atoms.infinite) < 1e-12


def test_negative_binomial_tail_is_an_incomplete_beta():
    k, beta, m = 5, Fraction(1, 4), 12
    tail = 1 - sum(comb(i + k - 1, i) * beta**k * (1 - beta) ** i for i in range(m))
    assert betainc(m, k, 0.75) == pytest.approx(float(tail))


# --- plain samples ----------------------------------------------------------------------------------------------


def worst_ratio(table_counts: dict[str, int], sample: dict[str, int], c: int) -> float:
    """The largest likelihood ratio over all sets of c rows and all lists of values; 'absent' is in no sample."""
    values = [*table_counts, "absent"]
    worst = 1.0
    for rows in combinations_with_replacement(table_counts, c):
        base = {v: table_counts.get(v, 0) - rows.count(v) for v in values}
        if min(base.values()) < 0:
            continue
        ways = [
            prod(comb(base[v] + chosen.count(v), sample.get(v, 0)) for v in values)
            for chosen in combinations_with_replacement(values, c)
        ]
        if max(ways) > 0:
            worst = math.inf if min(ways) == 0 else max(worst, max(ways) / min(ways))
    return worst


@pytest.mark.parametrize("epsilon", ["0.3", "1", "2.02", "4"])
@pytest.mark.parametrize("c", [1, 2, 3])
def test_samples_within_their_caps_keep_the_likelihood_ratio(c, epsilon):
    for counts in ({"v": 3, "w": 12}, {"v": 6, "w": 9, "x": 15}):
        for s in range(4):
            for t in range(9):
                sample = {"v": min(s, counts["v"]), "w": t}
                kept = keeps_privacy(counts, sample, epsilon=epsilon, c=c)
                worst = worst_ratio(counts, sample, c)
                assert not kept or worst <= (1 + float(epsilon)) * (1 + 1e-12)
                if c == 1:
                    assert kept == (worst <= (1 + float(epsilon)) * (1 + 1e-12))


def test_caps_hold_against_a_list_of_two_different_values():
    # proof page sample-exact: capping each value against one repeated value lets this one through
    counts, sample = {"v": 3, "w": 1000}, {"v": 1, "w": 340}
    assert worst_ratio(counts, sample, 2) == pytest.approx(2 * 1001 / 661)
    assert not keeps_privacy(counts, sample, epsilon="2.02", c=2)


def test_the_published_rate_leaves_room_for_chernoff():
    # proof page sample-published: Y ln(Y/p) - Y + p >= epsilon/2 for p <= epsilon, p + epsilon <= 1/2
    for p in np.linspace(1e-4, 0.25, 120):
        for epsilon in np.linspace(p, 0.5 - p, 60):
            y = max(2 * (p + epsilon), 6 * p)
            share = y / (1 + y)
            assert share * math.log(share / p) - share + p >= epsilon / 2


# --- recodings --------------------------------------------------------------------------------------------------


def test_the_ramp_has_slope_at_most_two():
    for crossing in (Fraction(7, 2), Fraction(20), Fraction(1190, 17)):
        ramp = [min(Fraction(n), max(Fraction(0), 2 * n - crossing)) for n in range(150)]
        assert {step for a, b in pairwise(ramp) if not 0 <= (step := b - a) <= 2} == set()


def test_f_smooth_bound_covers_classes_below_k_over_gamma():
    k, beta = 20, 0.1
    for gamma in (0.19, 0.4, 0.67):
        exponent = k * (math.log(gamma / beta) - (gamma - beta) / gamma)
        for n in range(k, math.ceil(k / gamma)):
            assert k * math.log(k / (beta * n)) - k + beta * n >= exponent - 1e-12
