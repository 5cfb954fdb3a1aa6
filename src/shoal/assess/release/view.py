"""One published table of a release: its rows, k, beta, weights, and the tuples of labels that it could have shown."""

from __future__ import annotations

import csv
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import prod
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.assess.release.labels import Meaning, meaning
from shoal.assess.release.sealed_folder import SealedFolder, reading, strict_json
from shoal.data.hierarchy.level import MISSING
from shoal.data.type import Type, decimal_text, point, texts
from shoal.engine.write import BATCH_ROWS
from shoal.errors import UsageError, VerificationError, visible
from shoal.guarantee.rounding import text_near

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.assess.frame.column import PublishedColumn
    from shoal.assess.frame.table import Intervals, Sets, TypedColumn


MOST_ROWS = 1 << 40
"""More rows than a class of any table has."""
_EXACT = re.compile(r"(0|[1-9][0-9]*)(\.[0-9]+)?(e-?[0-9]{1,3})?|[1-9][0-9]*/[1-9][0-9]*")


@dataclass(frozen=True)
class DeclaredDomain:
    """What the locked plan of a release declares about one attribute."""

    values: tuple[str, ...] | None
    """Every declared value, where they are listed."""
    missing: bool
    """Whether a value may be missing."""
    type: Type | None = None
    """The type of its values, where the plan says it."""
    ends: tuple[str, str] | None = None
    """The lowest and the highest declared number, date or time."""


UNKNOWN = DeclaredDomain(None, missing=True)
"""The domain of an attribute that no plan declares: any value is possible, and it may be missing."""


@dataclass(frozen=True)
class LockedDomains:
    """What the locked plan of a release says that its analysis needs."""

    domains: Mapping[str, DeclaredDomain]
    sampled_before: bool
    """Whether the table was already a sample of a population."""
    never: tuple[Mapping[str, tuple[str, ...]], ...] = ()
    """Combinations of values that no synthetic row may have; two values of a number, date or time are the ends of a range."""


NO_PLAN = LockedDomains({}, sampled_before=False)


def read_plan(sealed: SealedFolder) -> LockedDomains:
    """Read the declared domain of each attribute from `policy.lock.yaml`."""
    from shoal.policy.text.reading import read_yaml

    with reading("the locked plan"):
        plan: Any = read_yaml(sealed.read("policy.lock.yaml").decode("utf-8"), "policy.lock.yaml").tree
        declared = {name: _domain(keys) for name, keys in plan["attributes"].items() if isinstance(keys, dict)}
        release = plan.get("release")
        sampling = release.get("sampling") if isinstance(release, dict) else None
        already = sampling.get("already", "null") if isinstance(sampling, dict) else "null"
        asked = release.get("synthetic") if isinstance(release, dict) else None
        never = asked.get("never") if isinstance(asked, dict) else None
        rules = tuple(_rule(rule) for rule in never) if isinstance(never, list) else ()
    return LockedDomains(declared, sampled_before=already != "null", never=rules)


def _rule(rule: Mapping[str, Any]) -> Mapping[str, tuple[str, ...]]:
    return {str(name): tuple(map(str, own if isinstance(own, list) else [own])) for name, own in rule.items()}


def _domain(keys: dict[str, Any]) -> DeclaredDomain:
    domain = keys.get("domain")
    listed = domain.get("values") if isinstance(domain, dict) else None
    values = tuple(map(str, listed)) if isinstance(listed, list) and listed else None
    kind = keys.get("type")
    # A value outside the domain that is suppressed is missing from then on.
    missing = keys.get("missing", "value") == "value" or keys.get("outside") == "suppress"
    ends = (str(domain[0]), str(domain[1])) if isinstance(domain, list) and len(domain) == 2 else None
    return DeclaredDomain(values, missing, None if kind is None else Type(kind), ends)


Ints = npt.NDArray[np.int64]


