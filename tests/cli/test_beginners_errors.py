"""What goes wrong first for a beginner: every error says what happened and what to do next, and shows no value of a record."""

from __future__ import annotations

import shlex
import sqlite3

import pytest

from shoal.engine.read.foreign.spreadsheet import _CONTAINER, _ENCRYPTED
from tests.cli.run import refused, shoal
from tests.engine.read.foreign.workbooks import write_xlsx

POLICY = """\
version: 1
dataset: people
unit: row
neighbours: add_remove
attributes:
  age: {role: quasi, type: integer, domain: [0, 120], hierarchy: {intervals: [10]}}
  town: {role: quasi, type: category, domain: [Ash, Elm]}
  income: {role: confidential, type: integer, domain: [0, 100000], hierarchy: {intervals: [1000]}}
release: {method: safe-k, epsilon: 1, delta: 1e-6, recoding: {levels: {age: 1, town: 0, income: 1}}}
budget: {epsilon: 1.5, delta: 1e-5}
"""
ROWS = ["34,Ash,20417", "71,Elm,31993"] * 30
TELLING = ("20417", "31993", "71,", "'71'", "Elm,3")
"""What only the rows hold."""
RELEASE = ("release", "policy.yaml", "people.csv", "--out", "out", "--new-ledger")


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with a small table in several forms, and a policy of it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHOAL_LEDGER", str(tmp_path / "ledger.sqlite"))
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "people.csv").write_text("\n".join(["age,town,income", *ROWS, ""]))
    (tmp_path / "no-header.csv").write_text("\n".join([*ROWS, ""]))
    (tmp_path / "empty.csv").touch()
    (tmp_path / "people.docx").touch()
    (tmp_path / "labels.csv").write_text("column,label\nage,Age in years\n")
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "policy.yaml").touch()
    return tmp_path


def _change(desk, old: str, new: str) -> None:
    text = (desk / "policy.yaml").read_text()
    assert old in text
    (desk / "policy.yaml").write_text(text.replace(old, new))


def _workbook(desk) -> None:
    write_xlsx(desk / "book.xlsx", {"read me": [["hello"]], "people": [["age"], [34]], "blank": []})
    (desk / "locked.xlsx").write_bytes(_CONTAINER + bytes(504) + _ENCRYPTED + bytes(512))


def _database(desk) -> None:
    with sqlite3.connect(desk / "people.sqlite") as held:
        held.execute("CREATE TABLE people (age INTEGER)")


def _without_library(desk, monkeypatch) -> None:
    _workbook(desk)
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)


