"""The Spark engine: tables on the workers of a cluster, or on the cores of this machine, checked once against the schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from shoal.data.schema import Schema
from shoal.engine.base import Table, is_spark_frame
from shoal.engine.column import Column
from shoal.engine.spark.session import describe_network, explain, isolate, load_pyspark, start
from shoal.progress import Stage, silent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Spark:
    """The Spark engine: opens tables in a session that is handed in, in that of a frame, or in one that it starts.

    Arguments  `master`: where Spark runs, such as "local[4]" or "spark://host:7077", or None for all cores of this machine;
               `settings`: settings of Spark by name, for a session that is started; `session`: a session to use;
               `stage`: is told what is done
    Raises     nothing by itself; `scan` raises UsageError where PySpark, Java or the master is missing, and what `Engine.scan`
               says
    """

    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    session: SparkSession | None = field(default=None, compare=False, repr=False)
    name: str = "spark"
    is_local: bool = False
    stage: Stage = field(default=silent, compare=False, repr=False)

    def scan(self, data: object, schema: Schema) -> Table:
        load_pyspark()  # what follows imports it, and would say less
        return explain(lambda: self._scan(data, schema))

    def _scan(self, data: object, schema: Schema) -> Table:
        from shoal.engine.spark.check import check_input
        from shoal.engine.spark.read import open_spark_input
        from shoal.engine.spark.table import SparkTable

        session = self.session
        if session is None and is_spark_frame(data):
            session = getattr(data, "sparkSession", None)
        if session is None:
            self.stage("starting Spark")
            session = start(self.master, self.settings)
        opened = open_spark_input(data, schema, isolate(session), self.stage)
        opened = replace(
            opened, opened=replace(opened.opened, notes=(*opened.opened.notes, *describe_network(session)))
        )
        self.stage("checking the rows")
        columns = tuple(Column(attribute.name, attribute.type) for attribute in opened.attributes)
        frame, rows = check_input(opened)
        return SparkTable(opened, schema, columns, frame, rows, dense=True)
