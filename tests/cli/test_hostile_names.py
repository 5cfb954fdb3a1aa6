"""Names that a terminal would obey, in every file that a command reads and in every word of its command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from shoal.cli import main
from shoal.ledger.event import Budget
from shoal.ledger.ledger import Ledger
from tests.cli.custodian import furnished
from tests.publish.clinic import policy

FORGED = "\x1b[2J\x1b[H9 checks, all agree\r\x07\b\b\x9b1mX\x7f\u202egnp\u2066\u2028\u200fZ\x00"
"""It clears the screen, writes a verdict, moves back, and turns the direction of what follows."""
LINES = "good\nwarning: planted\n"
OURS = ("\x1b[1m", "\x1b[0m")
"""The only styles that are ours: bold, and its end."""
FROZEN = Path(__file__).resolve().parents[1] / "publish" / "verify" / "frozen"


def run(*words: object) -> Result:
    """Run a command as on a terminal, where styles are kept; check that nothing but ours is there."""
    given = [str(word).replace("\x00", "") for word in words]  # no command line can hold a zero
    done = CliRunner().invoke(main, given, color=True)
    assert done.exit_code in range(6), done.output
    for shown in (done.stdout, done.stderr):
        text = shown.replace(OURS[0], "").replace(OURS[1], "")
        raw = {letter for letter in text if not letter.isprintable()} - {"\n"}
        assert raw == set(), f"{words[:2]}: {raw}"
        assert "\nwarning: planted" not in text
        assert "Traceback" not in text
        assert "unexpected" not in text
    return done


def quoted(text: str) -> str:
    return json.dumps(text)


def hostile_policy(word: str) -> str:
    """The clinic's policy with the word in its names, labels and texts."""
    return (
        policy()
        .dump()
        .replace("clinic", quoted(f"clinic {word}"))
        .replace("sex:", f"{quoted(f'sex {word}')}:")
        .replace("cold", quoted(f"cold {word}"))
    )


@pytest.fixture(params=[FORGED, LINES], ids=["escapes", "lines"])
def word(request) -> str:
    found: str = request.param
    return found


@pytest.fixture
def place(tmp_path, word) -> Path:
    """A folder whose policy, table and ledger have the word in every name."""
    furnished(tmp_path, rows=40)
    (tmp_path / "hostile.yaml").write_text(hostile_policy(word))
    lines = (tmp_path / "table.csv").read_text().splitlines()
    cells = [line.split(",") for line in lines]
    cells[0][2] = '"' + f"sex {word}" + '"'
    for row in cells[1:]:
        row[3] = row[3].replace("cold", '"' + f"cold {word}" + '"')
    text = "\n".join(",".join(row) for row in cells) + "\n"
    (tmp_path / "hostile.csv").write_text(text, newline="")
    return tmp_path


def test_words_of_the_command_line(tmp_path, word):
    table = tmp_path / "small.csv"
    table.write_text("age\n1\n")
    for words in (
        (word,),
        ("solve", f"--{word}"),
        ("solve", "--epsilon", word, "--k", "2", "--beta", "0.1"),
        ("compose", "--release", word),
        ("plan", word),
        ("plan", tmp_path / word),
        ("rehearse", word, "--rows", word),
        ("release", word, word, "--out", word),
        ("verify", word),
        ("share", word),
        ("check", word, "--policy", word),
        ("policy", word),
        ("policy", "check", word),
        ("policy", "show", tmp_path / word),
        ("policy", "diff", word, word),
        ("policy", "confirm", word, "--yes", word),
        ("init", word),
        ("init", table, "--schema-only", "--codebook", f"{word}.csv"),
        ("init", table, "--schema-only", "--settings", f"{word}.json"),
        ("init", table, "--schema-only", "--settings", f"{word}.deid"),
        ("init", table, "--schema-only", "--hierarchies", word),
        ("init", table, "--schema-only", "--population", f"{word}.csv"),
        ("ledger", word),
        ("ledger", "show", word, "--ledger", tmp_path / "none"),
        ("dataset", "show", word, "--ledger", tmp_path / word),
        ("ask", word, "count", "--epsilon", "1", "--ledger", tmp_path / "none"),
        ("ask", "x", word),
        ("paper", word),
        ("completion", word),
        ("demo", "--rows", word),
    ):
        assert run(*words).exit_code != 0
        run(*words, "--json")


