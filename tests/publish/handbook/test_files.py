"""The handbook: written with every release, made again from the certificate, the lock and the rules, and forged in vain."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from pathlib import Path

import duckdb
import pytest

from shoal.publish.handbook import files
from shoal.publish.handbook.content import HandbookTable
from shoal.publish.handbook.snippets import _stata
from shoal.publish.verify.release import verify
from shoal.publish.verify.standalone import HANDBOOK, checks_of, read_json
from tests.publish.handbook.stata import Stata, StataError
from tests.publish.handbook.survey import released
from tests.publish.release_folder import alone, certificate, failures, forge
from tests.publish.verify.forgery import redraw, write

pytestmark = pytest.mark.slow


def test_every_release_has_one_that_verifies(made):
    assert certificate(made)["files"].keys() >= HANDBOOK
    own = [check for check in verify(made) if check.id == "handbook"]
    assert {check.about for check in own} == HANDBOOK
    assert all(check.agrees for check in own)


def test_it_follows_from_certificate_lock_and_rules_alone(made, tmp_path):
    content = certificate(made)
    for name in ("policy.lock.yaml", *(name for name in content["files"] if name.startswith("recoding/"))):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(made / name, tmp_path / name)
    for key in ("files", "seal", "wording"):
        content[key] = dict.fromkeys(content["files"]) if key == "files" else None  # without hashes
    again = files.handbook_files(files.handbook_of(tmp_path, content, (tmp_path / "policy.lock.yaml").read_text()))
    assert again == {name: (made / name).read_text(encoding="utf-8") for name in HANDBOOK}


def test_pages_have_no_script_and_load_nothing(made):
    for name in ("README.html", "codebook.html"):
        page = (made / name).read_text(encoding="utf-8")
        assert not re.search(r"<script|<link|<img|src=|@import|url\(|\son\w+=", page)
        assert "<2026>" not in page


@pytest.fixture
def forged(tmp_path) -> Path:
    """A copy of a release to change."""
    return Path(shutil.copytree(released("rows"), tmp_path / "out"))


@pytest.mark.parametrize("name", sorted(HANDBOOK))
def test_another_text_is_found_although_every_hash_is_made_anew(forged, name):
    (forged / name).write_text((forged / name).read_text() + "\n")
    write(forged, certificate(forged))
    assert failures(forged) == {"handbook", "page-hash"}  # the page lists the hashes
    redraw(forged)
    assert failures(forged) == {"handbook"}


def test_the_one_file_verifier_leaves_its_words_open_and_takes_no_other_file(forged):
    assert alone(forged) == 0
    left = [check for check in checks_of(forged, read_json(forged, "certificate.json")) if check.id == "handbook"]
    assert [(check.agrees, check.promise) for check in left] == [(None, False)]
    (forged / "read_me.py").write_text("print(1)\n")
    forge(forged, lambda content: content["files"].update({"read_me.py": "0" * 64}))
    assert alone(forged) == 3


def test_part_of_a_handbook_is_no_handbook(forged):
    (forged / "codebook.csv").unlink()
    forge(forged, lambda content: content["files"].pop("codebook.csv"))
    assert "no-idle-files" in failures(forged)


def test_that_of_another_version_is_compared_by_its_hashes_alone(forged):
    (forged / "README.md").write_text("# Another wording\n")
    forge(forged, lambda content: content["software"].update({"shoal": "0.0.9"}))
    own = files.handbook_checks(forged, certificate(forged))
    assert [(check.agrees, "made by version 0.0.9" in check.detail) for check in own] == [(None, True)]


def test_a_release_without_one_is_said_nothing_of(forged):
    content = certificate(forged)
    content["files"] = {name: own for name, own in content["files"].items() if name not in HANDBOOK}
    assert files.handbook_checks(forged, content) == []


# --- what it says ----------------------------------------------------------------------------------------------------------


def test_the_first_page_says_what_the_certificate_says(made):
    text, content = (made / "README.md").read_text(encoding="utf-8"), certificate(made)
    plain = re.sub(r"\\(.)", r"\1", text)
    for sentence in (content["sentence"], *content["explanation"], *content["not_promised"]):
        assert sentence in plain
    for heading in ("What this is", "What was promised", "How to read a label", "How to weight", "What not to do"):
        assert f"\n## {heading}\n" in text
    assert content["dataset"] in plain


@pytest.mark.parametrize(
    ("kind", "said", "unsaid"),
    [
        ("rows", "stands for 1/beta = ", "Do not join views"),
        ("repeat", "Do not stack the tables", "Do not join views"),
        ("trees", "Do not join views row by row", "no weights"),
        ("mixed", "Do not set negative counts to zero", "Synthetic rows"),
        ("mixed", "Numbers, shares and cross tables: the noisy counts", "to train models"),
        ("counts-declared", "A noisy count has no weight", "1/beta"),
        ("counts-declared", "noisy counts", "Which to take"),
        ("synthetic-parquet", "to train models: `synthetic.parquet`", "Rows of records"),
        ("synthetic-parquet", "Do not treat synthetic rows as people", "1/beta"),
        ("groups", "it is its group's", "1/beta"),
        ("groups", "none is shown; the record may have one", "1/beta"),
        ("rows", "the record has no value", "the record may have one"),
        ("labels", "both included", "1/beta"),
        ("exchanged", "exchanged at random", "1/beta"),
    ],
)
def test_the_first_page_says_what_is_true_of_its_kind(kind, said, unsaid):
    text = (released(kind) / "README.md").read_text(encoding="utf-8")
    assert said in text
    assert unsaid not in text


@pytest.mark.parametrize(("kind", "needs"), [("rows", "alone"), ("parquet", "and pyarrow")])
def test_the_first_page_says_what_its_reader_needs(kind, needs):
    assert f"needs Python {needs} |" in (released(kind) / "README.md").read_text(encoding="utf-8")


def test_a_backtick_in_a_name_frees_no_markup():
    """Sentences of the certificate name columns; a backtick in a name must not turn what follows it into markup."""
    folder = released("rows")
    content = certificate(folder)
    content |= {"dataset": "d`<b>", "explanation": ["With the row of one 'id`<img src=x>' in the table, say."]}
    handbook = files.handbook_of(folder, content, (folder / "policy.lock.yaml").read_text())
    text = files.handbook_files(handbook)["README.md"]
    assert r"one 'id'\<img src=x\>' in" in text
    assert r"# d'\<b\>" in text


def snippets(folder: Path, language: str) -> list[str]:
    text = (folder / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)\n```", text, re.DOTALL)


@pytest.mark.parametrize("kind", ["rows", "parquet", "parts", "trees", "counts-declared", "groups"])
def test_its_programs_run(kind, monkeypatch, capsys):
    folder = released(kind)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(__import__("sys").modules, "read_release", raising=False)
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    programs = snippets(folder, "python")
    assert len(programs) == 2
    for program in programs:
        exec(program, {})  # noqa: S102 - the program of the page
    capsys.readouterr()
    assert not (folder / "__pycache__").exists()  # or the folder would not verify any more
    (question,) = snippets(folder, "sql")
    assert duckdb.sql(question).fetchall()
    assert not (folder / "__pycache__").exists()  # the verifiers would not know it
    monkeypatch.delitem(__import__("sys").modules, "read_release", raising=False)


NEEDS_R = pytest.mark.skipif(
    shutil.which("Rscript") is None, reason="cannot run here: R is not installed (Debian package r-base-core)"
)


def run_r(folder: Path, *lines: str) -> list[str]:
    """What the program of the page prints in R, and then more lines."""
    (program,) = snippets(folder, "r")
    command = ["Rscript", "--vanilla", "-e", "\n".join([program, *lines])]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True, text=True)
    assert not done.stderr
    return done.stdout.splitlines()


@NEEDS_R
@pytest.mark.parametrize(
    "kind",
    ["rows", "repeat", "trees", "values", "mixed", "groups", "labels", "exchanged", "counts-declared", "centroids"],
)
def test_its_program_for_r_reads_every_row(kind):
    folder = released(kind)
    (program,) = snippets(folder, "r")
    file = re.search(r'read\.csv\("(.+?)"', program)[1]
    with (folder / file).open(encoding="utf-8", newline="") as held:
        rows = list(csv.DictReader(held, strict=True)) if kind != "values" else held.readlines()[1:]
    printed = run_r(folder, 'cat("\\n", nrow(table))')
    assert printed[0].strip() or printed[1].strip()
    assert printed[-1].strip() == str(len(rows))


@NEEDS_R
def test_its_program_for_r_gives_ends_of_intervals_as_numbers():
    printed = run_r(released("rows"), 'cat("\\n", class(low), range(low), anyNA(low))')
    assert printed[-1].split() == ["numeric", "0", "50", "FALSE"]


@pytest.mark.parametrize(("kind", "said"), [("parquet", "the package arrow"), ("parts", "packages arrow and dplyr")])
def test_its_program_for_r_says_which_packages_it_needs(kind, said):
    text = (released(kind) / "README.md").read_text(encoding="utf-8")
    assert said in text
    assert said not in (released("rows") / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["rows", "trees", "values", "mixed", "groups", "counts-declared", "centroids"])
def test_its_program_for_stata_fits_the_folder(kind):
    folder = released(kind)
    (program,) = snippets(folder, "stata")
    first = re.search(r'"(.+?)"', program)[1]
    with (folder / first).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    ran = Stata(folder).run(program)
    if "collapse" not in program:
        assert ran.shown[0] == str(len(rows))
        assert ran.names == list(rows[0])
        assert ("display" in program) == (
            "a row stands for so many records" in (folder / "README.md").read_text("utf-8")
        )
        return
    assert sum(row[-1] for row in ran.rows) == sum(int(row["count"]) for row in rows)
    assert {row[0] for row in ran.rows} == {row[ran.names[0]] for row in rows}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('using "', 'using "no-'),
        ('delimiters(",")', 'delimiters(";")'),
        ("stringcols(_all) ", ""),
        ('"UTF-8"', '"latin1"'),
        ("bindquotes", "bindquote"),
        ("count, replace", "counts, replace"),
        ("destring count, replace\n", ""),
        ("by(", "by(no_"),
        ("list", "lst"),
    ],
)
def test_a_program_that_does_not_fit_the_folder_is_noticed(before, after):
    folder = released("counts-declared")
    (program,) = snippets(folder, "stata")
    assert before in program
    with pytest.raises((StataError, csv.Error)):
        Stata(folder).run(program.replace(before, after, 1))


def test_a_folder_that_the_program_does_not_fit_is_noticed(forged):
    (program,) = snippets(forged, "stata")
    file = forged / re.search(r'"(.+?)"', program)[1]
    text = file.read_text(encoding="utf-8")
    Stata(forged).run(program)
    file.write_bytes(text.encode("utf-8-sig"))
    with pytest.raises(StataError, match="byte order"):
        Stata(forged).run(program)
    file.write_text(text + "one cell too few\n", encoding="utf-8")
    with pytest.raises(StataError, match="different lengths"):
        Stata(forged).run(program)
    file.write_bytes(b"\xe4" + text.encode("utf-8"))
    with pytest.raises(UnicodeDecodeError):
        Stata(forged).run(program)
    file.unlink()
    with pytest.raises(StataError, match="not found"):
        Stata(forged).run(program)


@pytest.mark.parametrize(("name", "kept"), [("age", True), ("marital-status", False), ("if", False), ("str8", False)])
def test_a_name_that_stata_changes_is_not_used(name, kept):
    table = HandbookTable("t", "t.csv", "counts", (name,), {}, {})
    assert (f"by({name})" in _stata(table, name)) == kept


# --- the data package ------------------------------------------------------------------------------------------------------


def test_the_data_package_keeps_the_rules_of_the_standard(made):
    """What versions 1 and 2 of the Data Package and Table Schema specifications ask for, written down as checks."""
    package = json.loads((made / "datapackage.json").read_text(encoding="utf-8"))
    assert re.fullmatch(r"[-a-z0-9._/]+", package["name"])
    assert package["$schema"].endswith("/2.0/datapackage.json")
    names = [resource["name"] for resource in package["resources"]]
    assert len(set(names)) == len(names) > 1
    for resource in package["resources"]:
        assert re.fullmatch(r"[-a-z0-9._/]+", resource["name"])
        paths = [resource["path"]] if isinstance(resource["path"], str) else resource["path"]
        assert paths
        for path in paths:
            assert not re.match(r"/|.*\.\./|.*\\", path)
            assert (made / path).is_file()
        assert resource["profile"] in ("tabular-data-resource", "data-resource")
        assert resource["mediatype"].count("/") == 1
        own = resource["schema"]
        assert all(isinstance(text, str) for text in own["missingValues"])
        fields = [field["name"] for field in own["fields"]]
        assert len(set(fields)) == len(fields) > 0
        for field in own["fields"]:
            check_field(field)
        if paths[0].endswith(".csv"):
            first = (made / paths[0]).read_text(encoding="utf-8").splitlines()[0]
            assert next(__import__("csv").reader([first])) == fields


def check_field(field):
    assert field["type"] in ("string", "integer", "number", "boolean", "date", "datetime")
    allowed = {
        "name",
        "type",
        "format",
        "title",
        "description",
        "constraints",
        "categories",
        "categoriesOrdered",
        "shoal",
    }
    assert field.keys() <= allowed | ({"trueValues", "falseValues"} if field["type"] == "boolean" else set())
    limits = field.get("constraints", {})
    assert limits.keys() <= {"enum", "minimum", "maximum"}
    if "enum" in limits:
        assert limits["enum"]
        assert len(set(limits["enum"])) == len(limits["enum"])
    if "minimum" in limits:
        assert limits["minimum"] <= limits["maximum"]
    categories = field.get("categories", [])
    values = [each["value"] if isinstance(each, dict) else each for each in categories]
    assert len(set(values)) == len(values)
    assert len({type(each) for each in categories}) <= 1


def test_noisy_averages_are_said_to_be_nobodys_and_how_far_off_they_are():
    text = (released("centroids") / "README.md").read_text(encoding="utf-8")
    assert "noisy averages stand for the records of the original" in text
    assert "no row is anybody's in particular" in text
    assert "one of its inner concepts, which stands for several values" in text
    assert "| `pay` | 0 to 1000 | ±" in text
    assert "drawn from 7 concepts" in text
    assert "Do not take a row for a person" in text
    assert "Do not join" not in text
    ranks = (released("ranks") / "README.md").read_text(encoding="utf-8")
    assert "4 tables of one column each, in `attributes/`" in ranks
    assert "Do not join the tables row by row" in ranks
    assert "category was drawn" not in ranks


def test_concepts_that_a_column_may_show_are_in_the_codebook_and_in_the_data_package():
    folder = released("centroids")
    lines = [line.split(",") for line in (folder / "codebook.csv").read_text(encoding="utf-8").splitlines()]
    north = [(line[6], line[10]) for line in lines if line[0] == "town" and line[4] == "North"]
    assert north == [("set", "Leeds"), ("set", "York")]
    package = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
    fields = {each["name"]: each for each in package["resources"][0]["schema"]["fields"]}
    assert set(fields["town"]["constraints"]["enum"]) == {"England", "North", "South", "Leeds", "York", "Bath", "Truro"}
    assert fields["town"]["shoal"]["concepts"] == 7
    assert 0 < float(fields["pay"]["shoal"]["half_width"]) < 1
