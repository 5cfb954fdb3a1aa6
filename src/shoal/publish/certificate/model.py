"""The certificate as a model: every key that `certificate.json` can hold, with its type and its meaning.

There are several kinds. `SafeKCertificate` is for random samples of rows, `NoisyCountsCertificate` for noisy counts, with or
without such samples, and for synthetic rows, `CentroidsCertificate` for noisy centroids of clusters, `BoxesCertificate` for rows
that are spread inside boxes with noisy means: these pay for differential privacy. `CountedCertificate` is for a release whose
guarantee is counted on the table (k-anonymity by microaggregation, probabilistic k-anonymity), `FullDomainCertificate` for one
whose quasi-identifiers show labels of levels that were searched for on the table, `BucketizedCertificate` for groups whose
confidential values stand in a table of their own, or in buckets (t-closeness, Anatomy), `SampleCertificate` for a plain sample,
whose promise is about the draw from one table. The file is the dump of the model, and the JSON Schemas that ship beside this
module are made from it:

    python -m shoal.publish.certificate.model        writes the schemas again, after a change of the models

Every key is always there, and null where it does not apply; only a key that came later is absent from what was made before it.
A number of a guarantee is exact text ("0.1", "1e-6", "1/3"), never a float. A class whose name ends in `Entry` is a part of the
file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from shoal.guarantee.claim import Randomness
from shoal.guarantee.unit import Neighbours, Unit
from shoal.publish.verify.standalone import FORMAT

WORDING = 1
"""The version of everything that is said in sentences. Raise it with the first rewording after a version of Shoal was shipped.

Wording 1 is that of the frozen folders of the tests."""
ZEROS = "0" * 64
"""What stands in the place of a hash before it is known."""

Text = Annotated[str, Field(min_length=1)]
Number = Annotated[
    str,
    Field(
        description="An exact number: a decimal, or a fraction where no decimal ends.",
        pattern=r"^((0|[1-9][0-9]*)(\.[0-9]+)?(e[+-]?[0-9]+)?|[1-9][0-9]*/[1-9][0-9]*)$",
    ),
]
Hash = Annotated[str, Field(description="SHA-256, in hexadecimal.", pattern=r"^[0-9a-f]{64}$")]
Positive = Annotated[int, Field(ge=1)]
Natural = Annotated[int, Field(ge=0)]


def _check_path(path: str) -> str:
    if any(part in (".", "..") for part in path.split("/")):
        raise ValueError("a path that leads out of the folder")
    return path


def _check_distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) != len(names):
        raise ValueError("a name is listed twice")
    return names


RelativePath = Annotated[
    str,
    Field(
        description="A path inside the release folder.",
        pattern=r"^[^/\\:]+(/[^/\\:]+)*$",
        # The schema says in one pattern what `_check_path` adds: pydantic's patterns cannot look ahead.
        json_schema_extra={"pattern": r"^(?!(.*/)?\.{1,2}(/|$))[^/\\:]+(/[^/\\:]+)*$"},
    ),
    AfterValidator(_check_path),
]
Columns = Annotated[
    tuple[Text, ...],
    Field(min_length=1, json_schema_extra={"uniqueItems": True}),
    AfterValidator(_check_distinct),
]
Names = Annotated[tuple[Text, ...], Field(json_schema_extra={"uniqueItems": True}), AfterValidator(_check_distinct)]
Status = Literal["proved", "proved with condition", "proved for a plan tuned on the data", "checked", "none"]


class Entry(BaseModel):
    """A part of a certificate: nothing in it changes, and no key beside the declared ones is allowed."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)

    @classmethod
    def read(cls, value: Any) -> Self:
        """The entry from plain values, as `json.loads` gives them; pydantic's ValidationError where they do not fit.

        >>> UnitEntry.read({"whose": "row", "neighbours": "add_remove", "column": None, "max_rows": 1}).unit().words()
        'one row added or removed'
        """
        return cls.model_validate_json(json.dumps(value))

    def to_json(self) -> dict[str, Any]:
        """Plain values, as the file holds them."""
        return self.model_dump(mode="json")


# --- guarantees and claims -----------------------------------------------------------------------------------------


class PureEntry(Entry):
    """Pure differential privacy."""

    kind: Literal["pure-dp"]
    epsilon: Number


class ApproximateEntry(Entry):
    """(epsilon, delta)-differential privacy."""

    kind: Literal["approx-dp"]
    epsilon: Number
    delta: Number


class SampledEntry(Entry):
    """One random sample whose classes of fewer than k are suppressed, by its exact privacy-loss curve."""

    kind: Literal["safe-k-sampling"]
    k: Positive
    beta: Number


class LaplaceEntry(Entry):
    """An answer with Laplace noise."""

    kind: Literal["laplace-dp"]
    epsilon: Number


class GaussianEntry(Entry):
    """An answer with Gaussian noise."""

    kind: Literal["gaussian-dp"]
    mu: Number


class AnonymityEntry(Entry):
    """k-anonymity of the table or of a relation, counted on what is published, or probabilistic k-anonymity."""

    kind: Literal["k-anonymity", "probabilistic-k", "k-anonymous-relation"]
    k: Positive


class DiversityEntry(Entry):
    """l-diversity of the confidential attributes, counted on the published table."""

    kind: Literal["l-diversity"]
    l: Number  # noqa: E741 - the literature's letter
    form: Literal["distinct", "entropy", "recursive", "frequency"]


class ClosenessEntry(Entry):
    """t-closeness of the confidential attributes, counted on the published table."""

    kind: Literal["t-closeness"]
    t: Number
    metric: Literal["emd", "ratio"]


