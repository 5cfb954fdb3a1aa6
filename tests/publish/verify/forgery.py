"""What a patient forger does to a certificate: every small change that its structure allows, with the seal made anew.

A forger also draws the page anew, so the page is never what gives a forgery away here. Releases of all kinds are made once.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from shoal.guarantee.rounding import exact_text
from shoal.publish.certificate.model import MODELS
from shoal.publish.certificate.page import certificate_page
from shoal.publish.certificate.seal import page_hash
from shoal.publish.verify import counted, rebuild
from shoal.publish.verify import release as verify
from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.standalone import Check
from tests.publish import centroid_clinic, sample_clinic
from tests.publish.clinic import TREATED, publish
from tests.publish.counted_clinic import publish as publish_counted
from tests.publish.grouped_clinic import publish as publish_grouped
from tests.publish.level_clinic import METHODS as LEVELS
from tests.publish.level_clinic import publish as publish_levels

VIEWS = {"release.delta": "1e-4"}
PAID: dict[str, dict[str, object]] = {
    "levels": {},
    "choose": {"release.recoding": {"choose": {"epsilon": "0.3"}}},
    "tree": {"release.recoding": {"tree": {"epsilon": "0.3"}}},
    "sampled-tree": {"release.recoding": {"tree": {"epsilon": "0.3", "sample": "0.25"}}},
    "already": {"release.sampling": {"already": "0.2"}},
    "pairs": VIEWS | {"release.views": "pairs"},
    "chosen": VIEWS | {"release.views": {"choose": {"epsilon": "0.2", "count": 2}}},
    "view-trees": VIEWS | {"release.views": "pairs", "release.recoding": {"tree": {"epsilon": "0.3"}}},
    "workload": VIEWS | {"release.views": {"workload": [["sex", "age"], ["diag"], ["diag", "age"]]}},
    "person": {"unit": {"column": "patient", "max_rows": 2}, "release.epsilon": "2"},
    "replace": {"neighbours": "replace_one", "release.epsilon": "2"},
    "profiled": {"attributes.age.provenance": "profiled"},
    "repeat": {"release.repeat": 2},
    "published": {"release.bound": "published", "release.sampling": {"beta": "0.3"}},
    "parquet": {"release.output": "parquet"},
    "treated": TREATED,
    "total": {
        "release.total": {"epsilon": "0.1"},
        "unit": {"column": "patient", "max_rows": 2},
        "release.epsilon": "2",
    },
    "total-pairs": VIEWS | {"release.views": "pairs", "release.total": {}},
    "total-public": {"neighbours": "replace_one", "release.epsilon": "2", "release.total": {"epsilon": "0"}},
}
COUNTED: dict[str, tuple[str, dict[str, object]]] = {
    "microaggregation": ("microaggregation", {}),
    "microaggregation-parquet": ("microaggregation", {"release.output": "parquet"}),
    "diverse": ("diverse", {}),
    "probabilistic-k": ("swap", {}),
    "probabilistic-k-ranking": ("swap", {"release.grouping": "ranking", "attributes.diag.type": "ordinal"}),
    "k-anonymity": ("every", {}),
    "k-anonymity-local": ("local", {}),
}
GROUPED = {"t-closeness": "linked", "t-closeness-permuted": "permuted", "anatomy": "anatomy"}
CENTROIDS = {"centroids": "mixed", "centroids-ranked": "ranking"}
KINDS = (*PAID, *COUNTED, *GROUPED, *CENTROIDS, "sample")
COMPOSED = ("pairs", "chosen", "view-trees", "workload", "repeat", "total-pairs")
"""Releases of several tables, whose curve each verifier composes on a grid of its own."""
Path_ = tuple[Any, ...]


class Edit(NamedTuple):
    """A change of a certificate: what was done, where, and the certificate afterwards, of which other edits share the rest."""

    what: str
    path: Path_
    shared: dict[str, Any]

    @property
    def forged(self) -> dict[str, Any]:
        """The certificate afterwards, to write on."""
        return copy.deepcopy(self.shared)


def make(folder: Path, kind: str) -> Path:
    """A release of this kind."""
    folder.mkdir(parents=True, exist_ok=True)
    if kind in COUNTED:
        which, changes = COUNTED[kind]
        if which in LEVELS:
            return publish_levels(folder, which, changes).folder
        return publish_counted(folder, which, changes, report=False).folder
    if kind in GROUPED:
        return publish_grouped(folder, GROUPED[kind], rows=60).folder
    if kind in CENTROIDS:
        return centroid_clinic.publish(folder, centroid_clinic.KINDS[CENTROIDS[kind]]).folder
    if kind == "sample":
        return sample_clinic.publish(folder).folder
    return publish(folder, PAID[kind], rows=1500, report=False).folder


@pytest.fixture(scope="session")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder of each kind, made when it is first asked for; nobody changes it."""
    place, made = tmp_path_factory.mktemp("honest"), dict[str, Path]()

    def folder(kind: str) -> Path:
        if kind not in made:
            made[kind] = make(place / kind, kind)
        return made[kind]

    return folder


