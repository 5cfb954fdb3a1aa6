"""Verify a release folder with the standard library alone: `python verifier.py FOLDER`.

This file shares no code with the rest of Shoal, so that its opinion is its own. It recomputes the seal and
all hashes, the smallest group of the table (CSV; a Parquet table needs more than the standard library), the
labels against the recoding, delta from k, beta and epsilon, the curve, what a private choice of the recoding
cost, whether its boxes divide the declared domain, and the sums over releases; of a guarantee that is counted,
its groups, rows and different values.
Exit code 0 when everything agrees, 3 when something does not, 2 when there is nothing to verify.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

KNOWN_VERSION = 1
COUNTED = {"microaggregation": "k-anonymity", "probabilistic-k": "probabilistic-k"}  # a method and its promise
MISSING = "(missing)"


class Check(NamedTuple):
    """One thing that was recomputed; `agrees` is None where it could not be."""

    name: str
    agrees: bool | None
    detail: str


def delta(k: int, beta: Fraction, epsilon: Fraction) -> Decimal:
    """delta*(k, beta, epsilon): tell M from M + 1, M the records passed over before the k-th is sampled.

    Sums Pr[M = m] - e^epsilon Pr[M + 1 = m] over the m where it is positive (removing a record), and the other
    way round (adding one); the larger counts.
    """
    with localcontext() as context:
        context.prec, context.Emin = 80, -999_999_999
        rate = Decimal(beta.numerator) / Decimal(beta.denominator)
        ratio = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()
        return max(_remove(k, rate, ratio), _add(k, rate, ratio))


def delta_of_steps(k: int, beta: Fraction, split: list[Fraction], replaced: bool) -> Decimal:
    """delta of several single steps one after another, each at its share of epsilon.

    A unit of m rows is m steps; replacing it is m removals and m additions, in the better order. Whatever the split,
    delta(e_1 + ... + e_n) <= sum_i e^(e_1 + ... + e_{i-1}) delta_i(e_i).
    """
    with localcontext() as context:
        context.prec, context.Emin = 80, -999_999_999
        rate = Decimal(beta.numerator) / Decimal(beta.denominator)
        ratios = [(Decimal(share.numerator) / Decimal(share.denominator)).exp() for share in split]
        remove, add = ([way(k, rate, ratio) for ratio in ratios] for way in (_remove, _add))
        half = len(split) // 2
        chains = [remove[:half] + add[half:], add[:half] + remove[half:]]
        if not replaced:
            chains = [[max(pair) for pair in zip(remove, add, strict=True)]]
        return min(Decimal(1), *(_added_up(chain, ratios) for chain in chains))


def _added_up(deltas: list[Decimal], ratios: list[Decimal]) -> Decimal:
    total, grown = Decimal(0), Decimal(1)
    for own, ratio in zip(deltas, ratios, strict=True):
        total += grown * own
        grown *= ratio
    return total


def _remove(k: int, rate: Decimal, ratio: Decimal) -> Decimal:
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


def seal(certificate: dict[str, Any]) -> str:
    """SHA-256 of everything in the certificate but the seal itself."""
    content = {name: value for name, value in certificate.items() if name != "seal"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def verify(folder: Path) -> list[Check]:
    """Everything that can be recomputed from the folder alone."""
    certificate = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    if certificate.get("version") != KNOWN_VERSION:
        return [Check("version", False, f"this verifier knows version {KNOWN_VERSION}")]
    checks = [Check("seal", certificate.get("seal") == seal(certificate), "the certificate is as it was sealed")]
    checks += _files(folder, certificate)
    if certificate["method"] != "safe-k":
        return [*checks, *_counted(folder, certificate)]
    return [*checks, *_numbers(certificate), *_choice(certificate), *_table(folder, certificate)]


def _counted(folder: Path, certificate: dict[str, Any]) -> Iterator[Check]:
    """A table whose guarantee is a property of its own: the groups of equal quasi-identifiers, where they are the promise."""
    promised, tables, claims = certificate["guarantee"], certificate["tables"], certificate["claims"]
    kind, k, table, grouping = promised["kind"], promised["k"], tables[0], certificate["grouping"]
    yield Check("method", COUNTED.get(certificate["method"]) == kind, "a known one, with its own kind of promise")
    same = claims[0]["guarantee"] == {"kind": kind, "k": k} and table["k"] == k >= 1
    same = same and claims[0]["status"] == promised["status"] == certificate["status"]
    more = {own["kind"]: Fraction(own[own["kind"][0]]) for own in (claim["guarantee"] for claim in claims[1:])}
    told = {n: Fraction(promised[n[0]]) for n in ("l-diversity", "t-closeness") if promised[n[0]] is not None}
    yield Check("claims", same and more == told, "one promise throughout")
    file, columns, quasi, hidden = (table[name] for name in ("file", "columns", "quasi", "confidential"))
    one = len(tables) == 1 and file in ("table.csv", "table.parquet")
    one = one and set(certificate["files"]) == {file, "policy.lock.yaml"}
    yield Check("one table", one, "beside the locked plan, and nothing else")
    swapped = kind == "probabilistic-k"
    fits = {*quasi, *hidden} <= set(columns) == set(table["shows"]) and not set(quasi) & set(hidden)
    fits = fits and bool(quasi or (swapped and grouping["name"] == "ranking")) and len(set(columns)) == len(columns)
    fits = fits and bool(hidden or not (swapped or told))
    yield Check("roles", fits, "of columns that are there, and all that the method needs")
    if not (one and fits and file == "table.csv"):
        yield Check("groups of the table", None, "not a CSV table; `shoal verify` reads it")
        return
    even, rows = _read(folder / file, columns)
    yield Check(f"columns of {file}", even, "as declared, in every row")
    least, groups = 2 * max(k, *grouping["crowds"].values(), 0), dict[tuple[str, ...], Counter[tuple[str, ...]]]()
    yield Check(f"rows of {file}", rows.total() >= least, f"{rows.total()}; two groups have {least} or more")
    for row, times in rows.items() if even else ():
        own = tuple(row[columns.index(name)] for name in quasi if not swapped)
        groups.setdefault(own, Counter())[row] = times
    smallest = min((group.total() for group in groups.values()), default=0)
    detail = "not published: the claim rests on how it was made" if swapped else f"the smallest has {smallest} rows"
    yield Check(f"groups of {file}", None if swapped else smallest >= k, detail)
    if promised["l"] is not None:
        values = ({row[columns.index(name)] for row in group} for group in groups.values() for name in hidden)
        found = min(map(len, values), default=0)
        yield Check("different values", found >= promised["l"], f"{found} in {'the table' if swapped else 'a group'}")


def _files(folder: Path, certificate: dict[str, Any]) -> Iterator[Check]:
    listed = certificate["files"]
    for name, expected in listed.items():
        path = folder / name
        same = path.is_file() and not path.is_symlink() and sha256(path) == expected
        yield Check(f"file {name}", same, "its SHA-256 is the one in the certificate")
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    extra = present - set(listed) - {"certificate.json", "certificate.html"}
    yield Check("no other files", not extra, f"{len(extra)} files that the certificate does not list")
    yield Check("plan", listed.get("policy.lock.yaml") == certificate["plan"], "the locked plan is the one charged")


def sha256(path: Path) -> str:
    """The hash of a file, block by block."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def _numbers(certificate: dict[str, Any]) -> Iterator[Check]:
    parts, tables, promise = certificate["parts"], certificate["tables"], certificate["guarantee"]
    times = sum(part["times"] for part in parts)
    whole = bool(parts) and all(part["times"] >= 1 for part in parts) and times == len(tables)
    yield Check("parts and tables", whole, "one table for each release or view")
    own = [table.get("part", 0) for table in tables]
    same = all(table["k"] == parts[place]["k"] for table, place in zip(tables, own, strict=True))
    same = same and all(own.count(place) == part["times"] for place, part in enumerate(parts))
    told = {claim["guarantee"]["k"] for claim in certificate["claims"] if claim["guarantee"]["kind"] == "k-anonymity"}
    same = same and told == {min(part["k"] for part in parts)}
    yield Check("one k", same, "each table's is its part's, and the claim is the smallest")
    names = [table.get("name") for table in tables]
    views = certificate.get("views")
    fits = all(name is None for name in names) if views is None else views["count"] == len(set(names)) == len(names)
    yield Check("views", fits, "as many names as views")
    same = promise["neighbours"] == promise["unit"]["neighbours"] == certificate["claims"][0]["unit"]["neighbours"]
    yield Check("one neighbouring relation", same, "in the promise, the unit and the claim")
    recoding = Fraction(promise["epsilon_recoding"])
    shares = recoding >= 0 and all(
        Fraction(part["epsilon"]) + recoding <= Fraction(promise["epsilon"])
        and (Fraction(part["delta"]) <= Fraction(promise["delta"]) or not certificate["basic"])
        for part in parts
    )
    yield Check("shares", shares, "no part promises more than the whole")
    for number, part in enumerate(parts, 1):
        k, rate, epsilon = part["k"], Fraction(part["beta"]), Fraction(part["epsilon"])
        found, claimed = delta(k, rate, epsilon), Decimal(part["delta_tight"])
        close = found <= claimed <= found * (1 + Decimal(10) ** -3)
        unit = Fraction(part["delta_unit"])
        close = close and _is_delta_of_unit(certificate, part, epsilon, unit, part["split"])
        close = close and (certificate["bound"] != "tight" or Fraction(part["delta"]) >= unit)
        detail = f"k = {k}, beta = {part['beta']}: delta* is at most {part['delta_tight']}"
        yield Check(f"delta of part {number}", close, detail)
    yield from _curve(certificate)
    yield Check("composition", certificate["basic"] == (times == 1), "one release adds up by itself")
    if certificate["bound"] == "tight" and certificate["basic"]:
        epsilons = sum((Fraction(p["epsilon"]) * p["times"] for p in parts), start=recoding)
        deltas = sum((Fraction(p["delta_unit"]) * p["times"] for p in parts), start=Fraction(0))
        fits = epsilons <= Fraction(promise["epsilon"]) and deltas <= Fraction(promise["delta"])
        yield Check("the promise", fits, "the parts add up to no more than what is promised")
    if not certificate["basic"]:
        none = Fraction(1)
        for part in parts:
            if part["times"] * part["k"] < 10**5:
                none *= (1 - Fraction(part["beta"]) ** part["k"]) ** part["times"]
        fits = 1 - none <= Fraction(promise["delta"])
        yield Check("floor of the promise", fits, "delta is not below what whole groups in the samples alone give away")
        yield Check("the promise", None, "parts composed as distributions of privacy loss; see `shoal verify`")
    entries, budget, total = (certificate["ledger"][name] for name in ("entries", "budget", "total"))
    if budget is not None:
        within = all(Fraction(total[name]) <= Fraction(budget[name]) for name in ("epsilon", "delta"))
        yield Check("budget", within, "all releases together stay below it")
    for name in ("epsilon", "delta"):
        added = sum((Fraction(entry[name]) for entry in entries), start=Fraction(0))
        yield Check(f"sum of {name} over releases", added == Fraction(total[name]), "recomputed")


