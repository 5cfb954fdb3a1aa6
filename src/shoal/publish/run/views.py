"""The run of a release of views: the views chosen, the recodings settled, and every view drawn from its own sample."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.anonymize.generalize.base import Recoding
from shoal.anonymize.method.views import choose_views, draw_all, settle_all
from shoal.chance.source import Source
from shoal.engine.base import Table
from shoal.guarantee.safe_k.setting import Setting
from shoal.progress import Stage, StageProgress
from shoal.publish.certificate.model import RecodingChoiceEntry, TableEntry
from shoal.publish.certificate.safe_k import recoding_choice
from shoal.publish.folder import VIEWS, view_file, write_text
from shoal.publish.plan.views import View, ViewsPlan, chosen_views, view_index
from shoal.publish.run.safe_k import DrawnTable, SafeKJob, draft_table, key

if TYPE_CHECKING:
    from shoal.publish.report.document import MethodSections


class ViewsJob(SafeKJob):
    """The run of a plan of views; it is charged once for all of them."""

    plan: ViewsPlan
    report_modules = ("shoal.publish.report.views", "shoal.assess.release.estimate")

    def load_kernels(self, rows: int) -> list[str]:
        return list(dict.fromkeys(note for view in self.plan.views for note in view.method.load_kernels(rows)))

    def draft_tables(self) -> list[tuple[TableEntry, Setting]]:
        samples = self._samples()
        return [
            (
                draft_table(
                    view_file(view.name, self.plan.format),
                    view.columns,
                    view.method.promise,
                    samples[view.method.promise],
                    view.name,
                    self._choice(view),
                ),
                view.method.promise,
            )
            for view in self.plan.views
        ]

    def _samples(self) -> dict[Setting, int]:
        """The number of each distinct setting."""
        return {promise: number for number, (promise, _) in enumerate(self.plan.distinct_settings)}

    @staticmethod
    def _choice(view: View) -> RecodingChoiceEntry | None:
        """How the recoding of a view is chosen, where that is paid for."""
        return recoding_choice(view.method.partition) if view.method.promise.epsilon_recoding else None

    def draw(
        self, table: Table, source: Source | None, stage: Stage = lambda _: None
    ) -> Generator[tuple[DrawnTable, Table], None, None]:
        plan = self.plan
        samples = self._samples()
        with key(source, "settle") as chance:
            people, views, recodings = self._settle(table, chance, stage)
        with key(source, "release") as chance:
            drawn = draw_all(people, [view.method for view in views], recodings, chance, stage)
            for view, recoding, published in zip(views, recodings, drawn, strict=True):
                file, promise = view_file(view.name, plan.format), view.method.promise
                yield DrawnTable(file, recoding, promise, samples[promise], view.name, self._choice(view)), published

    def _settle(self, table: Table, source: Source, stage: Stage) -> tuple[Table, tuple[View, ...], list[Recoding]]:
        """At most m rows of each person, the views that are published, and the recoding of each; no sample is drawn yet."""
        plan = self.plan
        people, views = plan.method.bound_contributions(table, source, stage), plan.views
        if plan.chooser is not None:
            stage("choosing the views")
            chooser = plan.chooser
            share, chance = chooser.epsilon / chooser.steps, source.stream("views")
            views = chosen_views(plan, choose_views(people, chooser.candidates, chooser.count, share, chance))
        partitions = [view.method.partition for view in views]
        return people, views, settle_all(people, partitions, source.stream("recoding"), stage)

    def writing(self, number: int) -> str:
        return StageProgress("writing views", number - 1, len(self.plan.views))

    def write_index(self, folder: Path, tables: Sequence[TableEntry]) -> None:
        write_text(folder / VIEWS, json.dumps(view_index(self.plan, tables), indent=1, ensure_ascii=False) + "\n")

    def report(self, table: Table, public: Path, content: dict[str, Any], stage: Stage) -> dict[str, Any]:
        from shoal.publish.report.views import views_report

        return views_report(self.plan, table, self.drawn, public, content, stage)

    def sections(self, values: Mapping[str, Any]) -> MethodSections:
        from shoal.publish.report.views import views_sections

        return views_sections(values)
