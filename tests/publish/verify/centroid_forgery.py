"""Forgeries of noisy centroids, each made for the check that must catch it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from shoal.guarantee.rounding import exact_text
from tests.publish.centroid_clinic import KINDS as CLINIC
from tests.publish.centroid_clinic import publish

Change = Callable[[Path, dict[str, Any]], object]
KINDS: dict[str, dict[str, object]] = {
    "centroids": {},
    "centroids-named": {"release.k": 25, "release.noise": "laplace"},
    "centroids-gaussian": {**CLINIC["numeric"], "release.k": 20, "release.delta": "1e-5", "release.noise": "gaussian"},
    "centroids-ranked": CLINIC["ranking"],
    "centroids-per-record": {"release.calibration": "per_record", "release.epsilon": "0.5", "release.k": 11},
}
"""What each kind changes in the policy."""


@pytest.fixture(scope="session")
def centroids(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder of each kind, made when it is first asked for; nobody changes it."""
    place, made = tmp_path_factory.mktemp("centroids"), dict[str, Path]()

    def folder(kind: str) -> Path:
        if kind not in made:
            (place / kind).mkdir()
            made[kind] = publish(place / kind, KINDS[kind]).folder
        return made[kind]

    return folder


def of(name: str, content: dict[str, Any]) -> dict[str, Any]:
    """What a certificate says of one attribute."""
    return next(own for own in content["attributes"] if own["name"] == name)


def smaller(name: str, key: str, by: Fraction = Fraction(1, 2)) -> Change:
    """A number of one attribute, made smaller."""

    def change(_: Path, content: dict[str, Any]) -> None:
        own = of(name, content)
        own[key] = int(own[key] * by) if isinstance(own[key], int) else exact_text(Fraction(own[key]) * by)

    return change


def clusters(**said: Any) -> Change:
    """What is said of clusters."""
    return lambda _, content: content["clusters"].update(said)


def other_rows(folder: Path, content: dict[str, Any]) -> None:
    """One row more than are public, in the table and in everything that is said of it but the locked plan."""
    head, *rows = (folder / "table.csv").read_text().splitlines()
    (folder / "table.csv").write_text("\n".join([head, rows[0], *rows]) + "\n")
    content["tables"][0]["rows"] += 1


def moved(folder: Path, _: dict[str, Any]) -> None:
    """A row of the last cluster shows what the first one shows: as many rows, and no whole clusters."""
    head, *rows = (folder / "table.csv").read_text().splitlines()
    (folder / "table.csv").write_text("\n".join([head, rows[0], *rows[:-1]]) + "\n")


def shares_moved(_: Path, content: dict[str, Any]) -> None:
    """One attribute has half of its epsilon, with the noise for it, and another what is left."""
    one, other = of("pay", content), of("rate", content)
    half = Fraction(one["epsilon"]) / 2
    for own, epsilon in ((one, half), (other, Fraction(other["epsilon"]) + half)):
        own["scale"] = exact_text(Fraction(own["scale"]) * Fraction(own["epsilon"]) / epsilon)
        own["epsilon"] = exact_text(epsilon)