def certificate(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "certificate.json").read_text(encoding="utf-8"))


def write(folder: Path, content: dict[str, Any], *, rehash: bool = True, reword: bool = True) -> None:
    """The certificate with the hashes of the files and sentences as they are, and a new seal."""
    if rehash and isinstance(content.get("files"), dict):
        for name in content["files"]:
            if (folder / name).is_file():
                content["files"][name] = verifier.sha256(folder / name)
        content["plan_sha256"] = content["files"].get("policy.lock.yaml", content.get("plan_sha256"))
    if reword and isinstance(content.get("wording"), dict):
        with suppress(KeyError, TypeError, IndexError, AttributeError):
            content["wording"]["text_sha256"] = verifier.text_hash(content)
    content["seal"] = verifier.seal(content)
    (folder / "certificate.json").write_text(json.dumps(content), encoding="utf-8")


def redraw(folder: Path) -> None:
    """The page drawn anew, its hash in the certificate, and a new seal."""
    content = certificate(folder)
    content["wording"]["page_sha256"] = page_hash(MODELS[content["method"]].read(content))
    content["seal"] = verifier.seal(content)
    (folder / "certificate.json").write_text(json.dumps(content), encoding="utf-8")
    (folder / "certificate.html").write_text(certificate_page(MODELS[content["method"]].read(content)))


DRAWN_ANEW = {"page", "page-hash", "seal"}
"""What a patient forger gets around by drawing the page and sealing the certificate anew."""


def caught(folder: Path) -> set[str]:
    """The ids of the checks of `shoal verify` that fail, but for those that a patient forger gets around."""
    return {check.id for check in verify.verify(folder) if check.agrees is False} - DRAWN_ANEW


def failing(folder: Path) -> set[str]:
    """The names of the checks of `shoal verify` that fail, each with what it is about."""
    return {check.name for check in verify.verify(folder) if check.agrees is False}


def alone(folder: Path) -> tuple[int, list[Check]]:
    """The one-file verifier's exit code and its checks, but for those that a patient forger gets around."""
    checks = [check for check in verifier.verify(folder) if check.id not in DRAWN_ANEW]
    return verifier.report(checks)[1], checks


# --- every small change --------------------------------------------------------------------------------------------


def edits(content: dict[str, Any]) -> Iterator[Edit]:
    """Each leaf changed, each key removed, keys added, entries of lists removed, doubled and exchanged, statuses raised."""
    for path, value in _places(content):
        if path in (("seal",), ()):
            continue
        for what, changed in _changes(value):
            if changed == value:
                continue
            yield Edit(what, path, _with(content, path, changed))
        if isinstance(path[-1], str):
            yield Edit("key removed", path, _with(content, path, _GONE))
    yield Edit("key added", ("note",), {**content, "note": "trust us"})


_GONE = object()
STATUSES = {"proved with condition", "proved for a plan tuned on the data", "checked", "none"}


