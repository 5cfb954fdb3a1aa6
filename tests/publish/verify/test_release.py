"""Verification: every field of a certificate, every file and every cell that is tampered with is caught, by both verifiers."""

import copy
import json
import shutil
import subprocess
import sys
import zipfile
from fractions import Fraction
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from shoal.errors import UsageError, VerificationError
from shoal.guarantee.safe_k.curve import delta_tight
from shoal.publish.share import pack
from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.release import require, verify
from tests.publish.clinic import publish
from tests.publish.release_folder import alone, failures

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """One release as CSV and one as Parquet, made once."""
    folder = tmp_path_factory.mktemp("released")
    made = {f: publish(folder, {"release.output": f}, name=f, report=False).folder for f in ("csv", "parquet")}
    repeated = {"release.repeat": 2, "release.epsilon": 1, "dataset": "other"}
    table = folder / "other.csv"
    table.write_text((folder / "table.csv").read_text() + "p0,1,f,flu\n")
    made["repeated"] = publish(folder, repeated, name="repeated", table=table, report=False).folder
    return made


@pytest.fixture
def copied(released, tmp_path):
    def copy_of(kind):
        return Path(shutil.copytree(released[kind], tmp_path / kind))

    return copy_of


@pytest.mark.parametrize("kind", ["csv", "parquet", "repeated"])
def test_an_honest_release_passes_both(released, kind):
    require(verify(released[kind]))
    assert alone(released[kind]) == 0


def leaves(value, path=()):
    if isinstance(value, dict) and value:
        for name, item in value.items():
            yield from leaves(item, (*path, name))
    elif isinstance(value, list) and value:
        for place, item in enumerate(value):
            yield from leaves(item, (*path, place))
    else:
        yield path, value


