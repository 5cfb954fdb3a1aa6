"""Spark for tests: one small session in each process, where PySpark and Java are there."""

from __future__ import annotations

import shutil
from importlib.util import find_spec

import pytest

from shoal.engine.spark.engine import Spark

ABSENT = "cannot run here: Spark needs pyspark and Java 17 (Debian package openjdk-17-jre-headless)"
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.memory": "1g",
    "spark.sql.codegen.cache.maxEntries": "2000",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto",
}
"""A session that starts fast and takes little memory; two partitions show what depends on there being more than one."""
SPARK = Spark(master="local[2]", settings=SETTINGS)


def spark_first(items: list[pytest.Item]) -> list[pytest.Item]:
    """Put the tests of modules that use Spark before all others, and leave the order as it is otherwise.

    A run with several workers gives each a stretch of the tests in their order, and who has none left takes from the end of
    another's. So one worker runs all of these in one session of Spark, which starts once and compiles what it runs often once;
    and no test that waits for Java is left for the end, when the others have nothing to do.
    """
    return sorted(items, key=lambda item: not hasattr(getattr(item, "module", None), require_spark.__name__))


def require_spark() -> None:
    """Skip a test where Spark cannot run."""
    if find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip(ABSENT)