CASES = {
    "wrong path, nearly right": ((), ("init", "poeple.csv"), 5, ("no such file", "did you mean people.csv?")),
    "wrong path, alike in the ending alone": ((), ("init", "x.csv"), 5, ("check the path; it begins in",)),
    "wrong path": ((), ("init", "zzz.csv"), 5, ("no such file", "check the path; it begins in")),
    "wrong folder": ((), ("init", "a/b/people.csv"), 5, ("no such file", "no folder a/b")),
    "no policy": ((), ("plan", "none.yaml"), 2, ("the policy cannot be read", "shoal init DATA")),
    "no policy, nearly right": ((), ("plan", "polcy.yml"), 2, ("did you mean policy.yaml?",)),
    "unknown kind": ((), ("init", "people.docx"), 5, ("not known", ".xlsx")),
    "codebook that is not there": (
        (),
        ("init", "people.csv", "--codebook", "lables.csv"),
        2,
        ("did you mean labels.csv?",),
    ),
    "settings that are not there": (
        (),
        ("init", "people.csv", "--settings", "lables.csv"),
        2,
        ("did you mean labels.csv?",),
    ),
    "no folder of hierarchies": ((), ("init", "people.csv", "--hierarchies", "ther"), 2, ("did you mean there?",)),
    "no ledger": ((), ("init", "people.csv", "--out", "d", "--ledger", "l.sqlite"), 4, ("no ledger", "--new-ledger")),
    "ledger, nearly right": (
        (lambda desk: (desk / "books.sqlite").touch(),),
        ("init", "people.csv", "--out", "d", "--ledger", "book.sqlite"),
        4,
        ("no ledger", "did you mean", "books.sqlite?", "--new-ledger"),
    ),
    "no ledger for a release": (
        (),
        ("release", "policy.yaml", "people.csv", "--out", "d", "--ledger", "l.sqlite"),
        4,
        ("no ledger", "--new-ledger"),
    ),
    "no folder to write into": ((), ("release", "policy.yaml", "people.csv"), 2, ("Missing option '--out'",)),
    "empty file": ((), ("init", "empty.csv"), 5, ("empty", "names of its columns in the first line")),
    "draft is there": ((), ("init", "people.csv", "--out", "there", "--new-ledger"), 2, ("exists", "--force")),
    "several sheets": ((_workbook,), ("init", "book.xlsx"), 5, ("several sheets", "--sheet 'people'")),
    "wrong sheet": (
        (_workbook,),
        ("init", "book.xlsx", "--sheet", "peple"),
        5,
        ("no such sheet", "'read me', 'people'", "--sheet 'people'"),
    ),
    "empty sheet": ((_workbook,), ("init", "book.xlsx", "--sheet", "blank"), 5, ("empty", "--sheet NAME")),
    "password": ((_workbook,), ("init", "locked.xlsx"), 5, ("password", "save a copy without a password")),
    "sheet of a text file": ((), ("init", "people.csv", "--sheet", "a"), 5, ("only a workbook", "--sheet")),
    "table of a text file": ((), ("init", "people.csv", "--table", "a"), 5, ("only a database", "--table")),
    "wrong table": (
        (_database,),
        ("init", "people.sqlite", "--table", "x"),
        5,
        ("no such table", "'people'", "table: "),
    ),
    "wrong query": ((_database,), ("init", "people.sqlite", "--query", "SELECT x"), 5, ("query", "SQLite's own shell")),
    "database refuses": (
        (),
        ("init", "postgresql://ann:secret@127.0.0.1:1/clinic", "--table", "people"),
        5,
        ("cannot be reached", "127.0.0.1:1/clinic", "psql"),
    ),
    "library is missing": ((_without_library,), ("init", "book.xlsx", "--sheet", "people"), 2, ("shoal[formats]",)),
    "wrong column": (
        (("income:", "wage:"),),
        RELEASE,
        5,
        ("lacks columns", "'wage'", "shoal init FILE --schema-only", "nothing was charged"),
    ),
    "column in other letters": ((("income:", "In_Come:"),), RELEASE, 5, ("the file spells 'In_Come' as 'income'",)),
    "no header": (
        (),
        ("release", "policy.yaml", "no-header.csv", "--out", "out", "--new-ledger"),
        5,
        ("lacks columns", "has a header"),
    ),
    "wrong type": (
        (("type: category, domain: [Ash, Elm]", "type: integer, domain: [0, 9]"),),
        RELEASE,
        5,
        ("'town' in 60 rows", "declare the type", "--show-values", "nothing was charged"),
    ),
    "outside a domain": (
        (("[0, 120]", "[0, 50]"),),
        RELEASE,
        5,
        ("'age' in 30 rows", "0..50", "outside: clamp or suppress", "--show-values"),
    ),
    "outside a list": (
        (("[Ash, Elm]", "[Ash]"),),
        RELEASE,
        5,
        ("'town' in 30 rows", "widen the domain", "suppress", "nothing was charged"),
    ),
    "table of another sheet": (
        (_workbook, ("attributes:", "file: {sheet: people}\nattributes:")),
        ("release", "policy.yaml", "book.xlsx", "--out", "out", "--new-ledger"),
        5,
        ("lacks columns",),
    ),
    "policy and table exchanged": (
        (),
        ("release", "people.csv", "policy.yaml", "--out", "out"),
        2,
        ("the table stands where the policy belongs", "exchange the two"),
    ),
    "folder of a policy": ((), ("plan", "there"), 2, ("a folder stands where a policy file should be named",)),
    "policy that is no text": ((_workbook,), ("plan", "book.xlsx"), 2, ("not UTF-8 text", "where data do")),
    "wrong command": ((), ("relese", "policy.yaml"), 2, ("Did you mean 'release'?",)),
    "wrong option": ((), ("init", "people.csv", "--shema-only"), 2, ("Did you mean '--schema-only'?",)),
    "draft is there, as one word": ((), ("init", "people.csv", "--out=there", "--new-ledger"), 2, ("exists",)),
    "folder is there, above": (
        (),
        ("release", "policy.yaml", "people.csv", "--out", "there/../there", "--new-ledger"),
        2,
        ("exists",),
    ),
    "folder is there": (
        (),
        ("release", "policy.yaml", "people.csv", "--out", "there", "--new-ledger"),
        2,
        ("exists", "--force"),
    ),
}