def _curve(certificate: dict[str, Any]) -> Iterator[Check]:
    """delta of the whole release at each epsilon listed, for the unit that is promised."""
    curve, parts, promise = (certificate[name] for name in ("curve", "parts", "guarantee"))
    views = certificate.get("views")
    points = [(Fraction(point["epsilon"]), Fraction(point["delta"])) for point in curve]
    at, (own, most) = dict(points), (Fraction(promise[name]) for name in ("epsilon", "delta"))
    falls = all(a < b and c >= d for (a, c), (b, d) in pairwise(points))
    fits = falls and own in at and at[own] <= most and len(at) == len(points)
    yield Check("curve", fits, "it falls, and keeps the promise at the promised epsilon")
    chosen = Fraction(views["chosen"]["epsilon"]) if views is not None and views["chosen"] is not None else Fraction(0)
    if not certificate["basic"]:
        above = all(Fraction(delta(p["k"], Fraction(p["beta"]), e)) <= told for p in parts for e, told in points[:1])
        yield Check("curve of all parts", None if above else False, "composed; `shoal verify` recomputes it")
        return
    paid = Fraction(promise["epsilon_recoding"]) + chosen
    for point, (epsilon, told) in zip(curve, points, strict=True):
        agrees = epsilon >= paid and _is_delta_of_unit(certificate, parts[0], epsilon - paid, told, point["split"])
        yield Check(f"curve at {float(epsilon):g}", agrees, "recomputed for everything that is published, for the unit")


