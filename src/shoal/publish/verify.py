"""Verify a release folder: everything the one-file verifier does, and what needs more than the standard library."""

from __future__ import annotations

import csv
import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

from ruamel.yaml.error import YAMLError

from shoal.anonymize.partition.scores import SCORES
from shoal.errors import ShoalError, UsageError, VerificationError
from shoal.guarantee import words
from shoal.guarantee.claim import StatedClaim, Status
from shoal.guarantee.compose import compose, composed_within
from shoal.guarantee.differential import ApproxDP, PureDP, SampledCrowd
from shoal.guarantee.kind import Guarantee
from shoal.guarantee.promise import Promise, Whose, published
from shoal.guarantee.release_curve import release_curve
from shoal.guarantee.rounding import exact, text_up
from shoal.guarantee.safe_k import delta_exactly
from shoal.guarantee.saved import load
from shoal.guarantee.theorem import THEOREMS
from shoal.guarantee.unit import Unit
from shoal.publish import verifier
from shoal.publish.certificate import NOT_PROMISED, curve_points
from shoal.publish.opening import HOW_TO_VERIFY
from shoal.publish.shape import faults
from shoal.publish.syntactic.plan import METHODS
from shoal.publish.verifier import Check
from shoal.publish.verify_lock import lock_checks

SLACK = exact("1.001")
SCHEMA = Path(__file__).with_name("certificate.schema.json")
"""What a certificate may hold, as it ships."""
SHIPPED = ("0.1.0",)
"""The versions whose certificates this one knows word by word; what another version would say cannot be told from a forgery."""


def verify(folder: str | Path) -> list[Check]:
    """All checks of a release folder; UsageError when it is none."""
    where = Path(folder)
    file = where / "certificate.json"
    if not file.is_file():
        raise UsageError("this is no release folder", came=where, fix="name a folder that holds certificate.json")
    checks: list[Check] = []
    try:
        certificate = json.loads(file.read_text(encoding="utf-8"), object_pairs_hook=_once)
        checks += [check for check in verifier.verify(where) if check.agrees is not None]
        if certificate.get("version") == verifier.KNOWN_VERSION:
            checks += _form(certificate)
            if certificate["method"] in METHODS:
                from shoal.publish.syntactic.verify import verify_counted

                checks += verify_counted(where, certificate)
            else:
                for look in (_claims, _named, _numbers, _ledger, _words):
                    checks += look(certificate)
                checks += [*lock_checks(where, certificate), *_parquet(where, certificate)]
            if not any(check.agrees is False for check in checks):  # else it may not be possible to draw it
                checks += _page(where, certificate)
    except (
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        AttributeError,
        ArithmeticError,
        csv.Error,
        YAMLError,
    ) as error:
        checks.append(Check("certificate", False, f"it cannot be read to its end: {type(error).__name__}"))
    except ShoalError as error:
        checks.append(Check("certificate", False, f"it says something that cannot be: {error.wrong}"))
    except OSError as error:
        checks.append(Check("files", False, f"one cannot be read: {error.strerror}"))
    return checks


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are said once: of two, readers would take different ones."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key is said twice")
    return dict(pairs)


def require(checks: list[Check]) -> None:
    """VerificationError that names what does not agree."""
    failed = [check for check in checks if check.agrees is False]
    if failed:
        raise VerificationError(
            f"{len(failed)} of {len(checks)} checks failed",
            came="; ".join(f"{check.name} ({check.detail})" for check in failed[:6]),
            fix="do not rely on this folder; ask the holder for it again",
        )


def _form(certificate: dict[str, Any]) -> list[Check]:
    """Whether a certificate has the shape that its schema fixes, and comes from a version that is known here."""
    from shoal.publish.syntactic.verify import SCHEMA as COUNTED

    schema = COUNTED if certificate["method"] in METHODS else SCHEMA
    wrong = faults(certificate, json.loads(schema.read_text(encoding="utf-8")))
    made = certificate["software"]["shoal"]
    known = f"this one knows those of {', '.join(SHIPPED)}"
    return [
        Check("shape", not wrong, "; ".join(wrong[:3]) or "what a certificate has, and nothing else"),
        Check("software", made in SHIPPED, f"certificates of other versions are read by those; {known}"),
    ]