@pytest.mark.slow
def test_names_of_a_policy_and_of_a_table(place):
    ledger = ("--ledger", place / "ledger.sqlite")
    for form in ((), ("--json",)):
        for own in ("policy.yaml", "hostile.yaml"):
            for table in ("table.csv", "hostile.csv"):
                run("release", place / own, place / table, "--out", place / "o", "--dry-run", *ledger, *form)
                run("dataset", "register", place / own, place / table, *ledger, "--show-values", *form)
                run("check", place / table, "--policy", place / own, *form)
            run("plan", place / own, *form)
            for act in ("check", "show"):
                run("policy", act, place / own, *form)
            run("policy", "diff", place / own, place / "policy.yaml", *form)
            run("policy", "confirm", place / own, "--all", *form)
            run("rehearse", place / own, "--rows", "40", "--runs", "2", *form)
        run("release", place / "hostile.yaml", place / "hostile.csv", "--out", place / "out", *ledger, *form)
        run("dataset", "show", *ledger, *form)


@pytest.mark.slow
def test_names_in_a_ledger(tmp_path, word):
    """Dataset, analyst and reason; whatever the ledger itself refuses is not there to be printed."""
    file = tmp_path / "ledger.sqlite"
    name, analyst = f"clinic {word}", f"ada {word}"
    with Ledger(str(file)) as book:
        book.set_budget("plain", Budget.of(1, 0), "agreed")
        for act in (
            lambda: book.set_budget(name, Budget.of(1, 0), f"because {word}"),
            lambda: book.set_analyst_budget(name, analyst, Budget.of(1, 0), f"because {word}"),
        ):
            try:
                act()
            except Exception as refusal:  # noqa: BLE001
                assert str(refusal).isprintable()  # noqa: PT017
    ledger = ("--ledger", file)
    for form in ((), ("--json",)):
        assert run("ledger", "show", *ledger, *form).exit_code == 0
        run("ledger", "show", "nobody", *ledger, *form)
        run("ledger", "export", *ledger, *form)
        run("ledger", "forecast", name, "--epsilon", "1", *ledger, *form)
        run("ledger", "budget", name, "--epsilon", "2", "--delta", "0", "--reason", word, *ledger, *form)
        run("ledger", "budget", name, "--analyst", analyst, "--epsilon", "2", "--delta", "0", "--reason", "x", *ledger)
        run("dataset", "show", name, *ledger, *form)
        run("dataset", "show", *ledger, *form)
        run("ask", name, "count", "--epsilon", "1", "--analyst", analyst, *ledger, *form)
    exported = run("ledger", "export", *ledger).stdout.splitlines()
    assert [json.loads(line)["kind"] for line in exported]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["levels", "views", "microaggregation"])
def test_names_in_a_release_folder(tmp_path, word, kind):
    """Every text of the certificate in turn is replaced, and file names are added."""
    folder = tmp_path / "out"
    content = json.loads((FROZEN / kind / "certificate.json").read_text())
    for key in ("dataset", "version", "method", "format", "files", "tables", "seal", "software"):
        shutil.copytree(FROZEN / kind, folder, dirs_exist_ok=True)
        changed = {**content, key: _with(content.get(key, "x"), word)}
        (folder / "certificate.json").write_text(json.dumps(changed))
        run("verify", folder)
        run("verify", folder, "--all", "--json")
    run("share", folder)
    shutil.rmtree(folder)
    shutil.copytree(FROZEN / kind, folder)
    (folder / word.replace("\x00", "").replace("/", "")).write_text("x")
    run("verify", folder, "--all")
    run("share", folder)


def _with(value: object, word: str) -> object:
    if isinstance(value, dict):
        return {f"{name}{word}": _with(item, word) for name, item in value.items()}
    if isinstance(value, list):
        return [_with(item, word) for item in value]
    return f"{value}{word}"


def test_a_release_into_a_folder_with_such_a_name(tmp_path, word):
    place = furnished(tmp_path, rows=40)
    out = place / word.replace("\x00", "").replace("/", "")
    words = ("release", place / "policy.yaml", place / "table.csv", "--out", out, "--no-report")
    done = run(*words, "--ledger", place / "ledger.sqlite")
    assert done.exit_code in (0, 2)
