"""The plan of a plain random sample: what it promises of the table as it is, and that the table decides the rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shoal.anonymize.generalize.scheme import Scheme
from shoal.anonymize.method.sample import PlainSample
from shoal.data.schema import Schema
from shoal.errors import PolicyError
from shoal.guarantee.claim import Claim
from shoal.guarantee.rounding import exact_text, text_up
from shoal.policy.policy import Policy
from shoal.publish.plan.base import Plan, Verification, noted_before
from shoal.publish.plan.counted import NO_DIFFERENTIAL

if TYPE_CHECKING:
    from shoal.ledger.ledger import RunState
    from shoal.publish.counts_rehearsal import CountsRehearsal
    from shoal.publish.rehearse import Rehearsal
    from shoal.publish.run.sample import SampleJob

BOUND_WORDS = {
    "tight": "from exact binomial tails (ours)",
    "published": "by Theorems 3 and 7 of Chaudhuri and Mishra (2006)",
}
RARE_WORDS = {
    "keep": "they stay, and hold the rate down",
    "refuse": "the release fails if there are any",
    "drop": "their rows are left out before the sample is drawn",
    "generalize": "attributes take coarser levels, one after the other, until no value is rare",
    "replace": "their rows take the values of other rows, drawn at random, before the sample is drawn",
}
GIVES_AWAY = {
    "keep": "",
    "refuse": " Nor does it cover that the release appeared: had a value been rare, it would not have.",
    "drop": " Nor does it cover which values are not there: one that somebody expects and does not see was rare, or not drawn.",
    "generalize": " Nor does it cover the levels: at finer ones some value was rare.",
    "replace": " Nor does it cover which values are not there: rows with a rare one show another's value.",
}
"""What the treatment of rare values says of a table beyond its sample."""


@dataclass(frozen=True)
class SamplePlan(Plan):
    """A random sample of the rows, at levels that are fixed in advance. It costs no epsilon of the ledger and has no price.

    Promise   (c, epsilon, delta)-privacy of the sample, given the table and the rate that is found on it.
    Requires  replace_one neighbours; a declared domain for every published attribute; delta of at most 1/4.
    Reads     nothing: the policy alone.
    """

    method: PlainSample
    format: str

    methods = ("sample",)

    def __repr__(self) -> str:
        asked = self.method
        return (
            f"<SamplePlan of '{self.policy.dataset}': epsilon {text_up(asked.epsilon)}, delta {text_up(asked.delta)}, "
            f"c {asked.c}, no differential privacy>"
        )

    @classmethod
    def of(cls, policy: Policy) -> SamplePlan:
        asked = cls.release_of(policy)
        if asked.epsilon is None or asked.delta is None or asked.recoding is None or asked.recoding.levels is None:
            raise PolicyError("release: a plain sample needs epsilon, delta and levels")
        beta = asked.sampling.beta if asked.sampling is not None else None
        method = PlainSample(
            asked.epsilon,
            asked.delta,
            Scheme(policy.schema, asked.recoding.levels),
            policy.unit,
            asked.bound or "tight",
            asked.rare or "keep",
            asked.rare_below,
            beta if isinstance(beta, Fraction) else None,
        )
        method.check(policy.schema)
        return cls(policy, method, asked.output.format)

    @classmethod
    def verification(cls) -> Verification:
        from shoal.publish.certificate.model import SampleCertificate
        from shoal.publish.verify.sample import plain_sample_checks

        return Verification(SampleCertificate, plain_sample_checks)

    def job(self) -> SampleJob:
        from shoal.publish.run.sample import SampleJob

        return SampleJob(self)

    def rehearse(self, **options: Any) -> Rehearsal | CountsRehearsal:  # noqa: ARG002 - there is nothing to try
        """Refuse: the rate is found on the table, and a simulated one says nothing about its rare values."""
        raise PolicyError(
            "release.method: the rate of a plain sample is found on the table, so there is nothing to rehearse",
            came="sample",
            allowed="safe-k, or noisy counts",
            fix="plan it with `shoal plan`, run it with `shoal release`",
        )

    def check(self, schema: Schema) -> None:
        self.method.check(schema)

    @property
    def one_memory(self) -> str | None:
        """Rare values are counted, dropped and generalized by the engine; a replaced one takes its place in a whole column."""
        if self.method.rare != "replace":
            return None
        return (
            "each row with a rare value takes that of a row which is drawn among all others, in one memory (rare: drop, "
            "generalize, keep and refuse run there)"
        )

    @property
    def claims(self) -> tuple[Claim, ...]:
        return self.method.claims(tuned=self.tuning)

    @property
    def not_promised(self) -> Sequence[str]:
        each = "" if self.unit.column is None else f", in all or of one {self.unit.name}"
        rate = "The rate" if self.method.rate is None else "That the declared rate is safe"
        return (
            "It is no differential privacy: it holds for this table, and says nothing of another one with the same rate.",
            f"{rate} was found on the table, and what it gives away is not covered.{GIVES_AWAY[self.method.rare]}",
            (
                f"It fails with probability up to {text_up(self.method.delta)}, for all rows together: then the sample shows "
                "some value more often than it may, and is published all the same. No sample is drawn twice."
            ),
            "It does not hold for two samples together, nor beside other releases about the same people: it does not add up.",
            f"It does not hide who is in the table, nor how many rows it has{each}: neighbours replace values, not rows.",
            "Rows are shown with every published attribute: whoever knows that one person alone has a combination knows whose.",
            "It does not promise that the table is accurate: rows were left out at random.",
        )

    def repeat_words(self, when: str, state: RunState) -> str | None:
        return f"{noted_before(when, state)}; a second sample of the same table shows more of it than one promises"

    # --- in words -----------------------------------------------------------------------------------------------------

    def sentences(self) -> list[str]:
        asked = self.method
        rows = "any one row" if asked.c == 1 else f"any {asked.c} rows"
        if self.unit.column is not None:
            rows = (
                f"the row of any {self.unit.name}"
                if asked.c == 1
                else f"the rows of any {self.unit.name}, up to {asked.c},"
            )
        rate = (
            "with a probability that is found on the table, the largest that is safe for it, rounded down to two digits"
            if asked.rate is None
            else f"with probability {exact_text(asked.rate)}, if that is safe for the table"
        )
        return [
            (
                f"With probability at least 1 - {text_up(asked.delta)} over the draw, no choice of values for {rows} makes the "
                f"sample that comes out more than {text_up(1 + asked.epsilon)} times as likely as any other choice, all other "
                "rows being as they are."
            ),
            f"Each row is kept by itself, {rate}. Rows are published at fixed levels, with every attribute.",
            (
                f"A value, a combination of all published attributes, is rare if it has fewer than {asked.below:,} rows. What "
                f"becomes of rare values: {RARE_WORDS[asked.rare]}."
            ),
            f"The promise is for this table and this rate as they are. {NO_DIFFERENTIAL}",
            *self.treatment_words(),
            *self._tuning_words(),
        ]

    def facts(self) -> list[tuple[str, str, str]]:
        asked = self.method
        most = f"found on the table, below {text_up(Fraction(asked.largest_rate))}"
        return [
            ("dataset", self.policy.dataset, f"plan {self.lock.sha256[:16]}"),
            ("method", asked.name, "no differential privacy"),
            (
                "epsilon",
                exact_text(asked.epsilon),
                f"the sample gets at most {text_up(1 + asked.epsilon)} times as likely",
            ),
            ("delta", exact_text(asked.delta), "the probability that this fails, over the draw"),
            ("c", str(asked.c), "rows that may take other values together"),
            ("rate", most if asked.rate is None else exact_text(asked.rate), BOUND_WORDS[asked.bound]),
            ("rare", asked.rare, f"values with fewer than {asked.below:,} rows: {RARE_WORDS[asked.rare]}"),
            ("unit", self.unit.words(), self.policy.neighbours),
            ("status", self.claims[0].status.value, ", ".join(self.theorems)),
            ("ledger", "unbounded", "it has no price; later certificates of the dataset mention it"),
        ]

    def recoding_words(self) -> str:
        levels = ", ".join(f"{name} {self.method.scheme.indices.get(name, 0)}" for name in self.method.scheme.columns)
        at_least = ", or coarser where rare values ask for it" if self.method.rare == "generalize" else ""
        return f"Levels (0 is the value itself){at_least}: {levels}."

    def to_json(self) -> dict[str, Any]:
        asked, first = self.method, self.claims[0]
        return {
            "dataset": self.policy.dataset,
            "method": asked.name,
            "epsilon": None,
            "delta": None,
            "sample": {
                "epsilon": float(asked.epsilon),
                "delta": float(asked.delta),
                "c": asked.c,
                "bound": asked.bound,
                "rate": None if asked.rate is None else float(asked.rate),
                "largest_rate": asked.largest_rate,
                "rare": asked.rare,
                "rare_below": asked.below,
                "levels": {name: asked.scheme.indices.get(name, 0) for name in asked.scheme.columns},
            },
            **self.treatment_fields(),
            "unit": self.unit.to_saved(),
            "status": first.status.value,
            "theorems": list(self.theorems),
            "conditions": list(first.conditions),
            "plan": self.lock.sha256,
            "words": self.sentences(),
        }