def _is_delta_of_unit(
    certificate: dict[str, Any], part: dict[str, Any], epsilon: Fraction, told: Fraction, split: list[str] | None
) -> bool:
    """Whether one sample costs the unit this delta at epsilon: not less, and not much more."""
    promise, k, rate = certificate["guarantee"], part["k"], Fraction(part["beta"])
    replaced, shares = promise["neighbours"] == "replace_one", [Fraction(share) for share in split or ()]
    steps = promise["unit"]["max_rows"] * (2 if replaced else 1)
    if steps == 1:
        exact, fits = delta(k, rate, epsilon), split is None
    else:  # the certificate shows how epsilon is split over the steps; any split gives a delta that holds
        fits = len(shares) == steps and sum(shares) == epsilon and min(shares) >= 0
        exact = delta_of_steps(k, rate, shares, replaced) if fits else Decimal(1)
    close = Fraction(exact) * (1 - Fraction(1, 10**30)) <= told <= Fraction(exact) * Fraction(1001, 1000)
    return fits and close


def _choice(certificate: dict[str, Any]) -> Iterator[Check]:
    """What the choice of each recoding cost, from the noise that it says it drew."""
    promise = certificate["guarantee"]
    set_aside = Fraction(promise["epsilon_recoding"])
    steps = promise["unit"]["max_rows"] * (2 if promise["neighbours"] == "replace_one" else 1)
    fits = True
    for table in certificate["tables"]:
        choice = table.get("choice", certificate.get("choice"))
        if choice is None:
            fits = fits and set_aside == 0 and "boxes" not in table
            continue
        cost = Fraction(choice["epsilon"])
        fits = fits and 0 < cost <= set_aside and choice["steps"] == steps
        fits = fits and ("boxes" in table) == (choice["kind"] in ("tree", "privtree"))
        if "boxes" in table:
            shares = [(Fraction(s["count"]), Fraction(s["histogram"]), s["attributes"]) for s in choice["surveys"]]
            total = sum((count + histogram * many for count, histogram, many in shares), start=Fraction(0))
            if choice["kind"] == "privtree":
                test = choice["test"]
                bars = [test["theta"] + t * test["rise"] for t in range(test["depth"])]
                total += _path_loss(Fraction(test["scale"]), bars, test["clamp"])
            if "rate" in choice:
                total = _amplified(total, Fraction(choice["rate"]))
            fits = fits and cost * (1 - Fraction(1, 10**9)) <= total * steps <= cost
            fits = fits and all(count > 0 and each > 0 for count, each, _ in shares)
            fits = fits and all(many == len(table["columns"]) for _, _, many in shares)
    yield Check("choice", fits, "no recoding cost more than was set aside for it, and a fixed one cost nothing")
    views = certificate.get("views")
    if views is not None and (chosen := views["chosen"]) is not None:
        fits = 0 < Fraction(chosen["epsilon"]) < Fraction(promise["epsilon"]) and chosen["steps"] == steps
        yield Check("choice of views", fits and chosen["of"] >= views["count"], "a part of epsilon")


