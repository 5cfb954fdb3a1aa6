"""What SC13 §3.4 prints: correlations to the confidential attributes (Tables 3.6–3.9) and their average changes (3.10, 3.11)."""

from __future__ import annotations

CROWDS = (5, 7, 9, 11, 25, 50, 100, 200, 300)
METHODS = ("MDAV-ID", "MDAV-SWAP", "IR-SWAP")

ORIGINAL = """
.0038 -.027 -.024 .031 .032 .039 .036
.98   .14   .2    .73  .71  .72  .7
.44   -.12  -.058 .56  .55  .56  .55
.98   .2    .28   .73  .69  .71  .69
.78   .27   .27   .9   .85  .88  .86
.79   .13   .22   .59  .57  .57  .56
1     .17   .23   .72  .7   .71  .69
      1     .45   -.17 -.19 -.17 -.17
            1     .072 .061 .70  .075
                  1    .96  .98  .96
                       1    .91  .89
                            1    .97
                                 1
"""
"""Table 3.6: a row for each attribute A_1 to A_13 of Census, a column for each of A_7 to A_13, each pair once."""

IDENTICAL = """
-.0035 -.035 -.055 .034 .035 .042 .04
1      .18   .39   .8   .81  .8   .78
.79    -.17  .084  .89  .9   .89  .89
.99    .23   .45   .82  .8   .81  .8
.86    .18   .4    .94  .92  .94  .93
.95    .2    .43   .77  .76  .76  .75
1      .2    .41   .8   .8   .79  .78
       1     .68   -.15 -.18 -.15 -.16
             1     .18  .14  .17  .16
                   1    .98  1    .99
                        1    .97  .97
                             1    1
                                  1
"""
"""Table 3.7: MDAV-ID, k = 12."""

SWAPPED = """
-.0011 -.028 -.034 .032  .033  .036  .032
.81    .089  .17   .69   .67   .69   .67
.42    -.020 .091  .48   .47   .48   .43
.77    .093  .18   .68   .65   .68   .67
.72    .086  .16   .80   .76   .79   .77
.64    .086  .14   .54   .52   .54   .52
1      .12   .17   .69   .67   .66   .65
       1     .19   -.013 -.022 -.042 -.011
             1     .11   .10   .10   .13
                   1     .76   .81   .87
                         1     .72   .70
                               1     .77
                                     1
"""
"""Table 3.8: MDAV-SWAP, k = 12, one run."""

RANKED = """
.0041 -.017 -.018 .031 .038 .039 .038
.98   .13   .20   .73  .71  .72  .70
.44   -.12  -.041 .56  .55  .56  .55
.98   .19   .27   .73  .68  .71  .69
.78   .26   .26   .90  .85  .88  .86
.79   -.12  .21   .59  .57  .57  .56
1     .16   .23   .72  .69  .71  .69
      1     .42   -.17 -.19 -.17 -.17
            1     .077 .063 .075 .080
                  1    .95  .98  .96
                       1    .91  .89
                            1    .97
                                 1
"""
"""Table 3.9: IR-SWAP, k = 12, one run."""

CENSUS = """
.055 .064  .037 .045  .0021 .0041
.062 .071  .048 .056  .0022 .0039
.069 .078  .055 .064  .0028 .0049
.078 .085  .061 .070  .0038 .0068
.11  .11   .091 .093  .0061 .012
.14  .13   .13  .12   .010  .020
.17  .15   .19  .17   .020  .030
.29  .27   .31  .28   .044  .047
.38  .39   .37  .34   .087  .071
"""
"""Table 3.10: a row for each of CROWDS; mean and standard deviation of the absolute differences, for each of METHODS."""

EIA = """
.018 .017  .017 .035  .00064 .00075
.02  .017  .024 .05   .0012  .0018
.034 .031  .028 .053  .0015  .0018
.039 .036  .029 .052  .0019  .0023
.085 .078  .043 .081  .0063  .0072
.13  .12   .053 .089  .011   .011
.15  .14   .058 .092  .029   .037
.19  .18   .09  .11   .093   .074
.2   .18   .12  .13   .14    .091
"""
"""Table 3.11, in the same form."""


def triangle(text: str) -> list[list[str]]:
    """The rows of a table of correlations, as printed; a row of A_8 or later begins at its own column."""
    return [line.split() for line in text.strip().splitlines()]


def averages(text: str) -> dict[tuple[int, str], tuple[str, str]]:
    """Mean and standard deviation by k and method."""
    rows = [line.split() for line in text.strip().splitlines()]
    return {
        (k, method): (row[2 * i], row[2 * i + 1])
        for k, row in zip(CROWDS, rows, strict=True)
        for i, method in enumerate(METHODS)
    }


def half_unit(printed: str) -> float:
    """Half of the last digit: how far rounding alone may have moved it."""
    return 0.5 * 10.0 ** -len(printed.partition(".")[2])
