"""What a run tells the ledger: a price, charged before the first random draw, or a note that what appears is unbounded."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

from shoal.engine.base import Table
from shoal.ledger.ledger import Ledger, Receipt, RefuseRepeat
from shoal.ledger.state import Account
from shoal.publish.plan.base import Plan
from shoal.publish.run.release import Job, uncharged


class ChargedJob(Job):
    """The run of a plan with a differential promise, whose price the ledger is charged once, for everything in it."""

    plan: Plan
    receipt: Receipt | None = None

    @property
    def dataset(self) -> str:
        return self.plan.policy.dataset

    @property
    def uses_sample(self) -> bool:
        """Whether the promise rests on the table being a sample itself, which can be used once."""
        return False

    def cells(self, rows: int) -> int:
        return rows * len(self.plan.schema.published)

    def account_after(self, ledger: Ledger) -> Account:
        """The account of the dataset as it will be when this run has been charged."""
        plan, account = self.plan, ledger.account(self.dataset)
        return replace(account, costs=(*account.costs, plan.price()), budget=account.budget or plan.budget)

    def charge(
        self,
        ledger: Ledger,
        table: Table,
        file: bytes | None,
        work: str | None = None,
        repeat: RefuseRepeat | None = None,
    ) -> None:
        plan = self.plan
        with uncharged():  # the whole table is read once more before anything is written into the ledger
            contents = table.contents()
        self.receipt = ledger.charge(
            self.dataset,
            plan.price(),
            budget=plan.budget,
            neighbours=plan.policy.neighbours,
            plan=plan.lock.sha256,
            table=contents.whole,
            columns=contents.columns,
            file=file,
            unit=plan.unit,
            uses_sample=self.uses_sample,
            work=work,
            repeat=repeat,
        )

    def fix_after_failure(self, fix: str | None) -> str:
        """Say that the charge stands."""
        return f"{fix}; the charge stands" if fix else "the charge stands: what failed may have been seen"


class UnboundedJob(Job):
    """The run of a plan without a price: a failed run leaves no trace, and a release that appears is noted as unbounded."""

    plan: Plan
    _file: bytes | None = None
    _repeat: RefuseRepeat | None = None

    @property
    def dataset(self) -> str:
        return self.plan.policy.dataset

    @property
    @abstractmethod
    def note(self) -> str:
        """What the ledger says of the release, in a few words that the plan alone decides."""

    def charge(
        self,
        ledger: Ledger,  # noqa: ARG002 - nothing is paid
        table: Table,  # noqa: ARG002
        file: bytes | None,
        work: str | None = None,  # noqa: ARG002
        repeat: RefuseRepeat | None = None,
    ) -> None:
        """Charge nothing; the hash of the file is kept for the note."""
        self._file, self._repeat = file, repeat

    def before_publishing(self, ledger: Ledger, table: Table, work: str | None = None) -> None:
        """Note it as unbounded; a table that may not be used is refused here, before anything is published."""
        contents = table.contents()
        ledger.record_unbounded(
            self.dataset,
            self.note,
            self.plan.lock.sha256,
            contents.whole,
            columns=contents.columns,
            file=self._file,
            work=work,
            repeat=self._repeat,
        )

    def fix_after_failure(self, fix: str | None) -> str:
        """Say that nothing was published; nothing was charged either."""
        said = "nothing was published"
        return said if not fix else fix if said in fix else f"{fix}; {said}"