def _named(certificate: dict[str, Any]) -> list[Check]:
    """Whether every file of the folder is there for something: the plan, a table, what its labels mean, the index of views."""
    tables = certificate["tables"]
    named = {"policy.lock.yaml", *(table["file"] for table in tables)}
    named |= {place for table in tables for place in table["recoding"].values()}
    named |= {table["boxes"] for table in tables if "boxes" in table}
    named |= {certificate["views"]["index"]} if "views" in certificate else set()
    return [Check("files and tables", set(certificate["files"]) == named, "every file is there for something")]


def _claims(certificate: dict[str, Any]) -> list[Check]:
    claims = [StatedClaim.from_saved(saved) for saved in certificate["claims"]]
    first, promised = claims[0], certificate["guarantee"]
    same = first.guarantee.to_saved() == {name: promised[name] for name in ("kind", "epsilon", "delta")}
    unit = first.unit is not None and first.unit.to_saved() == promised["unit"]
    named = {entry["name"] for entry in certificate["theorems"]} == set(first.theorems)
    stated = all(
        (
            entry["title"],
            entry["source"],
            entry["statement"],
            [(each["id"], each["text"]) for each in entry["premises"]],
        )
        == (known.title, known.source, known.statement, [(each.key, each.text) for each in known.premises])
        for entry in certificate["theorems"]
        for known in [THEOREMS[entry["name"]]]
    )
    limits = certificate["not_promised"] == list(NOT_PROMISED) and certificate["verify"] == HOW_TO_VERIFY
    return [
        Check("limits", limits, "what is not promised, and how to verify it, as this version says it"),
        Check("sentence", certificate["sentence"] == first.words(), "says what the claim says"),
        Check(
            "claim",
            same and unit and first.status.value == promised["status"] == certificate["status"],
            "one promise throughout",
        ),
        Check("theorems", named and stated, "as in the registry"),
    ]


def _numbers(certificate: dict[str, Any]) -> list[Check]:
    checks = []
    promised = certificate["guarantee"]
    for number, part in enumerate(certificate["parts"], 1):
        k, beta, epsilon = part["k"], exact(part["beta"]), exact(part["epsilon"])
        whose = Whose(promised["unit"]["max_rows"], promised["neighbours"])
        found = delta_exactly(k, beta, epsilon) if whose.is_one_step else exact(whose.delta(k, beta, epsilon))
        own = found if certificate["bound"] == "tight" else delta_exactly(k, beta, epsilon, "published")
        fits = found <= exact(part["delta_unit"]) <= found * SLACK and own <= exact(part["delta"])
        checks.append(Check(f"delta of part {number} for the unit", fits, f"at most {text_up(found)}"))
        said = part["delta_published"]
        close = (said is None) == (published(k, beta, epsilon) is None)
        if said is not None and close:
            bound = delta_exactly(k, beta, epsilon, "published")
            close = bound <= exact(said) <= bound * SLACK
        checks.append(Check(f"published bound of part {number}", close, "recomputed"))
    last = certificate["ledger"]["entries"][-1]["parts"]
    checks.append(Check("charged parts", _charged(certificate) == last, "the ledger was charged for these parts"))
    if not certificate["basic"]:
        parts = [(load(p["guarantee"]), p["times"]) for p in last]
        fits = composed_within(parts, exact(promised["epsilon"]), exact(promised["delta"]))
        checks.append(Check("the promise", fits, "the parts compose to no more than what is promised"))
    parts = [(load(p["guarantee"]), p["times"]) for p in last]
    return [*checks, _curve(certificate, parts), *_views(certificate, parts)]


def _curve(certificate: dict[str, Any], parts: list[tuple[Guarantee, int]]) -> Check:
    """The curve of the whole release, from the numbers of its parts and what was paid before a sample was drawn."""
    promised, views = certificate["guarantee"], certificate.get("views")
    try:
        total, samples = ApproxDP(promised["epsilon"], promised["delta"]), _promises(certificate)
    except ShoalError as error:
        return Check("curve of the release", False, f"its numbers do not hold: {error.wrong}")
    paid = exact(promised["epsilon_recoding"]) * (1 if views is None else views["count"])
    if views is not None and views["chosen"] is not None:
        paid += exact(views["chosen"]["epsilon"])
    wanted, told = curve_points(release_curve(samples, paid, parts, total)), certificate["curve"]
    fits = [point["epsilon"] for point in wanted] == [point["epsilon"] for point in told]
    fits = fits and [point["split"] for point in wanted] == [point["split"] for point in told]
    fits = fits and all(_near(point["delta"], exact(own["delta"])) for own, point in zip(wanted, told, strict=True))
    return Check("curve of the release", fits, "delta of everything that is published, at every epsilon listed")