def _places(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    yield path, value
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield from _places(item, (*path, key))


def _changes(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield "key added", {**value, "note": "trust us"}
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield "entry removed", [*value[:place], *value[place + 1 :]]
            yield "entry doubled", [*value[: place + 1], *value[place:]]
            if place and value[place - 1] != item:
                yield "entries exchanged", [*value[: place - 1], item, value[place - 1], *value[place + 1 :]]
        yield "entry added", [*value, "trust us"]
    elif isinstance(value, bool):
        yield "turned", not value
    elif isinstance(value, int):
        yield from (("larger", value + 1), ("smaller", value - 1))
    elif value is None:
        yield "filled", "0.001"
    elif re.fullmatch(r"[0-9]+(\.[0-9]+)?(e-?[0-9]+)?(/[0-9]+)?", value):
        yield "smaller by a hundredth", exact_text(Fraction(value) * 99 / 100)
        yield "larger by a hundredth", exact_text(Fraction(value) * 101 / 100) if Fraction(value) else "1"
        yield "no number", f"{value}x"
    elif value in STATUSES:
        yield "raised", "proved"
        yield "no status", f"{value}x"
    else:
        yield "other words", f"{value}x"
        yield "no words", ""


def _with(content: dict[str, Any], path: Path_, value: Any) -> dict[str, Any]:
    """The content with one place changed; what is not on the way there is shared."""
    found = place = copy.copy(content)
    for step in path[:-1]:
        place[step] = copy.copy(place[step])
        place = place[step]
    if value is _GONE:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return found


# --- which check must fire -----------------------------------------------------------------------------------------

MUST_FIRE = {
    "format": {"format"},
    "dataset": {"dataset"},
    "date": {"date"},
    "sentence": {"wording"},
    "explanation": {"wording"},
    "status": {"status"},
    "claims": {"claims", "conditions", "status", "wording"},
    "theorems": {"theorems", "premises", "wording"},
    "not_promised": {"wording"},
    "guarantee": {"guarantee", "unit", "status"},
    "guarantee.closeness": {"closeness", "no-idle-files"},
    "method": {"keys", "method", "lock-method"},
    "bound": {"bound"},
    "recoding_choice": {"recoding-price", "recoding-noise", "recoding-lattice", "wording"},
    "views": {"view-count", "view-choice", "views-composed", "views-added-up"},
    "samples": {
        "samples",
        "locked-k",
        "locked-beta",
        "sample-delta",
        "delta-tight",
        "delta-for-unit",
        "delta-published",
        "sample-rate",
        "promise",
        "readable",  # a split that does not add up ends the reading
    },
    "curve": {"curve", "curve-epsilons", "curve-falls", "rebuilt", "readable"},
    "tables": {
        "samples",
        "table-files",
        "table-columns",
        "view-names",
        "locked-views",
        "recoding-price",
        "recoding-noise",
        "recoding-levels",
        "recoding-lattice",
        "roles",
        "single-table",
        "display",
        "wording",
        "readable",
    },
    "ledger": {
        "ledger-order",
        "ledger-charge",
        "ledger-total",
        "ledger-budget",
        "ledger-composed",
        "prior-charges",
        "rebuilt",
    },
    "treatments": {"treatments"},
    "noisy_total": {"noisy-total", "rebuilt"},
    "grouping": {"grouping"},
    "buckets": {"buckets", "table-files"},
    "achieved_t": {"achieved-t"},
    "search": {"search"},
    "wording": {"wording-hash", "page-hash"},
    "plan_sha256": {"plan-hash"},
    "files": {"file-hash", "no-other-files", "no-idle-files", "plan-hash", "single-table"},
    "how_to_verify": {"wording"},
    "note": {"keys"},
}
"""For an edit of an entry, the checks of which one must fire; `keys` or `model` refuse an edit that breaks the structure."""
MUST_FIRE_ON_CENTROIDS = {
    "clusters": {"clusters"},
    "attributes": {"roles", "centroid-steps", "centroid-noise", "centroid-shares", "half-width", "table-files"},
    "parts": {"noise-parts"},
    "epsilon_composed": {"composed"},
}
"""The same for what only certificates of noisy centroids have, or have too."""
STRUCTURE = {"keys", "model"}


# --- what cannot be known ------------------------------------------------------------------------------------------


def inherent(kind: str, edit: Edit) -> str | None:
    """Why nobody can know better from the folder alone; None for everything else."""
    if edit.path == ("software", "shoal") and edit.what == "other words":
        return "any version may have made it"
    if edit.path == ("wording", "version") and edit.what in ("larger", "smaller") and edit.forged["wording"]["version"]:
        return "sentences of another wording are not compared, and that is said"
    if edit.path == ("ledger", "unbounded_releases") and edit.what == "larger":
        return "how many other releases there were is in the custodian's ledger alone"
    if edit.path == ("noisy_total", "records") and type(edit.forged["noisy_total"].get("records")) is int:
        return "what the noise was is known to nobody, and a number without noise to the custodian alone"
    if edit.path == ("ledger", "looks") and edit.what == "key removed":
        return "whether somebody looked is in the custodian's ledger alone, and older releases do not say it"
    if kind in (*COUNTED, *GROUPED, "sample") and edit.path == ("ledger", "charges") and edit.what == "larger":
        return "what was charged before is in the custodian's ledger alone"
    return None


def suffices(kind: str, edit: Edit) -> bool:
    """Whether what is said after an edit may still be true: a larger cost, another proof of the same, another division."""
    last = edit.path[-1]
    if edit.what == "larger by a hundredth" and last in ("epsilon_composed", "epsilon_added_up"):
        return True
    if kind in COMPOSED and edit.path[0] in ("curve", "samples") and last == "delta":
        return edit.what in ("larger by a hundredth", "smaller by a hundredth")
    if last == "epsilon_split" and edit.what == "entries exchanged":
        return True
    return last in ("measurements", "theta") and edit.what != "entry added"


NOT_COMPARED: dict[str, Callable[[Path_], bool]] = {
    "wording": lambda path: "premises" in path or bool(SENTENCES & {step for step in path if isinstance(step, str)}),
    "recoding-lattice": lambda path: path[-1] in ("schemes", "sensitivity"),
    "display": lambda path: "shows" in path,
}
"""What the one-file verifier does not compare, by the check that it leaves open."""
SENTENCES = {
    "sentence",
    "explanation",
    "not_promised",
    "how_to_verify",
    "title",
    "citation",
    "statement",
    "restriction",
    "conditions",
}


def said_not_verified(kind: str, edit: Edit, checks: list[Check]) -> bool:
    """Whether the one-file verifier says that it does not look at what was changed."""
    unknown = {check.id for check in checks if check.agrees is None}
    if inherent(kind, edit) is not None or suffices(kind, edit):
        return True
    if kind in COMPOSED and edit.path[0] == "curve" and edit.what == "entry removed":
        return True  # a point less promises nothing
    return any(id_ in unknown and covers(edit.path) for id_, covers in NOT_COMPARED.items())


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever does not depend on the certificate is computed once: the plan, the numbers, the rows. Only for edits of papers."""
    plans: dict[Any, Any] = {}

    def remembered(function: Callable[..., Any], key: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            own = (function.__name__, repr(key(*arguments)))
            if own not in plans:
                found = function(*arguments)
                plans[own] = list(found) if isinstance(found, Iterator) else found
            return copy.deepcopy(plans[own]) if isinstance(plans[own], dict) else plans[own]

        return call

    def text(value: Any) -> str:
        return json.dumps(value, sort_keys=False, default=str)

    def lock(folder: Path) -> str:
        return (folder / "policy.lock.yaml").read_text()

    monkeypatch.setattr(verify, "read_locked_policy", remembered(verify.read_locked_policy, lock))
    monkeypatch.setattr(
        rebuild,
        "plan_with_numbers",
        remembered(
            rebuild.plan_with_numbers,
            lambda policy, told: (
                policy.text,
                [(table.name, table.columns, table.sample) for table in told.tables],
                told.samples,
                told.bound,
                told.guarantee.epsilon_recoding,
            ),
        ),
    )
    monkeypatch.setattr(
        rebuild,
        "make_certificate",
        remembered(
            rebuild.make_certificate,
            lambda plan, *told: (plan.lock.sha256, plan.promises, *told),
        ),
    )
    monkeypatch.setattr(
        rebuild, "rule_checks", remembered(rebuild.rule_checks, lambda folder, _, tables: (str(folder), tables))
    )
    monkeypatch.setattr(
        verifier,
        "table_checks",
        remembered(verifier.table_checks, lambda folder, table, k: (str(folder), text(table), k)),
    )
    monkeypatch.setattr(
        counted,
        "_table_checks",
        remembered(counted._table_checks, lambda folder, told, _: (str(folder), told.tables, told.guarantee)),
    )
    monkeypatch.setattr(
        verifier,
        "reading_checks",
        remembered(verifier.reading_checks, lambda folder, name, columns: (str(folder), name, text(columns))),
    )
    monkeypatch.setattr(verifier, "delta", lru_cache(None)(verifier.delta))
    own = verifier.ComposedLosses.delta
    monkeypatch.setattr(
        verifier.ComposedLosses,
        "delta",
        remembered(own, lambda me, *rest: (str(me.parts), me.largest, rest)),
    )