class PublishedFile(ABC):
    """One file of a release, given in the forms that programs take."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """Give what the file holds as an Arrow table."""

    def to_pandas(self) -> Any:
        """Give the same as a pandas frame, where pandas is installed."""
        return as_frame("pandas", self.to_arrow().to_pandas)

    def to_polars(self) -> Any:
        """Give the same as a Polars frame, where Polars is installed."""
        import importlib

        return as_frame("polars", lambda: importlib.import_module("polars").from_arrow(self.to_arrow()))


class LabelledFile(PublishedFile):
    """A file whose cells are labels, or values where its rules leave them as they are."""

    name: str
    columns: tuple[str, ...]
    _sealed: SealedFolder
    _file: str
    _cache: dict[Any, Any]

    @property
    @abstractmethod
    def _table(self) -> pa.Table:
        """What the file holds, as it is stored."""

    _has_counts: ClassVar[bool] = False
    """Whether its lines are cells with counts."""

    def to_arrow(self, *, intervals: Intervals = "text", sets: Sets = "text") -> pa.Table:
        """Give the file as an Arrow table: labels as dictionaries, values in their types.

        Arguments  `intervals`: "text" for labels, "columns" for two more columns NAME_low and NAME_high, "struct" for both ends
                   in the place of the label; `sets`: "text" for labels, "codes" for the short codes of the codebook
        Raises     UsageError for an option that is none
        """
        from shoal.assess.frame.table import typed_table

        own = self.typed_columns()
        with reading(f"table '{self.name}'"):
            return typed_table(self._table, own, intervals=intervals, sets=sets)

    def to_pandas(self, *, intervals: Intervals = "text", sets: Sets = "text") -> Any:
        """Give the same as a pandas frame, where pandas is installed; both ends of an interval make a pandas Interval."""
        from shoal.assess.frame.table import as_pandas

        return as_frame("pandas", lambda: as_pandas(self.to_arrow(intervals=intervals, sets=sets)))

    def to_polars(self, *, intervals: Intervals = "text", sets: Sets = "text") -> Any:
        """Give the same as a Polars frame, where Polars is installed."""
        import importlib

        made = self.to_arrow(intervals=intervals, sets=sets)
        return as_frame("polars", lambda: importlib.import_module("polars").from_arrow(made))

    def _read_file(self, header: tuple[str, ...]) -> pa.Table:
        """Read the file, whose attributes are text where it is CSV; VerificationError where its columns are not these."""
        with reading(f"table '{self.name}'"):
            table = read_table(self._sealed, self._file, self.columns)
            table.validate(full=True)
        self._refuse_columns(table, header)
        return table

    def _refuse_columns(self, table: pa.Table, header: tuple[str, ...]) -> None:
        if tuple(table.column_names) != header:
            raise VerificationError(f"table '{self.name}' has other columns than the certificate says")

    def describe(self, name: str) -> PublishedColumn:
        """Say what a column is, with every label that any table of the release has for it, and the codes of its sets."""
        return describe_published(self._sealed, name, self._cache)

    def typed_columns(self) -> list[TypedColumn]:
        """Say how each column is typed."""
        return [self._typed_column(name) for name in self.columns]

    def _typed_column(self, name: str) -> TypedColumn:
        from shoal.assess.frame.table import typed_column

        entries = (*self._sealed.certificate["tables"], *self._sealed.certificate.get("counts", ()))
        rules = next(rule_files(entry, name) for entry in entries if entry["file"] == self._file)
        return typed_column(self.describe(name), rules, counts=self._has_counts)


def rule_files(entry: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The files of a column's rules in a table of a certificate: one, or one for each level that it shows."""
    found = entry["recoding"][name]
    return (found,) if isinstance(found, str) else tuple(found)


def describe_published(sealed: SealedFolder, name: str, cache: dict[Any, Any]) -> PublishedColumn:
    """Describe a published attribute from the locked plan and all rules that the certificate lists for it."""
    from shoal.assess.frame.column import describe_column
    from shoal.policy.text.reading import read_yaml

    key = ("described", name)
    if key not in cache:
        entries = (*sealed.certificate["tables"], *sealed.certificate.get("counts", ()))
        named = (entry for entry in entries if name in entry.get("recoding", ()))
        files = dict.fromkeys(file for entry in named for file in rule_files(entry, name))
        with reading(f"the rules of column '{name}'"):
            if "lock" not in cache:
                listed = "policy.lock.yaml" in sealed.certificate["files"]
                text = sealed.read("policy.lock.yaml").decode("utf-8") if listed else ""
                cache["lock"] = read_yaml(text, "policy.lock.yaml").tree if listed else {"attributes": {}}
            rules = [(file, strict_json(sealed.read(file))) for file in files]
            declared = cache["lock"]["attributes"].get(name) or {"type": rules[0][1]["type"]}
            cache[key] = describe_column(name, declared, rules)
    found: PublishedColumn = cache[key]
    return found