class SamplePrivacyEntry(Entry):
    """(c, epsilon, delta)-privacy of a plain sample, for the table that it was drawn from."""

    kind: Literal["sample-privacy"]
    c: Positive
    epsilon: Number
    delta: Number
    rate: Number | None
    """The rate that the policy declares; null where it was found on the table."""


class KnowledgeGainEntry(Entry):
    """How much an intruder learns at most whose knowledge is the table's marginal distribution."""

    kind: Literal["knowledge-gain"]
    factor: Number


class NoisyTablesEntry(Entry):
    """Discrete Gaussian noise on counts, of which one unit changes at most so many, each by at most one."""

    kind: Literal["noisy-tables-dp"]
    choices: Annotated[tuple[tuple[Positive, Number], ...], Field(min_length=1)]
    """Pairs of a number of counts and the sigma of their noise; one of them is run, by what earlier results may decide."""


class ExponentialEntry(Entry):
    """One choice by the exponential mechanism."""

    kind: Literal["exponential-dp"]
    epsilon: Number


class ConcentratedEntry(Entry):
    """Zero-concentrated differential privacy."""

    kind: Literal["concentrated-dp"]
    rho: Number


DifferentialEntry = Annotated[
    PureEntry
    | ApproximateEntry
    | SampledEntry
    | LaplaceEntry
    | GaussianEntry
    | NoisyTablesEntry
    | ExponentialEntry
    | ConcentratedEntry,
    Field(discriminator="kind"),
]
AnyGuaranteeEntry = Annotated[
    PureEntry
    | ApproximateEntry
    | SampledEntry
    | LaplaceEntry
    | GaussianEntry
    | AnonymityEntry
    | DiversityEntry
    | ClosenessEntry
    | SamplePrivacyEntry
    | KnowledgeGainEntry,
    Field(discriminator="kind"),
]


class UnitEntry(Entry):
    """The unit of privacy: one row, or all rows (at most `max_rows`) that have one value of a column."""

    whose: Literal["row", "person"]
    neighbours: Neighbours
    """What makes two tables neighbours: the unit's rows are there or not (`add_remove`), or are replaced (`replace_one`)."""
    column: Text | None
    """The column whose value says whose row it is; null where the unit is a row."""
    max_rows: Positive

    def unit(self) -> Unit:
        """The unit that is described."""
        return Unit.from_saved(self.to_json())


class ClaimEntry(Entry):
    """One thing that is claimed: which guarantee, for which unit, how it is known, and on which conditions."""

    guarantee: AnyGuaranteeEntry
    unit: UnitEntry | None
    status: Status
    theorems: tuple[Text, ...]
    conditions: tuple[Text, ...]
    """What the claim rests on and nobody but the custodian can know."""
    randomness: Randomness
    """Where the random bits came from."""


class PremiseEntry(Entry):
    """A premise of a theorem, and how this release meets it."""

    id: Text
    text: Text
    how: Literal["checked by the program", "met by the way it was made", "said by the custodian"]
    detail: Text


class TheoremEntry(Entry):
    """A theorem that the promise rests on."""

    name: Text
    title: Text
    citation: Text
    statement: Text
    premises: tuple[PremiseEntry, ...]


class SoftwareEntry(Entry):
    """The program that made the release."""

    shoal: Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+){0,3}[a-z0-9.+-]{0,20}$")]
    """Its version."""


class WordingEntry(Entry):
    """Everything that is said in sentences has a version of its own, so that rewording never makes a folder fail."""

    version: Positive
    text_sha256: Hash
    """Over all sentences of this file, as canonical JSON: a mapping from their places to them."""
    page_sha256: Hash
    """Of certificate.html, with 64 zeros in the place of the seal."""


class TreatmentEntry(Entry):
    """A step that changed values before the method saw them, as the locked plan has it."""

    kind: Literal["top", "bottom", "round", "random_round", "population_threshold", "pram", "swap"]
    attributes: Columns
    """The attributes whose values it may change."""
    within: Names
    """The attributes in which records that change places agree; empty for a step in which none do."""
    depends_on: Literal["the record alone", "the record and chance", "other records"]
    """What the new values of a record depend on, beside parameters that were fixed in advance."""
    parameters: Annotated[dict[Text, Text], Field(min_length=1)]
    """Its parameters; a matrix of PRAM by the hash of its canonical JSON, because the locked plan holds it."""


def _check_listed(steps: tuple[TreatmentEntry, ...] | None) -> tuple[TreatmentEntry, ...] | None:
    if not steps:
        raise ValueError("a key that is there lists something")
    return steps


Treatments = Annotated[
    tuple[TreatmentEntry, ...] | SkipJsonSchema[None],
    Field(
        description="The steps that changed values before the method saw them, in their order. A release without any does not "
        "have this key.",
        min_length=1,
        exclude_if=lambda steps: steps is None,
        json_schema_extra=lambda schema: schema.pop("default", None),
    ),
    AfterValidator(_check_listed),
]


class Certificate(Entry):
    """What every certificate has, whatever it promises."""

    format: Literal[1]
    """The format of this file. Format 1 verifies for ever."""
    dataset: Text
    """The name of the dataset in the custodian's ledger."""
    date: Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
    software: SoftwareEntry
    sentence: Text
    """The promise in one sentence: status, guarantee, unit of privacy, conditions."""
    explanation: Annotated[tuple[Text, ...], Field(min_length=1)]
    """The same in more words, as printed before the data were read."""
    status: Status
    claims: Annotated[tuple[ClaimEntry, ...], Field(min_length=1)]
    """Everything that is claimed; the first is the promise."""
    theorems: Annotated[tuple[TheoremEntry, ...], Field(min_length=1)]
    not_promised: Annotated[tuple[Text, ...], Field(min_length=1)]
    """What a reader might think and should not."""
    treatments: Treatments = None
    wording: WordingEntry
    plan_sha256: Hash
    """Of policy.lock.yaml: the plan that was charged."""
    files: Annotated[dict[RelativePath, Hash], Field(min_length=1)]
    """The hash of every file of the folder but certificate.json and certificate.html; of a table in parts, that of each part."""
    how_to_verify: Text
    seal: Hash
    """SHA-256 over everything else in this file, as canonical JSON."""

    last: ClassVar[tuple[str, ...]] = ("wording", "plan_sha256", "files", "how_to_verify", "seal")

    def to_json(self) -> dict[str, Any]:
        """Plain values as the file holds them, in the order for a reader: the promise first, hashes last."""
        content = self.model_dump(mode="json")
        return {name: value for name, value in content.items() if name not in self.last} | {
            name: content[name] for name in self.last
        }

    def text(self) -> str:
        """The text of certificate.json."""
        return json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n"


