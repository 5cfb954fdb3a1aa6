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


def require_spark() -> None:
    """Skip a test where Spark cannot run."""
    if find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip(ABSENT)
