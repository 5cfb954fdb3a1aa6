"""SC13 chapter 6: SSE and record linkage of plain MDAV on four attributes of Census (Table 6.1, two columns), and Score."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from pathlib import Path

from shoal.assess.distortion.information_loss import distortion
from shoal.assess.distortion.linkage import linkage
from shoal.lab.papers.comparison import Reproduction, RunSetting, erratum, statement
from shoal.lab.papers.sc13_chapter3 import Trial, read_table


@dataclass(frozen=True)
class Balance:
    """Two masked versions of a table compared (SC13 §6.4.2): information gained against disclosure risk.

    `information` is SSE_f = √SSE_0/√SSE, `risk` is RL_f = RL_0/RL; above 1 the new version is better in that respect.

    `score` is the thesis' SSE_f/RL_f as its text prints it; `product` is SSE_f·RL_f, which is above 1 just when the gain
    in one respect outweighs the loss in the other, and which its tables hold.
    """

    information: float
    risk: float

    @property
    def score(self) -> float:
        """SSE_f/RL_f."""
        return self.information / self.risk if self.risk else inf

    @property
    def product(self) -> float:
        """SSE_f·RL_f."""
        return self.information * self.risk


COLUMNS = ("FICA", "FEDTAX", "INTVAL", "POTHVAL")
PRINTED = {2: ("3.07E+09", "45.3"), 5: ("1.20E+10", "18.4"), 15: ("2.41E+10", "6.48"), 30: ("4.00E+10", "3.33")}
"""k: SSE_0 and RL_0 in percent."""
SCORES = ((0.025, 279.44, 6.92), (0.17, 16.1, 2.73), (0.588, 4.59, 2.7), (0.955, 1.27, 1.21))
"""SSE_f, RL_f and Score of four cells of the same table."""
TIES = 0.05


def table_6_1(path: Path, _: RunSetting) -> Reproduction:
    """Table 6.1: distances in units of each attribute's domain, 0 to 1.5 times its maximum (Eq 6.7); SSE in its own units."""
    table = read_table(path, COLUMNS)
    widths = 1.5 * table.max(axis=0)
    trial = Trial(table / widths, 0)
    findings = []
    for k, (sse, rate) in PRINTED.items():
        masked = trial.identical(k) * widths
        lost, linked = distortion(table, masked).sse, linkage(table, masked, units=widths.tolist())
        for what, printed, ours in (("SSE", sse, lost), ("RL", rate, linked.rate)):
            gap = ours / float(printed) - 1
            findings.append(
                statement(f"{what} at k = {k}", printed, f"{ours:.4g}", abs(gap) <= TIES, difference=f"{gap:+.1%}")
            )
    scores = [(Balance(information, risk), printed) for information, risk, printed in SCORES]
    findings.append(
        erratum(
            "how Score joins SSE_f and RL_f",
            "SSE_f/RL_f",
            "SSE_f·RL_f",
            holds=all(abs(b.product / p - 1) < 0.02 < abs(b.score / p - 1) for b, p in scores),
            difference=f"at k = 2, eps = 1 the table has {SCORES[0][2]}; the formula gives {scores[0][0].score:.2g}",
        )
    )
    return Reproduction(
        findings,
        [
            f"Within {TIES:.0%}: MDAV's ties are the implementer's.",
            "The upper end of a domain is read from the data here, as in the thesis, which is itself a leak.",
        ],
    )