# --- a release that pays for differential privacy ------------------------------------------------------------------


class PromiseEntry(Entry):
    """The promise of everything in the folder together."""

    kind: Literal["approx-dp"]
    epsilon: Number
    delta: Number
    epsilon_recoding: Number
    """How much of epsilon pays for the private choice of one recoding; 0 where the policy fixes it."""
    neighbours: Neighbours
    unit: UnitEntry
    status: Status


class SampleEntry(Entry):
    """The numbers of one random sample alone; tables with the same numbers share an entry."""

    k: Positive
    """The minimum class size: classes of fewer equal rows are suppressed."""
    beta: Number
    """The sampling rate: the probability with which each row takes part."""
    epsilon: Number
    delta: Number
    """What one sample alone is planned to keep, at its own epsilon."""
    delta_tight: Number
    """The exact delta of one sample at this epsilon, for one row added or removed."""
    delta_published: Number | None
    """The same by Theorem 5 of Li, Qardaji and Su (2011); null where the theorem says nothing."""
    delta_for_unit: Number
    """The delta of one sample at this epsilon, for the unit of the promise."""
    epsilon_split: tuple[Number, ...] | None
    """For a unit of several steps: how epsilon is split over them, which proves `delta_for_unit`; else null."""
    times: Positive
    """How many tables have these numbers."""


class CurvePointEntry(Entry):
    """delta of the whole release at one epsilon, for the unit of the promise."""

    epsilon: Number
    delta: Number
    epsilon_split: tuple[Number, ...] | None
    """For a unit of several steps: how what is left of epsilon is split over them; else null."""


class MeasurementEntry(Entry):
    """The noisy measurement of one box of a tree: its count, and the histogram of each attribute."""

    epsilon_count: Number
    epsilon_histogram: Number
    attributes: Positive


class TreeChoiceEntry(Entry):
    """A recoding by the boxes of a tree that was grown from noisy counts."""

    kind: Literal["tree"]
    epsilon: Number
    """What the choice cost the unit of the promise."""
    rows_changed: Positive
    """By how many rows neighbouring tables differ; one row's share of epsilon is epsilon divided by it."""
    sample_rate: Number | None
    """The rate of the separate sample on which the tree was grown; null for the whole table."""
    measurements: tuple[MeasurementEntry, ...]


class SchemeChoiceEntry(Entry):
    """A generalization scheme (one level for each attribute) that was drawn by the exponential mechanism."""

    kind: Literal["choose"]
    epsilon: Number
    """What the choice cost the unit of the promise."""
    rows_changed: Positive
    """By how many rows neighbouring tables differ; one row's share of epsilon is epsilon divided by it."""
    schemes: Positive
    """Out of how many schemes."""
    score: Literal["ramp", "records", "discernibility", "target"]
    sensitivity: Number
    """By how much one row can change the score of a scheme."""
    restriction: Text | None
    """The rule by which a lattice that was too large lost levels; null where it was not."""


RecodingChoiceEntry = Annotated[TreeChoiceEntry | SchemeChoiceEntry, Field(discriminator="kind")]


class TableEntry(Entry):
    """One published table."""

    file: RelativePath
    name: Text | None
    """The name of a view; null for a wide table."""
    sample: Natural
    """Which of the `samples` has its numbers, counted from 0."""
    k: Positive
    columns: Columns
    recoding: Annotated[dict[Text, RelativePath], Field(min_length=1)]
    """For each column, the file that says which label stands for which values."""
    boxes: RelativePath | None
    """The list of all boxes of a tree, one line of labels for each; null where the recoding is no tree."""
    recoding_choice: RecodingChoiceEntry | None
    """How the recoding of this view was chosen; null for a wide table, and where the policy fixes it."""


class ViewChoiceEntry(Entry):
    """A private choice of the views."""

    epsilon: Number
    candidates: Positive
    """Out of how many views."""
    rows_changed: Positive
    """By how many rows neighbouring tables differ."""


class ViewsEntry(Entry):
    """Many narrow tables, each from a sample of its own."""

    index_file: Literal["views.json"]
    count: Positive
    choice: ViewChoiceEntry | None
    """What the choice of the views cost; null where the policy names them."""
    epsilon_composed: Number
    """epsilon of everything together at the promised delta, from the privacy-loss distributions."""
    epsilon_added_up: Number
    """What the same would cost if epsilons were added up; for comparison."""


class PartEntry(Entry):
    """A guarantee that was charged, and how many times."""

    guarantee: DifferentialEntry
    times: Positive


class ChargeEntry(Entry):
    """One charge of the ledger."""

    number: Positive
    epsilon: Number
    delta: Number
    parts: Annotated[tuple[PartEntry, ...], Field(min_length=1)]


class TotalEntry(Entry):
    """An epsilon and a delta."""

    epsilon: Number
    delta: Number


