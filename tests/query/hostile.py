"""Altered conditions, question files, hierarchy files and policies: good ones with pieces cut, doubled or replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import shoal
from shoal.data.domain import Interval, Values
from shoal.data.hierarchy.build import domain_of, hierarchy
from shoal.data.schema import Type
from shoal.errors import ShoalError
from shoal.guarantee.unit import ONE_ROW
from shoal.language.condition.predicate import Predicate
from shoal.policy.policy import Policy
from shoal.query import batch
from tests.engine.tables import SCHEMA
from tests.policy.written import BASE
from tests.query.asking import POLICY

PIECES = [
    *"()[]{}<>=!,;:.'\"`#&*|\\%@?~-+ \n\t\r", "\x00", "\x1b[2J", "\ufeff", "\u202e", "\u2028", "\ud800", "é", "𝟙", "１", "ſ", "K",
    "and", "or", "not", "in", "between", "is", "missing", "true", "null", "(" * 60, ")" * 60, "not " * 60, "[" * 40, "9" * 70,
    "9" * 5000, "1e308", "1e999", "-0", "0x1f", ".inf", "nan", "1_000", "2024-02-30", "9999-12-31", "0001-01-01", "x" * 3000,
    "''", '""', "``", "*a", "&a ", "!!int ", "<<: ", "- ", ": ", "---\n", "{pattern: '(a+)+'}", "{mask: right}", "auto",
]  # fmt: skip
CONDITIONS = [
    "age >= 65 and town in ('Zug', 'NA')",
    "not (age between 3 and 17 or weight < 3.5) and smoker = true",
    "visit >= 2024-01-01 and seen < 2024-05-05 12:00 or zip = '123'",
    "age is not missing and `weight` != 1e3 or everything",
]
QUESTIONS = """version: 1
epsilon: 0.1
delta: 1e-9
questions:
  - {count: "age >= 65 and sex = 'f'", epsilon: 0.2}
  - {mean: age, where: "diag = 'flu'"}
  - {sum: age, mechanism: laplace}
  - {histogram: age, level: 1}
  - {quantile: age, q: 0.5}
  - {count: everything, delta: 1e-7}
"""
CLINIC = Policy.parse(POLICY).schema
ROWS = ["a;low;*", "b;low;*", "c;high;*", "d;high;*"]
TREE = "all:\n  low: [a, b]\n  high: [c, d]\n"


def alter(text: str, rng: Random) -> str:
    """A text in which one to four stretches are cut, doubled, moved or replaced."""
    for _ in range(rng.randint(1, 4)):
        start = rng.randint(0, len(text))
        end = min(len(text), start + rng.choice([0, 1, 3, 12, 60]))
        there = text[start:end]
        new = rng.choice(
            ["", there * 2, there[::-1], rng.choice(PIECES), rng.choice(PIECES), chr(rng.randrange(0x250))]
        )
        text = text[:start] + new + text[end:]
    return text


def raw(text: str, rng: Random) -> bytes:
    """The bytes of a text, a few of them altered now and then."""
    found = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(rng.choice([0, 0, 0, 1, 5])):
        if found:
            found[rng.randrange(len(found))] = rng.randrange(256)
    return bytes(found)


def condition(rng: Random, folder: Path) -> None:
    """Read an altered condition."""
    Predicate.parse(alter(rng.choice(CONDITIONS), rng), SCHEMA)


def questions(rng: Random, folder: Path) -> None:
    """Read an altered file of questions, and say what each costs."""
    path = folder / "batch.yaml"
    path.write_bytes(raw(alter(QUESTIONS, rng), rng))
    for each in batch.load(path).questions:
        each.question.resolve(CLINIC, ONE_ROW)


def hierarchy_file(rng: Random, folder: Path) -> None:
    """Build a hierarchy from an altered file."""
    if rng.random() < 0.5:
        spec, text = {"file": "h.csv"}, "\n".join(ROWS * rng.choice([1, 1, 1, 50]))
    else:
        spec, text = {"taxonomy": "h.csv"}, TREE
    (folder / "h.csv").write_bytes(raw(alter(text, rng), rng))
    kind = rng.choice([Type.CATEGORY, Type.CATEGORY, Type.ORDINAL, Type.INTEGER])
    domain = Interval(0, 9) if kind is Type.INTEGER else Values(tuple("abcd"))
    if rng.random() < 0.5:
        domain = domain_of(spec, kind, folder) or domain
    hierarchy(spec, kind, domain, folder)


def policy(rng: Random, folder: Path) -> None:
    """Read an altered policy, lock it, and plan what it asks for."""
    path = folder / "policy.yaml"
    path.write_bytes(raw(alter(BASE, rng), rng))
    found = Policy.load(path)
    found.lock()
    if found.release is not None:
        shoal.plan(found).sentences()


KINDS: dict[str, Callable[[Random, Path], None]] = {
    "conditions": condition,
    "questions": questions,
    "hierarchy files": hierarchy_file,
    "policies": policy,
}


def run(kind: str, count: int, folder: Path, seed: int = 14) -> Counter[str]:
    """How altered files of a kind ended; anything but success and an error of ours is raised."""
    ended: Counter[str] = Counter()
    for number in range(count):
        rng = Random(f"{kind} {seed} {number}")  # noqa: S311 - which texts are tried is no secret
        try:
            KINDS[kind](rng, folder)
        except ShoalError as error:
            message = str(error)
            assert len(message) < 30_000, (kind, seed, number)
            assert all(line.isprintable() for line in message.split("\n")), (kind, seed, number, message)
            ended[f"exit {error.exit_code}"] += 1
        except Exception as error:
            raise AssertionError((kind, seed, number)) from error
        else:
            ended["accepted"] += 1
    return ended