def another_k(_: Path, content: dict[str, Any]) -> None:
    """A k that the rule does not find, with everything that follows from it."""
    told = content["clusters"]
    many = told["clusters"]
    k = told["k"] // 2
    told.update(k=k, clusters=told["rows"] // k, last_size=k + told["rows"] % k)
    for own in content["attributes"]:
        if own["half_width"] is not None:
            own["half_width"] = exact_text(Fraction(own["half_width"]) * 2)
        if own["choice_epsilon"] is not None:
            own["choice_epsilon"] = exact_text(Fraction(own["choice_epsilon"]) * many / told["clusters"])


CENTROID_FORGERIES: dict[str, tuple[str, Change]] = {
    "clusters": ("centroids-named", clusters(k=30, clusters=4, last_size=30)),
    "centroid-steps": ("centroids", smaller("pay", "steps")),
    "centroid-noise": ("centroids-named", smaller("pay", "scale")),
    "centroid-shares": ("centroids-named", shares_moved),
    "found-k": ("centroids", another_k),
    "half-width": ("centroids", smaller("pay", "half_width")),
}
"""For each check that only noisy centroids have, a kind of release and a forgery that it must catch."""


def half_epsilon(_: Path, content: dict[str, Any]) -> None:
    """Half of the promise, of its claim and of its charge; the noise is as it was."""
    for place in (content["guarantee"], content["claims"][0]["guarantee"], content["ledger"]["entries"][-1]):
        place["epsilon"] = exact_text(Fraction(place["epsilon"]) / 2)
    content["ledger"]["total"]["epsilon"] = content["ledger"]["entries"][-1]["epsilon"]


def as_whole(_: Path, content: dict[str, Any]) -> None:
    """The thesis' noise passed off as noise for the whole data set, at the epsilon that the policy names."""
    asked = content["clusters"]["epsilon"]
    content["clusters"]["calibration"] = "whole"
    for place in (content["guarantee"], content["claims"][0]["guarantee"], content["ledger"]["entries"][-1]):
        place["epsilon"] = asked
    content["ledger"]["total"]["epsilon"] = content["epsilon_composed"] = asked


def in_lock(old: str, new: str, then: Change = lambda *_: None) -> Change:
    """The locked plan changed too."""

    def change(folder: Path, content: dict[str, Any]) -> None:
        lock = (folder / "policy.lock.yaml").read_text()
        assert old in lock
        (folder / "policy.lock.yaml").write_text(lock.replace(old, new, 1))
        then(folder, content)

    return change


def no_delta(_: Path, content: dict[str, Any]) -> None:
    """Gaussian noise called a pure epsilon."""
    content["guarantee"].update(kind="pure-dp", delta="0")
    content["claims"][0]["guarantee"] = {"kind": "pure-dp", "epsilon": content["guarantee"]["epsilon"]}
    content["ledger"]["entries"][-1]["delta"] = content["ledger"]["total"]["delta"] = "0"


def cheaper_rho(_: Path, content: dict[str, Any]) -> None:
    """Less noise, and a rho that says so nowhere."""
    for own in content["attributes"]:
        own["sigma"] = exact_text(Fraction(own["sigma"]) / 2)


def paid_rho(_: Path, content: dict[str, Any]) -> None:
    """Less noise with the rho that it costs, in the parts and the charge as well: more than the promise."""
    cheaper_rho(_, content)
    for own in content["attributes"]:
        own["rho"] = exact_text(Fraction(own["rho"]) * 4)
    for parts in (content["parts"], content["ledger"]["entries"][-1]["parts"]):
        parts[0]["guarantee"]["rho"] = exact_text(Fraction(parts[0]["guarantee"]["rho"]) * 4)


def flatter(folder: Path, content: dict[str, Any]) -> None:
    """A tree of towns in which they are nearer to each other: the locked plan and the spread say so together."""
    lock = (folder / "policy.lock.yaml").read_text()
    old = '        "England":\n          "North": ["Leeds", "York"]\n          "South": ["Bath", "Truro"]\n'
    assert old in lock
    (folder / "policy.lock.yaml").write_text(
        lock.replace(old, '        "England": ["Leeds", "York", "Bath", "Truro"]\n')
    )
    of("town", content)["concepts"] = 5


def joined(folder: Path, content: dict[str, Any]) -> None:
    """Tables of ranks joined row by row, as if rows belonged together."""
    tables = content["tables"]
    columns = [(folder / table["file"]).read_text().splitlines() for table in tables]
    rows = [",".join(cells) for cells in zip(*columns, strict=True)]
    (folder / "table.csv").write_text("\n".join(rows) + "\n")
    for table in tables:
        (folder / table["file"]).unlink()
        del content["files"][table["file"]]
    (folder / "attributes").rmdir()
    shows = {name: shown for table in tables for name, shown in table["shows"].items()}
    content["files"]["table.csv"] = "0" * 64
    content["tables"] = [{"file": "table.csv", "columns": list(shows), "rows": tables[0]["rows"], "shows": shows}]


def cell(column: int, text: str) -> Change:
    """Every cell of a column of the table replaced, which stays sorted."""

    def change(folder: Path, _: dict[str, Any]) -> None:
        head, *rows = (folder / "table.csv").read_text().splitlines()
        split = [row.split(",") for row in rows]
        for each in split:
            each[column] = text
        (folder / "table.csv").write_text("\n".join([head, *(",".join(each) for each in split)]) + "\n")

    return change


BY_HAND: dict[str, tuple[str, Change, str]] = {
    "half of epsilon": ("centroids", half_epsilon, "guarantee"),
    "half of epsilon, locked too": ("centroids", in_lock('  epsilon: "8"', '  epsilon: "4"', half_epsilon), "clusters"),
    "another number of rows": ("centroids", clusters(rows=240), "clusters"),
    "a public number that is locked and wrong": (
        "centroids-named",
        in_lock("  rows: 120", "  rows: 124", clusters(rows=124, clusters=4, last_size=49)),
        "row-count",
    ),
    "a row more": ("centroids", other_rows, "row-count"),
    "clusters of other sizes": ("centroids-named", moved, "class-size"),
    "clusters in turns, with the noise of one order": (
        "centroids-named",
        in_lock("  corners: 1", "  corners: 4", clusters(corners=4)),
        "centroid-noise",
    ),
    "ranks, with the noise of ranks": ("centroids-named", clusters(grouping="ranking"), "clusters"),
    "other noise": ("centroids-named", clusters(noise="optimal"), "clusters"),
    "the thesis' noise for the whole": ("centroids-per-record", as_whole, "clusters"),
    "the thesis' noise for the whole, locked too": (
        "centroids-per-record",
        in_lock('calibration: "per_record"', 'calibration: "whole"', as_whole),
        "centroid-shares",
    ),
    "the thesis' epsilon as the promise": ("centroids-per-record", half_epsilon, "guarantee"),
    "delta hidden": ("centroids-gaussian", no_delta, "guarantee"),
    "delta hidden, locked too": (
        "centroids-gaussian",
        in_lock('  delta: "0.00001"', '  delta: "0"', no_delta),
        "lock-allowed",
    ),
    "less Gaussian noise": ("centroids-gaussian", cheaper_rho, "centroid-noise"),
    "less Gaussian noise, and what it costs": ("centroids-gaussian", paid_rho, "promise"),
    "a larger step": ("centroids", lambda _, c: of("rate", c).update(step="0.1", steps=25), "centroid-steps"),
    "a smaller spread of a tree": ("centroids", smaller("town", "spread"), "centroid-steps"),
    "a flatter tree": ("centroids", flatter, "centroid-steps"),
    "a narrower domain": (
        "centroids",
        in_lock('domain: ["0", "1000"]', 'domain: ["0", "500"]', smaller("pay", "steps")),
        "centroid-noise",
    ),
    "fewer concepts": ("centroids", lambda _, c: of("town", c).update(concepts=4), "centroid-steps"),
    "another weight": ("centroids", lambda _, c: of("pay", c).update(weight="2"), "centroid-steps"),
    "an attribute left out": ("centroids", lambda _, c: c["attributes"].pop(), "roles"),
    "choices that cost less": ("centroids", smaller("town", "choice_epsilon"), "centroid-noise"),
    "cheaper parts": ("centroids", lambda _, c: c["parts"].pop(), "noise-parts"),
    "composed to less": ("centroids", lambda _, c: c.update(epsilon_composed="1"), "composed"),
    "a domain read from the data": (
        "centroids",
        in_lock('      domain: "declared"', '      domain: "profiled"'),
        "lock-allowed",
    ),
    "rows that may be added": (
        "centroids",
        in_lock('neighbours: "replace_one"', 'neighbours: "add_remove"'),
        "lock-allowed",
    ),
    "values that may be missing": ("centroids", in_lock('missing: "refuse"', 'missing: "value"'), "lock-allowed"),
    "a value beside the domain": ("centroids", cell(0, "1001"), "labels"),
    "a value beside the grid": ("centroids", cell(1, "1.2345678"), "labels"),
    "a concept of no tree": ("centroids", cell(4, "Leeds and York"), "labels"),
    "an empty cell": ("centroids", cell(0, ""), "labels"),
    "ranks joined by row": ("centroids-ranked", joined, "table-files"),
    "columns that show something else": (
        "centroids",
        lambda _, c: c["tables"][0]["shows"].update(pay="as it is"),
        "display",
    ),
}
"""A kind of release, a change, and the check that must fire in both verifiers."""