def _views(certificate: dict[str, Any], parts: list[tuple[Guarantee, int]]) -> list[Check]:
    """What a release of views says about all of them together."""
    views = certificate.get("views")
    if views is None:
        return []
    promised, composed = certificate["guarantee"], compose(parts)
    delta = exact(promised["delta"])
    close = _near(views["composed"], composed.epsilon_at(delta)) and _near(views["basic"], composed.basic(delta))
    close = close and exact(composed.epsilon_at(delta)) <= exact(promised["epsilon"])
    return [Check("views composed", close, "all views together keep the promise")]


def _near(told: str, found: float | Fraction) -> bool:
    """Whether a printed cost is what was recomputed, on the safe side of it up to the last digits of the arithmetic."""
    slack = exact("1.000001")
    return exact(found) <= exact(told) * slack and exact(told) <= exact(found) * SLACK


def _charged(certificate: dict[str, Any]) -> list[dict[str, Any]]:
    """What the ledger must have been charged for."""
    promised, one = certificate["guarantee"], certificate["bound"] == "tight"
    one = one and Whose(promised["unit"]["max_rows"], promised["neighbours"]).is_one_step
    recoding, views = exact(promised["epsilon_recoding"]), certificate.get("views")
    times = 1 if views is None else views["count"]
    found = []
    if views is not None and views["chosen"] is not None:
        found.append({"guarantee": PureDP(exact(views["chosen"]["epsilon"])).to_saved(), "times": 1})
    found += [{"guarantee": PureDP(recoding).to_saved(), "times": times}] if recoding else []
    for part in certificate["parts"]:
        each = SampledCrowd(part["k"], part["beta"]) if one else ApproxDP(part["epsilon"], part["delta"])
        found.append({"guarantee": each.to_saved(), "times": part["times"]})
    return found


def _ledger(certificate: dict[str, Any]) -> list[Check]:
    book = certificate["ledger"]
    parts = [(load(p["guarantee"]), p["times"]) for entry in book["entries"] for p in entry["parts"]]
    total = compose(parts).epsilon_at(book["total"]["delta"])
    last, promised = book["entries"][-1], certificate["guarantee"]
    return [
        Check(
            "composition of all releases",
            text_up(total, 6) == text_up(exact(book["composed_epsilon"]), 6),
            "recomputed",
        ),
        Check(
            "charge",
            all(last[name] == promised[name] for name in ("epsilon", "delta")),
            "this release is the last entry",
        ),
    ]


def _parquet(folder: Path, certificate: dict[str, Any]) -> list[Check]:
    checks = []
    for table in certificate["tables"]:
        path = folder / table["file"]
        if path.suffix != ".parquet":
            continue
        import pyarrow.parquet as pq

        try:
            rows = pq.read_table(path).unify_dictionaries()
        except (OSError, ValueError):
            checks.append(Check(f"table {table['file']}", False, "it cannot be read"))
            continue
        checks.append(Check(f"columns of {table['file']}", rows.column_names == table["columns"], "as declared"))
        checks.append(
            Check(f"nothing else in {table['file']}", not (rows.schema.metadata or {}), "no notes in the file")
        )
        named, rows = rows, rows.rename_columns([str(place) for place in range(rows.num_columns)])
        groups = rows.group_by(rows.column_names).aggregate([([], "count_all")])
        sizes = groups.column("count_all").to_pylist()
        smallest = min(sizes, default=table["k"])
        detail = f"the smallest has {smallest} rows, k = {table['k']}"
        checks.append(Check(f"groups of {table['file']}", smallest >= table["k"], detail))
        checks.append(Check(f"order of {table['file']}", is_sorted(rows), "sorted by its own values"))
        for column in named.column_names:
            values = [value for value in named.column(column).unique().to_pylist() if value is not None]
            checks.append(_labels(column, values, folder / table["recoding"][column]))
        if "boxes" in table:
            shown = set(zip(*(groups.column(name).to_pylist() for name in rows.column_names), strict=True))
            checks += list(verifier.box_checks(folder, table, shown))[:1]
    return checks


