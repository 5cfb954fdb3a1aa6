"""One synthetic table: rows that are no one's records, drawn from a model that joins the tables of a release, or published.

With noisy counts the model is `joint_model`, and a release of the method synthetic has a file of synthetic rows itself. With rows
alone it is made from the consistent views:

A tree over the attributes (Chow and Liu: the pairs with the most mutual information) gives candidate rows; the candidates
are then weighted until every pair that a view holds agrees with it (raking), and rows are drawn by these weights. What no
view says about three attributes together is an assumption of the model. No row has a value outside the declared domain, or lacks
one where the plan allows no missing value, whatever a hierarchy lists beyond it. It is post-processing, so it costs no privacy,
and it may be repeated from a seed; the rows are synthetic, and the class, the metadata and the file name say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shoal.assess.release.consistency import TINY, ConsistentViews, Floats, Ints, Mask
from shoal.assess.release.labels import OTHER, AtomAxis, Span
from shoal.assess.release.load import LoadedRelease
from shoal.assess.release.sealed_folder import SealedFolder, reading
from shoal.assess.release.view import UNKNOWN, DeclaredDomain, PublishedFile, read_table
from shoal.chance.source import Source
from shoal.data.type import Type, point
from shoal.errors import ParameterError, UsageError, VerificationError, visible
from shoal.files.write import write
from shoal.progress import Stage, silent

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.assess.release.joint_model import ConsistentCounts

CANDIDATES = 4
"""Candidate rows for each row that is drawn."""
SWEEPS = 12
MOST_ROWS = 20_000_000
NOTE = "synthetic: rows drawn from a model of the published views; no row is a record of anybody"
PUBLISHED_NOTE = "synthetic: rows drawn from a model of published noisy counts; no row is a record of anybody"
Pairs = dict[tuple[str, str], Floats]


@dataclass(frozen=True)
class SyntheticTable:
    """A table of synthetic rows; its columns have the names of the release, and its cells are labels of it."""

    columns: tuple[str, ...]
    labels: Mapping[str, tuple[str, ...]] = field(repr=False)
    codes: Ints = field(repr=False)
    tree: tuple[tuple[str, str], ...]
    method: str = "Chow-Liu tree of the consistent pairs, candidates raked to all pairs, rows drawn by weight"
    __synthetic__: Final = True

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return f"<SyntheticTable: {len(self):,} synthetic rows, {len(self.columns)} columns>"

    def to_arrow(self) -> pa.Table:
        """Give the rows, sorted by their own values; the schema's metadata says that they are synthetic."""
        import pyarrow as pa

        columns = {
            name: pa.array(self.labels[name]).take(pa.array(self.codes[:, j])) for j, name in enumerate(self.columns)
        }
        return pa.table(columns).replace_schema_metadata({"synthetic": "true", "note": NOTE, "method": self.method})

    def to_pandas(self) -> Any:
        """Give the rows as a pandas frame; `frame.attrs` says that they are synthetic."""
        frame = self.to_arrow().to_pandas()
        frame.attrs.update({"synthetic": True, "note": NOTE})
        return frame

    def write(self, path: str | Path, *, force: bool = False) -> Path:
        """Write a CSV or Parquet file; its name must hold the word synthetic."""
        import pyarrow as pa

        place = Path(path)
        if "synthetic" not in place.stem.lower() or place.suffix not in (".csv", ".parquet"):
            raise UsageError(
                "the name of a file of synthetic rows has to say so",
                came=place.name,
                allowed="a name with 'synthetic' that ends in .csv or .parquet, such as visits-synthetic.parquet",
            )
        sink = pa.BufferOutputStream()
        if place.suffix == ".csv":
            from pyarrow import csv

            csv.write_csv(self.to_arrow(), sink)
        else:
            from pyarrow import parquet

            parquet.write_table(self.to_arrow(), sink)
        return write(place, sink.getvalue().to_pybytes(), force=force)