class LookEntry(Entry):
    """Looks of one kind at results on the real table that the ledger had on record when this release was charged."""

    kind: Literal["init", "check", "dry-run", "assess", "other"]
    """A draft of the policy from the table, a check of the table, a dry run; `other` where the kind is not on record."""
    times: Positive
    other_plan: Natural
    """How many of them were made with another plan than this one; of drafts, which are made without a plan, none."""


def _check_stated(looks: tuple[LookEntry, ...] | None) -> tuple[LookEntry, ...] | None:
    if looks is None:
        raise ValueError("a key that is there has a value")
    return looks


Looks = Annotated[
    tuple[LookEntry, ...] | SkipJsonSchema[None],
    Field(
        description="Looks at results on the real table before the charge, by kind. A release from before looks were on record "
        "does not have this key.",
        exclude_if=lambda looks: looks is None,
        json_schema_extra=lambda schema: schema.pop("default", None),
    ),
    AfterValidator(_check_stated),
]


class LedgerEntry(Entry):
    """All charges of the dataset up to this release, which is the last."""

    entries: Annotated[tuple[ChargeEntry, ...], Field(min_length=1)]
    total: TotalEntry
    """All charges added up."""
    epsilon_composed: Number | None
    """epsilon of all charges at the summed delta, from the privacy-loss distributions, for information; null where unknown."""
    budget: TotalEntry | None
    """The custodian's ceiling for all charges added up."""
    unbounded_releases: Natural
    """Other releases whose guarantee does not compose, such as k-anonymity."""
    looks: Looks = None


class NoisyTotalEntry(Entry):
    """The number of records that take part, with noise; without any where it is the same for all neighbours."""

    epsilon: Number
    """How much of epsilon pays for it."""
    rows_changed: Natural
    """By how many the number moves at most when a unit comes, goes or is replaced; 0 where it is published as it is."""
    scale: Number
    """The scale of the two-sided geometric noise: rows_changed / epsilon; 0 for none."""
    records: int
    """The number with its noise; it may be below 0."""


def _check_total(total: NoisyTotalEntry | None) -> NoisyTotalEntry | None:
    if total is None:
        raise ValueError("a key that is there has a value")
    return total


NoisyTotal = Annotated[
    NoisyTotalEntry | SkipJsonSchema[None],
    Field(
        description="The number of records that take part, with noise, or as it is where one row is replaced by another. A "
        "release whose plan does not ask for it does not have this key.",
        exclude_if=lambda total: total is None,
        json_schema_extra=lambda schema: schema.pop("default", None),
    ),
    AfterValidator(_check_total),
]


class SafeKCertificate(Certificate):
    """What a release of random samples promises, on what grounds, and how a stranger checks it."""

    guarantee: PromiseEntry
    method: Literal["safe-k"]
    bound: Literal["tight", "published"]
    """Whether delta is the exact one of a sample or that of the published theorem."""
    recoding_choice: RecodingChoiceEntry | None
    """How the recoding of a wide table was chosen; null for views, and where the policy fixes it."""
    views: ViewsEntry | None
    samples: Annotated[tuple[SampleEntry, ...], Field(min_length=1)]
    curve: Annotated[tuple[CurvePointEntry, ...], Field(min_length=1)]
    """delta of the whole release at some epsilons, the promised one among them, for the unit of the promise."""
    tables: Annotated[tuple[TableEntry, ...], Field(min_length=1)]
    ledger: LedgerEntry
    noisy_total: NoisyTotal = None


# --- noisy counts ---------------------------------------------------------------------------------------------------


class CountsPromiseEntry(Entry):
    """The promise of everything in the folder together."""

    kind: Literal["approx-dp"]
    epsilon: Number
    delta: Number
    neighbours: Neighbours
    unit: UnitEntry
    status: Status


def _check_there(first: tuple[int, str] | None) -> tuple[int, str] | None:
    if first is None:
        raise ValueError("a key that is there says something")
    return first


FirstTables = Annotated[
    tuple[Positive, Number] | SkipJsonSchema[None],
    Field(
        exclude_if=lambda first: first is None,
        json_schema_extra=lambda schema: schema.pop("default", None),
    ),
    AfterValidator(_check_there),
]


class NoiseEntry(Entry):
    """How much noise each step has, as it was fixed before the table was read."""

    kind: Literal["fixed", "once", "rounds"]
    """How the tables of several attributes are found: `fixed` by the plan, chosen `once` by noisy scores, or in `rounds`."""
    singles: Natural
    """How many attributes are counted by themselves first."""
    single_sigma: Number | None
    """The sigma of their counts; null where there are none."""
    first: FirstTables = None
    """How many tables that the plan names are counted before the rounds, and the sigma of their counts; absent where none are."""
    candidates: Natural
    """Among how many tables is chosen; 0 where the plan fixes them."""
    score_sigma: Number | None
    """The sigma of the noise of each candidate's score; null where no scores are published."""
    choice_epsilon: Number | None
    """The epsilon of each choice by the exponential mechanism; null where there is none."""
    tables: Annotated[tuple[tuple[Positive, Number], ...], Field(min_length=1)]
    """Numbers of tables, each with the sigma that their counts then have; several where noisy scores decide among them."""
    merged: bool
    """Whether tables of several attributes are counted in unions of cells."""

    @property
    def named(self) -> int:
        """How many tables come before those of `tables`: of single attributes, and `first`."""
        return self.singles + (0 if self.first is None else self.first[0])


class CountsTableEntry(Entry):
    """One published table of noisy counts: a line for each of its cells."""

    file: RelativePath
    name: Text
    columns: Columns
    """Its attributes; the columns `count`, `low` and `high` follow them."""
    sigma: Number
    """The parameter of the discrete Gaussian noise of each count."""
    half_width: Natural
    """The true count lies within this of the published one in at least 95 of 100 cases."""
    cells: Positive
    recoding: Annotated[dict[Text, RelativePath], Field(min_length=1)]
    """For each attribute, the file that says which label stands for which values."""