def changed(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return value + "1" if value.replace(".", "").isdigit() else value + "x"
    return "x" if value is None else None


def test_every_field_is_sealed(copied):
    """Changing any leaf of the certificate breaks the seal, in both verifiers' eyes."""
    folder = copied("csv")
    file = folder / "certificate.json"
    honest = json.loads(file.read_text(encoding="utf-8"))
    for path, value in leaves(honest):
        forged = copy.deepcopy(honest)
        place = forged
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = changed(value)
        assert forged["seal"] != verifier.seal(forged), path
    for path, value in list(leaves(honest))[::17]:
        forged = copy.deepcopy(honest)
        place = forged
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = changed(value)
        file.write_text(json.dumps(forged), encoding="utf-8")
        assert failures(folder), path


def put(*path, value):
    """A change of one place, as a forger would make it."""

    def change(forged):
        place = forged
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


FORGERIES = {
    "a smaller k": (put("samples", 0, "k", value=2), "samples"),
    "another rate": (put("samples", 0, "beta", value="0.1"), "locked-beta"),
    "a smaller epsilon of the sample": (put("samples", 0, "epsilon", value="0.5"), "promise"),
    "a better exact delta": (put("samples", 0, "delta_tight", value="1e-9"), "delta-tight"),
    "a better delta for the unit": (put("samples", 0, "delta_for_unit", value="1e-9"), "delta-for-unit"),
    "a smaller planned delta": (put("samples", 0, "delta", value="1e-9"), "sample-delta"),
    "a better published bound": (put("samples", 0, "delta_published", value="1e-9"), "delta-published"),
    "a better curve": (put("curve", 0, "delta", value="1e-9"), "curve"),
    "a smaller epsilon": (put("guarantee", "epsilon", value="0.1"), "guarantee"),
    "a smaller delta": (put("guarantee", "delta", value="1e-9"), "guarantee"),
    "a larger k of the table": (put("tables", 0, "k", value=100_000), "samples"),
    "a smaller total": (put("ledger", "total", "epsilon", value="0.5"), "ledger-total"),
    "a smaller charge": (put("ledger", "entries", 0, "epsilon", value="0.5"), "ledger-charge"),
    "a charge without a number": (put("ledger", "entries", 0, "number", value=2), "ledger-order"),
    "a smaller composed epsilon": (put("ledger", "epsilon_composed", value="0.1"), "ledger-composed"),
    "another plan": (put("plan_sha256", value="0" * 64), "plan-hash"),
    "another status": (put("status", value="checked"), "status"),
    "another sentence": (put("sentence", value="All is well."), "wording"),
    "no tables": (put("tables", value=[]), "samples"),
    "no samples": (put("samples", value=[]), "samples"),
    "run no times": (put("samples", 0, "times", value=0), "samples"),
    "a negative share": (put("guarantee", "epsilon_recoding", value="-0.99"), "keys"),
    "another bound": (put("bound", value="published"), "bound"),
    "a larger k claimed": (put("claims", 1, "guarantee", "k", value=1000), "claims"),
    "another unit": (put("guarantee", "unit", "whose", value="person"), "unit"),
    "another relation": (put("guarantee", "unit", "neighbours", value="replace_one"), "unit"),
    "other words": (put("explanation", 0, value="No one can learn anything."), "wording"),
    "fewer premises": (put("theorems", 0, "premises", value=[]), "premises"),
    "a premise met otherwise": (
        put("theorems", 0, "premises", -1, "how", value="checked by the program"),
        "premises",
    ),
    "another theorem": (put("theorems", 0, "name", value="post-processing"), "theorems"),
    "another title": (put("theorems", 0, "title", value="A great theorem"), "wording"),
    "no curve": (put("curve", value=[]), "curve-epsilons"),
    "a curve that rises": (put("curve", 0, "delta", value="1e-30"), "curve-falls"),
    "a budget below the total": (put("ledger", "budget", value={"epsilon": "0.1", "delta": "0.1"}), "ledger-budget"),
    "another dataset": (put("dataset", value="elsewhere"), "dataset"),
    "a day that is none": (put("date", value="2026-02-30"), "date"),
    "another method": (put("method", value="microaggregation"), "keys"),
    "a singleton allowed": (put("tables", 0, "k", value=1), "samples"),
    "other limits": (put("not_promised", value=["Everything is safe."]), "wording"),
    "another way to verify": (put("how_to_verify", value="there is no need"), "wording"),
    "a note inside": (put("guarantee", "note", value="trust us"), "keys"),
    "a note deep inside": (put("ledger", "entries", 0, "parts", 0, "note", value="trust us"), "keys"),
    "fewer releases than none": (put("ledger", "unbounded_releases", value=-5), "keys"),
    "a table elsewhere": (put("tables", 0, "file", value="../csv/table.csv"), "table-files"),
    "a column less": (put("tables", 0, "columns", value=["age", "sex"]), "table-columns"),
    "a choice that cost nothing": (put("recoding_choice", value=None), None),
    "views that are none": (put("views", value=None), None),
    "another hash of the sentences": (put("wording", "text_sha256", value="0" * 64), "wording-hash"),
    "another hash of the page": (put("wording", "page_sha256", value="0" * 64), "page-hash"),
    "another format": (put("format", value=2), "format"),
}
"""A change of the certificate, and the check that must fire; None where it changes nothing."""


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forger_who_seals_again_is_caught_by_its_check(copied, name):
    folder = copied("csv")
    file = folder / "certificate.json"
    forged = json.loads(file.read_text(encoding="utf-8"))
    change, check = FORGERIES[name]
    change(forged)
    forged["seal"] = verifier.seal(forged)
    file.write_text(json.dumps(forged), encoding="utf-8")
    assert check in failures(folder) if check is not None else failures(folder) == set()


@pytest.mark.parametrize(
    ("old", "new", "check"),
    [
        ('beta: "0.5"', 'beta: "0.9"', "locked-beta"),
        ('"age": 2', '"age": 1', "recoding-levels"),
        ("clinic", "clinik", "dataset"),
        ("safe-k", "microaggregation", "lock-method"),
    ],
)
def test_a_lock_that_says_something_else_is_caught(copied, old, new, check):
    folder = copied("csv")
    lock = folder / "policy.lock.yaml"
    assert old in lock.read_text()
    lock.write_text(lock.read_text().replace(old, new))
    reseal(folder, "policy.lock.yaml", plan_sha256=verifier.sha256(lock))
    assert check in failures(folder)


@pytest.mark.parametrize("added", ["# trust us\n", 'note: "trust us"\n', "\n"])
def test_a_lock_holds_what_was_locked_and_nothing_else(copied, added):
    folder = copied("csv")
    lock = folder / "policy.lock.yaml"
    lock.write_text(lock.read_text() + added)
    reseal(folder, "policy.lock.yaml", plan_sha256=verifier.sha256(lock))
    assert failures(folder) & {"lock-text", "lock-keys", "numbers"}


@pytest.mark.parametrize("kind", ["csv", "parquet", "repeated"])
def test_a_file_that_is_merely_listed_is_caught(copied, kind):
    folder = copied(kind)
    (folder / "original.csv").write_text("name,age\nJohn,3\n")
    reseal(folder, "original.csv")
    assert failures(folder) == {"no-idle-files", "page-hash"}


def test_a_cell_beyond_the_columns_is_caught_by_both(copied):
    """A cell that all rows of a group have makes no group smaller."""
    folder = copied("csv")
    table = folder / "table.csv"
    head, *lines = table.read_text().splitlines()
    table.write_text("\n".join([head, *(f"{line},John" for line in lines)]) + "\n")
    reseal(folder, "table.csv")
    assert "table-columns" in failures(folder)
    assert alone(folder) == 3


def test_another_order_and_notes_in_the_file_are_caught(copied):
    folder = copied("parquet")
    table = folder / "table.parquet"
    honest = pq.read_table(table)
    pq.write_table(honest.take(list(range(len(honest)))[::-1]), table)
    reseal(folder, "table.parquet")
    assert "row-order" in failures(folder)
    pq.write_table(honest.replace_schema_metadata({"note": "p17 was sampled"}), table)
    reseal(folder, "table.parquet")
    assert "table-notes" in failures(folder)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_every_file_counts(copied, kind):
    folder = copied(kind)
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = file.read_bytes()
        if file.name != "certificate.json":  # blanks around its content change nothing
            file.write_bytes(content + b" ")
            assert failures(folder), file.name
        file.unlink()
        if file.name == "certificate.json":
            with pytest.raises(UsageError, match="no release folder"):
                verify(folder)
        else:
            assert failures(folder), file.name
        file.write_bytes(content)
    require(verify(folder))
    (folder / "extra.txt").write_text("x")
    assert failures(folder) == {"no-other-files"}


def reseal(folder, name, **changes):
    """What a forger would do: hash the changed file and seal again."""
    file = folder / "certificate.json"
    forged = json.loads(file.read_text(encoding="utf-8")) | changes
    forged["files"][name] = verifier.sha256(folder / name)
    forged["seal"] = verifier.seal(forged)
    file.write_text(json.dumps(forged), encoding="utf-8")


def test_one_cell_of_a_csv_is_caught_even_after_resealing(copied):
    folder = copied("csv")
    table = folder / "table.csv"
    lines = table.read_text().splitlines()
    table.write_text("\n".join([*lines[:-1], lines[1] if lines[1] != lines[-1] else lines[-1] + "x"]) + "\n")
    assert "file-hash" in failures(folder)
    lines[-1] = lines[-1].replace("flu", "plague").replace("cold", "plague")
    table.write_text("\n".join(lines) + "\n")
    reseal(folder, "table.csv")
    assert {"class-size", "labels"} <= failures(folder)
    assert alone(folder) == 3


def test_one_cell_of_a_parquet_table_is_caught_even_after_resealing(copied):
    folder = copied("parquet")
    rows = pq.read_table(folder / "table.parquet").to_pylist()
    rows[0]["diag"] = "plague"
    import pyarrow as pa

    pq.write_table(pa.Table.from_pylist(rows), folder / "table.parquet")
    reseal(folder, "table.parquet")
    assert {"class-size", "labels"} <= failures(folder)


def test_require_names_what_failed(copied):
    folder = copied("csv")
    (folder / "policy.lock.yaml").write_text("version: 2\n")
    with pytest.raises(VerificationError, match=r"policy.lock.yaml.*do not rely") as caught:
        require(verify(folder))
    assert caught.value.exit_code == 3


def test_nonsense_is_a_failure_and_not_a_crash(copied):
    folder = copied("csv")
    for text in ("", "{}", "[]", "null", '{"format": 1}', '{"format": 99}', '{"format": 1, "files": 3}'):
        (folder / "certificate.json").write_text(text)
        assert failures(folder)
        assert alone(folder) == 3


def test_the_pack_holds_the_public_files_and_verifies_with_python_alone(released, tmp_path):
    packed = pack(released["csv"], tmp_path / "csv.zip")
    with zipfile.ZipFile(packed) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "out")
    assert not any("holder" in name or "report" in name for name in names)
    done = subprocess.run(
        [sys.executable, "-I", str(tmp_path / "out" / "verifier.py"), str(tmp_path / "out" / "csv")], check=False
    )
    assert done.returncode == 0
    again = pack(released["csv"], tmp_path / "again.zip")
    assert again.read_bytes() == packed.read_bytes()
    with pytest.raises(UsageError, match="exists"):
        pack(released["csv"], tmp_path / "csv.zip")


def test_a_broken_release_is_not_packed(copied, tmp_path):
    folder = copied("csv")
    (folder / "table.csv").write_text("age,sex,diag\n")
    with pytest.raises(VerificationError):
        pack(folder, tmp_path / "broken.zip")
    assert not (tmp_path / "broken.zip").exists()


VECTORS = [
    (20, "1/10", "1"),
    (20, "3/10", "1/5"),
    (5, "1/5", "0"),
    (58, "0.632", "1"),
    (1, "1/40", "2"),
    (107, "0.85", "1.9"),
]


@pytest.mark.parametrize(("k", "beta", "epsilon"), VECTORS)
def test_vectors_of_the_one_file_verifier(k, beta, epsilon):
    """It sums over M against M + 1, the package over the worst class: two ways to one number."""
    assert float(verifier.delta(k, Fraction(beta), Fraction(epsilon))) == pytest.approx(
        delta_tight(k, Fraction(beta), Fraction(epsilon)), rel=1e-14
    )


def test_the_one_file_verifier_says_how_to_use_it(tmp_path):
    assert alone(tmp_path) == 2
