"""Patterns: which are allowed, that their tries are counted as Python makes them, and that none keeps a matcher busy."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from random import Random

import numpy as np
import pytest

from shoal.data import pattern as rule
from shoal.data.domain import Pattern
from shoal.data.pattern import LONGEST_TEXT, check_pattern
from shoal.errors import PolicyError

ALLOWED = [
    *("[0-9]{5}", "a+", "a|bc", ".*", ".{1,1000}", "[a-z]*", r"\(missing\)|a", "", "^[A-Z]{2}[0-9]$", r"a\$", r"\\$"),
    *(r"[^@]+@[^@]+\.[a-z]+", r".*\.csv", "[A-Z]{1,2}[0-9][A-Z0-9]? ?[0-9][A-Z]{2}", r"\w+( \w+)*", r"\s*\w+\s*"),
    *(r"[A-Z][0-9]{2}(\.[0-9A-Z]{1,4})?", r"\+?[0-9 ()-]{5,20}", "[0-9]{1000}[a-z]{1000}", r"(\d{1,3}\.){3}\d{1,3}"),
    *(r"[^\W\d]+", "[A-Za-zÀ-ÿ' -]{1,60}", r"(?:[a-z0-9-]+\.)+[a-z]{2,}", "(a|b)*a(a|b){3}", "a{0,30}a{0,30}b"),
    *(r"[\]\[]", r"[a\-c]", "[a-]", "[-a]", r"\x41\u00e9\U0001F600", "a{,3}", "a{2,}", "a{0}", "(|a)", r"\t?[\t]"),
]
REFUSED = {
    "too many ways": [
        "(a+)+",
        "(a|a)*b",
        ".*a.*",
        r".*@.*\.com",
        "a*b?a*",
        "(.*)(.*)",
        "(x+x+)+y",
        "(|)" * 40,
        "a?" * 60,
        "(a|b)*a(a|b){20}",
        "a{0,500}a{0,500}b",
        "([a-z]+)*!|(a+)+",
        "|".join(f"{n}" for n in range(10, 120)),
    ],
    "what may be empty": ["(a*)*", "(a?)*", "(|a)+", "(a?){30}a{30}", "(?:a?b?)*"],
    "a kind that a pattern may not have": ["(?i)a", "(?=a)a", "(?<!a)b", "(?P<n>a)", "(?#a)", "(?>a)", "(?(1)a|b)"],
    "an escape": [r"(a)\1", r"\b", r"\A", r"\Z", r"\0", r"\N{BULLET}", r"\xg0", r"\U00110000", "\\é", "a\\"],
    "lazy or possessive": ["a+?", "a++", "a{2}?"],
    "in a class": ["[[a]", "[a&&b]", "[a||b]", "[a--b]", "[+--]", "[~~]"],
    "by itself": ["a{", "a{x}", "a{,}", "a}", "a]"],
    "too often": ["a{1001}", "a{99999999999}", "(a{1,5000}){2}"],
    "too many places": ["(a{1000}){3}", "((a{1000}){1000}){1000}"],
    "too deep": ["(" * 21 + "a" + ")" * 21],
    "too long": ["a" * 1001, "(" * 100_000],
    "cannot be seen": ["a\x00", "\x1b[2J", "a\n", "\u202e"],
    "inside a pattern": ["a^b", "a$b", "(^a)"],
    "without letters": [r"[^\s\S]", r"[^\x00-\U0010ffff]"],
    "no regular expression": ["[", "[]", "[^]", "[a", "(a", "a)", "a**", "*a", "?", "[z-a]", r"[\d-z]", "a{3,2}"],
}


@pytest.mark.parametrize("pattern", ALLOWED)
def test_patterns_of_every_day_are_allowed(pattern):
    check_pattern(pattern)
    re.compile(pattern)


@pytest.mark.parametrize(("words", "pattern"), [(words, each) for words in REFUSED for each in REFUSED[words]])
def test_other_patterns_are_refused_with_words(words, pattern):
    with pytest.raises(PolicyError, match=words) as caught:
        check_pattern(pattern)
    assert len(str(caught.value)) < 500
    assert str(caught.value).isprintable()


def random_pattern(rng: Random, depth: int) -> str:
    """A pattern over few letters, so that its parts overlap."""
    kind = rng.random()
    if depth <= 0 or kind < 0.35:
        return rng.choice(
            ["a", "b", "[ab]", ".", "c", "[^a]", r"\w", r"\d", "1", "[a-c1]", " ", r"\s", r"\S", r"[^\w]"]
        )
    if kind < 0.6:
        return "".join(random_pattern(rng, depth - 1) for _ in range(rng.randint(1, 3)))
    if kind < 0.75:
        return "(" + "|".join(random_pattern(rng, depth - 1) for _ in range(rng.randint(1, 4))) + ")"
    times = rng.choice(["*", "+", "?", "{2}", "{1,3}", "{0,5}", "{2,}", "{0,40}", "{100}"])
    return f"(?:{random_pattern(rng, depth - 1)}){times}"


def tries_of(pattern: str, text: str) -> tuple[int, bool]:
    """The most tries that one letter of a text takes, and whether the text matches, counted way by way."""
    found = rule._build(rule._Reader(pattern).read())
    following, ends = found.whole.first, found.whole.empty
    most = following.total() + ends
    for letter in text:
        fits = {p: any(low <= ord(letter) <= high for low, high in found.letters[p]) for p in following}
        following, ends = rule._step(found, tuple((p, ways) for p, ways in following.items() if fits[p]))
        most = max(most, following.total() + ends)
    return most, ends > 0


@pytest.mark.slow
def test_what_is_allowed_is_read_as_python_reads_it(effort):
    rng, allowed = Random(14), 0  # noqa: S311
    for _ in range(300 * effort):
        pattern = random_pattern(rng, 4)
        try:
            check_pattern(pattern)
        except PolicyError:
            continue
        allowed += 1
        for _ in range(4):
            text = "".join(rng.choice("aabc1 \n") for _ in range(rng.randint(0, 8)))
            tries, matches = tries_of(pattern, text)
            assert matches == (re.fullmatch(pattern, text) is not None), (pattern, text)
            assert tries <= rule.MOST_TRIES
    assert allowed > 100 * effort


BUSY = """
import re, sys
from random import Random
from shoal.data.pattern import check_pattern, LONGEST_TEXT
from shoal.errors import PolicyError
from tests.data.test_pattern import ALLOWED, REFUSED, random_pattern
rng = Random(7)
every = [*ALLOWED, *(each for some in REFUSED.values() for each in some), *(random_pattern(rng, 4) for _ in range(400))]
tried = 0
for pattern in every:
    try:
        check_pattern(pattern)
    except PolicyError:
        continue
    tried += 1
    for text in ("a" * LONGEST_TEXT, "a" * 9999 + "!", "ab" * 4999 + "\\n", "".join(rng.choices("ab ", k=9999)) + "\\n"):
        re.compile(pattern).fullmatch(text)
print(tried)
"""


@pytest.mark.slow
def test_no_pattern_that_is_allowed_keeps_the_matcher_busy():
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))

    run = subprocess.run([sys.executable, "-c", BUSY], capture_output=True, text=True, preexec_fn=limit, check=False)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 200


def test_a_text_that_is_too_long_matches_nothing():
    texts = np.array(["a" * LONGEST_TEXT, "a" * (LONGEST_TEXT + 1)], dtype=object)
    assert Pattern("a*").inside(texts).tolist() == [True, False]


def test_digits_of_a_simple_pattern_are_those_that_its_list_of_values_has():
    simple, free = Pattern(r"\d{2}"), Pattern(r"\d+")
    texts = np.array(["12", "١٢"], dtype=object)
    assert simple.inside(texts).tolist() == [True, False]
    assert simple.places == ("0123456789",) * 2
    assert free.inside(texts).tolist() == [True, True]