class SyntheticEntry(Entry):
    """A table of synthetic rows, drawn from the noisy counts."""

    file: RelativePath
    rows: Natural
    declared: bool
    """Whether the policy declares how many rows there are; else the noisy counts say it."""
    columns: Columns
    of: Literal["rows of nobody"]
    rules: Natural
    """How many combinations of values the policy rules out; no row has one of them."""


class NoisyCountsCertificate(Certificate):
    """What a release with noisy counts promises, on what grounds, and how a stranger checks it."""

    guarantee: CountsPromiseEntry
    method: Literal["noisy-counts", "synthetic"]
    noise: NoiseEntry
    parts: Annotated[tuple[PartEntry, ...], Field(min_length=1)]
    """Everything that the promise is composed of: counts, choices, samples of rows."""
    epsilon_composed: Number
    """epsilon of all parts together at the promised delta; at most the promised epsilon."""
    counts_file: Literal["counts.json"]
    """The list of the tables of counts, with what decided which tables there are."""
    counts: Annotated[tuple[CountsTableEntry, ...], Field(min_length=1)]
    synthetic: SyntheticEntry | None
    """The table of synthetic rows; null where there is none."""
    bound: Literal["tight", "published"] | None
    """Of the rows beside the counts: whether delta is the exact one of a sample; null where there are no rows, as below."""
    epsilon_recoding: Number
    """What the private choice of the recoding of rows costs; 0 where there is none."""
    recoding_choice: RecodingChoiceEntry | None
    views: ViewsEntry | None
    samples: tuple[SampleEntry, ...]
    tables: tuple[TableEntry, ...]
    """The tables of rows beside the counts; none where counts alone are published."""
    ledger: LedgerEntry


# --- noisy centroids ------------------------------------------------------------------------------------------------


class CentroidsPromiseEntry(Entry):
    """The promise of everything in the folder together."""

    kind: Literal["pure-dp", "approx-dp"]
    epsilon: Number
    delta: Number
    """0 where the promise is a pure epsilon."""
    neighbours: Literal["replace_one"]
    unit: UnitEntry
    status: Status


class ClustersEntry(Entry):
    """How records were clustered, as it was fixed before the table was read."""

    rows: Positive
    """The public number of records; each takes part once."""
    k: Annotated[int, Field(ge=2)]
    """The size of every cluster but the last."""
    k_found: bool
    """Whether k was found from the promise, the number of rows and the declared domains; else the policy names it."""
    clusters: Annotated[int, Field(ge=2)]
    last_size: Annotated[int, Field(ge=2)]
    """The size of the last cluster: k and what is left over."""
    grouping: Literal["insensitive", "ranking"]
    """Clusters of whole records, or of each attribute's values by their ranks."""
    corners: Positive
    """Of `insensitive`: how many corners of the declared domain took turns; 1 is a single order."""
    calibration: Literal["whole", "per_record"]
    """Noise for the whole data set; or for one cluster by itself, which is charged for all of them."""
    noise: Literal["laplace", "optimal", "gaussian"]
    """The noise of sums."""
    noise_found: bool
    """Whether the kind of noise was found as the one of the least bound on the expected error."""
    epsilon: Number
    """What the policy asks for: of the whole data set, or with `per_record` of one cluster and one attribute."""
    delta: Number
    """What the policy allows; noise that is not Gaussian leaves it unused."""


class CentroidNoiseEntry(Entry):
    """The noise of one attribute's centroids; a step is the smallest difference of its grid."""

    name: Text
    kind: Literal["numeric", "categorical"]
    """Sums of a cluster with noise, divided by its size; or a concept of the taxonomy, drawn for each cluster."""
    step: Number | None
    """Numeric: the size of a step, in units of numbers, days, microseconds or ranks; null for a categorical attribute."""
    steps: Natural
    """Numeric: the width of the declared domain in steps; 0 for a categorical attribute."""
    spread: Natural
    """Categorical: how far one replaced value moves the difference of two concepts' scores, in steps of distance; else 0."""
    concepts: Natural
    """Categorical: how many concepts a centroid may be; else 0."""
    weight: Number
    """How much its error counts against that of the others."""
    epsilon: Number | None
    """What all its centroids cost together; null where noise is Gaussian."""
    rho: Number | None
    """Gaussian noise: the rho of zero-concentrated privacy that all its centroids cost together at most; else null."""
    scale: Number | None
    """Laplace noise: its scale, in steps."""
    side: Positive | None
    """Optimal noise: the half-side of the box that holds every change, in steps."""
    sigma: Number | None
    """Gaussian noise: its sigma, in steps."""
    choice_epsilon: Number | None
    """Categorical: the epsilon of the exponential mechanism for each cluster."""
    half_width: Number | None
    """Numeric: noise moves a centroid by at most this share of the domain's width in 95 of 100 cases, rounded up."""


class CentroidTableEntry(Entry):
    """One published table, sorted by its own values: a row for each record, with what its cluster shows; or rows of boxes."""

    file: RelativePath
    columns: Columns
    rows: Positive
    shows: dict[Text, Text]
    """What each column shows: a noisy mean, a drawn concept, or values that are spread inside boxes."""


class CentroidsCertificate(Certificate):
    """What a release of noisy centroids promises, on what grounds, and how a stranger checks it."""

    guarantee: CentroidsPromiseEntry
    method: Literal["dp-microaggregation"]
    clusters: ClustersEntry
    attributes: Annotated[tuple[CentroidNoiseEntry, ...], Field(min_length=1)]
    parts: Annotated[tuple[PartEntry, ...], Field(min_length=1)]
    """Everything that the promise is composed of."""
    epsilon_composed: Number
    """epsilon of all parts together at the promised delta; at most the promised epsilon."""
    tables: Annotated[tuple[CentroidTableEntry, ...], Field(min_length=1)]
    """One table; or, of ranks, one for each attribute, whose rows do not belong together."""
    ledger: LedgerEntry


