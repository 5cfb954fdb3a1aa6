"""Read a release as an analyst does: its tables, what their labels mean, and estimates with their intervals.

    loaded = load("visits-2026")
    loaded.table("age-diagnosis").to_pandas()          # published rows; each stands for 1/beta records on average
    loaded.marginal("age", "diagnosis")                # every declared cell, published or not, with an interval
    loaded.count({"age": (40, 65), "sex": "female"})   # from the narrowest view that covers it

Everything here is computed from the folder alone, so it costs no privacy.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.assess.release.labels import AtomAxis, Meaning, atom_axis
from shoal.assess.release.view import PublishedView, read_domains, read_view
from shoal.data.archive import UnpackedRelease, is_archive
from shoal.errors import UsageError, VerificationError

if TYPE_CHECKING:
    from shoal.assess.release.condition import Where
    from shoal.assess.release.consistency import ConsistentViews
    from shoal.assess.release.estimate import Estimate, MarginalEstimate
    from shoal.assess.release.synthetic import SyntheticTable
    from shoal.chance.source import Source

LEVEL = 0.95
"""The level of an interval, unless another is given: the probability that it contains the true number."""


@dataclass(frozen=True)
class LoadedRelease:
    """A release that was read from its folder. Tables are read when they are first asked for."""

    folder: Path
    certificate: Mapping[str, Any] = field(repr=False)
    views: tuple[PublishedView, ...]
    held: UnpackedRelease | None = field(default=None, repr=False, compare=False)
    """The temporary folder of an archive, which exists as long as this object does."""

    def __repr__(self) -> str:
        tables = "one table" if len(self.views) == 1 else f"{len(self.views)} views"
        return f"<LoadedRelease {self.folder}: {tables} of {_few(self.attributes, 8)}>"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the published tables."""
        return tuple(view.name for view in self.views)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Every published attribute."""
        return tuple(dict.fromkeys(column for view in self.views for column in view.columns))

    @cached_property
    def records(self) -> str:
        """What the estimates count, in words: the rows that took part in the sampling, perhaps not all rows of the table."""
        unit = self.certificate.get("guarantee", {}).get("unit", {})
        column, most = unit.get("column"), unit.get("max_rows", 1)
        rows = "rows" if column is None else f"rows, at most {most:,} of each '{column}' and no further ones,"
        whose = "the population that the table was sampled from" if _was_sampled_before(self.folder) else "the table"
        return f"{rows} of {whose}"

    def table(self, name: str | None = None) -> PublishedView:
        """Give one table by name; without a name, the only table of the release."""
        if name is None and len(self.views) == 1:
            return self.views[0]
        found = next((view for view in self.views if view.name == name), None)
        if found is None:
            raise UsageError(
                "a release with several tables needs a name" if name is None else "no table of this name",
                came=name,
                allowed=_few(self.names),
            )
        return found

    def covering(self, attributes: Sequence[str]) -> tuple[PublishedView, ...]:
        """Give the views that hold all these attributes; where none does, a UsageError says which hold some."""
        unknown = [name for name in attributes if name not in self.attributes]
        if unknown:
            raise UsageError("no published attribute of this name", came=unknown[0], allowed=_few(self.attributes))
        found = tuple(view for view in self.views if set(attributes) <= set(view.columns))
        if not found:
            near = sorted(self.views, key=lambda view: (-len(set(attributes) & set(view.columns)), view.name))
            together = "; ".join(f"{view.name}: {', '.join(view.columns)}" for view in near[:4])
            raise UsageError(
                "no view holds these attributes together",
                came=", ".join(attributes),
                allowed=f"attributes of one view, such as {together}",
                fix="ask about fewer attributes, or use synthetic(), which joins views by a model",
            )
        return found

    def axis(self, name: str) -> AtomAxis:
        """Give the atoms of an attribute: the pieces of its domain out of which the labels of all views are made."""
        self.covering((name,))
        return self._axes[name]

    @cached_property
    def _axes(self) -> dict[str, AtomAxis]:
        return {name: atom_axis(self.meanings(name)) for name in self.attributes}

    def meanings(self, name: str) -> list[Meaning]:
        """Give what the labels of an attribute mean in each view that holds it, each different rule once."""
        found = [view.meanings[name] for view in self.covering((name,))]
        return list({id(each): each for each in found}.values())

    def marginal(self, *attributes: str, level: float = LEVEL) -> MarginalEstimate:
        """Estimate how many records each cell of these attributes has, from the narrowest view.

        Arguments  `attributes`: their names, one by one; `level`: the level of the intervals
        Raises     UsageError for attributes that no view holds together, or too many cells
        """
        from shoal.assess.release.answer import marginal

        return marginal(self, attributes, level)

    def count(self, where: Where, *, level: float = LEVEL) -> Estimate:
        """Estimate how many records satisfy a condition, from the narrowest view that covers it.

        Arguments  `where`: a condition such as {"age": (40, 65), "sex": "female"}, see `condition`; `level`: of the interval
        Raises     UsageError for a condition that the release cannot answer, ParameterError for a level that is none
        """
        from shoal.assess.release.answer import count

        return count(self, where, level)

    def share(self, where: Where, *, level: float = LEVEL) -> Estimate:
        """Estimate which share of all records satisfies a condition.

        Arguments  `where` and `level` as in `count`
        Raises     as `count` does
        """
        from shoal.assess.release.answer import share

        return share(self, where, level)

    def total(self, *, level: float = LEVEL) -> Estimate:
        """Estimate how many records there are, from the view with the fewest cells."""
        from shoal.assess.release.answer import total

        return total(self, level)

    estimate = count

    def consistent(self) -> ConsistentViews:
        """Make all views agree with each other, with estimates for suppressed cells; see `shoal.assess.release.consistency`."""
        from shoal.assess.release.consistency import fit

        return fit(self)

    def synthetic(self, rows: int | None = None, *, source: Source | None = None) -> SyntheticTable:
        """Draw one synthetic table that joins the views by a model; see `shoal.assess.release.synthetic`."""
        from shoal.assess.release.synthetic import synthetic

        return synthetic(self.consistent(), rows, source)


def load(folder: str | Path, *, verify: bool = True) -> LoadedRelease:
    """Read a release folder, or the zip file that `shoal share` made of it.

    A zip file is unpacked into a temporary folder, which is removed together with the result.

    Arguments  `folder`: the path; `verify`: compare every file with its hash in the certificate (`shoal verify` does more)
    Raises     UsageError where there is no release by sampling, VerificationError where a file is not the one of the certificate

    >>> load("no-such-release")
    Traceback (most recent call last):
        ...
    shoal.errors.UsageError: this is not a release folder; got no-such-release; allowed: a folder with certificate.json
    """
    place, held = Path(folder), None
    if is_archive(place):
        held = UnpackedRelease(place)
        place = held.release
    paper = place / "certificate.json"
    if not paper.is_file():
        raise UsageError("this is not a release folder", came=place, allowed="a folder with certificate.json")
    try:
        certificate = json.loads(paper.read_text(encoding="utf-8"))
        if certificate.get("method", "safe-k") != "safe-k":
            raise UsageError(
                "this release is not a random sample, so it has no weights and no intervals",
                came=certificate["method"],
                allowed="safe-k",
                fix="read its table as it is",
            )
        if verify:
            _check(place, certificate)
        domains = read_domains(place / "policy.lock.yaml")
        cache: dict[Any, Meaning] = {}
        views = []
        for entry in certificate["tables"]:
            sample = certificate["samples"][entry["sample"]]
            name = entry["name"] or Path(entry["file"]).stem
            views.append(read_view(place, entry, name, int(sample["k"]), Fraction(sample["beta"]), domains, cache))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OSError) as error:
        raise VerificationError(
            "the certificate or a rule cannot be read",
            came=type(error).__name__,
            fix="run `shoal verify` on the folder",
        ) from None
    if len({view.name for view in views}) != len(views):
        raise VerificationError("two tables of the certificate have one name")
    return LoadedRelease(place, certificate, tuple(views), held)


def _check(place: Path, certificate: Mapping[str, Any]) -> None:
    """Check that every file of the certificate is there with its hash, and that every table and rule is listed."""
    listed = certificate["files"]
    used = [name for entry in certificate["tables"] for name in (entry["file"], *entry["recoding"].values())]
    for name in dict.fromkeys([*listed, *used]):
        path = place / name
        found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() and not path.is_symlink() else "missing"
        if found != listed.get(name):
            raise VerificationError(
                f"file '{name}' is not the one in the certificate", fix="get the folder again; `shoal verify` says more"
            )


def _was_sampled_before(folder: Path) -> bool:
    """Whether the locked plan says that the table was already a sample; False where there is no plan to read."""
    path = folder / "policy.lock.yaml"
    if not path.is_file():
        return False
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        sampling = YAML(typ="safe").load(path)["release"]["sampling"]
    except (YAMLError, KeyError, TypeError):
        return False
    return isinstance(sampling, dict) and sampling.get("already") is not None


def _few(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f", … ({len(names)} in all)" if len(names) > most else "")
