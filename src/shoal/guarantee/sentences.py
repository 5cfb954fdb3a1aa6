"""The promise in plain words: three sentences for a person, and warnings for the custodian.

delta* certifies (epsilon, delta)-DP and is never called the probability of a bad outcome; the published d is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from shoal.guarantee.centroids import CentroidSetting
from shoal.guarantee.claim import UNTUNED, Tuning
from shoal.guarantee.compose import people_at_risk
from shoal.guarantee.differential import ApproxDP, PureDP
from shoal.guarantee.noisy_counts import CountsSetting
from shoal.guarantee.rounding import GUARD, decimal, down, exact, exact_text, precise, text_down, text_up, up
from shoal.guarantee.safe_k.setting import Setting
from shoal.guarantee.unit import Unit


def growth(epsilon: Fraction) -> str:
    """e^epsilon, rounded up."""
    with precise():
        return text_up(up(decimal(epsilon).exp() * (1 + GUARD)))


def short(value: Fraction, *, cost: bool) -> str:
    """A number as typed if it is short, else rounded against us."""
    rounded = (text_up if cost else text_down)(value, 6)
    if exact(rounded) == value:
        return rounded
    return (text_up if cost else text_down)(value)


def plain(value: Fraction) -> str:
    """A cost for a sentence: without powers of ten where that is readable."""
    text = exact_text(value)
    return text if len(text) <= 10 and "/" not in text else text_up(value)


def as_float(value: Fraction, *, cost: bool) -> float:
    """The float that names the number if there is one, else the nearest on the side against us."""
    nearest = float(value)
    if exact(nearest) == value:
        return nearest
    return up(value) if cost else down(value)


def sentences(
    setting: Setting,
    unit: Unit | None = None,
    *,
    total: ApproxDP | None = None,
    repeat: int = 1,
    drawn_before: bool = False,
    tuned: Tuning = UNTUNED,
) -> list[str]:
    """What is promised, what the two numbers mean, and what it rests on; `unit` where a policy names it.

    `total` is what `repeat` tables promise together, each of them with the numbers of `setting`.

    >>> from shoal.guarantee.safe_k.setting import solve
    >>> print(sentences(solve(epsilon=1, delta="1e-6", beta="0.2"))[0])
    Take any conclusion that somebody might draw from the release. The probability that the release leads to it is, with one
    row in the table, at most 2.719 times what it is without it, plus 0.000001; and the other way round.
    """
    whole = total or ApproxDP(setting.epsilon, setting.delta)
    ratio, delta = growth(whole.epsilon), plain(whole.delta)
    recoding = _recoding_clause(setting.epsilon_recoding, tuned)
    many = "" if repeat == 1 else f" {repeat} tables are published, each from its own fresh sample of this kind."
    ground = (
        f"This rests on {_theorem_list(setting.theorems)}: {_sampling_clause(setting, unit, drawn_before)}; "
        f"the recoding is {recoding}; and no class of fewer than {setting.k} equal rows is shown.{many}"
    )
    return [_promise_sentence(ratio, delta, unit or setting.unit), _delta_sentence(setting, ratio, delta), ground]


def _promise_sentence(ratio: str, delta: str, unit: Unit) -> str:
    without = f"without {'it' if unit.max_rows == 1 else 'them'}"
    other = without if unit.neighbours == "add_remove" else "with any other in place"
    added = "" if delta == "0" else f", plus {delta}"
    return (
        "Take any conclusion that somebody might draw from the release. The probability that the release leads to it is, with "
        f"{unit.rows} in the table, at most {ratio} times what it is {other}{added}; and the other way round."
    )


def _recoding_clause(paid: Fraction, tuned: Tuning) -> str:
    if paid:
        return f"chosen on the full table by a mechanism that spends epsilon {short(paid, cost=True)}"
    if tuned.drafted:
        return "fixed in the plan, parts of which were drafted from the data"
    if tuned.looked:
        return "fixed in the plan, before which results on the data were seen with another plan"
    if tuned.confirmed:
        return "fixed in the plan, which a person declared after a look at the data had been taken to draft it"
    return "fixed before the data were seen"


def view_sentences(
    total: ApproxDP, settings: Sequence[Setting], unit: Unit | None = None, *, tuned: Tuning = UNTUNED
) -> list[str]:
    """The three sentences of a release of many narrow tables that keep one promise together."""
    first = settings[0]
    ratio, delta = growth(total.epsilon), plain(total.delta)
    rates, sizes = sorted({setting.beta for setting in settings}), sorted({setting.k for setting in settings})
    rate = short(rates[0], cost=False) if len(rates) == 1 else f"{short(rates[0], cost=False)} or more"
    size = str(sizes[0]) if len(sizes) == 1 else f"its own k, {sizes[0]} to {sizes[-1]},"
    recoding = _recoding_clause(sum((setting.epsilon_recoding for setting in settings), Fraction(0)), tuned)
    one = "one is" if len(settings) == 1 else f"{len(settings)} tables are"
    ground = (
        f"{one[:1].upper()}{one[1:]} published, each from its own fresh sample, and what they cost together is composed "
        "as distributions of privacy loss (theorem pld-composition): "
        f"{_bounding_clause(unit or first.unit, once=True)} is kept with probability {rate}, independently; "
        f"the recoding is {recoding}; and no class of fewer than {size} equal rows is shown."
    )
    return [_promise_sentence(ratio, delta, unit or first.unit), _composed_delta_sentence(ratio, delta), ground]


def counts_sentences(
    total: ApproxDP, setting: CountsSetting, *, merged: bool, widths: Mapping[Fraction, int], tuned: Tuning = UNTUNED
) -> list[str]:
    """What a release with noisy counts promises, what the two numbers mean, what is counted, and what a reader gets.

    `merged` says whether tables of several attributes are counted in unions of cells; `widths` has the half width of the 95 %
    interval of each sigma.
    """
    ratio, delta = growth(total.epsilon), plain(total.delta)
    whose = "" if setting.unit.column is None else f"{_contribution_clause(setting.unit)}. "
    follows = "; which of them are counted together follows from published counts alone." if merged else "."
    fixed = f"What the declared cells are was fixed before the data were seen{follows}"
    if tuned.confirmed:
        fixed = (
            f"What the cells are was declared by a person, after a look at the data had been taken to draft it{follows}"
        )
    if tuned.looked:
        fixed = (
            "What the declared cells are was fixed in a plan before which results on the data were seen with another."
        )
    if tuned.drafted:
        fixed = "Parts of the plan, which says what the cells are, were drafted from the data."
    counted = (
        f"{whose}Rows are counted in every cell of {_tables_clause(setting, merged=merged)}. To each count noise is added that "
        "is drawn for it alone, from the discrete Gaussian distribution, and the sum is published, whatever it is; nothing else "
        f"that was counted is shown. {fixed}"
    )
    return [
        _promise_sentence(ratio, delta, setting.unit),
        _composed_delta_sentence(ratio, delta),
        counted,
        _error_sentence(setting, widths),
    ]


def centroid_sentences(total: PureDP | ApproxDP, setting: CentroidSetting, *, tuned: Tuning = UNTUNED) -> list[str]:
    """What a release of noisy centroids promises, what the numbers mean, what is done, and what a reader gets."""
    ratio = growth(total.epsilon)
    delta = plain(Fraction(0) if isinstance(total, PureDP) else total.delta)
    meant = (
        f"The factor {ratio} is e to the power epsilon, and nothing is added: it holds for every conclusion."
        if isinstance(total, PureDP)
        else _composed_delta_sentence(ratio, delta)
    )
    unit = setting.unit
    whose = "" if unit.column is None else f"One row of each {unit.name}, drawn at random, takes part. "
    last = "" if setting.rows % setting.k == 0 else f" (the last has {setting.last_size:,})"
    sizes = f"{setting.clusters:,} clusters of {setting.k:,}{last}"
    fixed = _order_clause(tuned)
    grouped = (
        f"The values of each attribute are put in their order and cut into {sizes}; which value of one attribute belongs to "
        "which of another is not published"
        if setting.grouping == "ranking"
        else f"The {setting.rows:,} records are put into {sizes} by orders that look at one record at a time and are {fixed}, so "
        "that one record replaced by another changes each cluster by at most one record, though it may change all of them"
    )
    kinds = {entry.attribute.kind for entry in setting.entries}
    noised = []
    if "numeric" in kinds:
        noised.append(
            "to each cluster's sum of an attribute noise is added, and the noisy sum is divided by the cluster's size"
        )
    if "categorical" in kinds:
        noised.append(
            "for each cluster a concept of an attribute's hierarchy, or one of its values, is drawn, one near to the "
            "cluster's records more likely than one farther off"
        )
    done = f"{whose}{grouped}. {_capital('; '.join(noised))}"
    shown = f"{done}. Each record shows the centroid of its cluster. Nothing else is shown."
    return [
        _promise_sentence(ratio, delta, setting.unit),
        meant,
        *_per_record(total, setting),
        shown,
        _size_sentence(setting),
    ]


def box_sentences(total: PureDP, unit: Unit, *, counted: bool, tuned: Tuning = UNTUNED) -> list[str]:
    """What a release of rows inside boxes promises, what the numbers mean, what is done, and what a reader gets.

    `counted`: whether values without an order are counted before the domain is divided.
    """
    ratio = growth(total.epsilon)
    whose = "" if unit.column is None else f"{_contribution_clause(unit)}. "
    first = "Values without an order are counted with noise, and stand in the order of their noisy counts. " * counted
    halves = "follow from these counts and from domains that are" if counted else "are"
    done = (
        f"{whose}{first}The declared domain is divided into boxes, by halves that {halves} {_order_clause(tuned)}: a box is "
        "halved where its number of records is large, after noise was added and a fixed number taken off for every halving "
        "before it. Of each box the number of its records and a sum for each attribute are taken, with noise added; a record is "
        "in one box"
    )
    shown = (
        "Rows are made from these numbers alone: boxes whose noisy count stands out of the noise (where none does, those "
        "with the largest) have rows in proportion to it, spread so that their means are near its noisy means; together there "
        "are as many as all noisy counts add up to, and at least one. Nothing else is shown."
    )
    return [
        _promise_sentence(ratio, "0", unit),
        f"The factor {ratio} is e to the power epsilon, and nothing is added: it holds for every conclusion.",
        f"{done}. {shown}",
        "The promise covers how many records there are: the number of rows is a noisy one. No row was copied from a record.",
    ]


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _order_clause(tuned: Tuning) -> str:
    if tuned.drafted:
        return "fixed in the plan, parts of which were drafted from the data"
    if tuned.looked:
        return "fixed in the plan, before which results on the data were seen with another plan"
    if tuned.confirmed:
        return "fixed in the plan, which a person declared after a look at the data had been taken to draft it"
    return "fixed before the data were seen"


def _per_record(total: PureDP | ApproxDP, setting: CentroidSetting) -> list[str]:
    """What the calibration of the thesis says, and what it keeps."""
    if setting.calibration != "per_record":
        return []
    many = len(setting.entries)
    each = plain(setting.epsilon)
    return [
        (
            f"The noise is that of the thesis (calibration: per_record): epsilon {each} for one attribute of one cluster, "
            f"{many:,} attribute{'s' * (many != 1)}, and so {plain(many * setting.epsilon)} if a record could change one "
            f"cluster alone. One record replaced by another can change all {setting.clusters:,} clusters. What the data set "
            f"keeps, and what is charged, is {setting.clusters:,} times as much: epsilon {plain(total.epsilon)}."
        )
    ]


def _size_sentence(setting: CentroidSetting) -> str:
    """How k came about, and that the number of rows is known."""
    near = "their cluster's mean" if setting.grouping == "ranking" else "the middle of their cluster along its order"
    concepts = " (for concepts a bound on it)" * any(own.attribute.kind == "categorical" for own in setting.entries)
    found = (
        f"k = {setting.k:,} was found without the data, from the promise, the number of rows and the declared domains: it "
        f"minimizes the sum of a bound, for every table, on how far records are from {near} on average, and of how far noise "
        f"moves what is shown on average{concepts}, before that is rounded."
        if setting.k_found
        else f"k = {setting.k:,} is the policy's."
    )
    of = "rows" if setting.unit.column is None else f"different {setting.unit.name}"
    return f"{found} The number of {of}, {setting.rows:,}, is public: the promise does not hide it."


def _contribution_clause(unit: Unit) -> str:
    rows, verb = ("One row", "is") if unit.max_rows == 1 else (f"At most {unit.max_rows} rows", "are")
    return f"{rows} of each {unit.name} {verb} drawn at random and counted, and the others are set aside"


def _tables_clause(setting: CountsSetting, *, merged: bool) -> str:
    """Which tables are counted, and who says so."""
    numbers = [number for number, _ in setting.tables]
    many = f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,} to {numbers[-1]:,}"
    tables = f"{many} table{'s' * (numbers[-1] != 1)}"
    if not setting.named:
        return f"{tables} that the plan names"
    first = f"{setting.singles:,} table{'s' * (setting.singles != 1)} of one attribute each"
    by = ", in which small cells were put together by what those showed" if merged else ""
    if setting.kind == "fixed":
        return f"{first}, and then of {tables} that the plan names{by}"
    if setting.kind == "once":
        return (
            f"{first}, and then of {tables}{by}, chosen among {setting.candidates:,} by scores that have noise of their own "
            "(sigma " + exact_text(setting.score_sigma or Fraction(0)) + ") and are published"
        )
    if setting.first is not None:
        many = f"{setting.first[0]:,} table{'s' * (setting.first[0] != 1)} that the plan names"
        first, by = f"{first}, of {many}{by}" if setting.singles else many, ""
    return (
        f"{first}, and then of {tables}{by}, one after the other: each time the exponential mechanism, with epsilon "
        f"{exact_text(setting.choice_epsilon or Fraction(0))}, draws one of {setting.candidates:,} tables, and most likely one "
        "that a model of the counts published so far foresees badly"
    )


def _error_sentence(setting: CountsSetting, widths: Mapping[Fraction, int]) -> str:
    """How far published counts are from the true ones."""
    said = []
    if setting.single_sigma is not None:
        said.append(
            f"in a table of one attribute by at most {widths[setting.single_sigma]:,} (sigma {exact_text(setting.single_sigma)})"
        )
    if setting.first is not None:
        said.append(
            f"in the tables that the plan names by at most {widths[setting.first[1]]:,} (sigma {exact_text(setting.first[1])})"
        )
    low, high = setting.tables[0], setting.tables[-1]
    if low == high:
        said.append(f"in the other tables by at most {widths[low[1]]:,} (sigma {exact_text(low[1])})")
    else:
        said.append(
            f"in the other tables by at most {widths[low[1]]:,} if there {'is' if low[0] == 1 else 'are'} {low[0]:,} of them, "
            f"and {widths[high[1]]:,} if there are {high[0]:,} (sigma {exact_text(low[1])} to {exact_text(high[1])})"
        )
    where = f"{', '.join(said[:-1])} and {said[-1]}" if len(said) > 1 else said[0].replace("in the other tables ", "")
    return (
        f"A published count differs from the true one {where} in at least 95 of 100 cases. It may be negative, and tables that "
        "share an attribute need not agree."
    )


def _sampling_clause(setting: Setting, unit: Unit | None, drawn_before: bool) -> str:
    rate = short(setting.beta, cost=False)
    if drawn_before:
        each = "row" if unit is None else unit.name
        return f"the table itself was drawn by keeping each {each} independently with probability at most {rate}"
    each = _bounding_clause(unit or setting.unit)
    return f"{each} is kept with probability {rate}, independently and from a fresh source of randomness"


def _bounding_clause(unit: Unit, *, once: bool = False) -> str:
    """Which rows may be sampled: all, or those that contribution bounding leaves; `once` says that many tables share them."""
    if unit.column is None:
        return "for each of them each row" if once else "each row"
    each = "for each table each row" if once else "each row"
    rows = "one row" if unit.max_rows == 1 else f"at most {unit.max_rows} rows"
    verb, for_all = "is" if unit.max_rows == 1 else "are", ", once for all tables," if once else ""
    return (
        f"{rows} of each {unit.name} {verb} drawn at random{for_all} and the others are set aside; {each} that is left"
    )


def _theorem_list(theorems: tuple[str, ...]) -> str:
    *most, last = theorems
    return f"the theorems {', '.join(most)} and {last}" if most else f"the theorem {last}"


def _delta_sentence(setting: Setting, ratio: str, delta: str) -> str:
    if setting.bound == "published" and setting.unit.is_one_step:
        return (
            f"Except with probability {delta} the release is one that is between 1/{ratio} and {ratio} times as likely without "
            "that row: this is what the published theorem bounds."
        )
    return _composed_delta_sentence(ratio, delta)


def _composed_delta_sentence(ratio: str, delta: str) -> str:
    """What the two numbers mean in general: views may be composed beyond what the published theorem says of each."""
    return (
        f"The factor {ratio} is e to the power epsilon; the {delta} is delta, added to a probability after the factor. An "
        "outcome that would be impossible without this contribution has probability at most delta. Delta does not bound the "
        "probability that the factor is exceeded."
    )


def about_people(people: int, setting: Setting, named: str = "people") -> str | None:
    """n times delta in words, when it is not far below one (LQS10 section 6); `named` says of what there are n."""
    together = people_at_risk(people, setting.delta)
    if people * setting.delta >= 1:
        return (
            f"{people:,} {named} times delta {plain(setting.delta)} is 1 or more: a mechanism that publishes one of them "
            f"outright would meet this promise; ask for a delta far below {text_down(Fraction(1, people))}"
        )
    if together > 0.01:
        return (
            f"{people:,} {named} times delta {plain(setting.delta)} is {text_up(together)}: with at most this probability the "
            "release has an outcome that would be impossible without one of them; ask for a smaller delta"
        )
    return None
