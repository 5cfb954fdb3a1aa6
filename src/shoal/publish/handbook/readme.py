"""The first page of a release: what it is, what was promised, how to read, weight and verify it, and what not to do with it.

README.md and README.html are written from one list of blocks, so both say the same. In a block, `words` between backticks are
names or commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from shoal.assess.frame.column import EVERY, INTERVAL, SET, PublishedColumn, PublishedLabel
from shoal.data.hierarchy.level import MISSING, SUPPRESSED
from shoal.errors import visible
from shoal.guarantee.rounding import text_up
from shoal.guarantee.sentences import short
from shoal.page.html import page
from shoal.publish.handbook.content import Handbook, HandbookTable
from shoal.publish.handbook.snippets import snippets
from shoal.publish.handbook.treatments import large_matrices, readings, transition_matrices, treated_columns

MOST_TABLES = 20
"""Tables that are listed one by one; the certificate and datapackage.json list all."""


class Paragraph(NamedTuple):
    """Some sentences."""

    text: str


class Points(NamedTuple):
    """A list of sentences."""

    items: tuple[str, ...]


class LinesOfTable(NamedTuple):
    """A table with a head."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Code(NamedTuple):
    """Lines of a program."""

    language: str
    text: str


Block = Paragraph | Points | LinesOfTable | Code


class ReadmeSection(NamedTuple):
    """A heading with its blocks."""

    title: str
    blocks: tuple[Block, ...]


def sections(handbook: Handbook) -> tuple[ReadmeSection, ...]:
    """Everything that the first page says after its head."""
    certificate = handbook.certificate
    promised: tuple[Block, ...] = (
        Paragraph(_quoted(certificate["sentence"])),
        *(Paragraph(_quoted(sentence)) for sentence in certificate["explanation"]),
        Paragraph("What the promise does not say, in the words of the certificate, which has the list of charges:"),
        Points(tuple(map(_quoted, certificate["not_promised"]))),
    )
    verify = certificate["how_to_verify"]
    return (
        ReadmeSection(
            "What this is",
            (
                *(Paragraph(words) for words in _about(handbook)),
                *_uses(handbook),
                *_table_list(handbook),
                *_noise_list(handbook),
            ),
        ),
        ReadmeSection("What was promised", promised),
        *_treatments(handbook),
        ReadmeSection("How to read a label", tuple(_labels(handbook))),
        ReadmeSection("How to weight", tuple(Paragraph(words) for words in _weights(handbook))),
        ReadmeSection("What not to do", (Points(tuple(_warnings(handbook))),)),
        ReadmeSection("How to open it", tuple(_programs(handbook))),
        ReadmeSection("How to verify it", (Paragraph(f"{verify[:1].upper()}{verify[1:]}."),)),
        ReadmeSection("The other files", (_files(handbook),)),
    )


def _name(text: object) -> str:
    """A name from the policy between backticks, whatever is in it."""
    return f"`{visible(text).replace('`', chr(39))}`"


def _quoted(sentence: str) -> str:
    """A sentence of the certificate, which has no names between backticks: one that stands in a name is a letter of it."""
    return sentence.replace("`", "'")