NEXT = {
    "wrong path, nearly right": "shoal init people.csv",
    "no policy, nearly right": "shoal plan policy.yaml",
    "several sheets": "shoal init book.xlsx --sheet people",
    "wrong sheet": "shoal init book.xlsx --sheet people",
    "wrong table": "shoal init people.sqlite --table people",
    "wrong column": "shoal init people.csv --schema-only --out by-name",
    "wrong type": "shoal release policy.yaml people.csv --out out --new-ledger --show-values",
    "outside a domain": "shoal release policy.yaml people.csv --out out --new-ledger --show-values",
    "folder is there": "shoal release policy.yaml people.csv --out there-2 --new-ledger",
    "folder is there, above": "shoal release policy.yaml people.csv --out there/../there-2 --new-ledger",
    "draft is there": "shoal init people.csv --out there-2 --new-ledger",
    "draft is there, as one word": "shoal init people.csv --out=there-2 --new-ledger",
    "table of another sheet": "shoal init book.xlsx --sheet people --schema-only --out by-name",
    "policy and table exchanged": "shoal release policy.yaml people.csv --out out",
    "folder of a policy": "shoal plan there/policy.yaml",
    "wrong command": "shoal release policy.yaml",
    "wrong option": "shoal init people.csv --schema-only",
    "codebook that is not there": "shoal init people.csv --codebook labels.csv",
    "settings that are not there": "shoal init people.csv --settings labels.csv",
    "no folder of hierarchies": "shoal init people.csv --hierarchies there",
    "no ledger": "shoal init people.csv --out d --ledger l.sqlite --new-ledger",
    "no ledger for a release": "shoal release policy.yaml people.csv --out d --ledger l.sqlite --new-ledger",
    "ledger, nearly right": "shoal init people.csv --out d --ledger books.sqlite",
    "no folder to write into": "shoal release policy.yaml people.csv --out release",
    "sheet of a text file": "shoal init people.csv",
    "table of a text file": "shoal init people.csv",
    "wrong path": None,
    "database refuses": None,
}
"""The command line that a message ends with."""


@pytest.mark.parametrize("case", CASES)
def test_an_error_says_what_happened_and_what_to_do_next(desk, monkeypatch, case):
    before, arguments, code, said = CASES[case]
    for step in before:
        if isinstance(step, tuple):
            _change(desk, *step)
        elif step is _without_library:
            step(desk, monkeypatch)
        else:
            step(desk)
    there = sorted(path.name for path in desk.iterdir() if "ledger" not in path.name)
    fields = refused(*arguments, code=code)
    words = " ".join(str(fields[part]) for part in ("wrong", "came", "allowed", "fix"))
    for each in said:
        assert each in words
    assert not any(each in words for each in (*TELLING, "secret"))
    if case in NEXT:
        assert (fields["next"] and fields["next"].replace(" --json", "")) == NEXT[case]
    assert sorted(path.name for path in desk.iterdir() if "ledger" not in path.name) == there


def test_a_command_line_with_a_password_is_not_repeated(desk):
    _database(desk)
    address = f"sqlite:///{desk}/people.sqlite"
    assert (
        refused("init", address, "--table", "poeple", code=5)["next"] == f"shoal init {address} --table people --json"
    )
    told = shoal("init", f"{address}?key=secret", "--table", "poeple")
    assert "secret" not in told.output


def test_what_the_message_offers_can_be_done(desk):
    """A value outside a list has no nearest one to be moved to."""
    _change(desk, "[Ash, Elm]", "[Ash]")
    assert "clamp" not in refused(*RELEASE, code=5)["fix"]
    _change(desk, "domain: [Ash]", "domain: [Ash], outside: suppress")
    assert shoal(*RELEASE).exit_code == 0