# --- rows spread inside boxes ---------------------------------------------------------------------------------------------


class BoxesPromiseEntry(Entry):
    """The promise of the table."""

    kind: Literal["pure-dp"]
    epsilon: Number
    delta: Literal["0"]
    neighbours: Neighbours
    unit: UnitEntry
    status: Status


class BoxTreeEntry(Entry):
    """How boxes were divided: a box was halved where its count, less a bias for each division before, looked large with noise."""

    epsilon: Number
    """What the tree costs at most, for one row; neither its depth nor the number of boxes plays a part."""
    scale: Number
    """The scale of the two-sided geometric noise on the count of each box."""
    bias: Positive
    """Records that are taken off a box's count for each division that led to it."""
    threshold: Natural
    """Records that are taken off every box's count."""


class BoxValuesEntry(Entry):
    """Noisy histograms of attributes without an order, which part common values from rare ones."""

    epsilon: Number
    """What each of them costs, for one row."""
    attributes: Annotated[Names, Field(min_length=1)]


class BoxMeansEntry(Entry):
    """What was measured of every box with one draw of noise: its count, and for each attribute a sum from the box's middle."""

    epsilon: Number
    """What the numbers of all boxes cost together, for one row, which is in one box."""
    numbers: Annotated[int, Field(ge=2)]
    """How many numbers a box has: one, and one for each attribute."""
    side: Positive
    """By how many steps of the noise one row moves each number at most; so many steps of the count are one record."""
    inner: Natural
    """The half-side of the inner box of the noise, in steps."""
    half_width: Number
    """Noise moves the count of a box by at most so many records in 95 of 100 cases, rounded up."""


class BoxesEntry(Entry):
    """The noise of every step, as it was fixed before the table was read."""

    row_epsilon: Number
    """The part of epsilon for one row: epsilon divided by the rows that come or go between neighbours."""
    tree: BoxTreeEntry
    values: BoxValuesEntry | None
    """Null where no attribute has three or more values without an order."""
    means: BoxMeansEntry


class BoxAttributeEntry(Entry):
    """One attribute of the boxes, in whole steps of its declared domain."""

    name: Text
    kind: Literal["ordered", "nominal"]
    """Numbers, dates, times and ordered values; or values without an order."""
    points: Annotated[int, Field(ge=2)]
    """How many values are told apart: steps of its grid, both ends included, or listed values."""
    step: Number | None
    """Ordered: the size of a step, in units of numbers, days, microseconds or ranks; null for a nominal attribute."""
    weight: Number
    """How much its detail counts: of two sides that are equally long the one of more weight is halved first."""


class BoxesCertificate(Certificate):
    """What a release of rows that are spread inside noisy boxes promises, on what grounds, and how a stranger checks it."""

    guarantee: BoxesPromiseEntry
    method: Literal["box-microaggregation"]
    boxes: BoxesEntry
    attributes: Annotated[tuple[BoxAttributeEntry, ...], Field(min_length=1)]
    parts: Annotated[tuple[PartEntry, ...], Field(min_length=1)]
    """Everything that the promise is composed of."""
    epsilon_composed: Number
    """What all parts add up to; at most the promised epsilon."""
    tables: Annotated[tuple[CentroidTableEntry, ...], Field(min_length=1, max_length=1)]
    """One table; how many rows it has is a noisy number."""
    ledger: LedgerEntry


# --- a release whose guarantee is counted --------------------------------------------------------------------------


class CountedPromiseEntry(Entry):
    """The promise of the table."""

    kind: Literal["k-anonymity", "probabilistic-k"]
    k: Positive
    l: Annotated[int, Field(ge=2)] | None  # noqa: E741 - the literature's letter
    """At least so many different values of each confidential attribute in each group; null where not asked for."""
    t: Number | None
    """The largest earth mover's distance of a group from the table; null where not asked for."""
    unit: UnitEntry
    status: Literal["checked", "proved with condition"]


class GroupingEntry(Entry):
    """How records were clustered."""

    name: Literal["mdav", "vmdav", "approx", "ranking", "optimal", "insensitive", "mondrian", "strict_mondrian"]
    gain: Number | None
    """How readily V-MDAV extends a cluster; null for other methods."""
    k_by_attribute: dict[Text, Positive]
    """The k of each confidential attribute, where each was treated by itself."""


class CountedTableEntry(Entry):
    """The published table."""

    file: RelativePath
    k: Positive
    columns: Columns
    quasi: Names
    """The quasi-identifiers."""
    confidential: Names
    shows: dict[Text, Text]
    """What each column shows: the values themselves, the mean of a cluster, and so on."""


class CountedLedgerEntry(Entry):
    """The ledger of the dataset when this release was made."""

    unbounded_releases: Natural
    """Earlier releases whose guarantee does not compose."""
    charges: Natural
    epsilon: Number
    delta: Number
    """What was charged before, added up."""
    looks: Looks = None


class CountedCertificate(Certificate):
    """What a release by clusters of near records promises, on what grounds, and how a stranger checks it."""

    guarantee: CountedPromiseEntry
    method: Literal["microaggregation", "probabilistic-k"]
    grouping: GroupingEntry
    tables: Annotated[tuple[CountedTableEntry, ...], Field(min_length=1, max_length=1)]
    ledger: CountedLedgerEntry


# --- a plain sample -------------------------------------------------------------------------------------------------