def _amplified(epsilon: Fraction, rate: Fraction) -> Fraction:
    """What a mechanism on a sample of this rate costs the whole: ln(1 + rate (e^epsilon - 1))."""
    if not 0 < rate < 1:
        raise ValueError("not a rate")
    with localcontext() as context:
        context.prec = 60
        grown = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp() - 1
        return Fraction((1 + Decimal(rate.numerator) / Decimal(rate.denominator) * grown).ln())


def _path_loss(scale: Fraction, bars: list[int], clamp: int) -> Fraction:
    """The worst log-ratio along a path of tests max(c, bar - clamp) + X > bar, X two-sided geometric with this scale.

    The worst path has one count throughout, at the clamp of one of its tests (theorem privtree-geometric).
    """
    if scale <= 0 or clamp < 0 or sorted(bars) != bars:
        raise ValueError("a test that has no price")
    with localcontext() as context:
        context.prec = 60
        step = Decimal(scale.denominator) / Decimal(scale.numerator)
        ratio = (-step).exp()
        gains: dict[int, Decimal] = {}
        worst = step
        for count in {max(0, bar - clamp) for bar in bars}:
            total = Decimal(0)
            for excess in (count - bar for bar in bars):
                if excess < -clamp:
                    break
                if excess not in gains:
                    below = ratio ** max(excess, 0)
                    gains[excess] = step if excess <= 0 else ((1 + ratio - ratio * below) / (1 + ratio - below)).ln()
                total += gains[excess]
            worst = max(worst, total)
        return Fraction(worst)