def is_sorted(rows: Any) -> bool:
    """Whether the rows are in the order of their own values, missing first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pa.table(
        {
            name: column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
            for name, column in zip(rows.column_names, rows.columns, strict=True)
        }
    )
    order = pc.sort_indices(plain, sort_keys=[(name, "ascending", "at_start") for name in plain.column_names])
    return bool(plain.take(order).equals(plain))


def _labels(column: str, values: list[Any], path: Path) -> Check:
    """Whether a column shows nothing that its rule could not show."""
    allowed = verifier.allowed_labels(path)
    if allowed is not None:
        return Check(f"labels of {column}", {str(value) for value in values} <= allowed, "all come from the recoding")
    rule = json.loads(path.read_text(encoding="utf-8"))
    fits = True
    if rule["kind"] == "keep" and rule["pattern"] is not None:
        fits = all(re.fullmatch(rule["pattern"], str(value)) for value in values)
    elif rule["kind"] == "keep" and rule["low"] is not None and values:
        kind = type(values[0])
        ends = [
            kind.fromisoformat(text) if hasattr(kind, "fromisoformat") else kind(text)
            for text in (rule["low"], rule["high"])
        ]
        fits = ends[0] <= min(values) and max(values) <= ends[1]
    return Check(f"labels of {column}", fits, "all lie in the declared domain")


def _promises(certificate: dict[str, Any]) -> list[Promise]:
    """The numbers of every table, from the parts."""
    promised = certificate["guarantee"]
    whose = Whose(promised["unit"]["max_rows"], promised["neighbours"])
    return [
        Promise(
            exact(part["epsilon"]), exact(promised["epsilon_recoding"]), exact(part["delta"]), part["k"],
            exact(part["beta"]), certificate["bound"], "k", whose,
        )
        for part in certificate["parts"]
        for _ in range(part["times"])
    ]  # fmt: skip


def _words(certificate: dict[str, Any]) -> list[Check]:
    """The promise in words, and the theorems, from the numbers."""
    promised = certificate["guarantee"]
    try:
        plans = _promises(certificate)
    except ShoalError as error:
        return [Check("words", False, f"the numbers that they speak of do not hold: {error.wrong}")]
    plan, unit = plans[0], Unit.from_saved(promised["unit"])
    before = certificate["status"] == Status.CONDITION.value
    tuned = certificate["status"] == Status.TUNED.value or len(certificate["claims"][0]["conditions"]) > 1
    if "views" in certificate:
        wanted = words.view_sentences(ApproxDP(promised["epsilon"], promised["delta"]), plans, unit, tuned=tuned)
    else:
        wanted = words.sentences(plan, unit, drawn_before=before, tuned=tuned)
    said = certificate["words"][:3] == wanted
    names = set(certificate["claims"][0]["theorems"]) - {"pld-composition", "basic-composition"}
    return [
        Check("words", said, "they say what the numbers say"),
        Check("theorems of the promise", names == {*plan.theorems, *_of_choice(certificate)}, "those that it rests on"),
    ]


def _of_choice(certificate: dict[str, Any]) -> set[str]:
    """The theorems that the price of the recoding rests on."""
    choices = [certificate["choice"]] if "choice" in certificate else []
    choices += [table["choice"] for table in certificate["tables"] if "choice" in table]
    views = certificate.get("views")
    found = {"view-choice"} if views is not None and views["chosen"] is not None else set()
    for choice in choices:
        if choice["kind"] == "choose":
            found |= {"monotone-exponential", SCORES[choice["score"]].theorem}
        if choice["kind"] == "privtree":
            found |= {"privtree-geometric"}
        found |= {"surveyed-tree"} if choice.get("surveys") else set()
        found |= {"amplification"} if "rate" in choice else set()
    return found


def _page(folder: Path, certificate: dict[str, Any]) -> list[Check]:
    from shoal.publish.paper import certificate_page
    from shoal.publish.syntactic.paper import certificate_page as counted_page

    drawn = counted_page if certificate["method"] in METHODS else certificate_page
    page = folder / "certificate.html"
    same = page.is_file() and page.read_text(encoding="utf-8") == drawn(certificate)
    return [Check("certificate.html", same, "says what certificate.json says")]
