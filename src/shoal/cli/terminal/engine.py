"""The options that say where rows live: in DuckDB on this machine, or on the workers of Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from shoal.cli.terminal.process import keep_loaded
from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.engine.base import Engine
    from shoal.progress import Stage

F = TypeVar("F", bound=Callable[..., Any])


def engine_options(function: F) -> F:
    """Add `--engine`, `--spark-master` and `--spark-conf` to a command."""
    function = click.option(
        "--spark-conf", "spark_conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark; may be repeated."
    )(function)
    function = click.option(
        "--spark-master", metavar="URL", help="Where Spark runs, such as spark://host:7077; else on this machine."
    )(function)
    return click.option(
        "--engine", type=click.Choice(("duckdb", "spark")), default="duckdb", show_default=True,
        help="What reads the rows: DuckDB here, or Spark on many machines.",
    )(function)  # fmt: skip


def named_engine(
    engine: str, master: str | None, settings: Sequence[str], stage: Stage, *, counted: bool = False
) -> Engine:
    """Give the engine that the options name; UsageError where options of Spark are given without it, or cannot be read."""
    from shoal.engine.base import open_engine

    if engine != "spark":
        if master is not None or settings:
            raise UsageError(
                "settings of Spark are for the engine spark", came=f"--engine {engine}", fix="add --engine spark"
            )
        opened = open_engine(engine, stage, counted=counted)
        keep_loaded()
        return opened
    from shoal.engine.spark.engine import Spark

    found: dict[str, str] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals or not name.startswith("spark.") or name in found:
            raise UsageError("--spark-conf cannot be read", came=name, allowed="spark.NAME=VALUE, each name once")
        found[name] = value
    return Spark(master, found, stage=stage)
