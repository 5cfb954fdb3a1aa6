"""`shoal dataset` and `shoal ask`: registering, prices, answers, batches, budgets; and what is refused, with its exit code."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shoal.ledger.ledger import Ledger
from tests.cli.run import answer, refused, shoal
from tests.query.asking import POLICY, table

OLD = ("count", "age >= 65", "--epsilon", ".1")


@pytest.fixture
def clinic(tmp_path):
    """A registered dataset, and the command line that asks it."""
    done = shoal(*registered(tmp_path))
    assert done.exit_code == 0, done.output
    first, second = done.stdout.splitlines()
    assert first == "'clinic' is registered; questions hide one row added or removed"
    assert second == f"ledger: {tmp_path / 'ledger.sqlite'} (new: nothing had been spent)"
    return lambda *more: ("ask", "clinic", *more, "--ledger", tmp_path / "ledger.sqlite")


@pytest.fixture
def shown(tmp_path):
    """The command line that shows the dataset."""
    return lambda *more: ("dataset", "show", "clinic", "--ledger", tmp_path / "ledger.sqlite", *more)


def registered(folder, text=POLICY):
    """The command line that registers the clinic in this folder, which holds its policy and its table."""
    (folder / "policy.yaml").write_text(text)
    table().to_csv(folder / "table.csv", index=False)
    files = (folder / "policy.yaml", folder / "table.csv")
    return ("dataset", "register", *files, "--ledger", folder / "ledger.sqlite", "--new-ledger")


def spent(tmp_path):
    with Ledger(str(tmp_path / "ledger.sqlite")) as book:
        return book.account("clinic").spent.epsilon


@pytest.mark.slow
def test_a_dataset_before_and_after_a_question(clinic, shown):
    before = answer(*shown())
    assert before["spent"] == {"epsilon": "0", "delta": "0"}
    assert before["left"] == before["budget"] == before["ceiling"] == {"epsilon": "1", "delta": "0.000001"}
    assert (before["questions"], before["composed_epsilon"], before["analysts"]) == (0, 0, [])
    shoal(*clinic(*OLD))
    after = answer(*shown())
    assert (after["spent"]["epsilon"], after["questions"]) == ("0.1", 1)
    text = shoal(*shown()).stdout
    assert "1 question, 0 releases" in text
    assert "age" in text
    assert "0..99" in text
    assert "patient" not in text


@pytest.mark.slow
def test_the_price_first_then_the_answer_then_the_record(clinic, tmp_path):
    price = answer(*clinic(*OLD, "--price"))
    assert (price["epsilon"], price["free"], price["fits"]) == ("0.1", False, True)
    (asked,) = price["questions"]
    assert asked["question"] == {"kind": "count", "where": "age >= 65"}
    assert asked["errors"][0]["within_95"] == 30
    assert spent(tmp_path) == 0
    assert "9.983 on average, within 30 in 95 of 100 cases" in shoal(*clinic(*OLD, "--price")).stdout
    first = answer(*clinic(*OLD))
    assert (first["epsilon"], first["delta"], first["free"], first["mechanism"]) == ("0.1", "0", False, "laplace")
    assert isinstance(first["value"], int)
    assert first["left"] == {"epsilon": "0.9", "delta": "0.000001"}
    again = shoal(*clinic(*OLD))
    assert again.stdout.splitlines()[0] == str(first["value"])
    assert "nothing: it is on record" in again.stdout
    assert answer(*clinic(*OLD, "--price"))["free"] is True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "shape"),
    [
        (("count",), int),
        (("sum", "age"), int),
        (("mean", "age", "--where", "sex = 'f'"), float | int),
        (("variance", "age"), float),
        (("quantile", "age", "1/2"), int),
        (("histogram", "age@2"), {"attribute", "labels", "counts"}),
        (("contingency", "sex", "age@2"), {"attributes", "counts"}),
    ],
)
def test_every_kind_of_question(clinic, options, shape):
    value = answer(*clinic(*options, "--epsilon", ".1"))["value"]
    assert set(value) == shape if isinstance(shape, set) else isinstance(value, shape)
    done = shoal(*clinic(*options, "--epsilon", ".1"))
    assert done.exit_code == 0, done.output
    assert "on record" in done.stdout


@pytest.mark.slow
def test_one_person_with_a_prior(tmp_path):
    book = ("--ledger", tmp_path / "ledger.sqlite")
    shoal(*registered(tmp_path, POLICY.replace("unit: row", "unit: {column: patient, max_rows: 1}")))
    (tmp_path / "prior.yaml").write_text("{flu: 0.5, cold: 0.25, rare: 0.25}\n")
    asked = ("ask", "clinic", "value-of", "10", "diag", *book, "--epsilon", ".5")
    assert answer(*asked, "--prior", tmp_path / "prior.yaml")["value"] in {"flu", "cold", "rare"}
    assert answer(*asked, "--prior", "uniform", "--price")["questions"][0]["mechanism"] == "refinement"
    assert "--prior" in refused(*asked, code=2)["wrong"]
    assert refused(*asked, "--prior", tmp_path / "nothing.yaml", code=2)["wrong"] == "the prior cannot be read"
    refused("ask", "clinic", "value-of", "10", *book, "--epsilon", ".5", "--prior", "uniform", code=2)


@pytest.mark.slow
def test_a_batch(clinic, tmp_path):
    lines = ["  - {count: \"sex = 'f'\"}", "  - {count: \"sex = 'm'\"}", "  - {histogram: age, level: 2, epsilon: 0.2}"]
    (tmp_path / "batch.yaml").write_text("version: 1\nquestions:\n" + "\n".join(lines) + "\n")
    asked = clinic("batch", tmp_path / "batch.yaml", "--epsilon", ".1")
    price = answer(*asked, "--price")
    assert (price["epsilon"], len(price["questions"])) == ("0.3", 3)  # women and men cost once
    assert "cost       (0.3, 0)" in shoal(*asked, "--price").stdout
    found = answer(*asked)
    assert (found["epsilon"], len(found["answers"]), found["left"]["epsilon"]) == ("0.3", 3, "0.7")
    again = shoal(*asked)
    assert again.stdout.count("free: it is on record") == 3
    assert "nothing: all are on record" in again.stdout
    missing = refused(*clinic("batch", tmp_path / "batch.yaml"), code=2)
    assert missing["wrong"] == "question 1: a question of a batch has no epsilon"


@pytest.mark.slow
def test_a_share_of_the_budget(clinic, shown, tmp_path):
    alice, book = ("--analyst", "alice"), ("--ledger", tmp_path / "ledger.sqlite")

    def share(epsilon):
        terms = ("--epsilon", epsilon, "--delta", "0", "--reason", "she asked nicely")
        return shoal("ledger", "budget", "clinic", *alice, *terms, *book).exit_code

    for line in (clinic(*OLD, *alice), shown(*alice)):
        error = refused(*line, code=4)
        assert error["wrong"] == "'alice' has no share in dataset 'clinic' yet"
        assert "shoal ledger budget clinic --analyst alice" in error["fix"]
    assert share(".15") == 0
    assert answer(*clinic(*OLD, *alice))["left"] == {"epsilon": "0.05", "delta": "0"}
    assert refused(*clinic("count", "age >= 3", "--epsilon", ".1", *alice), code=4)["kind"] == "BudgetError"
    assert answer(*shown())["analysts"][0]["analyst"] == "alice"
    assert share(".4") == 0
    assert answer(*shown(*alice))["left"]["epsilon"] == "0.3"
    assert "alice" in shoal(*shown()).stdout
    ledger = shoal("ledger", "show", "clinic", *book).stdout
    assert "alice" in ledger
    assert "questions" in ledger
    assert answer("ledger", "show", "clinic", *book)["datasets"][0]["questions"] == 1


@pytest.mark.slow
def test_a_dataset_without_a_budget_is_shown_and_answers_once_it_has_one(tmp_path):
    book = ("--ledger", tmp_path / "ledger.sqlite")
    shoal(*registered(tmp_path, POLICY.replace("budget: {epsilon: 1, delta: 1e-6}\n", "")))
    assert "none yet" in shoal("dataset", "show", "clinic", *book).stdout
    assert answer("dataset", "show", "clinic", *book)["left"] is None
    assert "shoal ledger budget clinic" in refused("ask", "clinic", *OLD, *book, code=4)["fix"]
    fixed = ("--epsilon", "1", "--delta", "0", "--reason", "agreed")
    assert shoal("ledger", "budget", "clinic", *fixed, *book).exit_code == 0
    assert answer("ask", "clinic", *OLD, *book)["left"]["epsilon"] == "0.9"


def test_all_registered_datasets_are_listed(clinic, tmp_path):
    book = ("--ledger", tmp_path / "ledger.sqlite")
    shoal("ledger", "budget", "other", "--epsilon", "1", "--delta", "0", "--reason", "planned", *book)
    (listed,) = answer("dataset", "show", *book)["datasets"]
    assert (listed["dataset"], listed["left"]) == ("clinic", {"epsilon": "1", "delta": "0.000001"})
    assert "clinic   (1, 0.000001)  one row added or removed" in shoal("dataset", "show", *book).stdout
    refused("dataset", "show", "--analyst", "alice", *book, code=2)


@pytest.mark.slow
def test_a_sample(tmp_path):
    book = ("--ledger", tmp_path / "ledger.sqlite")
    line = registered(tmp_path, POLICY.replace("epsilon: 1,", "epsilon: 0.1,"))
    assert answer(*line, "--sampled", ".01")["sampled"] == "0.01"
    assert float(answer("dataset", "show", "clinic", *book)["left"]["epsilon"]) > 2.44
    assert "sample at rate 0.01" in shoal("dataset", "show", "clinic", *book).stdout
    assert answer("ask", "clinic", *OLD[:2], "--epsilon", "2", *book)["spent"]["epsilon"] == "2"


@pytest.mark.slow
def test_an_overrun_is_exit_4_and_costs_nothing(clinic, tmp_path):
    error = refused(*clinic("count", "age >= 65", "--epsilon", "2"), code=4)
    assert error["kind"] == "BudgetError"
    assert spent(tmp_path) == 0
    priced = shoal(*clinic("count", "age >= 65", "--epsilon", "2", "--price"))
    assert priced.exit_code == 0
    assert "it would be refused" in priced.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("count", "age >= 65"),
        ("count", "age >= 65", "--epsilon", "much"),
        ("count", "age >= 65", "--epsilon", "nan"),
        ("count", "age >= 65", "--epsilon", "1e-400"),
        ("count", "age >= 65", "--epsilon", "0"),
        ("count", "salary > 3", "--epsilon", ".1"),
        ("count", "age >= 65", "--where", "sex = 'f'", "--epsilon", ".1"),
        ("count", "age >= 65", "sum", "age", "--epsilon", ".1"),
        ("count", "age >= 65", "--epsilon", ".1", "--mechanism", "magic"),
        ("count", "age >= 65", "--epsilon", ".1", "--mechanism", "gaussian"),
        ("count", "age >= 65", "--epsilon", ".1", "--mechanism", "refinement"),
        ("sum", "note", "--epsilon", ".1"),
        ("sum", "age", "--edges", "1,2", "--epsilon", ".1"),
        ("quantile", "age", "--epsilon", ".1"),
        ("quantile", "age", "half", "--epsilon", ".1"),
        ("quantile", "age", ".5", "--epsilon", ".1", "--mechanism", "laplace"),
        ("histogram", "age@9", "--epsilon", ".1"),
        ("histogram", "age@2", "--values", "1,2", "--epsilon", ".1"),
        ("contingency", "--epsilon", ".1"),
        ("contingency", "sex", "sex", "--epsilon", ".1"),
        ("value-of", "3", "age", "--epsilon", ".1", "--prior", "uniform"),
        ("batch", "no-such-file.yaml"),
        ("batch",),
        ("gossip",),
        ("count", "--gossip", "--epsilon", ".1"),
    ],
)
def test_bad_questions_are_exit_2_and_cost_nothing(clinic, tmp_path, options):
    refused(*clinic(*options), code=2)
    assert spent(tmp_path) == 0


def test_datasets_that_cannot_be_asked(tmp_path):
    book = ("--ledger", tmp_path / "ledger.sqlite")
    refused("ask", *book, code=2)
    assert refused("ask", "nobody", *OLD, *book, code=4)["wrong"] == "there is no ledger here"
    assert refused("dataset", "show", "nobody", *book, code=2)["wrong"] == "there is no ledger here"
    line = registered(tmp_path)
    (tmp_path / "table.csv").write_text("patient,age,sex,diag,note\n1,200,f,flu,x\n")
    assert refused(*line, code=5)["kind"] == "DomainError"
    refused("dataset", "register", tmp_path / "policy.yaml", *book, code=2)
    refused(*line, "--sampled", "2", code=2)
    for command in (("ask", "nobody", *OLD), ("dataset", "show", "nobody")):
        error = refused(*command, *book, code=2)
        assert error["wrong"] == "no dataset of this name is registered"
        assert error["fix"] == "its custodian registers it with `shoal dataset register POLICY DATA`"


@pytest.mark.slow
def test_a_repeat_at_a_higher_price_is_said_before_it_is_charged(clinic, tmp_path):
    assert shoal(*clinic("count", "age >= 65", "--epsilon", ".1")).stderr == ""
    assert shoal(*clinic("count", "age >= 65", "--epsilon", ".1")).stderr == ""  # free
    better = ("count", "age >= 65", "--epsilon", ".2")
    for more in (("--price",), ()):
        done = shoal(*clinic(*better, *more))
        assert "this very question was answered at epsilon 0.1" in done.stderr
    assert float(spent(tmp_path)) == pytest.approx(0.3)
    done = shoal(*clinic(*OLD))
    assert f"ledger     {tmp_path / 'ledger.sqlite'}" in done.stdout


@pytest.mark.slow
def test_a_question_that_was_charged_in_vain_is_told_and_charged_again(clinic, tmp_path, monkeypatch):
    """A run that is ended between its charge and its answer: the charge stands, and the next one says so."""
    with monkeypatch.context() as ended:
        ended.setattr(Ledger, "record_answers", lambda *_, **__: (_ for _ in ()).throw(OSError))
        assert shoal(*clinic(*OLD)).exit_code == 5
    priced = answer(*clinic(*OLD, "--price"))
    assert priced["unanswered"] == [3]
    told = shoal(*clinic(*OLD))
    assert told.exit_code == 0
    assert "entry 3 of the ledger charged this question without an answer on record" in told.stderr
    assert spent(tmp_path) == Fraction(2, 10)
    again = shoal(*clinic(*OLD))
    assert "without an answer" not in again.stderr
    assert spent(tmp_path) == Fraction(2, 10)


def test_a_share_of_the_budget_and_an_error_are_prices(tmp_path):
    text = POLICY.replace(
        "budget: {epsilon: 1, delta: 1e-6}", "budget: {epsilon: 3, delta: 1e-5, accounting: gaussian}"
    )
    assert shoal(*registered(tmp_path, text)).exit_code == 0
    ask = ("ask", "clinic", "count", "age >= 65", "--ledger", tmp_path / "ledger.sqlite")
    price = shoal(*ask, "--share", "1%", "--price").stdout
    assert "gaussian" in price
    assert "uses 1 % of the budget; about 99 more like it" in " ".join(price.split())
    fields = answer(*ask, "--within", "28", "--price")
    assert fields["questions"][0]["errors"][0]["within_95"] <= 28
    assert 0 < fields["share"] < 0.01
    assert (fields["more"] > 99, fields["rooms"][0]["accounting"]) == (True, "gaussian")
    assert shoal(*ask, "--share", "1%").exit_code == 0
    shown = shoal("dataset", "show", "clinic", "--ledger", tmp_path / "ledger.sqlite").stdout
    assert "99 % for Gaussian noise" in " ".join(shown.split())
    assert refused(*ask, "--share", "1%", "--epsilon", ".1", code=2)["came"] == "epsilon and share"
    assert refused(*ask, code=2)["came"] == "none"


@pytest.mark.slow
def test_groups_bounds_and_levels(clinic):
    fields = answer(*clinic("mean", "age", "--by", "sex", "--bounds", "0,80", "--epsilon", ".2"))
    rows = fields["result"]["rows"]
    assert fields["result"]["by"] == ["sex"]
    assert len(rows) == len({row["labels"][0] for row in rows}) > 1
    assert all(0 <= row["low"] <= row["high"] <= 80 for row in rows)
    text = shoal(*clinic("mean", "age", "--by", "sex", "--bounds", "0,80", "--epsilon", ".2", "--level", ".5")).stdout
    assert "0.5: each interval contains the true value with this probability or more" in text
    assert "nothing: it is on record" in text


@pytest.mark.slow
def test_bins_and_bounds_that_are_searched_for_a_price(clinic):
    fields = answer(*clinic("histogram", "age", "--bins", "4", "--epsilon", ".1"))
    assert fields["value"]["labels"] == ["[0, 25)", "[25, 50)", "[50, 75)", "[75, 99]"]
    refused(*clinic("histogram", "age", "--bins", "x", "--epsilon", ".1"), code=2)
    ends = answer(*clinic("bounds", "age", "0.9", "--epsilon", ".2"))
    assert 0 <= ends["value"]["low"] < ends["value"]["high"] <= 99
    assert ends["question"]["share"] == "0.9"
    assert " to " in shoal(*clinic("bounds", "age", "0.9", "--epsilon", ".2")).stdout.splitlines()[0]


@pytest.mark.slow
def test_the_record_is_listed_with_intervals_and_prices_for_nothing(clinic, tmp_path):
    assert "no answer is on record" in shoal(*clinic("answers")).stdout
    count = answer(*clinic(*OLD))
    means = answer(*clinic("mean", "age", "--by", "sex", "--epsilon", ".2"))
    before = spent(tmp_path)
    listed = answer(*clinic("answers", "--level", ".9"))["answers"]
    assert [each["question"] for each in listed] == ["count where age >= 65", "mean of age by sex"]
    assert listed[0]["rows"][0]["value"] == count["value"]
    assert [row["value"] for row in listed[1]["rows"]] == [row["value"] for row in means["result"]["rows"]]
    assert (listed[0]["epsilon"], listed[0]["level"]) == ("0.1", 0.9)
    text = shoal(*clinic("answers")).stdout
    assert f"count where age >= 65: (0.1, 0), {listed[0]['source']}" in text
    assert spent(tmp_path) == before


@pytest.mark.slow
def test_a_quantile_takes_a_share_of_the_budget(clinic):
    found = answer(*clinic("quantile", "age", "0.5", "--share", "10%"))
    assert found["question"]["q"] == "0.5"
    assert found["epsilon"] == "0.1"


@pytest.mark.slow
def test_a_ratio_and_sql(clinic):
    ratio = answer(*clinic("ratio", "age >= 65", "--epsilon", ".2", "--level", ".9"))["result"]
    assert ratio["level"] == 0.9
    assert 0 <= ratio["rows"][0]["low"] <= ratio["rows"][0]["high"]
    select = "SELECT sex, AVG(age) AS years, COUNT(*) FROM clinic GROUP BY sex"
    rows = answer(*clinic("sql", select, "--epsilon", ".2"))["result"]["rows"]
    assert {row["labels"][0] for row in rows} == {"years", "COUNT(*)"}
    refused(*clinic("sql", "SELECT * FROM clinic", "--epsilon", ".2"), code=2)


@pytest.mark.slow
def test_a_release_is_asked_in_the_same_words_and_costs_nothing(tmp_path):
    import shoal as library
    from shoal.datasets.visits import write_policy, write_visits

    data = write_visits(tmp_path / "visits.csv", 6_000, seed=3)
    ledger = tmp_path / "ledger.sqlite"
    library.release(write_policy(tmp_path), data, tmp_path / "out", ledger=ledger, new_ledger=True, report=False)
    found = answer("ask", tmp_path / "out", "count", "age >= 65")
    known = library.load(tmp_path / "out", verify=False).count("age >= 65")
    assert found["rows"][0] == known.to_json()["rows"][0]
    assert (found["epsilon"], found["free"]) == ("0", True)
    text = shoal("ask", tmp_path / "out", "histogram", "age@4", "--level", ".8").stdout
    assert "nothing: a release was asked" in text
    assert "[40, 80)" in text
    for kind in (
        ("sum", "stay"),
        ("variance", "age"),
        ("quantile", "age", "0.5"),
        ("ratio", "sex = 'female'"),
        ("mean", "age"),
    ):
        row = answer("ask", tmp_path / "out", *kind)["rows"][0]
        assert row["low"] <= row["value"] <= row["high"]
    assert answer("ask", tmp_path / "out", "contingency", "sex", "age@4")["by"] == ["sex", "age"]
    refused("ask", tmp_path / "out", "value-of", "3", "age", "--prior", "uniform", "--epsilon", "1", code=2)