def _names(texts: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(map(_name, texts[:most]))
    return shown if len(texts) <= most else f"{shown} and {len(texts) - most:,} more"


# --- what this is ----------------------------------------------------------------------------------------------------------


def _favoured(handbook: Handbook) -> str:
    """What synthetic rows come nearest to, where that is not the counts."""
    asked = handbook.lock["release"].get("synthetic") or {}
    if asked.get("favour") != "associations":
        return ""
    return (
        " They favour associations: those between two columns are meant to be as large as in the original, chance included, and "
        "counts of pairs are further from the original than they could be."
    )


def _about(handbook: Handbook) -> Iterator[str]:
    """What was published, in words that need no statistics."""
    rows, counts = handbook.of_kind("rows"), handbook.of_kind("counts")
    synthetic, records = handbook.of_kind("synthetic"), handbook.of_kind("records")
    yield from _about_rows(handbook, rows)
    if counts:
        many = "A table" if len(counts) == 1 else f"{len(counts):,} tables"
        yield (
            f"{many} of noisy counts, in `counts/`: a line for each combination of labels, with the number of records that have "
            "it. To every number noise was added, so it is not the true one: the true number lies from `low` to `high` in at "
            "least 95 of 100 cases. A number may be negative."
        )
    for table in synthetic:
        yield (
            f"{_name(table.file)}: {table.lines or 0:,} synthetic rows, drawn from a model of the noisy counts. They are rows of "
            "nobody: no row of the original is among them, except by chance." + _favoured(handbook)
        )
    for table in records:
        yield _about_groups(handbook, table) if "buckets" in handbook.certificate else _about_records(handbook, table)
    for table in handbook.of_kind("linked"):
        yield _about_groups(handbook, table)
    for table in handbook.of_kind("recoded"):
        yield _about_recoded(handbook, table)
    if handbook.of_kind("centroids"):
        yield from _about_centroids(handbook, handbook.of_kind("centroids"))
    for table in handbook.of_kind("boxes"):
        yield from _about_boxes(handbook, table)


def _uses(handbook: Handbook) -> Iterator[Block]:
    """Which of several kinds of tables to take for what."""
    rows, synthetic = handbook.of_kind("rows"), handbook.of_kind("synthetic")
    if not handbook.of_kind("counts") or not (rows or synthetic):
        return
    from_rows = ", and from the rows too," if rows else ""
    items = [
        (
            "Numbers, shares and cross tables: the noisy counts, which have intervals. `shoal.load` in Python answers "
            f"questions from them{from_rows} and says from which tables."
        )
    ]
    items += [
        f"One file of full width, to try programs on or to train models: {_name(table.file)}. Look up what matters in the "
        "counts: nothing that is read off synthetic rows has an interval."
        for table in synthetic
    ]
    if rows:
        where = "`views/`" if handbook.has_views else _names([table.file for table in rows])
        items.append(f"Rows of records that are in the original, with coarse labels: {where}.")
    yield Paragraph("Which to take:")
    yield Points(tuple(items))


def _about_centroids(handbook: Handbook, tables: Sequence[HandbookTable]) -> Iterator[str]:
    """Noisy averages of groups, and how far off they are."""
    clusters, unit = handbook.certificate["clusters"], handbook.certificate["guarantee"]["unit"]
    whose = "records" if unit["column"] is None else f"records, one of each {_name(unit['column'])},"
    first, rows = tables[0], f"{clusters['rows']:,}"
    if len(tables) == 1:
        what = (
            f"{_name(first.file)}: {rows} rows in which {clusters['clusters']:,} noisy averages stand for the {whose} of the "
            f"original. The {whose} were put into groups of k = {clusters['k']:,} (the last has {clusters['last_size']:,}), and "
            "each row shows what its group shows."
        )
    else:
        what = (
            f"{len(tables):,} tables of one column each, in `attributes/`, of {rows} rows each. The values of a column were put "
            f"in their order, in groups of k = {clusters['k']:,} (the last has {clusters['last_size']:,}); "
            f"{clusters['clusters']:,} noisy averages stand for them, and each row shows what its group shows."
        )
    yield f"{what} Rows are sorted by what they show: no row is anybody's in particular, and none was copied from a record."
    shows = {what for table in tables for what in table.shows.values()}
    said = []
    if "noisy mean" in shows:
        said.append(
            "A number, date or ordered value is the mean of its group with noise added, moved back into the declared domain "
            "where noise led out of it, and rounded."
        )
    if shows != {"noisy mean"}:
        said.append(
            "A category was drawn at random for each group, one near to the group's records more likely than one farther off."
        )
    if "drawn concept" in shows:
        said.append(
            "Where the column has a hierarchy, the row may show one of its inner concepts, which stands for several values."
        )
    yield " ".join(said)


def _about_boxes(handbook: Handbook, table: HandbookTable) -> Iterator[str]:
    """Rows of nobody, where they come from, and how far off counts and means are."""
    certificate = handbook.certificate
    half = text_up(Fraction(certificate["boxes"]["means"]["half_width"]), 3)
    yield (
        f"{_name(table.file)}: {table.lines or 0:,} rows of nobody. The declared domain was divided into boxes, finer where "
        "records are, and each box has a noisy count and noisy means. Boxes whose count stands out of the noise (where none "
        "does, those with the largest) have rows in proportion to it, spread inside them; their number is itself noisy. Rows "
        "are sorted by what they show: none was copied from a record of the original."
    )
    yield (
        f"What error to expect: noise moves the count of one box by at most {half} in 95 of 100 cases, and that of a region of "
        "b boxes by about √b times as much. The mean of a box with n records moves by about as many half-lengths of the box, "
        "divided by n; noisy means are drawn towards those of boxes alike. Boxes are not published: "
        f"{_name(table.file)} has more different values where they are small."
    )
    yield (
        "Inside a box attributes are independent of each other, and values are as even as the means allow: relations and shapes "
        "that are finer than the boxes are not in the rows."
    )


def _about_rows(handbook: Handbook, rows: Sequence[HandbookTable]) -> Iterator[str]:
    if not rows:
        return
    if handbook.certificate["method"] == "sample":
        yield _about_sample(handbook, rows[0])
        return
    drawn = "each record that may take part was drawn by itself"
    labelled = "values were replaced by labels, and combinations of labels that too few drawn rows share were left out"
    if handbook.has_views:
        yield (
            f"{len(rows):,} narrow tables of rows (views), in `views/`. Each has some of the columns and comes from a random "
            f"sample of its own: {drawn}, {labelled}. Rows are sorted by their labels, so their order says nothing."
        )
        return
    first = rows[0]
    many = (
        f"{_name(first.file)}: rows"
        if len(rows) == 1
        else f"{len(rows):,} tables of rows, {_names([t.file for t in rows])}"
    )
    yield (
        f"{many} that are a random sample of the original: {drawn} with probability {_rate(first)}, {labelled} (fewer than k = "
        f"{first.k:,}). Rows are sorted by their labels, so their order says nothing."
    )
    if len(rows) > 1:
        yield (
            "The tables are samples of the same original, drawn one after another by the same rules, so a record may be in "
            "several of them."
        )


def _about_sample(handbook: Handbook, table: HandbookTable) -> str:
    before = _SAMPLED[handbook.certificate["samples"][0]["rare"]]
    return (
        f"{_name(table.file)}: a random sample of the rows of the original: each row that may take part was drawn by itself "
        f"with probability {_rate(table)}. {before}Values were replaced by labels where a column has a coarser level; rows are "
        "as they were otherwise, and none that was drawn was left out. They are sorted by their labels: their order says nothing."
    )


_SAMPLED = {
    "keep": "",
    "refuse": "",
    "drop": "Before that, rows with a combination of labels that few rows of the original have were left out. ",
    "generalize": "",
    "replace": "Before that, rows with a combination of labels that few rows of the original have were given another's. ",
}
"""What was done to rows before a plain sample was drawn."""


def _about_records(handbook: Handbook, table: HandbookTable) -> str:
    certificate = handbook.certificate
    column = certificate["guarantee"]["unit"]["column"]
    whose = "the records of the original" if column is None else f"one record of each {_name(column)} of the original"
    if certificate["method"] == "microaggregation":
        quasi = _names(certificate["tables"][0]["quasi"])
        return (
            f"{_name(table.file)}: {whose}, in groups of at least k = {table.k:,} near ones. In the columns {quasi} each record "
            "shows what its group has in common; the other columns are as they were. Rows are sorted by what they show."
        )
    moved = [name for name in table.columns if table.shows[name] != "as it is"]
    return (
        f"{_name(table.file)}: {whose}. In groups of at least k = {table.k:,} near ones the values of {_names(moved)} were "
        "exchanged at random; the other columns are as they were. Rows are sorted by what they show."
    )


def _about_groups(handbook: Handbook, table: HandbookTable) -> str:
    """Records in groups, and the buckets or values that groups hold."""
    certificate = handbook.certificate
    column = certificate["guarantee"]["unit"]["column"]
    whose = "the records of the original" if column is None else f"one record of each {_name(column)} of the original"
    bucketized = bool(certificate["buckets"])
    secret = _names([name for each in handbook.tables for name in each.columns if each.shows[name] != "as it is"])
    told = f"the bucket of {secret}" if bucketized else f"the value of {secret}"
    if table.group is None:
        return (
            f"{_name(table.file)}: {whose}. In groups of at least k = {table.k:,}, which are not shown, {told} was exchanged at "
            "random; the other columns are as they were. Rows are sorted by what they show."
        )
    other = handbook.of_kind("groups")[0]
    held = _names(other.columns)
    what = "the buckets that its values lie in" if bucketized else "the values"
    return (
        f"{_name(table.file)}: {whose}, each with the number of its group in {_name(table.group)}; every group has at least k = "
        f"{table.k:,} records. {_name(other.file)}: what each group holds of {held}, a line for each combination of {what}, "
        f"with the number of the group's records that have it in {_name(other.count)}. Which record of a group has which is not "
        "said. Group numbers say nothing, and rows are sorted by what they show."
    )


def _about_recoded(handbook: Handbook, table: HandbookTable) -> str:
    certificate = handbook.certificate
    column, entry = certificate["guarantee"]["unit"]["column"], certificate["tables"][0]
    whose = "records of the original" if column is None else f"one record each of {_name(column)}s of the original"
    own = [name for name in entry["quasi"] if len(entry["levels"][name]) > 1]
    several = f" In {_names(own)} some rows show coarser labels than others." if own else ""
    limit = certificate["search"]["suppression"]
    gone = " None is left out." if limit == "0" else " Some may be left out; how many is not said."
    return (
        f"{_name(table.file)}: {whose}. In the columns {_names(entry['quasi'])} values were replaced by labels, so that at least "
        f"k = {table.k:,} rows show the same; the other columns are as they were.{several}{gone} Rows are sorted by what they "
        "show."
    )


def _rate(table: HandbookTable) -> str:
    return "1" if table.beta is None else short(table.beta, cost=False)


def _noise_list(handbook: Handbook) -> Iterator[Block]:
    """What error to expect of each column of noisy averages."""
    if not handbook.of_kind("centroids"):
        return
    yield Paragraph(
        "How far noise alone moves an average in 95 of 100 cases, as a share of the width of the column's declared domain. How "
        "far a record of a group was from the group's average comes on top, and is not published."
    )
    rows = []
    for own in handbook.certificate["attributes"]:
        ends = handbook.by_name[own["name"]].ends
        wide = "" if ends is None else f"{ends[0]} to {ends[1]}"
        if own["half_width"] is None:
            said = f"drawn from {own['concepts']:,} concepts, epsilon {short(Fraction(own['choice_epsilon']), cost=True)} a group"
        else:
            said = f"± {text_up(100 * Fraction(own['half_width']), 3)} %"
        rows.append((_name(own["name"]), wide, said))
    yield LinesOfTable(("column", "declared domain", "noise"), tuple(rows))


def _table_list(handbook: Handbook) -> Iterator[Block]:
    """Every table in a line, where there are several; and which of them are folders of parts."""
    tables = handbook.tables
    divided = [table for table in tables if table.parts]
    if divided:
        shown = [f"{_name(table.file)} of {len(table.parts):,}" for table in divided[:MOST_TABLES]]
        more = f" and {len(divided) - MOST_TABLES:,} more" if len(divided) > MOST_TABLES else ""
        yield Paragraph(
            f"Folders of parts: {', '.join(shown)}{more}. A part is a Parquet file like any other. The rows of all parts, in the "
            "order of their names, are the table; programs read the folder as one table by its name, or as `NAME/*.parquet`."
        )
    if len(tables) == 1:
        yield Paragraph(f"Its columns: {_names(tables[0].columns, 60)}. `codebook.html` says what each of them is.")
        return
    counts, rows = bool(handbook.of_kind("counts")), bool(handbook.of_kind("rows"))
    head = ("file", "columns", *(["a row stands for"] if rows else []), *(["95 of 100 within"] if counts else []))
    lines = []
    for table in tables[:MOST_TABLES]:
        weight = [f"{table.weight:.4g} records" if table.weight is not None else ""] if rows else []
        width = [f"{table.half_width:,}" if table.half_width is not None else ""] if counts else []
        lines.append((_name(table.file), _names(table.header, 8), *weight, *width))
    yield LinesOfTable(head, tuple(lines))
    if len(tables) > MOST_TABLES:
        yield Paragraph(f"{len(tables) - MOST_TABLES:,} more tables are listed in `datapackage.json`.")


# --- what was done before the method ---------------------------------------------------------------------------------------


def _treatments(handbook: Handbook) -> Iterator[ReadmeSection]:
    """What was done to values before the method saw them; nothing for a release without such steps."""
    columns = treated_columns(handbook)
    if not columns:
        return
    blocks: list[Block] = [
        Paragraph("Values of these columns were changed before anything else was done, so read them with care:"),
        Points(tuple(f"{_name(name)}: {_quoted('; then '.join(readings(handbook, name)))}." for name in columns)),
        Paragraph(
            "Everything in this release, and whatever is estimated from it, is about the table after these steps."
        ),
    ]
    if handbook.of_kind("synthetic"):
        blocks.append(
            Paragraph(
                "A synthetic row may show a value that the steps rule out, because it is drawn from a whole cell."
            )
        )
    if handbook.of_kind("boxes"):
        blocks.append(
            Paragraph("A row may show a value that the steps rule out, because it is spread inside a whole box.")
        )
    for matrix in transition_matrices(handbook):
        name = _name(matrix.attribute)
        blocks.append(
            Paragraph(
                f"The matrix of PRAM for {name}: a line for each value before this step, with the probability of every value "
                "after it. A row of counts before it times this matrix is, on average, the row of counts after it; so multiply "
                "counts of the treated table, or estimates of them, by its inverse, where it has one, to estimate those before."
            )
        )
        rows = [
            (
                _name(value),
                ", ".join(f"{_name(to)} {share}" for to, share in zip(matrix.values, row, strict=True) if share != "0"),
            )
            for value, row in zip(matrix.values, matrix.rows, strict=True)
        ]
        blocks.append(LinesOfTable(("value before", "value after, with probability"), tuple(rows)))
    large = large_matrices(handbook)
    if large:
        blocks.append(
            Paragraph(f"The matrix of PRAM for {_names(large)} follows from `policy.lock.yaml`, under `treatments`.")
        )
    yield ReadmeSection("What was done to the values before", tuple(blocks))


# --- how to read a label ---------------------------------------------------------------------------------------------------


def _labels(handbook: Handbook) -> Iterator[Block]:
    """What the labels of this release look like; only what occurs is explained."""
    columns = handbook.columns
    items = [item for explain in (_intervals, _sets, _whole) for item in explain(columns)]
    labelled = any(label.missing for column in columns for label in column.labels)
    empty = {
        table.shows.get(column.name, "as it is") == "as it is"
        for column in columns
        for table in handbook.tables
        if column.may_be_missing and column.name in table.columns and handbook.shows_values(table, column.name)
    }
    if labelled:
        items.append(f"`{MISSING}`: the record has no value in this column.")
    if True in empty:
        items.append("An empty cell in a column that shows values themselves: the record has no value there.")
    if False in empty:
        items.append(
            "An empty cell in a column that does not show the record's own values: none is shown; the record may have one."
        )
    items += _record_items(handbook)
    if any(label.rules for column in columns for label in column.labels):
        items.append(
            "The same text stands for one set of values in one table and for another in another: look it up by its table's rule "
            "(`rule` in `codebook.csv`), or use the codes, which differ."
        )
    if items:
        yield Points(tuple(items))
    else:
        yield Paragraph("Every cell is a value of its column.")
    yield Paragraph(
        "`codebook.html` lists every column with its labels, and `codebook.csv` has the same for programs: the two ends of every "
        "interval, every value of every set, and a short code for each set."
    )


def _first(columns: Sequence[PublishedColumn], kind: str) -> tuple[PublishedColumn, PublishedLabel] | None:
    found = ((column, label) for column in columns for label in column.labels if label.kind == kind)
    return next(found, None)


def _intervals(columns: Sequence[PublishedColumn]) -> Iterator[str]:
    spelled = [
        (column, label) for column in columns for label in column.labels
        if label.kind == INTERVAL and label.text.startswith("[") and label.text.endswith(")")
    ]  # fmt: skip
    other = next(
        (
            (c, label)
            for c in columns
            for label in c.labels
            if label.kind == INTERVAL and not label.text.startswith("[")
        ),
        None,
    )
    if spelled:
        column, label = spelled[0]
        low, high, included = column.end_texts(label) or ("", "", False)
        up = f"to {high}" if included else f"up to, but not including, {high}"
        yield f"{_name(label.text)} (in {_name(column.name)}): from {low} {up}."
    if other is not None:
        column, label = other
        low, high, included = column.end_texts(label) or ("", "", False)
        ends = f"from {low}" * bool(low) + " " * bool(low and high)
        ends += (f"to {high}" if included else f"up to, but not including, {high}") * bool(high)
        yield f"{_name(label.text)} (in {_name(column.name)}): {ends or 'every value'}."


def _sets(columns: Sequence[PublishedColumn]) -> Iterator[str]:
    sets = ((column, label) for column in columns for label in column.labels if label.kind == SET)
    found = next(((column, label) for column, label in sets if not column.hides_letters(label.text)), None)
    if found is not None:
        column, label = found
        many = len(label.values) or len(label.spans)
        yield (
            f"{_name(label.text)} (in {_name(column.name)}): one of {many:,} values, and it is not said which. Its code is "
            f"{_name(label.code)}; the codebook lists the values."
        )


def _whole(columns: Sequence[PublishedColumn]) -> Iterator[str]:
    found = _first(columns, EVERY)
    if found is not None:
        column, label = found
        also = ", or none" if label.missing else ""
        yield f"{_name(label.text)} (in {_name(column.name)}): any value of the column{also}."
    hidden = ((column, label, column.mask_words(label)) for column in columns for label in column.labels)
    mask = next((each for each in hidden if each[2] is not None), None)
    if mask is not None:
        column, label, words = mask
        yield f"{_name(label.text)} (in {_name(column.name)}): {words}; each `{SUPPRESSED}` hides one letter or digit."
    elif any(
        column.pattern is not None
        and (column.unlisted or any(column.hides_letters(label.text) for label in column.labels))
        for column in columns
    ):
        yield f"`{SUPPRESSED}` inside a text hides a letter: `031**` stands for every text that begins with 031."


def _record_items(handbook: Handbook) -> list[str]:
    shows = {name: each for table in handbook.tables for name, each in table.shows.items()}
    shown = {each: [name for name in shows if shows[name] == each] for each in dict.fromkeys(shows.values())}
    words = {
        "as it is": "the record's own values",
        "mean": "the mean of the record's group",
        "median": "the median of the record's group",
        "mode": "the most frequent value of the record's group",
        "interval": "`[low, high]`, the lowest and the highest value of the record's group, both included, or the one value",
        "set": "`{A, B}`, the different values of the record's group, or the one value",
        "concept": "the concept of the column's hierarchy that lies nearest to the record's group",
        "ancestor": "the lowest concept of the column's hierarchy that lies above the record's group",
        "noisy mean": "the mean of a group, with noise",
        "drawn concept": "a value, or a concept of the column's hierarchy that stands for several, drawn for a group",
        "drawn value": "a value, drawn for a group",
        "spread inside boxes": "a value of nobody, spread inside a box with a noisy mean",
        "drawn inside boxes": "a value of nobody, as often inside a box as its noisy numbers say",
        "bucket, in the table of groups": "buckets (intervals or sets of values) of a group's records, in their own table",
        "as it is, in the table of groups": "the values of a group's records, in their own table",
        "bucket, permuted inside hidden groups": "the bucket of some record of the same group, which is not shown",
        "as it is, permuted inside hidden groups": "the value of some record of the same group, which is not shown",
    }
    return [f"{_names(names)}: {words.get(each, each)}." for each, names in shown.items()]


# --- how to weight ---------------------------------------------------------------------------------------------------------


def _weights_of_averages(handbook: Handbook) -> Iterator[str]:
    """Of noisy averages and of rows inside boxes."""
    if handbook.of_kind("centroids"):
        yield (
            "There are no weights: there are as many rows as records, so means and shares over rows estimate those of the "
            "original. Variances come out too small by what groups hide, and too large by noise."
        )
    if handbook.of_kind("boxes"):
        yield (
            "There are no weights: the number of rows estimates the number of records that took part, and means and shares over "
            "rows estimate theirs. Boxes with few records have no rows and values are spread inside boxes, so tails, and means "
            "of skewed attributes, are off most."
        )


def _weights(handbook: Handbook) -> Iterator[str]:
    rows, counts = handbook.of_kind("rows"), handbook.of_kind("counts")
    if rows:
        whose = (
            "the population that the original was itself sampled from"
            if handbook.was_sampled_before
            else "the original"
        )
        weights = {table.weight for table in rows}
        weight = rows[0].weight or 1.0
        if len(weights) == 1:
            yield f"A row stands for 1/beta = {weight:.6g} records of {whose} on average: multiply a number of rows by it."
        else:
            yield (
                f"A row stands for 1/beta records of {whose} on average, and beta is not the same for all tables: the list "
                "above, `views.json` and `datapackage.json` have the weight of each."
            )
        yield _left_out(handbook) or (
            "Combinations that too few drawn rows share are left out, so numbers of rows add up to less than all, and shares "
            "among published rows lean towards what is common. `shoal.load` estimates numbers with intervals that allow for it."
        )
    yield from _number_of_records(handbook)
    unit = handbook.certificate["guarantee"]["unit"]
    if unit["column"] is not None and not (handbook.of_kind("records") or handbook.of_kind("centroids")):
        most = unit["max_rows"]
        yield (
            f"At most {most:,} row{'s' * (most != 1)} of each {_name(unit['column'])} took part: numbers are of those rows."
        )
    if counts:
        yield "A noisy count has no weight: it is by itself an estimate of how many records the cell has."
    for table in handbook.of_kind("synthetic"):
        declared = handbook.certificate["synthetic"]["declared"]
        said = (
            "was declared beforehand and does not say how many records there are"
            if declared
            else "follows from the noisy counts"
        )
        yield f"Synthetic rows have no weights. Their number, {table.lines or 0:,}, {said}."
    if handbook.of_kind("records"):
        yield "There are no weights: a row is one record."
    yield from _weights_of_averages(handbook)
    if handbook.of_kind("recoded"):
        yield "There are no weights: a row is one record."
        if handbook.certificate["search"]["suppression"] != "0":
            yield (
                "Records of classes that are too small, or lack something else that was asked for, may be left out: numbers of "
                "rows may add up to less than all, and shares lean towards what is common."
            )
    for table in handbook.of_kind("linked"):
        yield f"There are no weights: a row of {_name(table.file)} is one record."
    for table in handbook.of_kind("groups"):
        yield (
            f"A line of {_name(table.file)} stands for as many records as {_name(table.count)} says. A record of a group has "
            "each line of the group with a probability of that number over the size of the group."
        )


def _number_of_records(handbook: Handbook) -> Iterator[str]:
    """How many records there are, or that this was not published where rows are left out; noisy counts add up to it."""
    total = handbook.certificate.get("noisy_total")
    if total is not None and total["scale"] == "0":
        yield f"The number of records that took part is {total['records']:,}, exactly."
    elif total is not None:
        yield (
            f"The number of records that took part is about {total['records']:,}: it has two-sided geometric noise of scale "
            f"{total['scale']}, which costs {total['epsilon']} of epsilon."
        )
    elif any((table.k or 1) > 1 for table in handbook.of_kind("rows")) and not handbook.of_kind("counts"):
        yield (
            "How many records there are was not published. Each combination that is not there may hide drawn rows, fewer than k "
            "of them, so upper ends of intervals may lie far above the truth."
        )


def _left_out(handbook: Handbook) -> str | None:
    """What a plain sample leaves out; None for other samples."""
    if handbook.certificate["method"] != "sample":
        return None
    rare = handbook.certificate["samples"][0]["rare"]
    gone = {
        "drop": "Nothing was left out of what was drawn; but rows with a rare combination were left out before, so numbers are "
        "of the other rows. ",
        "replace": "Nothing was left out; but rows with a rare combination show another's, so common ones are a bit too many. ",
    }
    unbiased = "Nothing was left out of what was drawn, so shares among the rows are fair estimates of shares in the original. "
    return f"{gone.get(rare, unbiased)}`shoal.load` estimates numbers with intervals."


# --- what not to do --------------------------------------------------------------------------------------------------------


def _warnings(handbook: Handbook) -> Iterator[str]:
    rows = handbook.of_kind("rows")
    if handbook.has_views:
        yield (
            "Do not join views row by row: the first row of one and the first row of another have nothing to do with each other. "
            "Views can be compared by what they say of the columns that they share."
        )
    elif len(rows) > 1:
        yield "Do not stack the tables as if their rows were different people. Compute what you want from each, and average."
    if rows:
        fewer = "none" if handbook.certificate["method"] == "sample" else "fewer than k"
        yield (
            f"Do not read absence as zero: a combination that is not there may have many records; {fewer} of them were drawn."
        )
    if handbook.of_kind("counts"):
        yield (
            "Do not set negative counts to zero before you add them up: that makes every sum too large. Errors grow when many "
            "cells are added; a table of fewer columns says the same with less noise."
        )
        yield "Do not expect tables to agree: each has noise of its own. `shoal.load(...).consistent()` makes them agree."
    if handbook.of_kind("synthetic"):
        yield (
            "Do not treat synthetic rows as people, and do not test hypotheses on them as if they were a sample: what the model "
            "does not know is not in them, and the usual errors come out too small. Check results on the noisy counts."
        )
    if handbook.certificate["method"] == "microaggregation":
        yield (
            "Do not take what a record shows for its own value: it is its group's. Differences within groups are gone, so "
            "variances come out too small."
        )
    yield from _centroid_warnings(handbook)
    if handbook.of_kind("boxes"):
        yield (
            "Do not treat rows as people, and do not test hypotheses on them as if they were a sample: they repeat noisy counts "
            "and means, and the usual errors do not hold for them."
        )
        yield (
            "Do not read rare values, extremes or small groups off the rows: a box whose count does not stand out of the noise "
            "has no rows, and what is left over is shared out to the others."
        )
    if handbook.of_kind("recoded") and handbook.certificate["search"]["suppression"] != "0":
        yield "Do not read absence as zero: a combination that is not there may have been left out."
    if handbook.certificate["method"] == "probabilistic-k":
        yield (
            "Do not take a row for one person's: part of it may be another's of the same group. Relations between exchanged and "
            "other columns are weaker than they were."
        )
    for table in handbook.of_kind("groups"):
        yield (
            f"Do not join the two tables by {_name(table.group)} and count rows: a record then stands there once for each line "
            f"of its group. Give each joined row the weight {_name(table.count)} over the size of the group."
        )
        yield (
            "Do not take a group for people who are alike, nor a line of a group for one of its records: which record has which "
            "is not said."
        )
    if _is_permuted(handbook):
        yield (
            "Do not take a row for one person's: what it shows of confidential columns may be another's of the same group. "
            "Relations between confidential and other columns are weaker than they were."
        )
    yield (
        "Do not open CSV files, `codebook.csv` among them, by a double click: spreadsheets turn labels such as 2020-01 or 3-4 "
        "into dates."
    )
    yield "Do not pass a table on alone: without `certificate.json` nobody can verify it, and without this page it is misread."


def _centroid_warnings(handbook: Handbook) -> Iterator[str]:
    """What noisy averages are not."""
    tables = handbook.of_kind("centroids")
    if not tables:
        return
    yield (
        "Do not take a row for a person, nor k rows that look alike for k people who are: each shows a noisy average of a "
        "group, and which records were in the group is not known."
    )
    yield (
        "Do not read extremes, rare values or small differences off the rows: averaging hides them, and noise makes others. Do "
        "not test hypotheses as if rows were a sample: they repeat few averages, and the usual errors come out far too small."
    )
    if len(tables) > 1:
        yield (
            "Do not join the tables row by row: each column was sorted by itself, so the first row of one and the first row of "
            "another have nothing to do with each other, and correlations of such a join mean nothing."
        )


def _is_permuted(handbook: Handbook) -> bool:
    """Whether confidential columns of one table were exchanged inside groups that it does not show."""
    return "buckets" in handbook.certificate and bool(handbook.of_kind("records"))


# --- how to open it --------------------------------------------------------------------------------------------------------


def _programs(handbook: Handbook) -> Iterator[Block]:
    for words, language, text in snippets(handbook):
        yield Paragraph(words)
        yield Code(language, text)


def _files(handbook: Handbook) -> LinesOfTable:
    """The files beside the tables."""
    needs = "and pyarrow" if any(table.form == "parquet" for table in handbook.tables) else "alone"
    found = [
        (
            "`certificate.html`, `certificate.json`",
            "what is promised, on what grounds, and the hash of every other file",
        ),
        ("`codebook.html`, `codebook.csv`", "every column, every label and what it stands for"),
        ("`datapackage.json`", "the tables and their columns as a Frictionless Data Package"),
        ("`read_release.py`", f"reads the tables with proper types; needs Python {needs}"),
        ("`policy.lock.yaml`", "the plan of the release, locked before it was run"),
    ]
    if any(table.rules for table in handbook.tables):
        found.append(("`recoding/`", "the rules of the labels, from which the codebook was made"))
    if (handbook.certificate["guarantee"].get("k_map") or {}).get("file"):
        found.append(("`population/`", "the population on which the labels of every row were counted"))
    if handbook.has_views:
        found.append(("`views.json`", "the list of the views with their weights"))
    if handbook.of_kind("counts"):
        found.append(("`counts.json`", "the list of the tables of counts with their noise"))
    return LinesOfTable(("file", "what it is"), tuple(found))


# --- Markdown and HTML -----------------------------------------------------------------------------------------------------


def _lead(handbook: Handbook) -> str:
    certificate = handbook.certificate
    return (
        f"Released on {certificate['date']} with Shoal {certificate['software']['shoal']}, method {certificate['method']}, "
        f"status: {certificate['status']}. This page says how to use the files; `certificate.html` says what was promised and "
        "why it holds."
    )


def readme_text(handbook: Handbook) -> str:
    """The text of README.md."""
    lines = [f"# {_plain(_quoted(visible(handbook.certificate['dataset'])))}", "", _inline(_lead(handbook)), ""]
    for section in sections(handbook):
        lines += [f"## {section.title}", ""]
        for block in section.blocks:
            lines += [*_markdown(block), ""]
    return "\n".join(lines)


def _markdown(block: Block) -> Iterator[str]:
    if isinstance(block, Paragraph):
        yield _inline(block.text)
    elif isinstance(block, Points):
        yield from (f"- {_inline(item)}" for item in block.items)
    elif isinstance(block, LinesOfTable):
        yield f"| {' | '.join(block.head)} |"
        yield f"|{' --- |' * len(block.head)}"
        for row in block.rows:
            yield f"| {' | '.join(_inline(cell).replace('|', chr(92) + '|') for cell in row)} |"
    else:
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", block.text)), default=0))
        yield f"{fence}{block.language}"
        yield block.text
        yield fence


def _inline(text: str) -> str:
    """A sentence in Markdown: what is between backticks stays, and nothing else is taken for markup."""
    parts = visible(text).split("`")
    return "`".join(part if place % 2 else _plain(part) for place, part in enumerate(parts))


def _plain(text: str) -> str:
    return re.sub(r"([\\*_\[\]<>#])", r"\\\1", text)


def readme_page(handbook: Handbook) -> str:
    """The same as script-free HTML."""
    certificate = handbook.certificate
    return page(
        "readme",
        {
            "title": f"{certificate['dataset']}: how to use this release",
            "dataset": certificate["dataset"],
            "lead": _pieces(_lead(handbook)),
            "sections": [_html(section) for section in sections(handbook)],
            "footer": "This page was made from the certificate, the locked plan and the rules of the labels. README.md says the "
            "same without markup.",
        },
    )


Pieces = list[tuple[str, bool]]


def _pieces(text: str) -> Pieces:
    """A text as pieces, each with whether it is a name or a command."""
    return [(piece, place % 2 == 1) for place, piece in enumerate(visible(text).split("`")) if piece]


def _html(section: ReadmeSection) -> dict[str, object]:
    blocks: list[dict[str, object]] = []
    for block in section.blocks:
        if isinstance(block, Paragraph):
            blocks.append({"kind": "paragraph", "pieces": _pieces(block.text)})
        elif isinstance(block, Points):
            blocks.append({"kind": "points", "items": [_pieces(item) for item in block.items]})
        elif isinstance(block, LinesOfTable):
            rows = [[_pieces(cell) for cell in row] for row in block.rows]
            blocks.append({"kind": "listing", "head": block.head, "rows": rows})
        else:
            blocks.append({"kind": "code", "text": block.text})
    return {"title": section.title, "blocks": blocks, "promise": section.title == "What was promised"}
