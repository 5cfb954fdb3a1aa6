"""An assessment as plain values, as `Assessment.to_json` gives them, for tables with any columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any


def quantity(value: float, kind: str = "exact", low: float | None = None, high: float | None = None) -> dict[str, Any]:
    """A measured number."""
    return {"value": value, "low": low, "high": high, "kind": kind, "level": 0.95, "method": "a method; strict"}


def assessed(names: Sequence[str], *, parts: int = 20, control: int | None = None) -> dict[str, Any]:
    """An assessment of columns with these names: numbers and names by turns."""
    reidentified = {
        "homogeneity": {
            name: {key: quantity(0.25) for key in ("homogeneous", "dominated", "guessing", "baseline")}
            for name in names[:2]
        },
        "refusals": {"pitman": "too few classes"},
    }
    rate = quantity(0.2119, "estimate", 0.1869, 0.2386)
    attack = {
        "attack": f"inference of '{names[0]}'", "attempts": 1000, "success": rate, "control": None if control is None else rate,
        "baseline": rate, "risk": quantity(-0.00001, "estimate", -0.068, 0.0636), "measured_against": "baseline",
        "beats_baseline": False,
    }  # fmt: skip
    pairs = [
        {"names": list(pair), "association": [0.25, 0.125], "correlation": [0.5, -0.0001], "total_variation": 0.05 * (i % 19)}
        for i, pair in enumerate(combinations(names[:28], 2))
    ]  # fmt: skip
    prediction = {
        "target": names[-1], "classes": ["a", "b"], "trained": [7000, 9000], "tested": 3000, "control": control is not None,
        "models": [{"model": "random forest", "original": rate, "released": rate, "loss": -0.25}],
    }  # fmt: skip
    return {
        "version": 1,
        "quasi": list(names[:20]),
        "confidential": list(names[:2]),
        "matching": "strict",
        "control": control,
        "risk": {
            "before": {"rows": 10_000, **reidentified},
            "after": {"rows": 9000, **reidentified},
            "attacks": [attack],
            "measures": {
                "prosecutor.largest": [quantity(1.0), quantity(0.02)],
                "sample_uniques": [quantity(49_473.0), quantity(0.0)],
                "population_models.pitman": [quantity(1234.5, "model", 1200.0, 1300.0), None],
            },
        },
        "utility": {
            "rows": [10_000, 9000],
            "of": "the published rows",
            "real": True,
            "columns": [_column(name, i, parts) for i, name in enumerate(names)],
            "learned_from": "the published rows",
            "lost_columns": ["gone"],
            "marginals": [
                {"width": width, "compared": 60, "possible": 60 * width, "mean": quantity(0.125, "estimate", 0.1, 0.15),
                 "worst": 0.5, "worst_names": list(names[:width])}
                for width in (1, 2, 3)
            ],
            "relations": {"possible": len(names) * (len(names) - 1) // 2, "association_difference": 0.125,
                          "correlation_difference": 0.5001, "pairs": pairs},
            "queries": {"queries": 600, "absolute": quantity(0.0176, "estimate", 0.0147, 0.0205), "relative_median": 0.0365,
                        "relative_95": 1.0, "sanity_bound": 0.001},
            "granularity": 0.693,
            "classes": {"columns": list(names[:2]), "classes": 120, "average": 81.075, "discernibility": 972_237.0},
            "information_loss": {"sse": 1234.5, "loss": 3.2},
            "distinction": {"rows": 9000, "pmse": rate, "area": rate},
            "learning": [prediction],
            "left_out": [],
            "notes": ["a note of the release"],
        },
        "left_out": ["linkability: too few attributes"],
    }  # fmt: skip


def _column(name: str, number: int, parts: int) -> dict[str, Any]:
    numeric = number % 2 == 0
    return {
        "name": name,
        "kind": "numbers" if numeric else "names",
        "total_variation": (number % 10) / 10,
        "earth_mover": 0.1 if numeric else None,
        "mean": [36_724.67, None] if numeric else None,
        "deviation": [1.5, None] if numeric else None,
        "quantiles": [],
        "parts": [[f"part {i} of {name}", 1 / parts, (i % 2) * 2 / parts] for i in range(parts)] + [["(missing)", 0.0, 0.01]],
    }  # fmt: skip