@dataclass(frozen=True)
class PublishedView(LabelledFile):
    """A published table: rows were sampled at rate beta, and tuples that the sample held fewer than k times are suppressed."""

    name: str
    columns: tuple[str, ...]
    k: int
    beta: Fraction
    _sealed: SealedFolder = field(repr=False)
    _file: str = field(repr=False)
    _boxes: str | None = field(repr=False)
    _rules: Mapping[str, bytes] = field(repr=False)
    _domains: Mapping[str, DeclaredDomain] = field(repr=False)
    _cache: dict[Any, Meaning] = field(repr=False, compare=False)

    def __repr__(self) -> str:
        shown = ", ".join(self.columns[:8]) + (f", … ({len(self.columns)} in all)" if len(self.columns) > 8 else "")
        return visible(f"<PublishedView '{self.name}': {shown}; k = {self.k}, beta = {text_near(self.beta)}>")

    @property
    def suppresses(self) -> bool:
        """Whether tuples may be missing although the sample held them; where k is 1, none is."""
        return self.k > 1

    @property
    def weight(self) -> float:
        """How many records a published row stands for on average: 1/beta."""
        return float(1 / self.beta)

    @cached_property
    def _table(self) -> pa.Table:
        return self._read_file(self.columns)

    @cached_property
    def _text_tuples(self) -> tuple[list[list[str]], Ints]:
        """The distinct published tuples as text, column by column, and how often each occurs."""
        with reading(f"table '{self.name}'"):
            names = [str(place) for place in range(len(self.columns))]
            pieces = stream_parquet(self._sealed, self._file) if self._file.endswith(".parquet") else [self._table]
            each = []
            for piece in pieces:
                self._refuse_columns(piece, self.columns)
                each.append(piece.rename_columns(names).group_by(names).aggregate([([], "count_all")]))
            # Each piece brings its own list of texts; grouping needs one list.
            together = join_parts(each).unify_dictionaries()
            counted = together.group_by(names).aggregate([("count_all", "sum")])
            counts = counted.column("count_all_sum").to_numpy().astype(np.int64)
            return [label_texts(counted.column(name)) for name in names], counts

    @cached_property
    def meanings(self) -> dict[str, Meaning]:
        """What the labels of each column stand for."""
        return {name: self._meaning(place, name) for place, name in enumerate(self.columns)}

    def _meaning(self, place: int, name: str) -> Meaning:
        return read_meaning(name, self._rules[name], self._domains, lambda: self._text_tuples[0][place], self._cache)

    @cached_property
    def tuples(self) -> tuple[Ints, Ints]:
        """The distinct published tuples, as indices into each column's list of labels, and how often each occurs."""
        shown, counts = self._text_tuples
        codes = np.zeros((len(counts), len(self.columns)), dtype=np.int64)
        for j, (name, own) in enumerate(zip(self.columns, shown, strict=True)):
            place = {text: i for i, text in enumerate(self.meanings[name].texts)}
            try:
                codes[:, j] = [place[text] for text in own]
            except KeyError:
                raise VerificationError(f"column '{name}': a label that its rule does not have") from None
        return codes, counts

    @cached_property
    def box_tuples(self) -> Ints | None:
        """Every box of a tree, as indices into the columns' lists of labels; None for a scheme, where all tuples may occur."""
        if self._boxes is None:
            return None
        with reading(f"the boxes of table '{self.name}'"):
            rows = list(csv.reader(io.StringIO(self._sealed.read(self._boxes).decode("utf-8"), newline="")))
        if not rows or tuple(rows[0]) != self.columns:
            raise VerificationError(f"the boxes of table '{self.name}' have other columns than the certificate says")
        places = [{text: i for i, text in enumerate(self.meanings[name].texts)} for name in self.columns]
        try:
            found = [[place[text] for place, text in zip(places, row, strict=True)] for row in rows[1:]]
        except (KeyError, ValueError):
            raise VerificationError(f"table '{self.name}': a box that its rules do not have") from None
        return np.array(found, dtype=np.int64).reshape(-1, len(self.columns))

    @property
    def cells(self) -> int | None:
        """How many tuples the view could have shown; None where they cannot be listed."""
        if self.box_tuples is not None:
            return len(self.box_tuples)
        if not all(self.meanings[name].listed for name in self.columns):
            return None
        return prod(len(self.meanings[name].labels) for name in self.columns)


def read_meaning(
    name: str,
    content: bytes,
    domains: Mapping[str, DeclaredDomain],
    shown: Callable[[], Iterable[str]],
    cache: dict[Any, Meaning],
) -> Meaning:
    """Read what the labels of a column stand for from its rule; equal rules have one meaning."""
    domain = domains.get(name, UNKNOWN)
    with reading(f"the rule of column '{name}'"):
        rule = strict_json(content)
        if rule["attribute"] != name:
            raise VerificationError(f"the rule of column '{name}' is about another attribute")
        # Only a rule that does not list its labels has to look at the table.
        open_ended = rule["kind"] in ("keep", "masked") and not rule.get("labels")
        seen = frozenset(shown() if open_ended else ())
        key: Any = (name, content, seen)
        if key not in cache:
            cache[key] = meaning(rule, sorted(seen), missing=domain.missing, values=domain.values)
        return cache[key]


