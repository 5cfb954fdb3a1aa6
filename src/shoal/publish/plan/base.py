"""What every plan is, whatever it promises: the policy it resolves, its lock, its claims, and itself in words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shoal.data.schema import Schema
from shoal.guarantee.claim import Claim
from shoal.guarantee.unit import Unit
from shoal.policy.lock import Lock
from shoal.policy.policy import Policy


@dataclass(frozen=True)
class Plan(ABC):
    """Everything that will happen, resolved from the policy alone; no row has been read."""

    policy: Policy

    @cached_property
    def lock(self) -> Lock:
        """The canonical text of the policy and its hash."""
        return self.policy.lock()

    @property
    def unit(self) -> Unit:
        """Whose data are hidden."""
        return self.policy.unit

    @cached_property
    def schema(self) -> Schema:
        """The policy's schema; where persons are hidden, their names are read exactly and a row that names nobody is refused."""
        return self.policy.schema.with_names(self.unit.column)

    @property
    def tuned(self) -> bool:
        """Whether a domain or hierarchy was drafted from the data and not confirmed."""
        return bool(self.policy.profiled_keys())

    @property
    def work(self) -> str | None:
        """What to expect of a run that takes long, from the policy alone; to be said before anything is charged."""
        return None

    @abstractmethod
    def check(self, schema: Schema) -> None:
        """What the theorems ask of the columns."""

    @property
    @abstractmethod
    def claims(self) -> tuple[Claim, ...]:
        """What will hold for everything that is published."""

    @abstractmethod
    def sentences(self) -> list[str]:
        """The promise for a person to read before any row is."""

    @abstractmethod
    def facts(self) -> list[tuple[str, str, str]]:
        """Its numbers: a name, a value, and what it is."""

    @abstractmethod
    def recoding_words(self) -> str:
        """How what is shown comes about, in a sentence."""

    def page(self) -> str:
        """The plan as a page of HTML, to be printed, reviewed and signed before the data are touched."""
        from shoal.publish.plan.page import plan_page

        return plan_page(self)

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain values, with the fields of `shoal plan`."""