@pytest.mark.slow
def test_a_second_run_and_a_budget_that_is_spent(desk):
    assert shoal(*RELEASE).exit_code == 0
    assert refused(*RELEASE, code=4)["next"] == "shoal release policy.yaml people.csv --out out --json"
    same = refused(*RELEASE[:-1], code=2)
    assert "a release of this very plan lies in it" in same["wrong"]
    assert shoal(*same["next"].removeprefix("shoal ").split()).exit_code == 0
    again = shoal("release", "policy.yaml", "people.csv", "--out", "more")
    assert again.exit_code == 4
    assert "--again" in again.stderr
    assert again.stderr.endswith("nothing was charged; next: shoal ledger show people\n")
    spent = shoal("release", "policy.yaml", "people.csv", "--out", "more", "--again")
    assert spent.exit_code == 4
    assert "(0.5, 0.000009) is left" in spent.stderr
    assert spent.stderr.endswith("next: shoal ledger show people\n")
    assert "shoal ledger budget people --epsilon E --delta D --reason TEXT" in spent.stderr
    assert shoal("ledger", "budget", "people", "--epsilon", "2", "--delta", "1e-5", "--reason", "agreed").exit_code == 0
    other = shoal("release", "policy.yaml", "people.csv", "--out", "more", "--again")
    assert "write `budget: {epsilon: 2, delta: 0.00001}` into the policy" in " ".join(other.stderr.split())
    assert not (desk / "more").exists()


def test_each_step_names_the_next_command(desk):
    drafted = shoal("init", "people.csv", "--out", "draft", "--new-ledger")
    assert "shoal policy confirm draft/policy.yaml" in drafted.stdout
    confirmed = shoal("policy", "confirm", "draft/policy.yaml", "--all")
    assert "next: shoal plan draft/policy.yaml" in confirmed.stderr
    planned = shoal("plan", "draft/policy.yaml")
    assert "next: shoal release draft/policy.yaml DATA --out FOLDER" in planned.stderr


def _lines_to_type(text: str) -> list[list[str]]:
    """The command lines of a text, in words as a shell reads them."""
    return [shlex.split(line.strip())[1:] for line in text.splitlines() if line.strip().startswith("shoal ")]


@pytest.mark.slow
def test_what_a_draft_names_leads_to_a_release_if_it_is_pasted(desk):
    """With blanks in the names of table, folder and ledger."""
    (desk / "people.csv").rename(desk / "our people.csv")
    (desk / "our-people-release").mkdir()
    book = ("--ledger", "our ledger.sqlite")
    drafted = shoal("init", "our people.csv", "--out", "a draft", *book, "--new-ledger")
    confirm, plan, release = _lines_to_type(drafted.stdout)
    checked = shoal("policy", "check", "a draft/policy.yaml")
    assert checked.stderr.endswith("shoal policy confirm 'a draft/policy.yaml'\n")
    assert shoal(*confirm, "--all").exit_code == 0
    assert shoal(*plan).exit_code == 0
    assert release[3:] == ["--out", "our-people-release-2", *book]
    assert shoal(*release).exit_code == 0
    assert shoal("verify", "our-people-release-2").exit_code == 0
    names = shoal("init", "our people.csv", "--schema-only", "--out", "by name")
    assert names.stdout.endswith("then: shoal policy check 'by name/policy.yaml'\n")
    again = shoal("policy", "check", "by name/policy.yaml")
    assert "check again: shoal policy check 'by name/policy.yaml'" in again.stderr


def test_the_release_that_a_draft_names_repeats_no_password(desk):
    _database(desk)
    with sqlite3.connect(desk / "people.sqlite") as held:
        held.executemany("INSERT INTO people VALUES (?)", [(age,) for age in range(20, 60)])
    address = f"sqlite:///{desk}/people.sqlite"
    for number, (given, shown) in enumerate(((address, address), (f"{address}?key=secret", "DATA"))):
        book = ("--ledger", f"{number}.sqlite", "--new-ledger")
        drafted = shoal("init", given, "--table", "people", "--out", "d", "--force", *book)
        assert drafted.exit_code == 0
        assert _lines_to_type(drafted.stdout)[-1][2] == shown
        assert "secret" not in drafted.output


def test_a_draft_of_a_table_without_a_header_says_so(desk):
    drafted = shoal("init", "no-header.csv", "--out", "draft", "--new-ledger")
    assert drafted.exit_code == 0
    assert "Check: 2 of the 3 names of columns are numbers" in drafted.stdout
    assert "draft again with --force" in " ".join(drafted.stdout.split())
    assert "Check" not in shoal("init", "people.csv", "--out", "other").stdout