class SamplePromiseEntry(Entry):
    """The promise of the sample, for the table that it was drawn from."""

    kind: Literal["sample-privacy"]
    c: Positive
    """How many rows may take other values together: the most rows of a unit."""
    epsilon: Number
    """The sample gets at most 1 + epsilon times as likely by other values."""
    delta: Number
    """The probability, over the draw, that this fails."""
    unit: UnitEntry
    status: Literal["proved with condition"]


class PlainSampleEntry(Entry):
    """How the sample was drawn."""

    k: Literal[1]
    """No class is suppressed."""
    beta: Number
    """The sampling rate: the probability with which each row takes part."""
    declared: bool
    """Whether the policy declares the rate; else it was found on the table and rounded down to two digits."""
    rare: Literal["keep", "refuse", "drop", "generalize", "replace"]
    """What became of rare values before the sample was drawn."""
    rare_below: Positive
    """A value with fewer rows was rare."""


class SampleCertificate(Certificate):
    """What a plain random sample promises, on what grounds, and how a stranger checks it."""

    guarantee: SamplePromiseEntry
    method: Literal["sample"]
    bound: Literal["tight", "published"]
    """Whether the rate is the exact one or that of the published theorems."""
    samples: Annotated[tuple[PlainSampleEntry, ...], Field(min_length=1, max_length=1)]
    tables: Annotated[tuple[TableEntry, ...], Field(min_length=1, max_length=1)]
    ledger: CountedLedgerEntry


# --- groups whose confidential values are in a table of their own, or in buckets ---------------------------------------


class BucketizedPromiseEntry(Entry):
    """The promise of the groups."""

    kind: Literal["k-anonymous-relation", "probabilistic-k"]
    k: Positive
    """No group is smaller."""
    l: Annotated[int, Field(ge=2)] | None  # noqa: E741 - the literature's letter
    """No confidential value makes up more than 1/l of a group; null where not asked for."""
    t: Number | None
    """The largest ratio between the share of a bucket in a group and in the table, either way; null where not asked for."""
    unit: UnitEntry
    status: Literal["checked", "proved with condition"]


class GroupFormEntry(Entry):
    """How records were grouped, and what is shown of the groups."""

    name: Literal["near", "random", "confidential"]
    """Whether records of a group are near in their quasi-identifiers, drawn at random, or of like confidential values."""
    form: Literal["linked", "permuted"]
    """Two tables that are linked by the number of a group, or one in which confidential columns were permuted in groups."""
    show: Literal["bucket", "value"]


class GroupTableEntry(Entry):
    """One published table of a release by groups."""

    file: RelativePath
    group: Text | None
    """The first column: the number of the group, which says nothing else; null where groups are not shown."""
    columns: Columns
    """The attributes, which come next."""
    count: Text | None
    """The last column: how many records of the group have what the line shows; null where a line is one record."""
    shows: dict[Text, Text]
    """What each attribute shows: its values, or buckets of them."""
    recoding: dict[Text, RelativePath]
    """For each attribute that is shown in buckets, the file that says which values are in which."""


class BucketizedCertificate(Certificate):
    """What a release by groups with separate or bucketized confidential values promises, and how a stranger checks it."""

    guarantee: BucketizedPromiseEntry
    method: Literal["t-closeness", "anatomy"]
    grouping: GroupFormEntry
    buckets: dict[Text, Annotated[tuple[Text, ...], Field(min_length=1)]]
    """The buckets of each confidential attribute in their order; empty where values are shown."""
    achieved_t: Number | None
    """The largest ratio of all groups, as anybody can count it on the linked tables; null where t is not promised or hidden."""
    tables: Annotated[tuple[GroupTableEntry, ...], Field(min_length=1, max_length=2)]
    ledger: CountedLedgerEntry


# --- k-anonymity by full-domain recoding ---------------------------------------------------------------------------


class RecursiveEntry(Entry):
    """Recursive (c, l)-diversity: the most frequent value of a class is rarer than c times all from the l-th on."""

    c: Number
    l: Annotated[int, Field(ge=2)]  # noqa: E741 - the literature's letter


class LikenessEntry(Entry):
    """Beta-likeness: by how much the share of a value in a class may exceed its share in the table."""

    form: Literal["basic", "enhanced"]
    beta: Number


class ClosenessOfEntry(Entry):
    """The ground distance of one confidential attribute, of which t is an earth mover's distance."""

    distance: Literal["equal", "ordered", "hierarchical"]
    heights: tuple[RelativePath, ...]
    """Of a hierarchical distance: the rules of the levels below the root, from the values up; else none."""


class PopulationEntry(Entry):
    """k-map: every class stands for at least k people of a population."""

    k: Positive
    sha256: Hash
    """Of the population file."""
    file: RelativePath | None
    """The population file, where the custodian lets it travel with the release; else null, and nobody can count on it here."""


class FullDomainPromiseEntry(Entry):
    """The promise of the table: what each of its classes of equal quasi-identifiers has; null where it is not asked for.

    Every criterion but k and k_map is about each confidential attribute by itself.
    """

    kind: Literal["k-anonymity"]
    k: Positive
    l: Annotated[int, Field(ge=2)] | None  # noqa: E741 - the literature's letter
    """At least so many different values."""
    entropy_l: Number | None
    """The entropy of the values is at least the logarithm of this."""
    recursive: RecursiveEntry | None
    t: Number | None
    """The largest earth mover's distance from the published table."""
    closeness: dict[Text, ClosenessOfEntry]
    """The ground distance of each confidential attribute; empty where t is not asked for."""
    alpha: Number | None
    """The largest share of one value."""
    beta: LikenessEntry | None
    delta: Number | None
    """|ln(p / q)| is smaller, p the share of a value in the class and q that in the published table."""
    k_map: PopulationEntry | None
    unit: UnitEntry
    status: Literal["checked"]


