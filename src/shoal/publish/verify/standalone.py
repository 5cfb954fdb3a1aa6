"""Verify a release folder with Python alone: `python verifier.py FOLDER`.

This file travels with every release that is shared. It needs Python 3.9 or newer and nothing else, and it shares no code with
Shoal, so that its opinion is its own. (A table in Parquet is read through pyarrow where that is installed; where it is not, the
groups of that table are NOT VERIFIED.) Its sections can be read from top to bottom:

    1. What a check is            4. The loss of many samples     7. The certificate of a sampled release
    2. Reading what was sent      5. The published theorem        8. A release whose guarantee is counted
    3. The curve of one sample    6. Rows, labels and boxes       9. The program

What it does. It reads the locked plan (`policy.lock.yaml`), works out from it what the certificate has to say, and compares:
claims, status, unit, numbers, parts, tables, views, charges. It computes every delta again from k and beta by formulas of its
own, composes samples itself, adds up the ledger, counts the groups of every table, and looks whether rows are in an order that
shows nothing. It does not compare prose (sentences, the words of theorems and conditions) or the page; instead it says at its
end, in words of its own, what it has verified. `shoal verify` compares the rest too, letter by letter.

What it cannot know. That the sample was drawn as stated, with good randomness, that the ledger lists everything, and that nobody
looked at results before the plan was fixed are premises about a run that nobody else saw.

Exit code 0: everything that the promise rests on was verified, and nothing failed. Exit code 3: something failed, or something
that the promise rests on could not be verified. Exit code 2: there is nothing to verify.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from itertools import combinations, groupby
from math import comb, isnan, lgamma, log, log1p, sqrt
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional

OLDEST_PYTHON = (3, 9)
KNOWN_VERSION = 1
"""The version of certificates that this file knows."""

# === 1. What a check is ============================================================================================


class Check(NamedTuple):
    """One thing that was looked at: whether it agrees (None: it could not be looked at), and whether the promise rests on it."""

    name: str
    agrees: Optional[bool]
    detail: str
    promise: bool = False


def visible(text: object) -> str:
    """A text that comes from the folder, with everything that a terminal might act on made visible."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in str(text)
    )