def test_a_draft_that_is_there_is_written_beside_it(desk):
    fields = refused("init", "people.csv", "--new-ledger", code=2)
    assert fields["next"] == "shoal init people.csv --new-ledger --json --out draft-2"
    assert shoal(*fields["next"].removeprefix("shoal ").split()).exit_code == 0
    assert (desk / "draft-2" / "policy.yaml").is_file()


def test_the_folder_in_which_one_stands_is_named(desk):
    assert refused("init", ".", code=5)["came"] == "."


def test_a_draft_that_publishes_no_column_says_so(desk):
    (desk / "ids.csv").write_text("\n".join(["id", *map(str, range(1000, 1050)), ""]))
    drafted = shoal("init", "ids.csv", "--out", "ids", "--new-ledger")
    assert "give a column in ids/policy.yaml a role that is published" in drafted.stdout


@pytest.mark.slow
def test_a_release_is_found_again_and_exported_by_what_the_messages_end_with(desk):
    assert shoal(*RELEASE).exit_code == 0
    assert refused("verify", "outt", code=2)["next"] == "shoal verify out --json"
    assert refused("share", "outt", code=2)["next"] == "shoal share out --json"
    assert refused("assess", "outt", "--original", "people.csv", code=2)["next"] == (
        "shoal assess out --original people.csv --json"
    )
    assert refused("share", "ledger.sqlit", code=2)["next"] is None
    (desk / "draft.zip").mkdir()
    assert refused("verify", "draftt.zip", code=2)["next"] is None  # a folder that holds no release
    fields = refused("export", "out", "people.xlsx", code=2)
    assert fields["next"] == "shoal export out people-2.csv --json"  # people.csv is there
    assert shoal(*fields["next"].removeprefix("shoal ").split()).exit_code == 0
    assert refused("export", "out", "rows.feather", code=2)["next"] == "shoal export out rows.parquet --json"
    assert shoal("export", "out", "rows.csv").exit_code == 0
    fields = refused("export", "out", "rows.csv", code=2)
    assert fields["next"] == "shoal export out rows-2.csv --json"
    database = ("export", "out", "sqlite:///new.sqlite", "--table", "people")
    assert shoal(*database).exit_code == 0
    fields = refused(*database, code=2)
    assert fields["next"] == "shoal export out sqlite:///new.sqlite --table people_2 --json"
    assert refused("export", "out", "new.csv", "--which", "tabel", code=2)["next"] == (
        "shoal export out new.csv --which table --json"
    )


def test_a_hierarchy_file_that_is_not_there_has_one_of_nearly_its_name(desk):
    (desk / "towns.csv").write_text("Ash;wood\nElm;wood\n")
    _change(desk, "domain: [Ash, Elm]", "hierarchy: {file: twons.csv}")
    assert "did you mean towns.csv?" in shoal("policy", "check", "policy.yaml").stderr


def test_groups_that_nobody_has_confirmed_stay_here_and_that_is_said_before_the_release(desk):
    (desk / "towns.csv").write_text("Ash;wood\nElm;wood\n")
    _change(desk, "domain: [Ash, Elm]", "hierarchy: {file: towns.csv}, provenance: profiled")
    for command in (("plan", "policy.yaml"), (*RELEASE, "--dry-run")):
        said = " ".join(shoal(*command).stderr.split())
        assert "note: The groups of town were drafted from the table into a file, and nobody has confirmed them" in said
        assert "Confirm them first: shoal policy confirm policy.yaml" in said
    assert shoal("policy", "confirm", "policy.yaml", "--all").exit_code == 0
    assert "The groups of" not in shoal("plan", "policy.yaml").stderr


def test_an_option_that_is_there_already_is_not_suggested_again(desk):
    """`check` has --ledger and no --new-ledger, which is nearly the same word."""
    said = shoal("check", "people.csv", "policy.yaml", "--ledger", "ledger.sqlite", "--new-ledger")
    assert said.exit_code == 2
    assert "--new-ledger" in said.stderr
    assert "next:" not in said.stderr
    assert (
        "next: shoal check people.csv policy.yaml --ledger"
        in shoal("check", "people.csv", "policy.yaml", "--leger", "l").stderr
    )