class SearchEntry(Entry):
    """How the levels were found."""

    kind: Literal["fixed", "exact", "heuristic"]
    """`fixed` by the plan; the best of all schemes, by an `exact` search; or a good one, by a `heuristic` search."""
    loss: Literal["granularity", "discernibility", "class_size"] | None
    """What the levels lose least of; null where the plan fixes them."""
    local: bool
    """Whether rows that the levels leave over may show coarser labels of their own."""
    suppression: Number
    """The largest share of rows that could be left out. How many were is not said."""


class FullDomainTableEntry(Entry):
    """The published table."""

    file: RelativePath
    k: Positive
    columns: Columns
    quasi: Names
    """The quasi-identifiers."""
    confidential: Names
    levels: dict[Text, Annotated[tuple[Natural, ...], Field(min_length=1)]]
    """The levels that each column shows: one, or several where rows have labels of their own; 0 is the value itself."""
    recoding: dict[Text, Annotated[tuple[RelativePath, ...], Field(min_length=1)]]
    """For each column and each of its levels, the file that says which label stands for which values."""


class PopulationClaimEntry(Entry):
    """k-map: every class stands for at least k people of a population."""

    kind: Literal["k-map"]
    k: Positive


class RecursiveClaimEntry(Entry):
    """Recursive (c, l)-diversity of the confidential attributes, counted on the published table."""

    kind: Literal["recursive-diversity"]
    c: Number
    l: Positive  # noqa: E741 - the literature's letter


class LargestShareEntry(Entry):
    """No confidential value has a larger share of a class."""

    kind: Literal["alpha-deassociation"]
    alpha: Number


class LikenessClaimEntry(Entry):
    """Beta-likeness of the confidential attributes, counted on the published table."""

    kind: Literal["beta-likeness"]
    beta: Number
    form: Literal["basic", "enhanced"]


class DisclosureEntry(Entry):
    """Delta-disclosure of the confidential attributes, counted on the published table."""

    kind: Literal["delta-disclosure"]
    delta: Number


class FullDomainClaimEntry(ClaimEntry):
    """One thing that is claimed of classes of equal labels."""

    guarantee: Annotated[  # type: ignore[assignment]  # a certificate of this kind claims nothing else
        AnonymityEntry
        | DiversityEntry
        | RecursiveClaimEntry
        | ClosenessEntry
        | LargestShareEntry
        | LikenessClaimEntry
        | DisclosureEntry
        | PopulationClaimEntry,
        Field(discriminator="kind"),
    ]


class FullDomainCertificate(Certificate):
    """What k-anonymity by full-domain recoding promises, on what grounds, and how a stranger checks it."""

    claims: Annotated[tuple[FullDomainClaimEntry, ...], Field(min_length=1)]
    """Everything that is claimed; the first is the promise."""
    guarantee: FullDomainPromiseEntry
    method: Literal["k-anonymity"]
    search: SearchEntry
    tables: Annotated[tuple[FullDomainTableEntry, ...], Field(min_length=1, max_length=1)]
    ledger: CountedLedgerEntry


AnyModel = (
    SafeKCertificate
    | CountedCertificate
    | NoisyCountsCertificate
    | SampleCertificate
    | BucketizedCertificate
    | FullDomainCertificate
    | CentroidsCertificate
    | BoxesCertificate
)
MODELS: dict[str, type[AnyModel]] = {
    "safe-k": SafeKCertificate,
    "microaggregation": CountedCertificate,
    "probabilistic-k": CountedCertificate,
    "k-anonymity": FullDomainCertificate,
    "noisy-counts": NoisyCountsCertificate,
    "synthetic": NoisyCountsCertificate,
    "sample": SampleCertificate,
    "t-closeness": BucketizedCertificate,
    "anatomy": BucketizedCertificate,
    "dp-microaggregation": CentroidsCertificate,
    "box-microaggregation": BoxesCertificate,
}
"""The model of the certificate of each method."""
SCHEMA_FILES: dict[Path, type[Certificate]] = {
    Path(__file__).with_name("safe_k.schema.json"): SafeKCertificate,
    Path(__file__).with_name("counted.schema.json"): CountedCertificate,
    Path(__file__).with_name("k_anonymity.schema.json"): FullDomainCertificate,
    Path(__file__).with_name("noisy_counts.schema.json"): NoisyCountsCertificate,
    Path(__file__).with_name("sample.schema.json"): SampleCertificate,
    Path(__file__).with_name("bucketized.schema.json"): BucketizedCertificate,
    Path(__file__).with_name("centroids.schema.json"): CentroidsCertificate,
    Path(__file__).with_name("boxes.schema.json"): BoxesCertificate,
}
"""The schemas that ship, for strangers who check certificates without Shoal."""


def schema_text(model: type[Certificate]) -> str:
    """The JSON Schema (draft 7) of a kind of certificate, as it ships."""
    schema = _draft_7(model.model_json_schema(mode="serialization"))
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "$id": f"urn:shoal:certificate:{FORMAT}"}
    return json.dumps({**head, **schema, "title": "Shoal certificate"}, indent=1, ensure_ascii=False) + "\n"


def _draft_7(value: Any) -> Any:
    """A schema of pydantic's in the words of draft 7, without the titles that repeat the keys."""
    if isinstance(value, list):
        return [_draft_7(item) for item in value]
    if not isinstance(value, dict):
        return value.replace("#/$defs/", "#/definitions/") if isinstance(value, str) else value
    found = {}
    for key, item in value.items():
        if key == "discriminator" or (key == "title" and isinstance(item, str)):
            continue
        found["definitions" if key == "$defs" else key] = _draft_7(item)
    return found


if __name__ == "__main__":
    for place, kind in SCHEMA_FILES.items():
        place.write_text(schema_text(kind), encoding="utf-8")