@dataclass(frozen=True)
class PublishedSyntheticTable(PublishedFile):
    """The synthetic rows that a release holds as a file, with the columns and types of the original."""

    file: str
    columns: tuple[str, ...]
    table: pa.Table = field(repr=False)
    __synthetic__: Final = True

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __repr__(self) -> str:
        return visible(
            f"<PublishedSyntheticTable '{self.file}': {len(self):,} synthetic rows, {len(self.columns)} columns>"
        )

    def take(self, rows: int, source: Source | None = None) -> PublishedSyntheticTable:
        """Take so many of the rows at random, none twice; ParameterError where the file has fewer."""
        if type(rows) is not int or not 1 <= rows <= len(self):
            raise ParameterError(
                "the published file does not have this number of synthetic rows",
                came=rows,
                allowed=f"a whole number from 1 to {len(self):,}",
                fix="leave the number out for all of them",
            )
        with Source.secure() if source is None else source.stream("synthetic") as chance:
            chosen = chance.permutation(len(self))[:rows]
        return replace(self, table=self.table.take(chosen))

    def to_arrow(self) -> pa.Table:
        """Give the rows; the schema's metadata says that they are synthetic."""
        return self.table.replace_schema_metadata({"synthetic": "true", "note": PUBLISHED_NOTE})

    def to_pandas(self) -> Any:
        """Give the rows as a pandas frame; `frame.attrs` says that they are synthetic."""
        frame = super().to_pandas()
        frame.attrs.update({"synthetic": True, "note": PUBLISHED_NOTE})
        return frame


def read_synthetic(loaded: LoadedRelease) -> PublishedSyntheticTable:
    """Read the file of synthetic rows of a release; VerificationError where it is not as the certificate says."""
    with reading("the synthetic rows"):
        entry = loaded.certificate["synthetic"]
        file, columns, rows = entry["file"], tuple(entry["columns"]), entry["rows"]
        if loaded.sealed is None or not isinstance(file, str) or any(not isinstance(name, str) for name in columns):
            raise VerificationError("the certificate names a file of synthetic rows that is none")
        table = _read_rows(loaded.sealed, file, columns, loaded.plan.domains)
        table.validate(full=True)
    if tuple(table.column_names) != columns or table.num_rows != rows:
        raise VerificationError(f"file '{file}' has other columns or rows than the certificate says")
    return PublishedSyntheticTable(file, columns, table)