def read_view(
    sealed: SealedFolder, entry: Mapping[str, Any], k: object, beta: object, plan: LockedDomains, cache: dict[Any, Any]
) -> PublishedView:
    """Read a view by its entry in the certificate; its table and its boxes are read when they are asked for."""
    file, boxes = entry["file"], entry.get("boxes")
    name, columns, rules = read_entry(sealed, entry, () if boxes is None else (boxes,))
    rate = _rate(beta)
    if type(k) is not int or not 1 <= k <= MOST_ROWS or rate is None:
        raise VerificationError(f"table '{name}': k or beta is outside its range", came=f"k = {k}, beta = {beta}")
    return PublishedView(name, columns, k, rate, sealed, file, boxes, rules, plan.domains, cache)


def read_entry(
    sealed: SealedFolder, entry: Mapping[str, Any], others: Sequence[str] = ()
) -> tuple[str, tuple[str, ...], dict[str, bytes]]:
    """Read what every entry of a table has: its name, its columns, and the rule of each; `others` are files that it needs too."""
    file, columns, recoding = entry["file"], entry["columns"], entry["recoding"]
    needed = (*sealed.table_files(file), *recoding.values(), *others)
    if any(name not in sealed.certificate["files"] for name in needed):
        raise VerificationError(f"table '{file}' needs a file that the certificate does not list")
    name = entry["name"] or PurePosixPath(file).stem
    if not isinstance(name, str) or not columns or any(not isinstance(column, str) for column in columns):
        raise VerificationError("a table of the certificate has a name or columns that are none")
    if len(set(columns)) != len(columns) or set(recoding) != set(columns):
        raise VerificationError(f"table '{name}' does not have one rule for each column")
    return name, tuple(columns), {column: sealed.read(recoding[column]) for column in columns}


def _rate(beta: object) -> Fraction | None:
    """The sampling rate, written as exact text; None where it is no rate."""
    if not isinstance(beta, str) or len(beta) > 400 or not _EXACT.fullmatch(beta):
        return None
    found = Fraction(beta)
    return found if 0 < found <= 1 else None


def read_table(sealed: SealedFolder, file: str, columns: tuple[str, ...]) -> pa.Table:
    """Read a table of a release, all its parts together; of a CSV file, these columns as text."""
    import pyarrow as pa

    if file.endswith(".parquet"):
        from pyarrow import parquet

        contents = (sealed.read(name, None) for name in sealed.table_files(file))
        return join_parts([parquet.read_table(pa.BufferReader(content)) for content in contents])
    from pyarrow import csv as texts_file

    plain = texts_file.ConvertOptions(column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=False)
    parsed = texts_file.ParseOptions(newlines_in_values=True)
    return texts_file.read_csv(pa.BufferReader(sealed.read(file, None)), convert_options=plain, parse_options=parsed)


def stream_parquet(sealed: SealedFolder, file: str) -> Iterator[pa.Table]:
    """Read a Parquet table of a release some rows at a time, texts as numbers into a list of the different ones."""
    import pyarrow as pa
    from pyarrow import parquet

    for name in sealed.table_files(file):
        content = pa.BufferReader(sealed.read(name, None))
        shape = parquet.read_schema(content)
        texts = [field.name for field in shape if pa.types.is_string(field.type)]
        content.seek(0)
        with parquet.ParquetFile(content, read_dictionary=texts) as stored:
            if not stored.metadata.num_rows:
                yield stored.read()
            for batch in stored.iter_batches(BATCH_ROWS):
                batch.validate(full=True)
                yield pa.Table.from_batches([batch])


def join_parts(parts: Sequence[pa.Table]) -> pa.Table:
    """Join the rows of parts, in their order."""
    import pyarrow as pa

    return parts[0] if len(parts) == 1 else pa.concat_tables(parts)


def label_texts(column: pa.ChunkedArray) -> list[str]:
    """Give a column as the labels of its rule are spelled; a missing value as the label of missing values."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        gone = column.is_null().to_numpy()
        found = np.full(len(gone), MISSING, dtype=object)
        values = column.drop_null().to_pylist()
        if pa.types.is_floating(column.type):
            # As a CSV file has it: 2, not 2.0.
            found[~gone] = [decimal_text(point(Type.DECIMAL, repr(value))) for value in values]
        else:
            found[~gone] = texts(np.array(values, dtype=_kind(column.type)))
        return [str(value) for value in found]
    return [MISSING if value in (None, "") else str(value) for value in column.to_pylist()]


def _kind(of: pa.DataType) -> Any:
    import pyarrow as pa

    return "datetime64[D]" if pa.types.is_date(of) else None


def as_frame(package: str, make: Callable[[], Any]) -> Any:
    """Make a frame, where its package is installed; UsageError where it is not."""
    try:
        return make()
    except ImportError:
        raise UsageError(f"{package} is not installed", fix=f"install {package}, or use to_arrow()") from None
