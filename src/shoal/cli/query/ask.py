"""`shoal ask`: one question, or a batch of them, about a registered dataset within its budget, or about a release for nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.terminal import numbers, output, progress
from shoal.cli.terminal.command import command, group, json_option, ledger_option
from shoal.cli.terminal.engine import engine_options, named_engine
from shoal.cli.terminal.leftovers import recover_ledger
from shoal.progress import Stage, silent

if TYPE_CHECKING:
    from shoal.query.answer import Price
    from shoal.query.questions.base import Question
    from shoal.query.session import Session

Decorator = Callable[[Any], Any]

NOISES = ("auto", "laplace", "optimal", "gaussian")
"""What answers a question whose answer is one number or several with noise; `auto` expects the smallest error."""


@dataclass(frozen=True)
class AskOptions:
    """How a question is asked: the options that several kinds of question share, as they were typed."""

    dataset: str
    epsilon: str | None
    price: bool
    analyst: str | None
    ledger: str | None
    as_json: bool
    delta: str | None = None
    mechanism: str = "auto"
    prior: str | None = None
    share: str | None = None
    within: str | None = None
    level: str | None = None
    engine: str = "duckdb"
    spark_master: str | None = None
    spark_conf: Sequence[str] = ()

    @property
    def release(self) -> Path | None:
        """The folder or archive of a release, where one is named in place of a dataset."""
        place = Path(self.dataset)
        is_folder = (place / "certificate.json").is_file()
        return place if is_folder or (place.suffix == ".zip" and place.is_file()) else None

    def read_level(self) -> float:
        """The level of the intervals."""
        from shoal.language.interface import LEVEL

        return LEVEL if self.level is None else float(numbers.read_number(self.level, "level"))

    def open_session(self, stage: Stage = silent) -> Session:
        """Open the dataset; it is refused before its table is opened, of which `stage` is told."""
        from shoal.ledger.ledger import open_ledger
        from shoal.query.session import session

        with open_ledger(self.ledger) as book:
            recover_ledger(book)
        opened = named_engine(self.engine, self.spark_master, self.spark_conf, stage)
        return session(self.dataset, analyst=self.analyst, ledger=self.ledger, engine=opened)

    def read_epsilon(self) -> Fraction | None:
        """What each question may cost."""
        return None if self.epsilon is None else numbers.read_number(self.epsilon, "epsilon")

    def read_within(self) -> Fraction | None:
        """How far off the answer may be."""
        return None if self.within is None else numbers.read_number(self.within, "within")

    def read_delta(self) -> Fraction | None:
        """What it may cost beside epsilon."""
        return None if self.delta is None else numbers.read_number(self.delta, "delta")

    def read_prior(self) -> object:
        """The prior: `uniform` with or without its ends, or what a file holds."""
        if self.prior is None or self.prior.split(":")[0] == "uniform":
            return self.prior
        from shoal.query.batch import plain_values

        return plain_values(self.prior, "the prior", "a YAML file, uniform or uniform:LOW:HIGH")


# --- the options -----------------------------------------------------------------------------------------------------

_where = click.option("--where", metavar="CONDITION", help="Only rows that satisfy it.")
_by = click.option("--by", metavar="A,B@2", help="For each group of these attributes, by value or by level.")
_bounds = click.option("--bounds", metavar="LOW,HIGH", help="Values beyond these count as the nearest of them.")


def _epsilon(function: Any) -> Any:
    """What a question may cost, said in one of three ways."""
    options = (
        click.option("--epsilon", metavar="E", help="The price of the question; a smaller one means more noise."),
        click.option(
            "--share", metavar="PART", help="In place of --epsilon: the part of the budget to use, such as 1%."
        ),
        click.option(
            "--within", metavar="X", help="In place of --epsilon: how far off the answer may be in 95 of 100 cases."
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def _options(*own: Decorator) -> Decorator:
    """The options of one kind of question: its `own`, then those that every kind has."""
    shared = (
        *own,
        click.option("--price", is_flag=True, help="Print the price and the expected error; charge nothing."),
        click.option(
            "--level", metavar="P", help="The level of the intervals of values and groups; 0.95 if not given."
        ),
        click.option("--analyst", metavar="NAME", help="Ask within this analyst's share of the budget."),
        ledger_option,
        engine_options,
        json_option,
        click.pass_obj,
    )

    def decorate(function: Any) -> Any:
        for option in reversed(shared):
            function = option(function)
        return function

    return decorate


def _noise(*also: str) -> Decorator:
    """Which mechanism adds the noise, and the delta that Gaussian noise needs."""
    mechanism = click.option(
        "--mechanism",
        type=click.Choice([*NOISES, *also]),
        default="auto",
        show_default=True,
        help="What answers; auto takes the smallest expected error.",
    )
    delta = click.option("--delta", metavar="D", help="The delta that Gaussian noise needs.")
    return lambda function: mechanism(delta(function))


def _prior(*, required: bool = False) -> Decorator:
    return click.option(
        "--prior",
        required=required,
        metavar="FILE",
        help="What you know already: a YAML file of probabilities, or uniform, or uniform:LOW:HIGH.",
    )


_NEXT = (
    "See what is left of the budget; the same question asked again costs nothing.",
    "shoal dataset show hospital-visits",
)


# --- the commands ----------------------------------------------------------------------------------------------------


@group(
    "ask",
    examples=(
        'shoal ask hospital-visits count "age >= 65" --epsilon 0.1 --price',
        "shoal ask hospital-visits mean age --where \"sex = 'female'\" --epsilon 0.2",
    ),
    next_step=("See what is left of the budget.", "shoal dataset show hospital-visits"),
    kinds="Questions",
)
@click.argument("dataset", metavar="DATASET|RELEASE")
@click.pass_context
def ask(context: click.Context, dataset: str) -> None:
    """Ask a registered DATASET a question and get the answer with noise; or a RELEASE, the folder or archive of one, for nothing.

    The price of a DATASET's answer is charged before it is drawn. A question that is refused costs nothing; an answer on record
    that is as near as the one asked for is given again, free of charge. A RELEASE answers from its published tables, with
    intervals that cover what was sampled, suppressed or made noisy.
    """
    context.obj = dataset


@command(
    "count",
    parent=ask,
    examples=(
        'shoal ask hospital-visits count "age >= 65" --epsilon 0.1',
        "shoal ask hospital-visits count --epsilon 0.1 --price",
    ),
    next_step=(
        "Count by value, at the price of one question.",
        "shoal ask hospital-visits histogram age@4 --epsilon 0.1",
    ),
)
@click.argument("condition", default="everything")
@_options(_epsilon, _by, _prior(), _noise("refinement"))
def count(dataset: str, condition: str, by: str | None, **shared: Any) -> None:
    """Count the rows that satisfy CONDITION, or all rows where none is given."""
    _ask({"count": {"where": condition, **_groups(by)}}, AskOptions(dataset, **shared))


@command(
    "sum",
    parent=ask,
    examples=(
        "shoal ask hospital-visits sum stay --epsilon 0.1",
        'shoal ask hospital-visits sum stay --where "age >= 65" --epsilon 0.1 --price',
    ),
    next_step=_NEXT,
)
@click.argument("attribute")
@_options(_epsilon, _where, _by, _bounds, _prior(), _noise("refinement"))
def sum_of(dataset: str, attribute: str, where: str | None, by: str | None, bounds: str | None, **shared: Any) -> None:
    """Add up the values of ATTRIBUTE, a number whose domain the policy declares, or arithmetic such as "income / 12"."""
    own = {"attribute": attribute, **_rows(where), **_groups(by), **_ends(bounds)}
    _ask({"sum": own}, AskOptions(dataset, **shared))


@command(
    "mean",
    parent=ask,
    examples=(
        "shoal ask hospital-visits mean age --epsilon 0.1",
        "shoal ask hospital-visits mean age --where \"sex = 'female'\" --epsilon 0.2",
    ),
    next_step=_NEXT,
)
@click.argument("attribute")
@_options(_epsilon, _where, _by, _bounds, _noise())
def mean(dataset: str, attribute: str, where: str | None, by: str | None, bounds: str | None, **shared: Any) -> None:
    """Compute the mean of ATTRIBUTE, a number, a date or a time, or arithmetic such as "income / 12"."""
    own = {"attribute": attribute, **_rows(where), **_groups(by), **_ends(bounds)}
    _ask({"mean": own}, AskOptions(dataset, **shared))


@command(
    "variance",
    parent=ask,
    examples=(
        "shoal ask hospital-visits variance age --epsilon 0.5",
        'shoal ask hospital-visits variance stay --where "age >= 65" --epsilon 0.5 --price',
    ),
    next_step=_NEXT,
)
@click.argument("attribute")
@_options(_epsilon, _where, _by, _bounds, _noise())
def variance(
    dataset: str, attribute: str, where: str | None, by: str | None, bounds: str | None, **shared: Any
) -> None:
    """Compute the variance of ATTRIBUTE, a number."""
    own = {"attribute": attribute, **_rows(where), **_groups(by), **_ends(bounds)}
    _ask({"variance": own}, AskOptions(dataset, **shared))


@command(
    "quantile",
    parent=ask,
    examples=(
        "shoal ask hospital-visits quantile income 0.5 --epsilon 0.1",
        'shoal ask hospital-visits quantile stay 0.9 --where "age >= 65" --epsilon 0.2',
    ),
    next_step=_NEXT,
)
@click.argument("attribute")
@click.argument("at", metavar="Q")
@click.option("--geometric", is_flag=True, help="Choose among values 1 % apart: less error where a domain is wide.")
@_options(_epsilon, _where, _by, _bounds)
def quantile(
    dataset: str,
    attribute: str,
    at: str,
    geometric: bool,
    where: str | None,
    by: str | None,
    bounds: str | None,
    **shared: Any,
) -> None:
    """Find the value of ATTRIBUTE with a share Q of the rows at or below it; 0.5 is the median."""
    q = numbers.read_number(at, "q")
    own = {"attribute": attribute, "q": q, **_rows(where), **_groups(by), **_ends(bounds)}
    if geometric:
        own["candidates"] = "geometric"
    _ask({"quantile": own}, AskOptions(dataset, **shared))


@command(
    "bounds",
    parent=ask,
    examples=(
        "shoal ask hospital-visits bounds income --epsilon 0.1 --price",
        'shoal ask hospital-visits bounds stay 0.99 --where "age >= 65" --epsilon 0.1',
    ),
    next_step=(
        "Use them as bounds of a mean or a sum, which lowers its noise.",
        "shoal ask hospital-visits mean income --bounds 0,90000 --epsilon 0.2",
    ),
)
@click.argument("attribute")
@click.argument("part", metavar="[PART]", default="0.95")
@_options(_epsilon, _where)
def bounds_of(dataset: str, attribute: str, part: str, where: str | None, **shared: Any) -> None:
    """Find two values of ATTRIBUTE between which at least PART of the rows lies, for `--bounds`; 0.95 where none is given."""
    own = {"attribute": attribute, "share": numbers.read_number(part, "part"), **_rows(where)}
    _ask({"bounds": own}, AskOptions(dataset, **shared))


@command(
    "ratio",
    parent=ask,
    examples=(
        "shoal ask hospital-visits ratio \"sex = 'female'\" --by age@4 --epsilon 0.1",
        "shoal ask hospital-visits ratio stay age --epsilon 0.2",
    ),
    next_step=_NEXT,
)
@click.argument("numerator")
@click.argument("denominator", required=False)
@_options(_epsilon, _where, _by, _noise())
def ratio(
    dataset: str, numerator: str, denominator: str | None, where: str | None, by: str | None, **shared: Any
) -> None:
    """Divide NUMERATOR by DENOMINATOR: each is a condition, whose rows are counted, or a column to add up; or all rows."""
    own = {"numerator": numerator, "denominator": denominator, **_rows(where), **_groups(by)}
    _ask({"ratio": own}, AskOptions(dataset, **shared))


@command(
    "sql",
    parent=ask,
    examples=(
        'shoal ask hospital-visits sql "SELECT sex, AVG(stay) FROM visits GROUP BY sex" --epsilon 0.2',
        'shoal ask hospital-visits sql "SELECT COUNT(*) FROM visits WHERE age >= 65" --epsilon 0.1 --price',
    ),
    next_step=_NEXT,
)
@click.argument("text", metavar="SELECT")
@_options(_epsilon, _noise())
def sql(dataset: str, text: str, **shared: Any) -> None:
    """Answer a SELECT of aggregates, with WHERE and GROUP BY, as one question."""
    _ask({"sql": text}, AskOptions(dataset, **shared))


@command(
    "histogram",
    parent=ask,
    examples=(
        "shoal ask hospital-visits histogram age@4 --epsilon 0.1",
        "shoal ask hospital-visits histogram income --edges 20000,40000,80000 --epsilon 0.1",
    ),
    next_step=(
        "Count by several attributes together.",
        "shoal ask hospital-visits contingency sex age@4 --epsilon 0.1",
    ),
)
@click.argument("attribute", metavar="ATTRIBUTE[@LEVEL]")
@_options(
    _epsilon,
    click.option("--edges", metavar="A,B,...", help="Count between these numbers or dates, and beyond them."),
    click.option("--values", metavar="A,B,...", help="Count these values, and all others together."),
    click.option("--bins", metavar="N", help="Count in N intervals of equal width, by the declared domain."),
    _where,
    _noise(),
)
def histogram(
    dataset: str,
    attribute: str,
    edges: str | None,
    values: str | None,
    bins: str | None,
    where: str | None,
    **shared: Any,
) -> None:
    """Count the rows by value of ATTRIBUTE, or by the labels of a LEVEL of its hierarchy."""
    cells: dict[str, Any] = {
        name: _split_list(text) for name, text in (("edges", edges), ("values", values)) if text is not None
    }
    if bins is not None:
        cells["bins"] = numbers.read_whole(bins, "the number of bins")
    _ask({"histogram": {"attribute": attribute, **cells, **_rows(where)}}, AskOptions(dataset, **shared))


@command(
    "contingency",
    parent=ask,
    examples=(
        "shoal ask hospital-visits contingency sex age@4 --epsilon 0.2",
        'shoal ask hospital-visits contingency sex insurance --where "age >= 65" --epsilon 0.2',
    ),
    next_step=_NEXT,
)
@click.argument("attributes", nargs=-1, required=True, metavar="ATTRIBUTE[@LEVEL]...")
@_options(_epsilon, _where, _noise())
def contingency(dataset: str, attributes: tuple[str, ...], where: str | None, **shared: Any) -> None:
    """Count the rows by several attributes together, each by value or by a LEVEL of its hierarchy."""
    _ask({"contingency": {"attributes": list(attributes), **_rows(where)}}, AskOptions(dataset, **shared))


@command(
    "value-of",
    parent=ask,
    examples=(
        "shoal ask hospital-visits value-of 17 insurance --prior prior.yaml --epsilon 1",
        "shoal ask hospital-visits value-of 17 age --prior uniform:20:60 --epsilon 1 --price",
    ),
    next_step=_NEXT,
)
@click.argument("identity", metavar="ID")
@click.argument("attribute")
@_options(_epsilon, _prior(required=True))
def value_of(dataset: str, identity: str, attribute: str, **shared: Any) -> None:
    """Draw a guess at ATTRIBUTE of the unit (a person, say) named ID: your prior, moved towards the truth as epsilon allows."""
    _ask({"value_of": {"person": identity, "attribute": attribute}}, AskOptions(dataset, **shared))


@command(
    "batch",
    parent=ask,
    examples=(
        "shoal ask hospital-visits batch questions.yaml --price",
        "shoal ask hospital-visits batch questions.yaml --delta 1e-6",
    ),
    next_step=(
        "See what is left of the budget; the same questions asked again cost nothing.",
        "shoal dataset show hospital-visits",
    ),
)
@click.argument("file", type=click.Path(path_type=Path))
@_options(
    click.option("--epsilon", metavar="E", help="The price of each question for which the file names none."),
    click.option("--delta", metavar="D", help="The delta of the batch, which pays for a total below the sum."),
)
def batch(dataset: str, file: Path, **shared: Any) -> None:
    """Ask the questions in FILE, which are fixed in advance and charged together as one."""
    _ask_batch(file, AskOptions(dataset, **shared))


@command(
    "answers",
    parent=ask,
    examples=("shoal ask hospital-visits answers", "shoal ask hospital-visits answers --level 0.9 --json"),
    next_step=_NEXT,
)
@click.option("--level", metavar="P", help="The level of the intervals; 0.95 if not given.")
@ledger_option
@json_option
@click.pass_obj
def answers(dataset: str, /, **shared: Any) -> None:
    """List every answer that is on record about the table, with its interval and its price; nothing is charged."""
    from shoal.cli.query.answer_text import print_record
    from shoal.errors import UsageError

    options = AskOptions(dataset, None, price=False, analyst=None, **shared)
    if options.release is not None:
        raise UsageError(
            "a release has no record of answers", came=str(options.release), fix="ask it: nothing is charged"
        )
    with options.open_session() as session:
        found = session.answers(level=options.read_level())
        if options.as_json:
            listed = [each.to_json() for each in found]
            output.print_json({"dataset": dataset, "answers": listed, **_budget_fields(session)})
        else:
            print_record(found, session)


_RECORDED = "the answer is charged and on record: the same question again gives it once more, free of charge"

# --- price and answer ------------------------------------------------------------------------------------------------


def _rows(where: str | None) -> dict[str, str]:
    return {} if where is None else {"where": where}


def _groups(by: str | None) -> dict[str, list[str]]:
    return {} if by is None else {"by": _split_list(by)}


def _ends(bounds: str | None) -> dict[str, list[str]]:
    return {} if bounds is None else {"bounds": _split_list(bounds)}


def _split_list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _ask(question: dict[str, Any], options: AskOptions) -> None:
    """Price or answer one question."""
    from shoal.cli.query.answer_text import print_answer, print_result
    from shoal.guarantee.rounding import text_near

    if options.release is not None:
        _ask_release(question, options.release, options)
        return
    delta = options.read_delta() or Fraction(0)
    meant, names = _read(question, options)
    terms = (meant, options.read_epsilon(), options.mechanism, options.read_prior(), delta)
    worth: dict[str, Any] = {"share": options.share, "within": options.read_within()}
    shown = progress.LaterStage()
    with options.open_session(shown) as session:
        before = session.recorded_epsilon(*terms, **worth)
        if before is not None:
            output.note(
                f"this very question was answered at epsilon {text_near(before)}; asking for that answer again costs nothing, "
                "a better answer costs its full price"
            )
        price = session.price(*terms, **worth)
        _warn(session, price)
        if options.price:
            _print_price(price, session, options)
            return
        shows_result = options.level is not None or names is not None or getattr(meant, "by", None) is not None
        if shows_result:
            import_module("shoal.query.verbs")  # not after the charge
        with progress.stages("asking") as shown.watcher:
            answer = session.ask(*terms, **worth)
        output.note_effect(_RECORDED)
        result = session.result(answer, level=options.read_level(), names=names) if shows_result else None
        if options.as_json:
            more = {} if result is None else {"result": result.to_json()}
            output.print_json({"dataset": options.dataset, **answer.to_json(), **more, **_budget_fields(session)})
        elif result is not None:
            print_result(result, session)
        else:
            print_answer(answer, session)


def _read(question: dict[str, Any], options: AskOptions) -> tuple[Question, tuple[str, ...] | None]:
    """The question that was typed, and the names of its columns where it is SQL."""
    if "sql" in question:
        from shoal.query.sql import read_sql

        found = read_sql(question["sql"])
        return found.question, found.names
    from shoal.query.questions.workload import read_question

    if "ratio" in question:
        from shoal.ledger.ledger import open_ledger
        from shoal.query.dataset import find
        from shoal.query.verbs import make_question

        with open_ledger(options.ledger) as book:
            return make_question("ratio", question["ratio"], find(options.dataset, book).schema), None
    return read_question(question), None


def _ask_release(question: dict[str, Any], folder: Path, options: AskOptions) -> None:
    """Answer a question from the published tables of a release; nothing is charged."""
    from shoal.api import load
    from shoal.assess.release.load import LoadedRelease
    from shoal.cli.query.answer_text import print_result
    from shoal.errors import UsageError

    ((kind, given),) = question.items()
    asked = dict(given) if isinstance(given, dict) else {}
    where = asked.pop("where", None)
    where = None if where in (None, "everything") else where
    with progress.stages("reading"):
        loaded = load(folder)
    if not isinstance(loaded, LoadedRelease) or kind not in _VERBS:
        raise UsageError(
            "a release does not answer this" if isinstance(loaded, LoadedRelease) else "this release has no intervals",
            came=kind if isinstance(loaded, LoadedRelease) else str(folder),
            allowed=", ".join(_VERBS),
            fix="ask a registered dataset" if isinstance(loaded, LoadedRelease) else "read its table with shoal.load",
        )
    if asked.pop("candidates", None) is not None:
        raise UsageError(
            "a quantile of a release takes no candidates", fix="leave --geometric out: they are the published labels"
        )
    level = options.read_level()
    if kind == "histogram":
        result = loaded.histogram(asked.pop("attribute"), where, level=level, **asked)
    elif kind == "contingency":
        result = loaded.table(*asked["attributes"], where=where, level=level)
    else:
        result = getattr(loaded, kind)(*_places(kind, asked), where=where, level=level, **asked)
    if options.as_json:
        output.print_json({"release": str(folder), **result.to_json()})
    else:
        print_result(result)


_VERBS = ("count", "sum", "mean", "variance", "quantile", "ratio", "histogram", "contingency")
"""The questions that a release answers."""


def _places(kind: str, asked: dict[str, Any]) -> list[Any]:
    """What a verb takes by place, taken out of the options."""
    names = {"count": (), "quantile": ("attribute", "q"), "ratio": ("numerator", "denominator")}
    return [asked.pop(name, None) for name in names.get(kind, ("attribute",))]


def _ask_batch(path: Path, options: AskOptions) -> None:
    """Price or answer the questions of a file."""
    if options.release is not None:
        _ask_release({"batch": str(path)}, options.release, options)
        return
    from shoal.cli.query.answer_text import print_batch
    from shoal.query.batch import load

    file = load(path, options.read_epsilon())
    delta = file.delta if options.delta is None else options.read_delta()
    shown = progress.LaterStage()
    with options.open_session(shown) as session:
        price = session.batch_price(file.questions, delta=delta)
        _warn(session, price)
        if options.price:
            _print_price(price, session, options)
            return
        with progress.stages("asking") as shown.watcher:
            answers = session.batch(file.questions, delta=delta)
            price = replace(price, cost=session.charged(answers))
        output.note_effect(_RECORDED)
        if options.as_json:
            charged = {name: price.to_json()[name] for name in ("epsilon", "delta", "free")}
            listed = [answer.to_json() for answer in answers]
            fields = {"dataset": options.dataset, **charged, "answers": listed, **_budget_fields(session)}
            output.print_json(fields)
        else:
            print_batch(answers, price, session)


def _warn(session: Session, price: Price) -> None:
    """Say who else can read the ledger, and that a question was charged before without an answer."""
    for warning in session.warnings:
        output.warn(warning)
    if price.unanswered:
        entries = f"{'entry' if len(price.unanswered) == 1 else 'entries'} {', '.join(map(str, price.unanswered))}"
        what = "this question" if len(price.questions) == 1 else "questions of this batch"
        output.note(
            f"{entries} of the ledger charged {what} without an answer on record: a run failed, was ended, or is under way. "
            "What was charged stands; to ask costs the full price again, because an answer may have been drawn and seen"
        )


def _print_price(price: Price, session: Session, options: AskOptions) -> None:
    from shoal.cli.query.answer_text import print_price

    if options.as_json:
        output.print_json({"dataset": options.dataset, **price.to_json()})
    else:
        print_price(price, session.analyst)


def _budget_fields(session: Session) -> dict[str, Any]:
    left = session.left
    return {
        "analyst": session.analyst,
        "ledger": session.ledger,
        "spent": session.spent.to_saved(),
        "left": None if left is None else left.to_saved(),
    }