def pairs(first: Iterable[Any], second: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Two lists side by side; ValueError where one is longer."""
    ours, theirs = list(first), list(second)
    if len(ours) != len(theirs):
        raise ValueError("two lists that belong together have different lengths")
    return list(zip(ours, theirs))


# === 2. Reading what was sent ======================================================================================


def strict_json(text: str) -> Any:
    """JSON in which no key is said twice (of two, readers would take different ones) and every number is a number."""

    def once(found: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(found)) != len(found):
            raise ValueError("a key is said twice")
        return dict(found)

    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is no number")

    return json.loads(text, object_pairs_hook=once, parse_constant=refuse)


_LOCK_LINE = re.compile(r'((?:  )*)([a-z_]+|"(?:[^"\\]|\\.)*"):(?: (.+))?')


def read_lock(text: str) -> dict[str, Any]:
    """The locked plan. It is written in one way alone, and anything written in another way is refused.

    A line is a key and a value in JSON, or a key alone with deeper lines below it; a level is two blanks deep. Names that a
    person chose are in quotes.
    """
    root: dict[str, Any] = {}
    open_mappings: list[dict[str, Any]] = [root]
    lines = text.split("\n")
    if lines.pop() != "":
        raise ValueError("the lock does not end with a line end")
    deeper = True  # whether the next line must begin a mapping
    for line in lines:
        match = _LOCK_LINE.fullmatch(line)
        if match is None:
            raise ValueError("a line of the lock is not written as locks are")
        depth, key = len(match[1]) // 2, match[2]
        if depth >= len(open_mappings) or (deeper and depth != len(open_mappings) - 1):
            raise ValueError("a line of the lock is not as deep as it must be")
        name = json.loads(key) if key.startswith('"') else key
        if key.startswith('"') and json.dumps(name, ensure_ascii=False) != key:
            raise ValueError("a name in the lock is not written as locks write it")
        del open_mappings[depth + 1 :]
        if name in open_mappings[depth]:
            raise ValueError("a key of the lock is said twice")
        deeper = match[3] is None
        if deeper:
            open_mappings[depth][name] = {}
            open_mappings.append(open_mappings[depth][name])
            continue
        value = strict_json(match[3])
        if json.dumps(value, ensure_ascii=False, sort_keys=True) != match[3]:
            raise ValueError("a value of the lock is not written as locks write it")
        open_mappings[depth][name] = value
    if deeper:
        raise ValueError("a key of the lock has nothing below it")
    return root


def number(text: Any) -> Fraction:
    """A number of a guarantee: exact text, never a float."""
    if not isinstance(text, str) or not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]{1,4})?(/[0-9]+)?", text):
        raise ValueError("not a number written as exact text")
    return Fraction(text)


def decimal(value: Fraction) -> Decimal:
    """A fraction in the digits of the current context."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def inside(folder: Path, name: Any) -> Path:
    """A plain file below the folder; ValueError for a name that leads elsewhere, a link, or something that is no file."""
    parts = name.split("/") if isinstance(name, str) else []
    if not parts or any(part in ("", ".", "..") or "\\" in part or ":" in part for part in parts):
        raise ValueError("the name of a file that leads out of the folder")
    path = folder
    for part in parts:
        path = path / part
        if path.is_symlink():
            raise ValueError("a link instead of a file")
    if not path.is_file():
        raise ValueError("a file that is not there")
    return path


def read_json(folder: Path, name: Any) -> Any:
    """What a JSON file of the folder holds."""
    return strict_json(inside(folder, name).read_bytes().decode("utf-8"))


def sha256(path: Path) -> str:
    """The hash of a file, block by block."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def seal(certificate: dict[str, Any]) -> str:
    """SHA-256 of everything in the certificate but the seal itself."""
    content = {name: value for name, value in certificate.items() if name != "seal"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def file_checks(folder: Path, certificate: dict[str, Any]) -> Iterator[Check]:
    """Every file that the certificate lists, and no other, each as it was."""
    listed = certificate["files"]
    for name, expected in listed.items():
        try:
            same = sha256(inside(folder, name)) == expected
        except ValueError:
            same = False
        yield Check(f"file {name}", same, "its SHA-256 is the one in the certificate", promise=True)
    present = {
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()
    }
    extra = present - set(listed) - {"certificate.json", "certificate.html"}
    yield Check("no other files", not extra, f"{len(extra)} files that the certificate does not list", promise=True)
    same = listed.get("policy.lock.yaml") == certificate["plan"]
    yield Check("plan", same, "the locked plan is the one that was charged", promise=True)


# === 3. The curve of one sample ====================================================================================
#
# Keep each record with probability beta, recode, drop every group of fewer than k. Let M be the number of records of a group
# that are passed over before the k-th is sampled; it is negative binomial. Telling a table from the same table with one record
# fewer is exactly as hard as telling M from M + 1 (theorem safe-k-dominating-pair), so
#
#     delta*(epsilon) = max( sum_m max(0, Pr[M = m] - e^epsilon Pr[M + 1 = m]), the same with the two exchanged ).


def delta(k: int, beta: Fraction, epsilon: Fraction) -> Decimal:
    """delta*(k, beta, epsilon) for one record added or removed; the larger of the two directions."""
    with localcontext() as context:
        context.prec, context.Emin = 80, -999_999_999
        ratio = decimal(epsilon).exp()
        return max(_remove(k, decimal(beta), ratio), _add(k, decimal(beta), ratio))


def _remove(k: int, rate: Decimal, ratio: Decimal) -> Decimal:
    """Removing a record: the terms are positive up to where Pr[M = m] / Pr[M + 1 = m] falls to e^epsilon."""
    mass = total = rate**k
    m = 0
    while True:
        m += 1
        growth = (1 - rate) * (m + k - 1) / m
        if growth <= ratio:
            return total
        mass *= growth
        total += mass * (1 - ratio / growth)


def _add(k: int, rate: Decimal, ratio: Decimal) -> Decimal:
    """Adding a record: nothing from epsilon = -ln(1 - beta) on; below it a sum whose tail is bounded by a geometric series."""
    if ratio * (1 - rate) >= 1:
        return Decimal(0)
    mass, total, m = rate**k, Decimal(0), 0
    while True:
        m += 1
        growth = (1 - rate) * (m + k - 1) / m
        if ratio * growth < 1:  # Pr[M + 1 = m] = mass is more than ratio times Pr[M = m]
            total += mass * (1 - ratio * growth)
        mass *= growth
        if growth < 1 and mass / (1 - growth) < total * Decimal(10) ** -30:
            return total + mass / (1 - growth)


def delta_of_unit(k: int, beta: Fraction, epsilon: Fraction, plan: Plan, split: Any) -> Decimal:
    """delta for the unit. Several rows, or a row that is replaced, are single steps one after another:

        delta(e_1 + ... + e_n) <= sum_i e^(e_1 + ... + e_{i-1}) delta_i(e_i), whatever the split of epsilon,

    so the certificate says at which split its delta was found, and it is added up here. A unit of one step has no split.
    """
    if plan.steps == 1:
        if split is not None:
            raise ValueError("a split of epsilon where there is one step")
        return delta(k, beta, epsilon)
    shares = [number(share) for share in split]
    if len(shares) != plan.steps or min(shares) < 0 or sum(shares) != epsilon:
        raise ValueError("a split that does not add up to epsilon")
    there, back = [(_remove,)] * plan.rows, [(_add,)] * plan.rows
    orders: list[Any] = [there + back, back + there] if plan.replaced else [[(_remove, _add)] * plan.rows]
    with localcontext() as context:
        context.prec, context.Emin = 80, -999_999_999
        rate, totals = decimal(beta), []
        for order in orders:
            spent, total = Fraction(0), Decimal(0)
            for step, share in pairs(order, shares):
                ratio = decimal(share).exp()
                total += decimal(spent).exp() * max(way(k, rate, ratio) for way in step)
                spent += share
            totals.append(total)
        return min(Decimal(1), *totals)


# === 4. The loss of many samples ===================================================================================
#
# Each part of a release has a privacy loss: a number l with Pr[l] under the one table and e^-l Pr[l] under its neighbour. What
# parts cost together is the loss of their sum: masses are convolved. Losses are put on a grid so that nothing gets smaller: an
# atom between two points of the grid is split between them so that its mass under both tables is kept, and the pair of tables
# can be got back from the pair on the grid by forgetting where an atom was put. Masses are whole multiples of 10^-30, rounded
# up. What lies above the grid counts as certain disclosure; what lies below it is moved up to its lower end. The convolution is
# one multiplication of two very long numbers, in which every mass has a field of digits of its own.

DIGITS = 30
ONE = 10**DIGITS


class Losses(NamedTuple):
    """Masses, in units of 10^-30, at the losses (first + i) * step, and the mass of outcomes that disclose."""

    step: Fraction
    first: int
    masses: list[int]
    certain: int

    def delta(self, epsilon: Fraction) -> Fraction:
        """sum over losses l above epsilon of mass * (1 - e^(epsilon - l)), and what discloses."""
        start = max(int(epsilon // self.step) + 1, self.first)
        with localcontext() as context:
            context.prec, context.Emin = 50, -999_999_999
            left, fall = decimal(epsilon - start * self.step).exp(), decimal(-self.step).exp()
            total = Decimal(self.certain)
            for mass in self.masses[start - self.first :]:
                total += mass * (1 - left)
                left *= fall
            return Fraction(total / ONE)


def atoms(part: Any, direction: str) -> tuple[list[tuple[Decimal, Decimal]], Decimal]:
    """The losses of a part with their masses, and the mass that discloses.

    A part is ("sampled-crowd", k, beta), ("pure-dp", epsilon) or ("approx-dp", epsilon, delta).
    """
    if part[0] == "sampled-crowd":
        return _crowd_atoms(part[1], decimal(part[2]), direction)
    epsilon, certain = decimal(part[1]), decimal(part[2]) if part[0] == "approx-dp" else Decimal(0)
    likely = epsilon.exp() / (1 + epsilon.exp())
    return [(epsilon, (1 - certain) * likely), (-epsilon, (1 - certain) * (1 - likely))], certain


def _crowd_atoms(k: int, rate: Decimal, direction: str) -> tuple[list[tuple[Decimal, Decimal]], Decimal]:
    """M against M + 1, or M + 1 against M; what is left of the tail is added at a loss that is not below its own."""
    mass, m, found = rate**k, 0, []
    certain = mass if direction == "remove" else Decimal(0)
    while True:
        if direction == "add":  # M + 1 = m + 1 has the mass of M = m
            found.append((-((1 - rate) * (m + k) / (m + 1)).ln(), mass))
        m += 1
        growth = (1 - rate) * (m + k - 1) / m
        mass *= growth
        if direction == "remove":
            found.append((growth.ln(), mass))
        if growth < 1 and (rest := mass / (1 - growth)) < Decimal(10) ** -(DIGITS + 2):
            found.append((found[-1][0] if direction == "remove" else -(1 - rate).ln(), rest))
            return found, certain


def on_grid(part: Any, direction: str, step: Fraction, ends: tuple[int, int]) -> Losses:
    """A part's losses on a grid, never below the truth."""
    held: dict[int, int] = {}
    with localcontext() as context:
        context.prec, context.Emin = 50, -999_999_999
        found, certain = atoms(part, direction)
        width = decimal(step)
        whole = 1 - (-width).exp()
        for loss, mass in found:
            low = int((loss / width).to_integral_value(ROUND_FLOOR))
            upper = min(max((1 - (low * width - loss).exp()) / whole, Decimal(0)), Decimal(1))
            for place, share in ((low, 1 - upper), (low + 1, upper)):
                held[place] = held.get(place, 0) + int((mass * share * ONE).to_integral_value(ROUND_CEILING))
        sure = int((certain * ONE).to_integral_value(ROUND_CEILING))
    first, last = min(held), max(held)
    return _within(Losses(step, first, [held.get(place, 0) for place in range(first, last + 1)], sure), ends)


def _within(losses: Losses, ends: tuple[int, int]) -> Losses:
    """The same between two ends of the grid: above the upper one it discloses, below the lower one it is moved up."""
    (low, high), (_, first, masses, certain) = ends, losses
    if first + len(masses) - 1 > high:
        keep = max(0, high - first + 1)
        certain, masses = certain + sum(masses[keep:]), masses[:keep]
    if first < low:
        masses, first = [sum(masses[: low - first + 1]), *masses[low - first + 1 :]], low
    return losses._replace(first=first, masses=masses or [0], certain=certain)


def convolve(one: Losses, other: Losses, ends: tuple[int, int]) -> Losses:
    """The losses of two parts together."""
    count = len(one.masses) + len(other.masses) - 1
    width = 2 * DIGITS + len(str(min(len(one.masses), len(other.masses)))) + 1
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = MAX_PREC, MAX_EMAX, MIN_EMIN
        packed = [Decimal("".join(f"{mass:0{width}d}" for mass in reversed(each.masses))) for each in (one, other)]
        text = f"{packed[0] * packed[1]:f}".rjust(count * width, "0")
    text = text[len(text) - count * width :]
    fields = (text[start : start + width] for start in range((count - 1) * width, -1, -width))
    masses = [-(-int(field) // ONE) for field in fields]
    certain = one.certain + other.certain - one.certain * other.certain // ONE
    return _within(Losses(one.step, one.first + other.first, masses, certain), ends)


def composed(parts: list[tuple[Any, int]], direction: str, step: Fraction, ends: tuple[int, int]) -> Losses:
    """The losses of all parts together, each as many times as it runs."""
    found: Optional[Losses] = None
    for part, times in parts:
        power, left = on_grid(part, direction, step, ends), times
        while left:
            if left & 1:
                found = power if found is None else convolve(found, power, ends)
            left >>= 1
            power = convolve(power, power, ends) if left else power
    if found is None:
        raise ValueError("nothing to compose")
    return found


COARSEST, FINEST = Fraction(1, 1000), Fraction(1, 32000)
"""The steps of the grid between which `Composition` looks."""


class Composition:
    """What parts cost together, in both directions, on a grid as fine as the question needs."""

    def __init__(self, parts: list[tuple[Any, int]], largest: Fraction) -> None:
        merged: Counter[Any] = Counter()
        for part, times in parts:
            merged[part] += times
        self.parts, self.largest = sorted(merged.items()), largest
        self._made: dict[Fraction, list[Losses]] = {}

    def can_speak_of(self, parts: list[tuple[Any, int]], largest: Fraction) -> bool:
        """Whether it is about these parts too, up to this epsilon."""
        return Composition(parts, largest).parts == self.parts and largest <= self.largest

    def delta(self, epsilon: Fraction, step: Fraction) -> Fraction:
        """delta at epsilon on a grid of this step: the larger of the two directions, and never below the truth."""
        if step not in self._made:
            spread = self._spread()
            reach = max(1.0, float(self.largest)) + 6 + 14 * spread
            ends = (-int((1 + 14 * spread) / step) - 1, int(reach / step) + 1)
            self._made[step] = [composed(self.parts, way, step, ends) for way in ("remove", "add")]
        return min(Fraction(1), max(losses.delta(epsilon) for losses in self._made[step]))

    def agrees(self, question: Callable[[Callable[[Fraction], Fraction]], bool]) -> bool:
        """Whether a question about delta(epsilon) is answered with yes on some grid; finer ones are tried in turn."""
        step = self.first_step()
        while step >= FINEST:
            if question(lambda epsilon, step=step: self.delta(epsilon, step)):  # type: ignore[misc]
                return True
            step /= 4
        return False

    def first_step(self) -> Fraction:
        """A step at which the grid adds about a thousandth to deltas that matter: it adds to the variance of each part."""
        spread, runs_of_all = self._spread(), sum(times for _, times in self.parts)
        wanted = spread**2 * sqrt(0.12 / runs_of_all) / min(max(0.1, float(self.largest)), 7 * spread)
        step = COARSEST
        while step / 2 >= FINEST and float(step) > wanted:
            step /= 2
        return step

    def _spread(self) -> float:
        """The standard deviation of the whole loss, roughly."""
        total = 0.0
        for part, times in self.parts:
            if part[0] == "sampled-crowd":
                total += times * float(part[2] ** 2 / (part[1] * (1 - part[2])))
            else:
                total += times * min(1.0, float(part[1])) ** 2
        return max(1e-3, sqrt(total))


def part_of(saved: dict[str, Any]) -> Any:
    """A part from the ledger; None for a kind that this file does not compose."""
    kind = saved["kind"]
    if kind == "sampled-crowd" and set(saved) == {"kind", "k", "beta"} and type(saved["k"]) is int:
        if saved["k"] < 1 or not 0 < number(saved["beta"]) < 1:
            raise ValueError("no such sample")
        return (kind, saved["k"], number(saved["beta"]))
    if kind == "pure-dp" and set(saved) == {"kind", "epsilon"}:
        return (kind, number(saved["epsilon"]))
    if kind == "approx-dp" and set(saved) == {"kind", "epsilon", "delta"}:
        return (kind, number(saved["epsilon"]), number(saved["delta"]))
    return None


# === 5. The published theorem ======================================================================================


def published_delta(k: int, beta: Fraction, epsilon: Fraction) -> Optional[float]:
    """d(k, beta, epsilon) of LQS11 Theorem 5: max over n >= ceil(k/gamma - 1) of Pr[Binomial(n, beta) > gamma n].

    None where the theorem is silent (epsilon below -ln(1 - beta)). Only the largest class that still needs j records to break
    the ratio can attain the maximum, so the search goes over j, and stops where Chernoff's bound falls below the best.
    """
    rate, ratio = float(beta), float(decimal(epsilon).exp())
    gamma = 1 - (1 - rate) / ratio
    with localcontext() as context:
        context.prec = 60
        if decimal(epsilon) < -((1 - decimal(beta)).ln()):
            return None
    divergence = gamma * log(gamma / rate) + ((1 - gamma) * log((1 - gamma) / (1 - rate)) if gamma < 1 else 0.0)
    best, j = 0.0, k
    while True:
        n = int(j / gamma * (1 - 1e-12))  # the largest n with gamma n < j, ties counted as a break
        n = max(n, j)
        if n >= -(-(k - gamma) // gamma):
            best = max(best, _tail(j, n, rate))
        if best and -n * divergence < log(best):
            return best
        j += 1


def _tail(j: int, n: int, rate: float) -> float:
    """Pr[Binomial(n, rate) >= j], for j above the mean: terms fall from the first on."""
    term = lgamma(n + 1) - lgamma(j + 1) - lgamma(n - j + 1) + j * log(rate) + (n - j) * log1p(-rate)
    scale, total, share, place = term, 1.0, 1.0, j
    while place < n and share > 1e-17 * total:
        share *= (n - place) / (place + 1) * rate / (1 - rate)
        total += share
        place += 1
    return float(Decimal(scale).exp()) * total


# === 6. Rows, labels and boxes =====================================================================================

MISSING = "(missing)"
_CELL = re.compile(r'"((?:[^"]|"")*)"(?=,|$)|([^",\r\n]*)(?=,|$)', re.DOTALL)


class UnreadableError(Exception):
    """A table that this Python cannot read."""


def runs(path: Path) -> tuple[list[str], list[Any]]:
    """The columns of a table, and its rows: the cells (None where one is missing), and how many equal rows follow each other.

    ValueError for a file that is not written as we write it.
    """
    return _parquet_runs(path) if path.suffix == ".parquet" else _csv_runs(path)


def _csv_runs(path: Path) -> tuple[list[str], list[Any]]:
    with path.open(encoding="utf-8", newline="\n") as file:
        lines = _records(file)
        header = _cells(next(lines, ""), single=False)
        found = [(_cells(line, single=len(header) == 1), sum(1 for _ in equal)) for line, equal in groupby(lines)]
    return [cell if cell is not None else "" for cell in header], found


def _records(file: Iterable[str]) -> Iterator[str]:
    """The records of a CSV file without their line ends; a record goes on while a quote is open."""
    held = ""
    for line in file:
        held += line
        if held.count('"') % 2 == 0:
            if not held.endswith("\n"):
                break
            yield held[:-1]
            held = ""
    if held:
        raise ValueError("the last row of a CSV file has no end")


def _cells(line: str, *, single: bool) -> tuple[Any, ...]:
    """The cells of a record: quoted where they must be and nowhere else, missing where there is nothing."""
    found: list[Any] = []
    place = 0
    while True:
        match = _CELL.match(line, place)
        if match is None:
            raise ValueError("a row of a CSV file that is not written as we write them")
        quoted = match[1] is not None
        text = match[1].replace('""', '"') if quoted else match[2]
        if quoted and text and not re.search('[",\r\n]', text):
            raise ValueError("a cell in quotes that needs none")
        found.append(None if not text and (not quoted or single) else text)
        place = match.end()
        if place == len(line):
            return tuple(found)
        place += 1  # the comma


def _parquet_runs(path: Path) -> tuple[list[str], list[Any]]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise UnreadableError("a Parquet table needs pyarrow, which is not installed here") from None
    found: list[Any] = []
    try:
        with parquet.ParquetFile(path) as file:
            names = list(file.schema_arrow.names)
            for batch in file.iter_batches(1 << 16):
                rows = zip(*(column.to_pylist() for column in batch.columns)) if names else iter(())
                for row, equal in groupby(rows):
                    many = sum(1 for _ in equal)
                    if found and found[-1][0] == row:
                        found[-1] = (row, found[-1][1] + many)
                    else:
                        found.append((row, many))
    except (ArrowException, OSError) as error:
        raise ValueError("a Parquet file that cannot be read") from error
    return names, found


def is_silent(path: Path) -> bool:
    """Whether a file says nothing beside its table: Parquet files may carry notes."""
    if path.suffix != ".parquet":
        return True
    from pyarrow import ArrowException, parquet

    try:
        with parquet.ParquetFile(path) as file:
            return not file.metadata.metadata and not any(field.metadata for field in file.schema_arrow)
    except (ArrowException, OSError):
        return False


def reading_checks(folder: Path, name: str, columns: list[str]) -> tuple[list[Any], list[Check]]:
    """The rows of a table that can be read and has these columns in every row; none, and a check that says why, else."""
    path = inside(folder, name)
    try:
        header, rows = runs(path)
    except UnreadableError as error:
        return [], [Check(f"groups of {name}", None, str(error), promise=True)]
    except (ValueError, UnicodeDecodeError):
        what = "values" if path.suffix == ".parquet" else "text"
        return [], [Check(f"{what} of {name}", False, "the file is not written as we write it", promise=True)]
    silent = Check(f"nothing else in {name}", is_silent(path), "no notes in the file", promise=True)
    even = header == columns and all(len(row) == len(columns) for row, _ in rows)
    told = Check(f"columns of {name}", even, "as declared, in every row", promise=True)
    return (rows if even else []), [told, silent]


def value(cell: Any, kind: str) -> Any:
    """A cell as something that can be compared within its column: a number, a time, or a text."""
    if isinstance(cell, float) and isnan(cell):
        raise ValueError("not a number")
    if kind == "integer":
        return int(cell)
    if kind == "decimal":
        return Fraction(str(cell)) if isinstance(cell, str) else Fraction(cell)
    if kind == "date":
        return date.fromisoformat(str(cell))
    if kind == "datetime":
        return datetime.fromisoformat(str(cell))
    if kind == "boolean":
        return {"true": True, "false": False, "True": True, "False": False}[str(cell)]
    if not isinstance(cell, str):
        raise TypeError("a label that is no text")
    return cell


def in_order(rows: list[Any], kinds: list[str]) -> bool:
    """Whether rows are sorted by their own values, missing first, and equal rows stand together."""
    keys = (
        tuple((0, 0) if cell is None else (1, value(cell, kind)) for cell, kind in pairs(row, kinds)) for row, _ in rows
    )
    before = None
    for key in keys:
        if before is not None and not before < key:
            return False
        before = key
    return True


def table_checks(folder: Path, table: dict[str, Any], k: int) -> Iterator[Check]:
    """A published table: its columns, its groups, its order, its labels and its boxes."""
    name, columns = table["file"], table["columns"]
    rules = {column: read_json(folder, table["recoding"][column]) for column in columns}
    rows, read = reading_checks(folder, name, columns)
    yield from read
    if not all(check.agrees for check in read[:1]):
        yield from box_checks(folder, table, rules, set())
        return
    groups: Counter[Any] = Counter()
    for row, times in rows:
        groups[row] += times
    smallest = min(groups.values(), default=k)
    yield Check(f"groups of {name}", smallest >= k, f"the smallest has {smallest} rows, k = {k}", promise=True)
    kinds = [rules[column]["type"] if rules[column]["kind"] == "keep" else "text" for column in columns]
    fits = True
    for place, (column, kind) in enumerate(pairs(columns, kinds)):
        known = _shows(rules[column], kind, {row[place] for row in groups})
        fits = fits and known
        yield Check(f"labels of {column}", known, "every label is one that its rule can show", promise=True)
    ordered = fits and in_order(rows, kinds)
    yield Check(
        f"order of {name}", ordered, "rows are sorted by their own values, so their order shows nothing", promise=True
    )
    yield from box_checks(folder, table, rules, set(groups))


def _shows(rule: dict[str, Any], kind: str, found: set[Any]) -> bool:
    """Whether a column shows nothing that its rule could not show."""
    try:
        shown = [value(cell, kind) for cell in found if cell is not None]
        if rule["kind"] == "keep":
            if rule["labels"] is not None:
                return set(shown) <= {value(label, kind) for label in rule["labels"]}
            ends = [rule[end] if rule[end] is None else value(rule[end], kind) for end in ("low", "high")]
            return all((ends[0] is None or ends[0] <= each) and (ends[1] is None or each <= ends[1]) for each in shown)
        if rule["kind"] == "masked":
            return rule["labels"] is None
        if None in found:
            return False
        if rule["kind"] == "groups" and set(rule["table"].values()) - set(rule["labels"]):
            return False
        if rule["kind"] == "cuts" and len(rule["edges"]) + 1 != len(rule["labels"]):
            return False
        allowed = {*rule["labels"]} if rule["kind"] in ("boxes", "whole") else {*rule["labels"], MISSING}
        return rule["kind"] in ("groups", "cuts", "whole", "boxes") and set(shown) <= allowed
    except (ValueError, TypeError, KeyError):
        return False


def box_checks(folder: Path, table: dict[str, Any], rules: dict[str, Any], shown: set[Any]) -> Iterator[Check]:
    """Whether the boxes divide the declared domain, every published row is one of them, and their list is sorted."""
    if "boxes" not in table:
        return
    name = table["file"]
    header, rows = runs(inside(folder, table["boxes"]))
    boxes = [row for row, _ in rows]
    listed = header == table["columns"] and all(times == 1 for _, times in rows) and boxes == sorted(set(boxes))
    yield Check(
        f"boxes of {name}", listed and shown <= set(boxes), "every row is in one, and each is listed once", promise=True
    )
    sides, whole = [], []
    for place, column in enumerate(table["columns"]):
        rule = rules[column]
        bits = [sum(2 ** (last + 1) - 2**first for first, last in member) for member in rule["members"]]
        sides.append(dict(pairs(rule["labels"], bits)))
        whole.append(2 ** len(rule["cells"]) - 1)
        listed = listed and {box[place] for box in boxes} == set(rule["labels"])
    pieces = [tuple(side[label] for side, label in pairs(sides, box)) for box in boxes] if listed else []
    divided = listed and divides(pieces, tuple(whole))
    yield Check(
        f"boxes of {name} and the domain", divided, "no gap and no overlap, and no label without a box", promise=True
    )


def divides(boxes: list[tuple[int, ...]], whole: tuple[int, ...]) -> bool:
    """Whether boxes divide a whole: sides are sets of cells, as bits, and some attribute tells them apart, and so on."""
    waiting = [(boxes, whole)]
    while waiting:
        held, region = waiting.pop()
        if len(held) == 1:
            if held[0] != region:
                return False
            continue
        for place in range(len(region)):
            parts = _apart({box[place] for box in held})
            if len(parts) > 1:
                break
        else:
            return False
        if sum(parts) != region[place]:  # they do not overlap, so their sum is their union
            return False
        home = {own: part for own in {box[place] for box in held} for part in parts if own & part}
        groups: dict[int, list[tuple[int, ...]]] = {part: [] for part in parts}
        for box in held:
            groups[home[box[place]]].append(box)
        waiting += [(own, (*region[:place], part, *region[place + 1 :])) for part, own in groups.items()]
    return True


def _apart(sides: set[int]) -> list[int]:
    """The unions of sides that touch each other, none of which touches another."""
    found: list[int] = []
    for side in sorted(sides, key=lambda bits: bin(bits).count("1"), reverse=True):
        merged = side
        for part in found:
            merged |= part if part & side else 0
        found = [part for part in found if not part & side] + [merged]
    return found


# === 7. The certificate of a sampled release =======================================================================

PROSE = {"sentence", "words", "not_promised", "verify", "title", "source", "statement", "premises", "restricted"}
"""Keys whose values are sentences. They are not compared here."""
SCORES = {
    "ramp": "ramp-score",
    "records": "records-score",
    "discernibility": "discernibility-score",
    "target": "target-score",
}
"""The theorem of each score of a private choice."""
EPSILONS = [Fraction(20, part) for part in (200, 80, 40)] + [
    Fraction(n, 4) for n in (3, 4, 6, 8, 12, 16, 24, 32, 40, 48, 64, 80)
]
"""Where a curve is printed, beside the promised epsilon."""
LARGEST_K = 10**7
"""Larger groups than this nobody plans; the sums below would take hours."""
PLAIN = "no more can be said than that it is there"


class Plan(NamedTuple):
    """What the lock asks for, in the words of this section."""

    lock: dict[str, Any]
    release: dict[str, Any]
    epsilon: Fraction
    delta: Fraction
    rows: int
    replaced: bool
    already: bool
    tuned: bool
    recoding: str
    paid: Fraction
    chosen: Fraction

    @property
    def steps(self) -> int:
        """By how many rows neighbours differ."""
        return self.rows * (2 if self.replaced else 1)

    @property
    def crowds(self) -> bool:
        """Whether samples compose by their own curve; else by one pair of epsilon and delta each."""
        return self.steps == 1 and self.release["bound"] == "tight"

    @property
    def published(self) -> set[str]:
        """The attributes that a release shows."""
        return {name for name, own in self.lock["attributes"].items() if own["role"] not in ("identifier", "drop")}

    @property
    def status(self) -> str:
        """How the promise is known to hold."""
        if self.already:
            return "proved with condition"
        return "proved for a plan tuned on the data" if self.tuned else "proved"

    @property
    def unit(self) -> dict[str, Any]:
        """Whose data are hidden."""
        person = isinstance(self.lock["unit"], dict)
        return {
            "whose": "person" if person else "row",
            "neighbours": self.lock["neighbours"],
            "column": self.lock["unit"]["column"] if person else None,
            "max_rows": self.rows,
        }


def plan_of(lock: dict[str, Any]) -> Plan:
    """The plan of a lock; KeyError where it asks for no sampled release."""
    release, unit = lock["release"], lock["unit"]
    recoding = release["recoding"]
    (kind,) = recoding
    views = release.get("views") or {}
    drafted = any(
        own[key] is not None and own["provenance"][key] == "profiled"
        for own in lock["attributes"].values()
        for key in ("domain", "hierarchy")
    )
    return Plan(
        lock, release, number(release["epsilon"]), number(release["delta"]),
        unit["max_rows"] if isinstance(unit, dict) else 1, lock["neighbours"] == "replace_one",
        release["sampling"].get("already") is not None, drafted, kind,
        Fraction(0) if kind == "levels" else number(recoding[kind]["epsilon"]),
        number(views["choose"]["epsilon"]) if views.get("choose") else Fraction(0),
    )  # fmt: skip


def sampled_checks(folder: Path, certificate: dict[str, Any], lock: dict[str, Any]) -> Iterator[Check]:
    """Everything about a release that is a sample, or many."""
    plan = plan_of(lock)
    yield from entry_checks(certificate, plan)
    yield from part_checks(certificate, plan)
    yield from view_checks(folder, certificate, plan)
    yield from choice_checks(certificate, plan)
    yield from rule_level_checks(folder, certificate, plan)
    largest = max(2 * plan.epsilon, *(number(point["epsilon"]) for point in certificate["curve"]))
    whole = Composition(charged_parts(certificate, plan), largest)
    yield from promise_checks(certificate, plan, whole)
    yield from curve_checks(certificate, plan, whole)
    yield from ledger_checks(certificate, plan, whole)
    for table, part in table_parts(certificate):
        yield from table_checks(folder, table, part["k"])
    listed = {"policy.lock.yaml", *(["views.json"] if "views" in certificate else [])}
    for table in certificate["tables"]:
        listed |= {table["file"], *table["recoding"].values(), *([table["boxes"]] if "boxes" in table else [])}
    yield Check(
        "files and tables", set(certificate["files"]) == listed, "every file is there for something", promise=True
    )
    yield Check("meaning of labels", None, "what labels stand for is not compared with the locked hierarchies here")


def same(told: Any, wanted: Any) -> bool:
    """Equal in type and value; a number that is wanted as a fraction is told as exact text, and PLAIN stands for anything."""
    if wanted is PLAIN:
        return True
    if isinstance(wanted, Fraction):
        try:
            return number(told) == wanted
        except ValueError:
            return False
    if type(told) is not type(wanted):
        return False
    if isinstance(wanted, dict):
        return set(told) == set(wanted) and all(same(told[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(told) == len(wanted) and all(same(*both) for both in zip(told, wanted))
    return bool(told == wanted)


def theorems_of(plan: Plan, tables: int) -> list[str]:
    """The names of all results that the promise rests on, in their order."""
    found = [f"safe-k-{plan.release['bound']}"]
    found += ["group-privacy"] if plan.rows > 1 else []
    found += ["replace-one"] if plan.replaced else []
    if plan.recoding != "levels":
        asked = plan.release["recoding"][plan.recoding]
        found.append("eps-safe-recoding")
        if plan.recoding == "choose":
            found += ["monotone-exponential", SCORES[asked["score"]]]
        else:
            found += ["surveyed-tree"]
            found += ["amplification"] if asked.get("sample") is not None else []
    if plan.release.get("views") is not None:
        return [*found, *(["view-choice"] if plan.chosen else []), "pld-composition"]
    return found if tables == 1 else [*found, "pld-composition" if plan.crowds else "basic-composition"]


def entry_checks(certificate: dict[str, Any], plan: Plan) -> Iterator[Check]:
    """Claims, status, unit, method and keys: what the lock decides without a computation."""
    views, tables = plan.release.get("views") is not None, certificate["tables"]
    names = (
        "version dataset date software sentence words status claims guarantee method bound basic parts curve theorems"
    )
    wanted = {*names.split(), "not_promised", "recoding", "tables", "ledger", "plan", "files", "verify", "seal"}
    wanted |= {"views"} if views else {"choice"} if plan.paid else set()
    yield Check("entries", set(certificate) == wanted, "those of the locked plan, and no others", promise=True)
    conditions = int(plan.already) + int(plan.already and plan.tuned)
    theorems = theorems_of(plan, len(tables))
    told = [
        {**claim, "conditions": len(claim["conditions"])} if isinstance(claim.get("conditions"), list) else claim
        for claim in certificate["claims"]
    ]
    dp = {"kind": "approx-dp", "epsilon": plan.epsilon, "delta": plan.delta}
    random = "operating system"
    least = min(part["k"] for part in certificate["parts"])
    claims = [
        {
            "guarantee": dp,
            "unit": plan.unit,
            "status": plan.status,
            "theorems": theorems,
            "conditions": conditions,
            "randomness": random,
        },
        {
            "guarantee": {"kind": "k-anonymity", "k": least},
            "unit": None,
            "status": "checked",
            "theorems": [],
            "conditions": 0,
            "randomness": random,
        },
    ]  # fmt: skip
    yield Check(
        "claims", same(told, claims), "those of the locked plan with its conditions, and no others", promise=True
    )
    share = plan.paid / len(tables) if views else plan.paid
    promised = {
        **dp,
        "epsilon_recoding": share,
        "neighbours": plan.lock["neighbours"],
        "unit": plan.unit,
        "status": plan.status,
    }
    yield Check("guarantee", same(certificate["guarantee"], promised), "as the lock asks for it", promise=True)
    yield Check("status", certificate["status"] == plan.status, f"the lock supports '{plan.status}'", promise=True)
    method = (certificate["method"], certificate["bound"]) == ("safe-k", plan.release["bound"])
    yield Check("method", method, "the method and the bound of the lock", promise=True)
    yield subject_check(certificate, plan.lock)
    listed = [{key: entry[key] for key in entry if key not in PROSE} for entry in certificate["theorems"]]
    yield Check(
        "theorems", listed == [{"name": name} for name in theorems], "those that the promise rests on", promise=True
    )
    basic = len(tables) == 1
    yield Check(
        "composition", certificate["basic"] is basic, "one table stands for itself, several are composed", promise=True
    )


def subject_check(certificate: dict[str, Any], lock: dict[str, Any]) -> Check:
    """Which dataset, on what day, by what version."""
    told, software = certificate["date"], certificate["software"]
    fits = certificate["dataset"] == lock["dataset"] and isinstance(told, str)
    fits = fits and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", told) is not None
    fits = fits and isinstance(software, dict) and set(software) == {"shoal"} and isinstance(software["shoal"], str)
    return Check("subject", fits, "the dataset of the lock, a date, a version", promise=True)


def table_parts(certificate: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Each table with the part that has its numbers."""
    return [(table, certificate["parts"][table.get("part", 0)]) for table in certificate["tables"]]


def part_checks(certificate: dict[str, Any], plan: Plan) -> Iterator[Check]:
    """The numbers of the samples: k and beta as locked, delta from k and beta, one table for each time that a part runs."""
    parts, tables, release = certificate["parts"], certificate["tables"], plan.release
    uses = [table.get("part", 0) for table in tables]
    fits = bool(parts) and all(type(part["times"]) is int and part["times"] >= 1 for part in parts)
    fits = fits and sorted(uses) == sorted(place for place, part in enumerate(parts) for _ in range(part["times"]))
    fits = fits and list(dict.fromkeys(uses)) == list(range(len(parts)))
    fits = fits and all(type(part["k"]) is int and 1 <= part["k"] <= LARGEST_K for part in parts)
    fits = fits and all(type(table["k"]) is int and table["k"] == part["k"] for table, part in table_parts(certificate))
    fits = fits and (release.get("views") is not None or len(tables) == release["repeat"])
    yield Check("parts and tables", fits, "one table for each release or view, with the k of its part", promise=True)
    if not fits:
        raise ValueError("parts that make no sense")
    rate = release["sampling"].get("already") or release["sampling"].get("beta")
    fits = all(release.get("k") is None or part["k"] == release["k"] for part in parts)
    fits = fits and all(rate in (None, "auto") or number(part["beta"]) == number(rate) for part in parts)
    fits = fits and all(0 < number(part["beta"]) < 1 for part in parts)
    yield Check("k and beta of the lock", fits, "where the lock names them", promise=True)
    keys = {"k", "beta", "epsilon", "delta", "delta_tight", "delta_published", "delta_unit", "split", "times"}
    for place, part in enumerate(parts, 1):
        k, beta, epsilon = part["k"], number(part["beta"]), number(part["epsilon"])
        tight, unit = delta(k, beta, epsilon), delta_of_unit(k, beta, epsilon, plan, part["split"])
        fits = set(part) == keys and _printed(part["delta_tight"], tight) and _printed(part["delta_unit"], unit)
        fits = fits and number(part["delta"]) >= (number(part["delta_unit"]) if release["bound"] == "tight" else 0)
        fits = fits and number(part["delta"]) in (plan.delta / len(tables), number(part["delta_unit"]))
        yield Check(
            f"delta of part {place}",
            fits,
            f"k = {k}, beta = {part['beta']}: at most {part['delta_unit']}",
            promise=True,
        )
        found = published_delta(k, beta, epsilon)
        told = part["delta_published"]
        fits = (told is None) == (found is None) and (found is None or _printed(told, Decimal(found), Decimal("1e-5")))
        fits = fits and (release["bound"] == "tight" or (told is not None and number(part["delta"]) >= number(told)))
        yield Check(f"published bound of part {place}", fits, "recomputed", promise=release["bound"] != "tight")


def _printed(told: Any, found: Decimal, slack: Decimal = Decimal("1e-6")) -> bool:
    """Whether a printed cost is what was computed, on the safe side of it up to the last digits."""
    if not isinstance(told, str):
        return False
    said = decimal(number(told))
    return found * (1 - slack) <= said <= found * (1 + slack)


def view_checks(folder: Path, certificate: dict[str, Any], plan: Plan) -> Iterator[Check]:
    """The tables that the lock asks for, all of them and no others; of views, also their names and their index."""
    tables, asked, ending = certificate["tables"], plan.release.get("views"), plan.release["output"]["format"]
    keys = {"file", "k", "columns", "recoding"} | ({"boxes"} if plan.recoding == "tree" else set())
    keys |= ({"name", "part"} | ({"choice"} if plan.paid else set())) if asked is not None else set()
    fits = all(set(table) == keys and list(table["recoding"]) == table["columns"] for table in tables)
    fits = fits and certificate["recoding"] == {c: p for table in tables for c, p in table["recoding"].items()}
    if asked is None:
        names = [f"table.{ending}"] if len(tables) == 1 else [f"table-{n}.{ending}" for n in range(1, len(tables) + 1)]
        fits = fits and [table["file"] for table in tables] == names
        fits = fits and all(sorted(table["columns"]) == sorted(plan.published) for table in tables)
        boxes = {table.get("boxes") for table in tables}
        fits = fits and boxes == {"recoding/boxes.csv" if plan.recoding == "tree" else None}
        yield Check("tables of the lock", fits, "every published attribute, in the files of the lock", promise=True)
        return
    digits = len(str(len(tables)))
    for place, table in enumerate(tables, 1):
        name = table["name"]
        fits = fits and isinstance(name, str) and re.fullmatch(r"[0-9]+-[A-Za-z0-9_-]+", name) is not None
        fits = fits and name.startswith(f"{place:0{digits}d}-") and table["file"] == f"views/{name}.{ending}"
        fits = fits and table.get("boxes") == (f"recoding/boxes/{name}.csv" if plan.recoding == "tree" else None)
    yield Check("tables of the lock", fits, "each view in its own file", promise=True)
    found = [frozenset(table["columns"]) for table in tables]
    once = all(len(group) == len(table["columns"]) for group, table in zip(found, tables)) and len(set(found)) == len(
        found
    )
    yield Check(
        "views of the lock",
        once and _locked_views(asked, found, plan.published),
        "all of them, each once",
        promise=True,
    )
    width = (asked["choose"].get("width") or 2) if plan.chosen else 0
    chosen = (
        {"epsilon": plan.chosen, "of": comb(len(plan.published), width), "steps": plan.steps} if plan.chosen else None
    )
    block = {"index": "views.json", "count": len(tables), "chosen": chosen, "composed": PLAIN, "basic": PLAIN}
    yield Check("views", same(certificate["views"], block), "how many, and what their choice cost", promise=True)
    index = {
        "version": 1,
        "dataset": plan.lock["dataset"],
        "views": [
            {
                "name": t["name"],
                "file": t["file"],
                "attributes": t["columns"],
                "k": p["k"],
                "beta": number(p["beta"]),
                "weight": 1 / number(p["beta"]),
            }
            for t, p in table_parts(certificate)
        ],
    }  # fmt: skip
    yield Check("index of views", same(read_json(folder, "views.json"), index), "says what the certificate says")


def _locked_views(asked: dict[str, Any], found: list[frozenset[str]], published: set[str]) -> bool:
    named = asked.get("groups") or asked.get("workload")
    if named is not None:
        return {frozenset(group) for group in named} == set(found)
    choose = asked.get("choose")
    width = (choose.get("width") or 2) if choose else ["singles", "pairs", "triples"].index(asked["every"]) + 1
    every = list(combinations(sorted(published), width))
    if choose:
        return set(found) <= {frozenset(group) for group in every} and len(found) == choose["count"]
    return set(found) == {frozenset(group) for group in evenly(every, asked.get("limit"))}


def evenly(groups: list[Any], limit: Optional[int]) -> list[Any]:
    """As many groups as the limit allows: each time the first whose pairs, and then whose attributes, were taken least."""
    left = list(groups)
    taken: list[Any] = []
    pairs: Counter[Any] = Counter()
    names: Counter[str] = Counter()
    while left and (limit is None or len(taken) < limit):
        best = min(left, key=lambda g: (sum(pairs[p] for p in combinations(g, 2)), sum(names[name] for name in g)))
        left.remove(best)
        taken.append(best)
        pairs.update(combinations(best, 2))
        names.update(best)
    return taken


def choice_checks(certificate: dict[str, Any], plan: Plan) -> Iterator[Check]:
    """What the choice of each recoding cost, from the noise that it says it drew, against what the lock sets aside."""
    if plan.recoding == "levels":
        return
    asked, tables = plan.release["recoding"][plan.recoding], certificate["tables"]
    views = plan.release.get("views") is not None
    set_aside = plan.paid / len(tables) if views else plan.paid
    kind = plan.recoding
    fits = True
    for table in tables:
        choice = table["choice"] if views else certificate["choice"]
        cost = number(choice["epsilon"])
        fits = fits and choice["kind"] == kind and choice["steps"] == plan.steps
        fits = fits and cost == set_aside
        rate = None if asked.get("sample") is None else number(asked["sample"])
        fits = fits and (number(choice["rate"]) if "rate" in choice else None) == rate
        if kind == "choose":
            keys = {"kind", "epsilon", "steps", "schemes", "score", "sensitivity", "restricted"}
            fits = fits and set(choice) == keys and choice["score"] == asked["score"]
        else:
            keys = {
                "kind",
                "epsilon",
                "steps",
                "surveys",
                *(["rate"] if rate is not None else []),
            }
            fits = fits and set(choice) == keys and _noise_fits(choice, cost, plan.steps, len(table["columns"]), rate)
    yield Check(
        "choice", fits, "the recoding cost what the lock sets aside for it, by the noise that it drew", promise=True
    )
    if kind != "choose":
        yield Check(
            "settings of the tree", None, "how its price was divided is not computed here; what it adds up to is"
        )
    else:
        yield Check(
            "combinations of levels", None, "how many there were, and how far a row moves a score, is not computed here"
        )


def _noise_fits(choice: dict[str, Any], cost: Fraction, steps: int, columns: int, rate: Any) -> bool:
    """Whether the surveys of a tree cost what is said: each count, and each histogram of each attribute."""
    total = Fraction(0)
    fits = True
    for survey in choice["surveys"]:
        count, each = number(survey["count"]), number(survey["histogram"])
        fits = fits and set(survey) == {"count", "histogram", "attributes"} and survey["attributes"] == columns
        fits = fits and count > 0 and each > 0
        total += count + each * columns
    if rate is not None:
        total = _amplified(total, rate)
    return fits and cost * (1 - Fraction(1, 10**9)) <= total * steps <= cost


def _amplified(epsilon: Fraction, rate: Fraction) -> Fraction:
    """What a mechanism on a sample of this rate costs the whole: ln(1 + rate (e^epsilon - 1))."""
    if not 0 < rate < 1:
        raise ValueError("not a rate")
    with localcontext() as context:
        context.prec = 60
        return Fraction((1 + decimal(rate) * (decimal(epsilon).exp() - 1)).ln())


def rule_level_checks(folder: Path, certificate: dict[str, Any], plan: Plan) -> Iterator[Check]:
    """The level of each column against the lock: the one that is fixed, one within what is allowed, or boxes of a tree."""
    fits, asked = True, plan.release["recoding"][plan.recoding]
    for table in certificate["tables"]:
        for column, place in table["recoding"].items():
            rule = read_json(folder, place)
            fits = fits and rule["attribute"] == column and rule["type"] == plan.lock["attributes"][column]["type"]
            fits = fits and (rule["kind"] == "boxes") == (plan.recoding == "tree")
            if plan.recoding == "levels":
                fits = fits and rule["level"] == asked[column]
            elif plan.recoding == "choose":
                low, high = (asked.get("finest") or {}).get(column, 0), (asked.get("coarsest") or {}).get(column)
                fits = (
                    fits
                    and type(rule["level"]) is int
                    and rule["level"] >= low
                    and (high is None or rule["level"] <= high)
                )
    yield Check("levels of the lock", fits, "the recoding applied is one that was locked", promise=True)


def charged_parts(certificate: dict[str, Any], plan: Plan) -> list[tuple[Any, int]]:
    """What the release composes as: the choice of views, the recodings, the samples."""
    tables = sum(part["times"] for part in certificate["parts"])
    found: list[tuple[Any, int]] = [(("pure-dp", plan.chosen), 1)] if plan.chosen else []
    if plan.paid:
        views = plan.release.get("views") is not None
        found.append((("pure-dp", plan.paid / tables), tables) if views else (("pure-dp", plan.paid), 1))
    for part in certificate["parts"]:
        crowd = ("sampled-crowd", part["k"], number(part["beta"]))
        found.append(
            (crowd if plan.crowds else ("approx-dp", number(part["epsilon"]), number(part["delta"])), part["times"])
        )
    return found


def promise_checks(certificate: dict[str, Any], plan: Plan, whole: Composition) -> Iterator[Check]:
    """Whether everything that is published keeps the promise."""
    parts = charged_parts(certificate, plan)
    if certificate["basic"]:
        part, left = certificate["parts"][0], plan.epsilon - plan.paid - plan.chosen
        found = delta_of_unit(part["k"], number(part["beta"]), number(part["epsilon"]), plan, part["split"])
        fits = number(part["epsilon"]) == left and number(part["delta"]) == plan.delta and Fraction(found) <= plan.delta
        yield Check("the promise", fits, f"delta is {text_up(found)} at epsilon {float(plan.epsilon):g}", promise=True)
        if "views" not in certificate:
            return
    basic = all(part[0] != "sampled-crowd" for part, _ in parts)
    basic = basic and sum(part[1] * times for part, times in parts) <= plan.epsilon
    basic = basic and sum(part[2] * times for part, times in parts if part[0] == "approx-dp") <= plan.delta
    if not certificate["basic"]:
        fits = basic or whole.agrees(lambda at: at(plan.epsilon) <= plan.delta)
        yield Check("the promise", fits, "all tables together, composed here, keep it", promise=True)
    if "views" in certificate:
        told = number(certificate["views"]["composed"])
        fits = told <= plan.epsilon and (basic or _is_epsilon_of(whole, told, plan.delta))
        yield Check(
            "views composed", fits, "epsilon of all views together at the promised delta, recomputed", promise=True
        )
        added = basic_epsilon(parts, plan.delta)
        near = _printed(certificate["views"]["basic"], decimal(added), Decimal("1e-5")) if added is not None else None
        yield Check("views added up", near, "what the same parts add up to one after another, recomputed")


NEAR = Fraction(1, 200)
"""How far a composed delta that is printed may lie below the one computed here: the grids differ."""
ABOVE = Fraction(3, 2)
"""How far it may lie above: its grid rounds small costs up, and a delta that is too large promises nothing false."""
ABSOLUTE = Fraction(3, 10**11)
"""And how far beside that: the program that made the certificate relies on nothing below it."""


def _is_epsilon_of(whole: Composition, epsilon: Fraction, wanted: Fraction) -> bool:
    """Whether delta at epsilon is not more than the one wanted, and at a somewhat smaller epsilon is more."""
    rounded = any(part[0] != "sampled-crowd" for part, _ in whole.parts)  # small costs, which the other grid rounds up
    less = epsilon * (Fraction(4, 5) if rounded else Fraction(995, 1000))
    return whole.agrees(lambda at: at(epsilon) <= wanted * (1 + NEAR) and at(less) > wanted - ABSOLUTE)


def basic_epsilon(parts: list[tuple[Any, int]], wanted: Fraction) -> Optional[Fraction]:
    """The sum of epsilons when samples share equally what is left of delta; None where that is nothing."""
    left = wanted - sum(part[2] * times for part, times in parts if part[0] == "approx-dp")
    curves = sum(times for part, times in parts if part[0] == "sampled-crowd")
    total = sum((part[1] * times for part, times in parts if part[0] != "sampled-crowd"), Fraction(0))
    if left < 0 or (curves and left == 0):
        return None
    for part, times in parts:
        if part[0] == "sampled-crowd":
            low, high = Fraction(0), Fraction(64)
            if delta(part[1], part[2], high) > left / curves:
                return None
            for _ in range(44):
                middle = (low + high) / 2
                low, high = (low, middle) if delta(part[1], part[2], middle) <= left / curves else (middle, high)
            total += high * times
    return total


def curve_checks(certificate: dict[str, Any], plan: Plan, whole: Composition) -> Iterator[Check]:
    """delta of the whole release at each epsilon that is listed, for the unit that is promised."""
    told = [(number(point["epsilon"]), number(point["delta"])) for point in certificate["curve"]]
    epsilons, at = [epsilon for epsilon, _ in told], dict(told)
    far = max(Fraction(4), 2 * plan.epsilon)
    allowed = {*(epsilon for epsilon in EPSILONS if epsilon <= far), plan.epsilon}
    fits = all(set(point) == {"epsilon", "delta", "split"} for point in certificate["curve"]) and plan.epsilon in at
    fits = fits and epsilons == sorted(set(epsilons)) and set(epsilons) <= allowed
    fits = fits and all(at[first] >= at[second] for first, second in zip(epsilons, epsilons[1:]))
    fits = fits and at[plan.epsilon] <= plan.delta
    yield Check("curve", fits, "it falls, and keeps the promise at the promised epsilon", promise=True)
    if not certificate["basic"]:
        parts = charged_parts(certificate, plan)
        fits = all(point["split"] is None for point in certificate["curve"])
        fits = fits and whole.agrees(lambda delta_at: _curve_fits(delta_at, at, allowed, plan, parts))
        yield Check("curve of the release", fits, "all tables composed here, at every epsilon listed", promise=True)
        return
    part, paid = certificate["parts"][0], plan.paid + plan.chosen
    fits = True
    for epsilon in allowed - set(at):  # left out only where delta is 1, so where even shares of epsilon give no less
        even = None if plan.steps == 1 else [str((epsilon - paid) / plan.steps)] * plan.steps
        fits = fits and (
            epsilon < paid or delta_of_unit(part["k"], number(part["beta"]), epsilon - paid, plan, even) >= 1
        )
    for point in certificate["curve"]:
        epsilon = number(point["epsilon"])
        found = delta_of_unit(part["k"], number(part["beta"]), epsilon - paid, plan, point["split"])
        found = min(found, decimal(plan.delta)) if epsilon >= plan.epsilon else found
        fits = fits and epsilon >= paid and _printed(point["delta"], found)
    yield Check("curve of the release", fits, "recomputed at every epsilon listed, for the unit", promise=True)


def _curve_fits(
    found: Callable[[Fraction], Fraction],
    at: dict[Fraction, Fraction],
    allowed: set[Fraction],
    plan: Plan,
    parts: list[tuple[Any, int]],
) -> bool:
    """Whether printed points are those that were composed; those below 1e-10 are not printed."""
    own = [part for part, _ in parts if part[0] != "sampled-crowd"]
    for epsilon in allowed:
        here = found(epsilon)
        if len(own) == len(parts) and sum(part[1] * times for part, times in parts) <= epsilon:
            here = min(here, sum((part[2] * times for part, times in parts if part[0] == "approx-dp"), Fraction(0)))
        here = min(here, plan.delta) if epsilon >= plan.epsilon else here
        if epsilon in at:
            if not here * (1 - NEAR) <= at[epsilon] <= here * ABOVE + ABSOLUTE:
                return False
        elif Fraction(2, 10**10) < here < Fraction(1, 2):
            return False
    return True


KINDS = {"sampled-crowd", "pure-dp", "approx-dp", "laplace-dp", "gaussian-dp"}
"""What a charge may be made of."""


def ledger_checks(certificate: dict[str, Any], plan: Plan, whole: Composition) -> Iterator[Check]:
    """The charges of the dataset: this release is the last, they add up, and they stay within the budget."""
    book = certificate["ledger"]
    entries, total, budget = book["entries"], book["total"], book["budget"]
    fits = set(book) == {"entries", "total", "composed_epsilon", "budget", "unbounded_releases"} and bool(entries)
    fits = fits and type(book["unbounded_releases"]) is int and book["unbounded_releases"] >= 0
    fits = fits and all(set(entry) == {"epsilon", "delta", "parts", "number"} for entry in entries)
    fits = fits and [entry["number"] for entry in entries] == list(range(1, len(entries) + 1))
    fits = fits and all(number(entry["epsilon"]) >= 0 and 0 <= number(entry["delta"]) <= 1 for entry in entries)
    parts = [(part["guarantee"], part["times"]) for entry in entries for part in entry["parts"]]
    fits = fits and all(set(part) == {"guarantee", "times"} for entry in entries for part in entry["parts"])
    fits = fits and all(own["kind"] in KINDS and type(times) is int and times >= 1 for own, times in parts)
    yield Check("ledger", fits, "charges in their order, and nothing beside them", promise=True)
    last = entries[-1]
    told = [(part_of(part["guarantee"]), part["times"]) for part in last["parts"]]
    fits = number(last["epsilon"]) == plan.epsilon and number(last["delta"]) == plan.delta
    fits = fits and told == charged_parts(certificate, plan)
    yield Check("charge", fits, "the last entry is this release, with its parts", promise=True)
    sums = {name: sum((number(entry[name]) for entry in entries), Fraction(0)) for name in ("epsilon", "delta")}
    yield Check("sum over releases", same(total, sums), "recomputed", promise=True)
    locked = plan.lock["budget"]
    fits = locked is None or same(budget, {name: number(locked[name]) for name in ("epsilon", "delta")})
    if budget is not None:
        fits = fits and set(budget) == {"epsilon", "delta"} and all(sums[name] <= number(budget[name]) for name in sums)
    yield Check("budget", fits, "the one of the lock, and all releases together stay within it", promise=True)
    known = [(part_of(own), times) for own, times in parts]
    if book["composed_epsilon"] is None or any(part is None for part, _ in known):
        yield Check("composition of all releases", None, "for information; answers with noise are not composed here")
        return
    at, wanted = number(book["composed_epsilon"]), min(sums["delta"], Fraction(999_999, 1_000_000))
    fits = at <= sums["epsilon"] * (1 + Fraction(1, 10**7))
    if fits and at < sums["epsilon"] * (1 - Fraction(1, 10**7)):
        fits = _is_epsilon_of(whole if whole.can_speak_of(known, at) else Composition(known, 2 * at), at, wanted)
    yield Check("composition of all releases", fits, "recomputed, for information")


def text_up(value: Decimal) -> str:
    """Four digits, rounded up."""
    with localcontext() as context:
        context.prec, context.rounding = 4, ROUND_CEILING
        return f"{+value:g}"


# === 8. A release whose guarantee is counted =======================================================================

COUNTED = {"microaggregation": "k-anonymity", "probabilistic-k": "probabilistic-k"}
"""A method and its kind of promise."""
STATUS = {"microaggregation": "checked", "probabilistic-k": "proved with condition"}
"""All that such a method can say of itself: its promise is counted on the table, or holds on a condition about intruders."""
THEOREM = {"microaggregation": "microaggregation-k", "probabilistic-k": "probabilistic-k"}
LABELS = ("interval", "set", "concept", "ancestor")
"""What a group may show that is no value of the attribute."""


def counted_checks(folder: Path, certificate: dict[str, Any], lock: dict[str, Any]) -> Iterator[Check]:
    """A table whose guarantee is a property of its own: papers against the lock, then groups, l and t counted."""
    release, method = lock["release"], lock["release"]["method"]
    kind, status, swapped = COUNTED[method], STATUS[method], method == "probabilistic-k"
    names = "version dataset date software sentence words status claims guarantee method grouping theorems not_promised tables"
    wanted = {*names.split(), "ledger", "plan", "files", "verify", "seal"}
    yield Check("entries", set(certificate) == wanted, "those of the locked plan, and no others", promise=True)
    roles = {
        role: [name for name, own in lock["attributes"].items() if own["role"] == role]
        for role in ("quasi", "confidential")
    }
    alone = swapped and release["grouping"] == "ranking"
    crowds = (
        {name: (release.get("crowds") or {}).get(name, release["k"]) for name in roles["confidential"]} if alone else {}
    )
    k, spread, closeness = min(crowds.values(), default=release["k"]), release.get("l"), release.get("t")
    person = isinstance(lock["unit"], dict)
    unit = {
        "whose": "person" if person else "row",
        "neighbours": lock["neighbours"],
        "column": lock["unit"]["column"] if person else None,
    }
    promised = {
        "kind": kind, "k": k, "l": spread, "t": None if closeness is None else number(closeness),
        "unit": {**unit, "max_rows": lock["unit"]["max_rows"] if person else 1}, "status": status,
    }  # fmt: skip
    yield Check("guarantee", same(certificate["guarantee"], promised), "as the lock asks for it", promise=True)
    random = "operating system" if swapped else "none needed"
    rest = {"unit": None, "randomness": random}
    claims: list[Any] = [
        {
            "guarantee": {"kind": kind, "k": k},
            "status": status,
            "theorems": [THEOREM[method]],
            "conditions": int(swapped),
            **rest,
        }
    ]
    more: dict[str, Any] = {"status": "checked", "theorems": [], "conditions": int(swapped), **rest}
    if spread is not None:
        claims.append({"guarantee": {"kind": "l-diversity", "l": Fraction(spread), "form": "distinct"}, **more})
    if closeness is not None:
        claims.append({"guarantee": {"kind": "t-closeness", "t": number(closeness), "metric": "emd"}, **more})
    told = [{**claim, "conditions": len(claim["conditions"])} for claim in certificate["claims"]]
    fits = same(told, claims)
    yield Check("claims", fits, "those of the locked plan with their conditions, and no others", promise=True)
    yield Check("status", certificate["status"] == status, f"the lock supports '{status}'", promise=True)
    yield Check("method", certificate["method"] == method, "the method of the lock", promise=True)
    gain = number(release["gain"]) if release["grouping"] == "vmdav" else None
    grouping = {"name": release["grouping"], "gain": gain, "crowds": crowds}
    yield Check("grouping", same(certificate["grouping"], grouping), "as the lock asks for it", promise=True)
    listed = [{key: entry[key] for key in entry if key not in PROSE} for entry in certificate["theorems"]]
    yield subject_check(certificate, lock)
    yield Check("theorems", listed == [{"name": THEOREM[method]}], "the one of the method", promise=True)
    book = certificate["ledger"]
    fits = set(book) == {"unbounded_releases", "charges", "epsilon", "delta"}
    fits = fits and all(type(book[name]) is int and book[name] >= 0 for name in ("unbounded_releases", "charges"))
    fits = fits and all(
        number(book[name]) >= 0 and (book["charges"] > 0 or number(book[name]) == 0) for name in ("epsilon", "delta")
    )
    yield Check("ledger", fits, "without charges there is nothing spent", promise=True)
    yield Check("what columns show", None, "by which rule a column shows its values is not compared here")
    yield from _counted_table(folder, certificate, lock, roles, k, crowds)


def _counted_table(
    folder: Path,
    certificate: dict[str, Any],
    lock: dict[str, Any],
    roles: dict[str, list[str]],
    k: int,
    crowds: dict[str, int],
) -> Iterator[Check]:
    """The one table: its columns and roles, then what is counted on it."""
    tables, release = certificate["tables"], lock["release"]
    table, attributes = tables[0], lock["attributes"]
    name = f"table.{release['output']['format']}"
    published = {each for each, own in attributes.items() if own["role"] not in ("identifier", "drop")}
    fits = len(tables) == 1 and set(certificate["files"]) == {name, "policy.lock.yaml"} and table["file"] == name
    yield Check("one table", fits, "beside the locked plan, and nothing else", promise=True)
    columns = table["columns"]
    fits = set(table) == {"file", "k", "columns", "quasi", "confidential", "shows"} and table["k"] == k
    fits = fits and sorted(columns) == sorted(published) == sorted(table["shows"])
    fits = fits and all(
        table[role] == [one for one in columns if one in roles[role]] for role in ("quasi", "confidential")
    )
    yield Check("roles", fits, "every published attribute, with the role of the lock", promise=True)
    if not fits:
        return
    swapped = release["method"] == "probabilistic-k"
    rows, read = reading_checks(folder, name, columns)
    yield from read
    if not all(check.agrees for check in read[:1]):
        return
    kinds = [_counted_kind(attributes[column]["type"], table["shows"][column]) for column in columns]
    try:
        ordered = in_order(rows, kinds)
    except (ValueError, TypeError, KeyError):
        ordered = False
    yield Check(
        f"order of {name}", ordered, "rows are sorted by their own values, so their order shows nothing", promise=True
    )
    many, least = sum(times for _, times in rows), 2 * max(k, *crowds.values(), 0)
    yield Check(f"rows of {name}", many >= least, f"{many}; two groups have {least} or more", promise=True)
    places = [columns.index(each) for each in roles["quasi"]]
    groups: dict[Any, list[Any]] = {}
    for row, times in rows:
        groups.setdefault(() if swapped else tuple(row[place] for place in places), []).append((row, times))
    if not swapped:
        smallest = min((sum(times for _, times in group) for group in groups.values()), default=0)
        yield Check(f"groups of {name}", smallest >= k, f"the smallest has {smallest} rows, k = {k}", promise=True)
    for place in (columns.index(each) for each in roles["confidential"]):
        if release.get("l") is not None:
            found = min((len({row[place] for row, _ in group}) for group in groups.values()), default=0)
            yield Check("different values", found >= release["l"], f"{found} of column {place + 1}", promise=True)
        if release.get("t") is not None and not swapped:
            far = _farthest(list(groups.values()), rows, place, attributes[columns[place]])
            yield Check(
                "t-closeness",
                far <= number(release["t"]),
                f"column {place + 1} lies {float(far):.4g} off",
                promise=True,
            )


def _counted_kind(kind: str, shows: str) -> str:
    """How the values of a column compare: labels as text, means and medians of numbers as numbers."""
    if shows in LABELS:
        return "text"
    return "decimal" if shows in ("mean", "median") and kind in ("integer", "decimal") else kind


def _farthest(groups: list[Any], rows: list[Any], place: int, attribute: dict[str, Any]) -> Fraction:
    """The largest earth mover's distance of a group from the table: along the order of values, or with all 1 apart."""
    kind, listed = (
        attribute["type"],
        (attribute["domain"] or {}).get("values") if isinstance(attribute["domain"], dict) else None,
    )
    rank = {text: number_ for number_, text in enumerate(listed)} if kind == "ordinal" and listed is not None else None
    ordered = rank is not None or kind in ("integer", "decimal", "date", "datetime")

    def key(cell: Any) -> Any:
        return (1, 0) if cell is None else (0, rank[cell] if rank is not None else value(cell, kind))

    def shares(group: list[Any]) -> dict[Any, Fraction]:
        counts: Counter[Any] = Counter()
        for row, times in group:
            counts[key(row[place])] += times
        total = sum(counts.values())
        return {each: Fraction(count, total) for each, count in counts.items()}

    overall = shares(rows)
    order, worst = sorted(overall), Fraction(0)
    for group in groups:
        own = shares(group)
        if not ordered:
            worst = max(worst, sum((abs(own.get(each, 0) - overall[each]) for each in order), Fraction(0)) / 2)
            continue
        running, moved = Fraction(0), Fraction(0)
        for each in order:
            running += own.get(each, 0) - overall[each]
            moved += abs(running)
        worst = max(worst, moved / max(1, len(order) - 1))
    return worst


# === 9. The program ================================================================================================


def verify(folder: Path) -> list[Check]:
    """Everything that can be verified from the folder alone."""
    return list(checks_of(folder, strict_json((folder / "certificate.json").read_bytes().decode("utf-8"))))


def checks_of(folder: Path, certificate: Any) -> Iterator[Check]:
    """The checks of a folder, one after another, as far as it can be read; whatever makes no sense raises."""
    known = isinstance(certificate, dict) and type(certificate.get("version")) is int
    if not known or certificate["version"] != KNOWN_VERSION:
        yield Check("version", False, f"this verifier knows certificates of version {KNOWN_VERSION}", promise=True)
        return
    sealed = certificate.get("seal") == seal(certificate)
    yield Check("seal", sealed, "the certificate is as it was sealed", promise=True)
    yield from file_checks(folder, certificate)
    try:
        lock = read_lock(inside(folder, "policy.lock.yaml").read_bytes().decode("utf-8"))
    except ValueError as error:
        yield Check("text of the lock", False, str(error), promise=True)
        return
    yield Check("text of the lock", True, "written as locks are", promise=True)
    method = lock["release"]["method"]
    if method not in ("safe-k", *COUNTED):
        yield Check("method", False, "the lock asks for a method that makes no such certificate", promise=True)
        return
    yield from (sampled_checks if method == "safe-k" else counted_checks)(folder, certificate, lock)
    yield Check("prose", None, "sentences, the words of theorems and conditions, and the page are not compared here")


def statement(folder: Path) -> list[str]:
    """What was verified, in words of this file's own."""
    lock = read_lock((folder / "policy.lock.yaml").read_bytes().decode("utf-8"))
    release, dataset = lock["release"], visible(lock["dataset"])
    unit, neighbours = lock["unit"], lock["neighbours"]
    whose = (
        "one row"
        if not isinstance(unit, dict)
        else f"all rows (at most {unit['max_rows']}) of one {visible(unit['column'])}"
    )
    change = "added or removed" if neighbours == "add_remove" else "replaced by any other"
    if release["method"] == "microaggregation":
        return [
            f"Dataset {dataset}: every group of equal quasi-identifiers has at least {release['k']} rows.",
            "That is counted and not proved, and it is no differential privacy.",
        ]
    if release["method"] == "probabilistic-k":
        return [
            f"Dataset {dataset}: probabilistic k-anonymity on a condition about what an intruder knows. No differential privacy.",
            "The groups are not published: that the claim holds rests on the program that made the table.",
        ]
    plan = plan_of(lock)
    promise = f"({release['epsilon']}, {release['delta']})-differential privacy"
    found = [f"Dataset {dataset}: {promise} for {whose} {change}. Status: {plan.status}."]
    if plan.already:
        found.append(
            "Condition, which only the holder can know: the table itself was drawn from a larger population, each person "
            f"independently with probability at most {release['sampling']['already']}, and nothing else is computed from it."
        )
    if plan.tuned:
        found.append("Parts of the plan were drafted from the data; what that gives away is not covered.")
    return found


WORDS = {True: "ok           ", False: "FAILED       ", None: "NOT VERIFIED "}


def report(checks: list[Check]) -> tuple[list[str], int]:
    """The lines to print, what failed or was not verified first, and the exit code."""
    failed = [check for check in checks if check.agrees is False]
    unknown = [check for check in checks if check.agrees is None]
    bearing = [check for check in unknown if check.promise]
    ordered = [
        *failed,
        *bearing,
        *(check for check in unknown if not check.promise),
        *(check for check in checks if check.agrees),
    ]
    lines = [f"{WORDS[check.agrees]} {visible(check.name)}: {visible(check.detail)}" for check in ordered]
    count = f"{sum(check.agrees is True for check in checks)} checks agree, {len(failed)} failed, {len(unknown)} not verified"
    names = ", ".join(visible(check.name) for check in bearing)
    if failed:
        return [*lines, f"{count}. FAILED: do not rely on this folder."], 3
    if bearing:
        return [*lines, f"{count}. NOT VERIFIED, though the promise rests on it: {names}."], 3
    others = ", ".join(visible(check.name) for check in unknown)
    return [
        *lines,
        f"{count} ({others}; the promise does not rest on that). VERIFIED: all that the promise rests on.",
    ], 0


def main(arguments: list[str]) -> int:
    """Print every check; the exit code says the outcome."""
    folder = Path(arguments[0]) if len(arguments) == 1 else None
    if folder is None or not (folder / "certificate.json").is_file():
        print("usage: python verifier.py FOLDER   (a release folder with certificate.json)", file=sys.stderr)
        return 2
    try:
        checks, says = verify(folder), statement(folder)
    except (
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        AttributeError,
        ArithmeticError,
        RecursionError,
        OSError,
    ) as error:
        print(f"FAILED        the folder cannot be read as a release: {type(error).__name__}. Do not rely on it.")
        return 3
    lines, code = report(checks)
    for line in lines:
        print(line)
    for line in says if code == 0 else ():
        print(line)
    return code


if __name__ == "__main__":
    if sys.version_info < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        print(f"NOT VERIFIED  this verifier needs Python {wanted} or newer; nothing was looked at", file=sys.stderr)
        sys.exit(3)
    for stream in (sys.stdout, sys.stderr):
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
    sys.exit(main(sys.argv[1:]))