def box_checks(folder: Path, table: dict[str, Any], shown: set[tuple[str, ...]]) -> Iterator[Check]:
    """Whether the boxes divide the declared domain, and every published row is one of them."""
    if "boxes" not in table:
        return
    even, rows = _read(folder / table["boxes"], table["columns"])
    boxes = list(rows.elements())
    yield Check(f"boxes of {table['file']}", even and shown <= set(boxes), "every row is in one")
    sides, whole = [], []
    for column in table["columns"]:
        rule = json.loads((folder / table["recoding"][column]).read_text(encoding="utf-8"))
        runs = [sum(2 ** (last + 1) - 2**first for first, last in member) for member in rule["members"]]
        sides.append(dict(zip(rule["labels"], runs, strict=True)))
        whole.append(2 ** len(rule["cells"]) - 1)
    pieces = [tuple(side[label] for side, label in zip(sides, box, strict=True)) for box in boxes]
    yield Check(f"boxes of {table['file']} and the domain", divides(pieces, tuple(whole)), "no gap and no overlap")


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
    for side in sorted(sides, key=int.bit_count, reverse=True):
        merged = side
        for part in found:
            merged |= part if part & side else 0
        found = [part for part in found if not part & side] + [merged]
    return found


def _read(path: Path, columns: list[str]) -> tuple[bool, Counter[tuple[str, ...]]]:
    """Whether the header and every row of a CSV file have these columns, and how often each row occurs."""
    csv.field_size_limit(2**31 - 1)
    with path.open(newline="", encoding="utf-8") as file:
        lines = csv.reader(file)
        header = next(lines, [])
        rows = Counter(tuple(line) for line in lines)
    return header == columns and {len(row) for row in rows} <= {len(columns)}, rows


def _table(folder: Path, certificate: dict[str, Any]) -> Iterator[Check]:
    for table in certificate["tables"]:
        path, k = folder / table["file"], table["k"]
        if path.suffix != ".csv":
            yield Check(f"groups of {table['file']}", None, "a Parquet table; `shoal verify` reads it")
            yield from box_checks(folder, table, set())
            continue
        even, groups = _read(path, table["columns"])
        yield Check(f"columns of {table['file']}", even, "as declared, in every row")
        smallest = min(groups.values(), default=k)
        yield Check(f"groups of {table['file']}", smallest >= k, f"the smallest has {smallest} rows, k = {k}")
        for place, column in enumerate(table["columns"]):
            allowed = allowed_labels(folder / table["recoding"][column])
            if allowed is not None:
                found = {row[place] for row in groups}
                yield Check(f"labels of {column}", found <= allowed, "all come from the recoding")
        yield from box_checks(folder, table, set(groups))


def allowed_labels(path: Path) -> set[str] | None:
    """What a recoding rule can show; None where that cannot be listed."""
    rule = json.loads(path.read_text(encoding="utf-8"))
    labels = rule["labels"]
    if labels is None:
        if rule["kind"] not in ("keep", "masked"):
            raise ValueError("a rule without labels")
        return None
    if rule["kind"] == "groups" and set(rule["table"].values()) - set(labels):
        raise ValueError("a rule whose table does not fit its labels")
    if rule["kind"] == "cuts" and len(rule["edges"]) + 1 != len(labels):
        raise ValueError("a rule whose edges do not fit its labels")
    return {*labels, MISSING, ""}


def main(arguments: list[str]) -> int:
    """Print every check; the exit code says the outcome."""
    folder = Path(arguments[0]) if len(arguments) == 1 else None
    if folder is None or not (folder / "certificate.json").is_file():
        print("usage: python verifier.py FOLDER   (a release folder with certificate.json)", file=sys.stderr)
        return 2
    try:
        checks = verify(folder)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, OSError, csv.Error) as error:
        print(f"FAILED   the certificate cannot be read: {type(error).__name__}")
        return 3
    for check in checks:
        word = {True: "ok     ", False: "FAILED ", None: "skipped"}[check.agrees]
        print(f"{word}  {check.name}: {check.detail}")
    failed = sum(check.agrees is False for check in checks)
    print(f"{len(checks)} checks, {failed} failed")
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