def _read_rows(
    sealed: SealedFolder, file: str, columns: Sequence[str], declared: Mapping[str, DeclaredDomain]
) -> pa.Table:
    """Read rows with the declared types; a CSV file has no types of its own."""
    import pyarrow as pa
    from pyarrow import csv

    if file.endswith(".parquet"):
        return read_table(sealed, file, tuple(columns))
    kinds = {
        Type.INTEGER: pa.int64(), Type.DECIMAL: pa.float64(), Type.BOOLEAN: pa.bool_(), Type.DATE: pa.date32(),
        Type.DATETIME: pa.timestamp("us"),
    }  # fmt: skip
    types = {
        name: kinds.get(of, pa.string()) for name in columns if (of := declared.get(name, UNKNOWN).type) is not None
    }
    return csv.read_csv(
        pa.BufferReader(sealed.read(file, None)),
        convert_options=csv.ConvertOptions(
            column_types=types, strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
        parse_options=csv.ParseOptions(newlines_in_values=True),
    )


def draw_synthetic(
    counts: ConsistentCounts, rows: int | None, source: Source | None, stage: Stage = silent
) -> SyntheticTable:
    """Draw so many synthetic rows from the model of all tables; as many as the estimated number of records by default.

    `stage` is told what is done.
    """
    many = _rows(counts.total, rows)
    with Source.secure() if source is None else source.stream("synthetic") as chance:
        codes = counts.draw(many, chance, stage)
        order = chance.stream("order").permutation(many)  # so that the first rows are like the others
    labels = {name: axis.names for name, axis in counts.axes.items()}
    return SyntheticTable(
        tuple(counts.axes), labels, codes[order], (), "rows drawn from one model fitted to all tables"
    )


def _rows(total: float, rows: int | None) -> int:
    many = max(1, round(total)) if rows is None else rows
    if type(many) is not int or not 1 <= many <= MOST_ROWS:
        raise ParameterError(
            "a synthetic table cannot have this number of rows",
            came=rows,
            allowed=f"a whole number from 1 to {MOST_ROWS:,}",
        )
    return many


def synthetic(views: ConsistentViews, rows: int | None, source: Source | None) -> SyntheticTable:
    """Draw so many synthetic rows; as many as the estimated number of records where no number is given."""
    many = _rows(views.total, rows)
    names = views.loaded.attributes
    views = within_domains(views)
    pairs = _pairs(views)
    tree = _tree(names, pairs)
    with Source.secure() if source is None else source.stream("synthetic") as chance:
        candidates = _along(names, tree, views, pairs, CANDIDATES * many, chance)
        weights = _rake_weights(candidates, names, views, pairs)
        taken = _draw(weights, many, chance)
        order = chance.stream("order").permutation(many)
    codes = candidates[taken]
    labels = {name: views.loaded.axis(name).names for name in names}
    return SyntheticTable(names, labels, codes[order], tuple((a, b) for a, b in tree if a is not None))


def within_domains(views: ConsistentViews) -> ConsistentViews:
    """Leave out what the locked plan says that no record has: values outside the domain, and missing ones where none may be."""
    loaded = views.loaded
    allowed = {
        name: _allowed_atoms(loaded.axis(name), loaded.plan.domains.get(name, UNKNOWN)) for name in loaded.attributes
    }
    if all(own.all() for own in allowed.values()):
        return views
    tables = {}
    for view in loaded.views:
        table = views.tables[view.name]
        for place, name in enumerate(view.columns):
            table = table * allowed[name].reshape([-1 if j == place else 1 for j in range(table.ndim)])
        tables[view.name] = table * (views.total / max(float(table.sum()), TINY))
    margins = {name: own * allowed[name] for name, own in views.margins.items()}
    scaled = {name: own * (views.total / max(float(own.sum()), TINY)) for name, own in margins.items()}
    return replace(views, margins=scaled, tables=tables)


def _allowed_atoms(axis: AtomAxis, domain: DeclaredDomain) -> Mask:
    """Say which atoms hold a value that a record may have, or stand for a missing value where one may be missing."""
    found = np.ones(len(axis), dtype=np.bool_)
    for number, (span, leaves) in enumerate(zip(axis.spans, axis.leaves, strict=True)):
        if span is None and not leaves:
            found[number] = domain.missing
        elif span is not None:
            found[number] = _holds_declared(span, domain)
        elif domain.values is not None and not axis.masks and OTHER not in leaves:
            found[number] = not leaves.isdisjoint(domain.values)
    return found if found.any() else np.ones(len(axis), dtype=np.bool_)


def _holds_declared(span: Span, domain: DeclaredDomain) -> bool:
    """Whether a piece of a line holds a declared number, date or time."""
    if domain.type is None or not domain.type.numeric:
        return True
    with reading("the locked plan"):
        if domain.values is not None:
            points = [point(domain.type, value) for value in domain.values]
            return any((span[0] is None or span[0] <= at) and (span[1] is None or at < span[1]) for at in points)
        if domain.ends is None:
            return True
        low, high = (point(domain.type, end) for end in domain.ends)
    return (span[0] is None or span[0] <= high) and (span[1] is None or low < span[1])


def _pairs(views: ConsistentViews) -> Pairs:
    """Give the distribution of every pair of attributes that some view holds."""
    found: dict[tuple[str, str], list[Floats]] = {}
    for view in views.loaded.views:
        table = views.tables[view.name]
        for i, j in combinations(range(table.ndim), 2):
            own = table.sum(tuple(at for at in range(table.ndim) if at not in (i, j))) / views.total
            a, b = view.columns[i], view.columns[j]
            known = (b, a) in found
            found.setdefault((b, a) if known else (a, b), []).append(own.T if known else own)
    return {pair: np.mean(several, axis=0) for pair, several in found.items()}


def _information(pair: Floats) -> float:
    """Mutual information, in nats."""
    apart = np.outer(pair.sum(1), pair.sum(0))
    return float((pair * np.log(np.maximum(pair, TINY) / np.maximum(apart, TINY))).sum())


def _tree(names: tuple[str, ...], pairs: Pairs) -> list[tuple[str | None, str]]:
    """Give the tree as (parent, child), parents first; a root, or an attribute in no pair, has no parent."""
    strength = {pair: _information(table) for pair, table in pairs.items()}
    found: list[tuple[str | None, str]] = []
    reached: list[str] = []
    while len(reached) < len(names):
        edges = [
            (-value, *(pair if pair[0] in reached else pair[::-1]))
            for pair, value in strength.items()
            if (pair[0] in reached) != (pair[1] in reached)
        ]
        if edges:
            _, parent, child = min(edges)
            found.append((parent, child))
        else:
            child = next(name for name in names if name not in reached)
            found.append((None, child))
        reached.append(child)
    return found


def _along(
    names: tuple[str, ...],
    tree: list[tuple[str | None, str]],
    views: ConsistentViews,
    pairs: Pairs,
    many: int,
    chance: Source,
) -> Ints:
    """Draw candidate rows, attribute by attribute along the tree."""
    codes = np.zeros((many, len(names)), dtype=np.int64)
    for parent, child in tree:
        if parent is None:
            distributions, given = views.margins[child][None, :], np.zeros(many, dtype=np.int64)
        else:
            distributions = pairs[parent, child] if (parent, child) in pairs else pairs[child, parent].T
            given = codes[:, names.index(parent)]
        steps = np.cumsum(np.maximum(distributions, 0), axis=1)
        steps = steps / np.maximum(steps[:, -1:], TINY)
        # The steps of each distribution lie between its number and the next, so one search serves all.
        flat = (steps + np.arange(len(steps))[:, None]).ravel()
        at = np.searchsorted(flat, given + _uniform(chance, many), side="right") - given * distributions.shape[1]
        codes[:, names.index(child)] = np.clip(at, 0, distributions.shape[1] - 1)
    return codes


def _rake_weights(codes: Ints, names: tuple[str, ...], views: ConsistentViews, pairs: Pairs) -> Floats:
    """Weight the candidates so that they agree with every pair that is known, and with every margin."""
    place = {name: j for j, name in enumerate(names)}
    weights = np.full(len(codes), 1 / len(codes))
    aims = [(codes[:, place[name]], own / views.total) for name, own in views.margins.items()]
    aims += [(codes[:, place[a]] * own.shape[1] + codes[:, place[b]], own.ravel()) for (a, b), own in pairs.items()]
    for sweep in range(SWEEPS):
        for cell, wanted in aims:
            found = np.bincount(cell, weights, len(wanted))
            ratio = wanted / np.maximum(found, TINY)
            # A cell that few candidates hit is brought near its aim in steps: no row may stand for hundreds.
            weights = weights * np.clip(ratio, 0.2, 5.0)[cell]
        weights /= weights.sum()
        weights = np.minimum(weights, 50 / len(codes)) if sweep < SWEEPS - 1 else weights
    return np.asarray(weights / weights.sum())


def _draw(weights: Floats, many: int, chance: Source) -> Ints:
    """Draw systematically: each candidate as often as its weight says, rounded by one random start."""
    order = chance.permutation(len(weights))
    marks = (np.arange(many) + _uniform(chance, 1)[0]) / many
    at = np.searchsorted(np.cumsum(weights[order]), marks, side="right")
    return np.asarray(order[np.minimum(at, len(order) - 1)])


def _uniform(chance: Source, size: int) -> Floats:
    return np.asarray((chance.words(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53)
