"""Read a release as an analyst does: its tables, what their labels mean, and estimates with their intervals.

    loaded = load("visits-2026")
    loaded.published("age-diagnosis").to_pandas()          # published rows, or published counts
    loaded.marginal("age", "diagnosis")                # every declared cell, published or not, with an interval
    loaded.count("age >= 40 and sex = 'female'")       # from all tables that hold the attributes
    loaded.mean("income", by="sex")                    # the verbs of `shoal.language.interface`, as a session has them

A release holds tables of rows (each stands for 1/beta records on average), tables of noisy counts, or both; a release of the
method synthetic holds a file of synthetic rows beside its counts.

Everything here is computed from the folder alone, so it costs no privacy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shoal.assess.release.answers.noisy_total import NoisyTotal
from shoal.assess.release.labels import AtomAxis, Meaning, atom_axis
from shoal.assess.release.noisy_counts import WIDEST_CHOSEN, PublishedCountTable, read_counts
from shoal.assess.release.sealed_folder import SealedFolder, reading
from shoal.assess.release.view import NO_PLAN, LockedDomains, PublishedView, read_plan, read_view
from shoal.data.archive import UnpackedRelease, is_archive
from shoal.errors import UsageError, VerificationError, visible
from shoal.language.interface import LEVEL, PriceTerms, QueryInterface
from shoal.language.result import FrameKind, Result
from shoal.policy.text.problem import nearest

if TYPE_CHECKING:
    from shoal.assess.frame.centroids import CentroidRelease
    from shoal.assess.frame.groups import GroupRelease
    from shoal.assess.frame.recoded import RecodedRelease
    from shoal.assess.frame.table import Intervals, Sets
    from shoal.assess.release.condition import Where
    from shoal.assess.release.consistency import ConsistentViews
    from shoal.assess.release.estimate import MarginalEstimate
    from shoal.assess.release.joint_model import ConsistentCounts
    from shoal.assess.release.synthetic import PublishedSyntheticTable, SyntheticTable
    from shoal.chance.source import Source
    from shoal.data.schema import Schema
    from shoal.progress import Stage

PublishedTable = PublishedView | PublishedCountTable
METHODS = ("safe-k", "noisy-counts", "synthetic", "sample")
"""The methods whose releases say how far from the truth they may be."""
_TREATED = {
    "drop": " whose values are not rare",
    "replace": " after those with rare values were given others",
}
"""What was done to the rows of a table before a plain sample was drawn, where that changes what is counted."""


@dataclass(frozen=True)
class LoadedRelease(QueryInterface):
    """A release that was read from its folder. Tables are read when they are first asked for."""

    folder: Path
    certificate: Mapping[str, Any] = field(repr=False)
    views: tuple[PublishedView, ...]
    was_sampled_before: bool = False
    """Whether the locked plan says that the table was itself a sample, so that estimates are about its population."""
    counts: tuple[PublishedCountTable, ...] = ()
    """The tables of noisy counts."""
    sealed: SealedFolder | None = field(default=None, repr=False, compare=False)
    """The folder as it was sealed, from which files are read."""
    plan: LockedDomains = field(default=NO_PLAN, repr=False)
    """What the locked plan declares."""
    noisy_total: NoisyTotal | None = None
    """The number of records as it was published with noise, where it was."""
    held: UnpackedRelease | None = field(default=None, repr=False, compare=False)
    """The temporary folder of an archive, which exists as long as this object does."""
    schema: Schema | None = field(default=None, repr=False, compare=False)
    """The attributes as the locked policy declares them, by which written conditions are typed."""

    frames: FrameKind | None = field(default=None, repr=False, compare=False)
    """The kind of frame that results come in; None for the first kind that is installed."""

    def __repr__(self) -> str:
        parts = []
        if self.views:
            parts.append("one table" if len(self.views) == 1 else f"{len(self.views)} views")
        if self.counts:
            one = len(self.counts) == 1
            parts.append("one table of noisy counts" if one else f"{len(self.counts)} tables of noisy counts")
        if self.certificate.get("synthetic"):
            parts.append("a file of synthetic rows")
        return visible(f"<LoadedRelease {self.folder}: {' and '.join(parts)} of {_few(self.attributes, 8)}>")

    @property
    def tables(self) -> tuple[PublishedTable, ...]:
        """Every published table: those of rows, then those of noisy counts."""
        return (*self.views, *self.counts)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the published tables."""
        return tuple(table.name for table in self.tables)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Every published attribute."""
        return tuple(dict.fromkeys(column for table in self.tables for column in table.columns))

    @property
    def may_choose_tables(self) -> bool:
        """Whether tables of noisy counts were chosen by noise, so that what else was counted depends on it."""
        return bool(self.counts) and self.certificate["noise"]["kind"] != "fixed"

    @cached_property
    def records(self) -> str:
        """What the estimates count, in words: the rows that took part in the sampling, perhaps not all rows of the table."""
        unit = self.certificate.get("guarantee", {}).get("unit", {})
        column, most = unit.get("column"), unit.get("max_rows", 1)
        rows = "rows" if column is None else f"rows, at most {most:,} of each '{column}' and no further ones,"
        # Rows of a table that was a sample speak of its population, counts of the table itself.
        of_population = self.was_sampled_before and not self.counts
        whose = "the population that the table was sampled from" if of_population else "the table"
        steps = " after its treatments" if self.certificate.get("treatments") else ""
        return f"{rows} of {whose}{steps}{self._rare_words}"

    @property
    def _rare_words(self) -> str:
        """What became of the rare values of a plain sample; nothing for other releases."""
        told = self.certificate.get("samples")
        samples = [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
        rare = samples[0].get("rare") if samples else None
        return _TREATED.get(rare, "") if isinstance(rare, str) else ""

    @property
    def known_schema(self) -> Schema:
        """The attributes as the locked policy declares them; UsageError where the release was opened without it."""
        if self.schema is None:
            raise UsageError(
                "a release that was opened without its policy takes no written condition",
                fix="open it with shoal.load, or give the condition as plain values",
            )
        return self.schema

    def published(self, name: str | None = None) -> PublishedTable:
        """Give one table by name; without a name, the only table of the release."""
        if name is None and len(self.tables) == 1:
            return self.tables[0]
        found = next((table for table in self.tables if table.name == name), None)
        if found is None:
            raise UsageError(
                "a release with several tables needs a name" if name is None else "no table of this name",
                came=name,
                allowed=_few(self.names),
            )
        return found

    def holding(self, attributes: Sequence[str]) -> tuple[PublishedTable, ...]:
        """Give the tables that hold all these attributes, if there are any; UsageError for a name that no attribute has."""
        unknown = [name for name in attributes if name not in self.attributes]
        if unknown:
            close = nearest(unknown[0], self.attributes)
            listed = None if close else _few(self.attributes)
            raise UsageError("no published attribute of this name", came=unknown[0], allowed=listed, fix=close)
        return tuple(table for table in self.tables if set(attributes) <= set(table.columns))

    def covering(self, attributes: Sequence[str]) -> tuple[PublishedTable, ...]:
        """Give the tables that hold all these attributes; where none does, a UsageError says which hold some."""
        found = self.holding(attributes)
        if not found:
            near = sorted(self.tables, key=lambda table: (-len(set(attributes) & set(table.columns)), table.name))
            together = "; ".join(f"{table.name}: {', '.join(table.columns)}" for table in near[:4])
            raise UsageError(
                "no view holds these attributes together",
                came=", ".join(attributes),
                allowed=f"attributes of one view, such as {together}",
                fix="ask about fewer attributes, or use synthetic(), which joins views by a model",
            )
        return found

    def axis(self, name: str) -> AtomAxis:
        """Give the atoms of an attribute: the pieces of its domain out of which the labels of all tables are made."""
        self.covering((name,))
        if name not in self._axes:
            self._axes[name] = atom_axis(self.meanings(name))
        return self._axes[name]

    @cached_property
    def _axes(self) -> dict[str, AtomAxis]:
        """The axes that were made so far."""
        return {}

    def meanings(self, name: str) -> list[Meaning]:
        """Give what the labels of an attribute mean in each table that holds it, each different rule once."""
        found = [table.meanings[name] for table in self.covering((name,))]
        if len({each.type for each in found}) > 1:
            raise VerificationError(f"attribute '{name}' has one type in one table and another in another")
        return list({id(each): each for each in found}.values())

    def marginal(self, *attributes: str, level: float = LEVEL) -> MarginalEstimate:
        """Estimate how many records each cell of these attributes has, from the narrowest view.

        Arguments  `attributes`: their names, one by one; `level`: the level of the intervals
        Raises     UsageError for attributes that no view holds together, or too many cells
        """
        from shoal.assess.release.answer import marginal

        return marginal(self, attributes, level)

    def _answer(self, kind: str, options: dict[str, Any], level: float, price: PriceTerms) -> Result:
        """The result of a question; what it may cost plays no part, because a release costs nothing."""
        del price
        from shoal.assess.release.answers.verbs import answer

        return answer(self, kind, options, level).with_frames(self.frames)

    def total(self, *, level: float = LEVEL) -> Result:
        """Estimate how many records there are, from all tables."""
        return self.count(level=level)

    def odds_ratio(self, where: Where, other: Where, *, level: float = LEVEL) -> Result:
        """Estimate the odds of a condition where another one holds, divided by its odds where the other does not hold."""
        return self._ask("odds ratio", {"numerator": where, "denominator": other}, level, {})

    def consistent(self) -> ConsistentViews | ConsistentCounts:
        """Make all tables agree with each other, with estimates for suppressed cells.

        Tables of rows alone as `shoal.assess.release.consistency` says; with noisy counts, by one model of all tables
        (`shoal.assess.release.joint_model`).
        """
        return self.consistent_counts() if self.counts else self._agreed

    @cached_property
    def _agreed(self) -> ConsistentViews:
        from shoal.assess.release.consistency import fit

        return fit(self)

    def consistent_counts(self) -> ConsistentCounts:
        """Fit one model to all tables of a release with noisy counts; it is fitted once."""
        return self._model

    def fit_counts(self, stage: Stage) -> ConsistentCounts:
        """Fit the model of `consistent_counts`, unless it was fitted before, and tell `stage` what is done."""
        if "_model" not in self.__dict__:
            from shoal.assess.release.joint_model import fit_joint_model

            self.__dict__["_model"] = fit_joint_model(self, stage)
        return self._model

    @cached_property
    def dense_model(self) -> ConsistentViews | None:
        """The model of the views that show much of the table, for estimates; None where there are not several of them."""
        from shoal.assess.release.answers.rows import fit_dense_views

        return fit_dense_views(self)

    @cached_property
    def _model(self) -> ConsistentCounts:
        from shoal.assess.release.joint_model import fit_joint_model

        return fit_joint_model(self)

    def encode(
        self,
        frame: Any,
        table: str | None = None,
        *,
        outside: Literal["error", "missing"] = "error",
        intervals: Intervals = "text",
        sets: Sets = "text",
    ) -> Any:
        """Give new records as a table of this release would show them, by its published rules alone.

        Arguments  `frame`: a pandas, Polars or Arrow frame with the columns of the table, and so is the result; `table`: its
                   name, where there are several; `outside`: "error", or "missing" for values that no label stands for;
                   `intervals` and `sets` as in `to_arrow` of a table
        Raises     UsageError, which quotes no value
        """
        from shoal.assess.release.encode import encode

        return encode(self, frame, table, outside=outside, intervals=intervals, sets=sets)

    def synthetic(
        self, rows: int | None = None, *, seed: int | str | None = None, source: Source | None = None
    ) -> SyntheticTable | PublishedSyntheticTable:
        """Give synthetic rows: those of the published file, where there is one, and else rows that are drawn.

        Of a published file `rows` takes so many of its rows at random, with its columns and types. Without one, rows are drawn
        from a model that joins the tables, in the labels of the release; see `shoal.assess.release.synthetic`.

        Arguments  `rows`: how many; left out, the whole file, or as many as there are records by estimate; `seed`: the same rows
                   for the same seed, which is allowed because nothing here reads the original; `source`: of chance, instead
        Raises     ParameterError for a number of rows that is none, or more than the published file has; UsageError for both a
                   seed and a source
        """
        from shoal.assess.release.synthetic import draw_synthetic, read_synthetic, synthetic
        from shoal.chance.source import Source

        if seed is not None:
            if source is not None:
                raise UsageError("both a seed and a source of chance", allowed="one of the two")
            source = Source.seeded(seed)
        if self.certificate.get("synthetic"):
            published = read_synthetic(self)
            return published if rows is None else published.take(rows, source)
        if self.counts:
            return draw_synthetic(self.consistent_counts(), rows, source)
        return synthetic(self._agreed, rows, source)


def load(folder: str | Path) -> LoadedRelease:
    """Read a release by sampling, or of noisy counts: its folder, or the zip file that `shoal share` made of it.

    The seal of the certificate, the hash of every file and the shape of what is read are checked. `shoal.load` also verifies
    the release before that, as `shoal verify` does. A zip file is unpacked into a temporary folder, which is removed together
    with the result.

    Arguments  `folder`: the path
    Raises     UsageError where there is no release by sampling, VerificationError where something is not as it was sealed

    >>> load("no-such-release")
    Traceback (most recent call last):
        ...
    shoal.errors.UsageError: this is not a release folder; got no-such-release; allowed: a folder with certificate.json
    """
    found = load_any(folder)
    if not isinstance(found, LoadedRelease):
        raise _without_intervals(found.certificate["method"])
    return found


def _without_intervals(method: object) -> UsageError:
    return UsageError(
        "this release is not a random sample, so it has no weights and no intervals",
        came=method,
        allowed=", ".join(METHODS),
        fix="read its table as it is: read_release.py in the folder does, and shoal export writes it for other programs",
    )


def load_any(folder: str | Path) -> LoadedRelease | GroupRelease | RecodedRelease | CentroidRelease:
    """The same for every release that can be analysed: one by groups is a `GroupRelease`, one with labels of levels a
    `RecodedRelease`, one of noisy centroids a `CentroidRelease`; none of these has weights and intervals.
    """
    place, held = Path(folder), None
    with reading("the release"):
        if is_archive(place):
            held = UnpackedRelease(place)
            place = held.release
    sealed = SealedFolder.open(place)
    certificate = sealed.certificate
    method = certificate.get("method", "safe-k")
    if method == "k-anonymity":
        from shoal.assess.frame.recoded import read_recoded

        return read_recoded(place, sealed, held)
    if method in ("t-closeness", "anatomy"):
        from shoal.assess.frame.groups import read_groups

        return read_groups(place, sealed, held)
    if method in ("dp-microaggregation", "box-microaggregation"):
        from shoal.assess.frame.centroids import read_centroids

        return read_centroids(place, sealed, held)
    if method not in METHODS:
        raise _without_intervals(method)
    with reading("the certificate or a rule"):
        _check_unit(certificate)
        plan = read_plan(sealed) if "policy.lock.yaml" in certificate["files"] else NO_PLAN
        cache: dict[Any, Meaning] = {}
        views = [_view(sealed, entry, plan, cache) for entry in certificate["tables"]]
        counts = _counts(sealed, plan, cache) if "counts" in certificate else []
    taken = [view.name for view in views]
    counts = [replace(each, name=f"counts/{each.name}") if each.name in taken else each for each in counts]
    names = [*taken, *(each.name for each in counts)]
    if len(set(names)) != len(names) or not names:
        raise VerificationError("the tables of the certificate are none, or two of them have one name")
    with reading("the certificate"):
        total = NoisyTotal.read(certificate["noisy_total"]) if "noisy_total" in certificate else None
    return LoadedRelease(
        place, certificate, tuple(views), plan.sampled_before, tuple(counts), sealed, plan, total, held
    )


def _counts(sealed: SealedFolder, plan: LockedDomains, cache: dict[Any, Meaning]) -> list[PublishedCountTable]:
    """Read the tables of noisy counts, with the order in which they were measured."""
    entries, noise = sealed.certificate["counts"], sealed.certificate["noise"]
    singles, kind = noise["singles"], noise["kind"]
    if type(singles) is not int or not 0 <= singles <= len(entries) or kind not in ("fixed", "once", "rounds"):
        raise VerificationError("the certificate says in a way that is not known here how counts were measured")
    first = noise["first"][0] if "first" in noise else 0  # tables that the plan names, counted before any is chosen
    if type(first) is not int or not 0 <= first <= len(entries) - singles:
        raise VerificationError(
            "the certificate says of more tables that they were counted before the rounds than it has"
        )
    found = []
    for number, entry in enumerate(entries):
        # Tables of one stage were fixed together, before any of them was measured. Where cells are declared, those that the
        # plan names were fixed with those of single attributes.
        is_named = kind == "fixed" or number < singles + first
        stage = 0 if number < singles or (is_named and noise["merged"] is False) else 1
        if kind == "rounds" and number >= singles + first:
            stage += number - singles - first + (first > 0)
        is_chosen = kind != "fixed" and number >= singles + first
        found.append(read_counts(sealed, entry, plan, cache, stage=stage, is_chosen=is_chosen))
    if any(len(table.columns) != 1 for table in found[:singles]):
        raise VerificationError("a table that was measured first has more than one attribute")
    if any(table.is_chosen and len(table.columns) > WIDEST_CHOSEN for table in found):
        raise VerificationError(f"a table that was chosen by noise has more than {WIDEST_CHOSEN} attributes")
    return found


def _check_unit(certificate: Mapping[str, Any]) -> None:
    """Check what is said of the unit, where something is said of it."""
    unit = certificate.get("guarantee", {}).get("unit", {})
    column, most = unit.get("column"), unit.get("max_rows", 1)
    if not (column is None or isinstance(column, str)) or type(most) is not int or most < 1:
        raise VerificationError("the certificate names a unit that is none")


def _view(
    sealed: SealedFolder, entry: Mapping[str, Any], plan: LockedDomains, cache: dict[Any, Meaning]
) -> PublishedView:
    number, samples = entry["sample"], sealed.certificate["samples"]
    if type(number) is not int or number not in range(len(samples)):
        raise VerificationError("a table names a sample that is not in the certificate")
    sample = samples[number]
    if entry["k"] != sample["k"]:
        raise VerificationError("a table has another k than its sample")
    return read_view(sealed, entry, sample["k"], sample["beta"], plan, cache)


def _few(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f", … ({len(names)} in all)" if len(names) > most else "")
