"""`shoal query`: ask a table instead of publishing it, within a budget that the ledger keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import cells, screen, typed
from shoal.errors import ParameterError, UsageError

if TYPE_CHECKING:
    from shoal.query.questions.base import Question
    from shoal.query.session import Session

_FILE = click.Path(path_type=Path)
_LEAST = Fraction(1, 10**300)
_BESIDE = ("where", "attribute", "edges", "values", "prior", "mechanism")
"""How one question is asked: not how a batch is, whose file says it."""
_ASKED = ("count", "sum_of", "mean", "variance", "quantile", "histogram", "table", "value_of", "batch")


@click.command()
@click.argument("dataset", required=False)
@click.option("--count", metavar="CONDITION", help='How many rows, such as "age >= 65"; or everything.')
@click.option("--sum", "sum_of", metavar="ATTRIBUTE", help="The sum of a number.")
@click.option("--mean", metavar="ATTRIBUTE", help="The mean of a number, date or time.")
@click.option("--variance", metavar="ATTRIBUTE", help="The variance of a number.")
@click.option("--quantile", metavar="ATTRIBUTE:Q", help="The value with a share Q of the rows at or below it.")
@click.option("--histogram", metavar="ATTRIBUTE[@LEVEL]", help="Counts by value, or by a level of the hierarchy.")
@click.option("--table", metavar="A,B,...", help="Counts by several attributes together, each with @LEVEL if you like.")
@click.option("--edges", metavar="A,B,...", help="With --histogram: intervals between these numbers or dates.")
@click.option("--values", metavar="A,B,...", help="With --histogram: these values, and all others together.")
@click.option("--value-of", metavar="PERSON", help="One person's value of --attribute, refined from --prior.")
@click.option("--attribute", metavar="ATTRIBUTE", help="With --value-of.")
@click.option("--where", metavar="CONDITION", help="Only rows that satisfy it.")
@click.option("--batch", metavar="FILE", type=_FILE, help="Many questions, fixed in advance, charged together.")
@click.option("--epsilon", metavar="E", help="What the question may cost.")
@click.option("--delta", metavar="D", help="And its delta: for Gaussian noise, or for the total of a batch.")
@click.option(
    "--mechanism", default="auto", show_default=True, metavar="NAME",
    help="laplace, optimal, gaussian, refinement, exponential; auto takes the smallest expected error.",
)  # fmt: skip
@click.option(
    "--prior", metavar="FILE|uniform", help="What you know already: a YAML file, uniform, or uniform:LOW:HIGH."
)
@click.option("--price", is_flag=True, help="Only say what it would cost and how good it would be.")
@click.option("--analyst", metavar="NAME", help="Ask within the share of this analyst.")
@click.option("--budget", metavar="E[,D]", help="The analyst's share, or the dataset's budget if it has none yet.")
@click.option("--register", is_flag=True, help="Let a table be asked: needs --policy and --data.")
@click.option("--policy", metavar="FILE", type=_FILE, help="With --register.")
@click.option("--data", metavar="FILE", type=_FILE, help="With --register.")
@click.option(
    "--sampled", metavar="RATE", help="With --register: the table is a random sample, drawn at this rate or below."
)
@click.option("--ledger", metavar="URL", help="Where spending is kept; a path or sqlite:///path. Also SHOAL_LEDGER.")
@click.option("--new-ledger", is_flag=True, help="With --register: begin a new ledger there, with nothing spent.")
@click.option(
    "--engine", type=click.Choice(["duckdb", "reference"]), default="duckdb", show_default=True, help="Where rows live."
)
@cells.show_values
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def query(dataset: str | None, register: bool, price: bool, as_json: bool, **given: Any) -> None:
    """Ask a registered DATASET one question, or a batch; without a question, show where its budget stands.

    The price is charged before the answer is drawn, and stands whatever happens then. A question that is refused costs
    nothing; the same question asked again is answered from the record, for nothing.

    \b
    shoal query --register visits --policy policy.yaml --data visits.csv
    shoal query visits --count "age >= 65" --epsilon .1 --price
    shoal query visits --count "age >= 65" --epsilon .1
    shoal query visits --mean age --where "sex = 'female'" --epsilon .2
    shoal query visits --batch questions.yaml --delta 1e-6
    """  # noqa: D301 - Click reads the real character
    if register:
        _register(dataset, given, as_json)
        return
    if dataset is None:
        raise UsageError("a question needs a dataset", fix="name one that was registered with --register")
    beside = [name for name in ("policy", "data", "sampled") if given[name] is not None]
    beside += ["show-values"] if given["show_values"] else []
    if beside:
        raise UsageError(f"--{beside[0]} goes with --register")
    if given["new_ledger"]:
        raise UsageError("--new-ledger goes with --register", fix="a question needs the ledger that knows the dataset")
    words = [name for name in _ASKED if given[name] is not None]
    _refuse_stray(words, given, price)
    with _session(dataset, given) as session:
        if not words:
            _account(session, as_json)
        elif given["batch"] is not None:
            _batch(session, given, price, as_json)
        else:
            _one(session, _question(given), given, price, as_json)


# --- what is asked -------------------------------------------------------------------------------------------------


def _given(name: str, given: Mapping[str, Any]) -> bool:
    return given[name] not in (None, "auto") if name == "mechanism" else given[name] is not None


def _refuse_stray(words: Sequence[str], given: Mapping[str, Any], price: bool) -> None:
    """Options that would be left out of what was asked, and two questions at once."""
    if len(words) > 1:
        came = " and ".join(_option(word) for word in words)
        raise UsageError("one question at a time", came=came, fix="put several into --batch")
    if not words:
        stray = [_option(name) for name in (*_BESIDE, "epsilon", "delta") if _given(name, given)]
        stray += ["--price"] if price else []
        if stray:
            raise UsageError(
                "no question was asked", came=", ".join(stray), allowed=", ".join(_option(word) for word in _ASKED)
            )
    elif words[0] == "batch":
        stray = [_option(name) for name in _BESIDE if _given(name, given)]
        if stray:
            raise UsageError(f"{stray[0]} does not go with --batch", fix="write it into the file, beside its question")
    elif words[0] != "histogram":
        stray = [_option(name) for name in ("edges", "values") if _given(name, given)]
        if stray:
            raise UsageError(f"{stray[0]} goes with --histogram")


def _session(dataset: str, given: Mapping[str, Any]) -> Session:
    from shoal.query.session import session

    budget = None
    if given["budget"] is not None:
        numbers = (
            typed.fields(given["budget"], "--budget", ("epsilon",), ("delta",)) if "=" in given["budget"] else None
        )
        parts = [numbers["epsilon"], numbers.get("delta", "0")] if numbers else [*given["budget"].split(","), "0"][:2]
        budget = typed.number(parts[0], "epsilon"), typed.number(parts[1], "delta")
    return session(dataset, budget=budget, analyst=given["analyst"], ledger=given["ledger"], engine=given["engine"])


def _question(given: Mapping[str, Any]) -> Question:
    from shoal.query.questions.vector import question

    word = next(name for name in _ASKED if given[name] is not None)
    value: str = given[word]
    where = {} if given["where"] is None else {"where": given["where"]}
    if where and word in ("count", "value_of"):
        raise UsageError("--where does not go with " + _option(word), fix="write one condition")
    if word == "count":
        return question({"count": {"where": value}})
    if word == "value_of":
        if given["attribute"] is None:
            raise UsageError("--value-of needs --attribute", fix="name the attribute that you ask about")
        return question({"value_of": {"person": value, "attribute": given["attribute"]}})
    if given["attribute"] is not None:
        raise UsageError("--attribute goes with --value-of")
    if word == "quantile":
        name, colon, share = value.rpartition(":")
        if not colon:
            raise UsageError("--quantile cannot be read", came=value, allowed="ATTRIBUTE:Q, such as age:0.5")
        return question({"quantile": {"attribute": name, "q": typed.number(share, "q"), **where}})
    if word == "histogram":
        cells = {key: given[key].split(",") for key in ("edges", "values") if given[key] is not None}
        listed = {key: [part.strip() for part in parts] for key, parts in cells.items()}
        return question({"histogram": {"attribute": value, **listed, **where}})
    if word == "table":
        return question({"contingency": {"attributes": value, **where}})
    return question({{"sum_of": "sum"}.get(word, word): {"attribute": value, **where}})


def _prior(text: str | None) -> object:
    if text is None or text.split(":")[0] == "uniform":
        return text
    from shoal.query.question_file import plain_values

    return plain_values(text, "the prior", "a YAML file, uniform or uniform:LOW:HIGH")


def _epsilon(given: Mapping[str, Any]) -> Fraction:
    if given["epsilon"] is None:
        raise UsageError("a question has a price", fix="say --epsilon, what it may cost")
    return _number(given["epsilon"], "epsilon")


def _number(text: str, name: str) -> Fraction:
    """A number; what is wrong with it is told in the words that were typed."""
    if not text.strip():
        raise ParameterError(f"{name} is empty", came=repr(text), allowed="a number such as 0.2, 1e-6 or 1/3")
    found = typed.number(text, name)
    if found and abs(found) < _LEAST:
        raise ParameterError(
            f"{name} is too small", came=text, allowed="from 1e-9" if name == "epsilon" else "0, or from 1e-300"
        )
    return found


def _delta(given: Mapping[str, Any]) -> Fraction | None:
    return None if given["delta"] is None else _number(given["delta"], "delta")


def _option(word: str) -> str:
    return "--" + {"sum_of": "sum"}.get(word, word).replace("_", "-")


# --- what is answered -----------------------------------------------------------------------------------------------


def _one(session: Session, question: Question, given: Mapping[str, Any], price: bool, as_json: bool) -> None:
    from shoal.cli.told import show_answer, show_price

    asked = (question, _epsilon(given), given["mechanism"], _prior(given["prior"]), _delta(given) or 0)
    before = session.answered_at(*asked)
    if before is not None:
        screen.note(
            f"this very question was answered at epsilon {float(before):g}, and asking at that again costs nothing; "
            "a better answer costs its full price"
        )
    if price:
        offered = session.price(*asked)
        if as_json:
            screen.answer({"dataset": session.dataset.name, **offered.to_json()})
        else:
            show_price(offered, session.analyst)
        return
    with screen.busy("asking"):
        answer = session.ask(*asked)
    if as_json:
        screen.answer({"dataset": session.dataset.name, **answer.to_json(), **_standing(session)})
    else:
        show_answer(answer, session)


def _batch(session: Session, given: Mapping[str, Any], price: bool, as_json: bool) -> None:
    from shoal.cli.told import show_batch, show_price
    from shoal.query.batch import load

    file = load(given["batch"], None if given["epsilon"] is None else _epsilon(given))
    delta = _delta(given) if given["delta"] is not None else file.delta
    offered = session.batch_price(file.asks, delta=delta)
    if price:
        if as_json:
            screen.answer({"dataset": session.dataset.name, **offered.to_json()})
        else:
            show_price(offered, session.analyst)
        return
    with screen.busy("asking"):
        answers = session.batch(file.asks, delta=delta)
    if as_json:
        charged = {name: offered.to_json()[name] for name in ("epsilon", "delta", "free")}
        listed = [answer.to_json() for answer in answers]
        screen.answer({"dataset": session.dataset.name, **charged, "answers": listed, **_standing(session)})
    else:
        show_batch(answers, offered, session)


def _standing(session: Session) -> dict[str, Any]:
    from shoal.guarantee.rounding import exact_text

    spent, left = session.spent, session.left
    return {
        "analyst": session.analyst,
        "ledger": session.ledger,
        "spent": {"epsilon": exact_text(spent.epsilon), "delta": exact_text(spent.delta)},
        "left": None if left is None else left.to_saved(),
    }


def _account(session: Session, as_json: bool) -> None:
    from shoal.cli.told import composed, shares_left, show_account
    from shoal.guarantee.rounding import exact_text

    account, entry = session.account, session.dataset.entry
    if not as_json:
        show_account(session)
        return
    shares: Sequence[dict[str, Any]] = [
        {"analyst": share.name, "budget": share.budget.to_saved(), "left": left.to_saved()}
        for share, left in shares_left(account)
    ]
    screen.answer(
        {
            "dataset": account.dataset,
            "unit": entry.unit.to_saved(),
            "sampled": None if entry.sampled is None else exact_text(entry.sampled),
            "budget": account.budget.to_saved() if account.budget else None,
            "ceiling": account.ceiling.to_saved() if account.ceiling else None,
            "spent_by_all": account.spent.to_saved(),
            **_standing(session),
            "questions": account.questions,
            "releases": account.releases,
            "composed_epsilon": composed(account),
            "unbounded_releases": account.unbounded,
            "analysts": shares,
            "attributes": [each.to_json() for each in session.dataset.attributes],
        }
    )


def _register(dataset: str | None, given: Mapping[str, Any], as_json: bool) -> None:
    from shoal.guarantee.rounding import exact_text
    from shoal.ledger.location import open_ledger
    from shoal.policy.policy import Policy
    from shoal.query.session import register

    if given["policy"] is None or given["data"] is None:
        raise UsageError("--register needs --policy and --data")
    asked = [
        _option(word) for word in (*_ASKED, *_BESIDE, "epsilon", "delta", "analyst", "budget") if _given(word, given)
    ]
    if asked:
        raise UsageError("--register asks nothing", came=asked[0], fix="register first, then ask")
    policy = Policy.load(given["policy"])
    if dataset is not None and dataset != policy.dataset:
        raise UsageError("the policy is of another dataset", came=dataset, allowed=policy.dataset)
    rate = None if given["sampled"] is None else typed.number(given["sampled"], "the rate of the sample")
    schema = policy.schema.with_names(policy.unit.column)
    with open_ledger(given["ledger"], new=given["new_ledger"]) as book:
        with screen.busy("reading"), cells.cells_of(given["data"], schema, show=given["show_values"]):
            found = register(policy, given["data"], sampled=rate, ledger=book, engine=given["engine"])
        place = {"url": book.url, "new": book.made}
    if as_json:
        sampled = None if found.entry.sampled is None else exact_text(found.entry.sampled)
        fields = {"dataset": found.name, "unit": found.unit.to_saved(), "sampled": sampled}
        screen.answer({**fields, "ledger": place})
    else:
        screen.line(f"'{found.name}' may be asked; what is hidden: {found.unit.words()}")
        screen.line(f"ledger: {place['url']}{' (new: nothing had been spent)' if place['new'] else ''}")
    if found.tuned:
        screen.warn("parts of the policy were drafted from the data and nobody has confirmed them")
