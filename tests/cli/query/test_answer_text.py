"""What `shoal ask` prints: errors, parts, numbers, shares and batches, in words and in JSON."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.chance.source import Source
from shoal.cli.query.answer_text import _outwards, error_text
from shoal.query.price import NO_USABLE_ANSWER, Error
from tests.cli.run import answer, refused, shoal
from tests.query.asking import POLICY, table

COSTS = "  cost: {role: other, type: decimal, domain: [0, 1000000]}\n"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """A registered dataset with a decimal, and the command line that asks it."""
    folder = tmp_path_factory.mktemp("clinic")
    asked = POLICY.replace("epsilon: 1,", "epsilon: 300,").replace("budget:", COSTS + "budget:")
    (folder / "policy.yaml").write_text(asked)
    rows = table()
    rows["cost"] = [1000.5 * i for i in range(len(rows))]
    rows.to_csv(folder / "table.csv", index=False)
    book = ("--ledger", folder / "ledger.sqlite")
    files = (folder / "policy.yaml", folder / "table.csv")
    assert shoal("dataset", "register", *files, *book, "--new-ledger").exit_code == 0
    return lambda *more: (*(("ask", "clinic", *more) if more else ("dataset", "show", "clinic")), *book)


def test_messages(clinic, tmp_path):
    count = ("count", "everything", "--epsilon")
    assert refused(*clinic(*count, "1", "--mechanism", "gaussian"), code=2)["fix"] == "give --delta"
    assert refused(*clinic(*count, "1e-400"), code=2)["came"] == "1e-400"
    assert refused(*clinic(*count, "1e-10"), code=2)["came"] == "1e-10"
    assert refused(*clinic(*count, ""), code=2)["came"] == "''"
    assert refused(*clinic("sum", "aged", "--epsilon", "1"), code=2)["fix"] == "did you mean 'age'?"
    assert refused(*clinic("mean", "zzz", "--epsilon", "1"), code=2)["allowed"] == "age, sex, diag, note, cost"
    (tmp_path / "empty.yaml").write_text("")
    empty = refused(*clinic(*count, "1", "--prior", tmp_path / "empty.yaml"), code=2)
    assert empty["wrong"] == "the prior is empty"
    assert refused(*clinic("batch", tmp_path / "empty.yaml"), code=2)["wrong"] == "the batch is empty"


@pytest.mark.slow
def test_a_mean_in_words_and_in_json(clinic, monkeypatch):
    asked = clinic("mean", "cost", "--epsilon", "60")
    text = shoal(*asked).stdout
    assert text.splitlines()[0].startswith("99549.7")  # a value of the attribute: no commas
    assert "  from       count 200, sum 19,909,9" in text
    assert re.search(r"mean: between 99[\d,.]+ and 99[\d,.]+ in at least 95 of 100 cases", text)
    found = answer(*asked)
    assert found["parts"] == {"count": 200, "sum": pytest.approx(19909950, abs=5)}
    assert found["errors"][-1]["low_95"] <= found["value"] <= found["errors"][-1]["high_95"]
    before = shoal(*clinic("mean", "age", "--epsilon", "1", "--price")).stdout
    assert "mean: depends on how many rows there are; its interval comes with the answer" in before
    monkeypatch.setattr(Source, "secure", classmethod(lambda _: Source.seeded(5)))
    few = clinic("mean", "age", "--where", "age = 7", "--epsilon", ".01")
    assert shoal(*few).stdout.startswith(NO_USABLE_ANSWER + "\n")
    assert answer(*few)["note"] == NO_USABLE_ANSWER


@pytest.mark.slow
@given(st.floats(-1e12, 1e12).filter(lambda value: abs(value) > 1e-12), st.sampled_from([4, 6]))
@example(12.2401, 4)
@example(2267.2, 4)
@example(-0.00012345678, 6)
def test_figures_that_limit_are_rounded_against_us(value, digits):
    low, high = (float(_outwards(value, digits, up=up).replace(",", "")) for up in (False, True))
    assert low <= value <= high
    assert high - low <= max(abs(value) * 10.0 ** (2 - digits), 1.0 if abs(value) >= 1000 else 0.0)


def test_what_is_counted_is_said_on_the_screen(clinic):
    said = error_text(Error("each of 4 numbers", 9.983, 30.0, "bound", 44.2))
    assert said == "each of 4 numbers: at most 9.983 on average, within 30 in 95 of 100 cases, all at once within 44.2"
    assert "to three digits 0.216 on average" in error_text(Error("distance", 0.21594, None, "digits"))
    text = shoal(*clinic("quantile", "cost", "0.5", "--epsilon", "1", "--price")).stdout
    assert "rows too many on one side of the answer: within 38.23 in 95 of 100 cases" in " ".join(text.split())
    assert "its interval comes with the answer" in " ".join(text.split())


def test_sums_and_errors_have_all_digits(clinic):
    text = shoal(*clinic("sum", "cost", "--epsilon", "60")).stdout
    assert text.startswith("19,909,9")
    errors = shoal(*clinic("sum", "cost", "--epsilon", ".1", "--mechanism", "laplace", "--price")).stdout
    assert "e+" not in errors


def test_the_price_of_what_is_on_record(clinic):
    asked = ("count", "age >= 33", "--epsilon", "2")
    shoal(*clinic(*asked, "--mechanism", "optimal"))
    price = answer(*clinic("count", "age >= 33", "--epsilon", "1", "--price"))
    assert (price["free"], price["questions"][0]["mechanism"], price["questions"][0]["free"]) == (True, "optimal", True)


@pytest.mark.slow
def test_a_histogram_between_edges_and_of_values(clinic):
    found = answer(*clinic("histogram", "cost", "--edges", "1000, 50000,100000", "--epsilon", "60"))["value"]
    labels = ["< 1000", "[1000, 50000)", "[50000, 100000)", ">= 100000", "(missing)"]
    assert (found["labels"], found["counts"]) == (labels, [1, 49, 50, 100, 0])
    text = shoal(*clinic("histogram", "diag", "--values", "flu", "--epsilon", "1")).stdout
    assert "histogram diag (values flu)" in text
    assert "(other)" in text


def test_an_account_has_attributes_with_levels(clinic):
    found = answer(*clinic())
    age = found["attributes"][0]
    assert (age["name"], age["domain"], age["levels"][1]) == (
        "age", {"low": "0", "high": "99"}, {"level": 1, "labels": 10},
    )  # fmt: skip
    assert found["releases"] == 0
    assert "@0 100, @1 10, @2 2, @3 1" in shoal(*clinic()).stdout


def test_a_share_above_the_budget_shows_what_there_is(clinic):
    alice, book = ("--analyst", "alice"), clinic()[-2:]
    fixed = ("--epsilon", "500", "--delta", "0", "--reason", "generous")
    assert shoal("ledger", "budget", "clinic", *alice, *fixed, *book).exit_code == 0
    found = answer(*clinic("count", "age >= 5", "--epsilon", "1", *alice))
    account = answer(*clinic())
    assert (found["analyst"], account["analyst"]) == ("alice", None)
    assert found["left"]["epsilon"] == account["left"]["epsilon"] == account["analysts"][0]["left"]["epsilon"]
    text = shoal(*clinic(), *alice).stdout
    for label in ("budget of all", "spent by all", "spent by alice", "left to alice"):
        assert label in text
    assert "left to all" in shoal(*clinic()).stdout


def test_a_batch_in_the_order_of_its_file(clinic, tmp_path):
    lines = ["{histogram: cost, edges: [5, 10]}", "{count: everything}", '{table: "sex,age@2"}', "{mean: age}"]
    listed = "".join(f"  - {each}\n" for each in lines)
    (tmp_path / "batch.yaml").write_text(f"version: 1\nepsilon: 3\nquestions:\n{listed}")
    text = shoal(*clinic("batch", tmp_path / "batch.yaml")).stdout
    asked = ["1. histogram cost (edges 5, 10)", "2. count", "3. contingency sex by age@2", "4. mean age"]
    places = [text.index(each + "\n") for each in asked]
    assert places == sorted(places)
    assert all("  error  " in part for part in (text[a:b] for a, b in zip(places, [*places[1:], None], strict=True)))


@pytest.mark.parametrize("prior", ["uniform:200:300", "uniform:50:101"])
def test_a_prior_outside_the_domain_is_exit_2(tmp_path, prior):
    (tmp_path / "policy.yaml").write_text(POLICY.replace("unit: row", "unit: {column: patient, max_rows: 1}"))
    table().to_csv(tmp_path / "table.csv", index=False)
    book = ("--ledger", tmp_path / "ledger.sqlite")
    shoal("dataset", "register", tmp_path / "policy.yaml", tmp_path / "table.csv", *book, "--new-ledger")
    asked = ("ask", "clinic", "value-of", "17", "age", *book, "--epsilon", ".1", "--prior", prior)
    error = refused(*asked, code=2)
    assert "a value outside its declared domain" in error["wrong"]
    assert error["allowed"] == "0..99"
    assert answer("dataset", "show", "clinic", *book)["spent"]["epsilon"] == "0"
