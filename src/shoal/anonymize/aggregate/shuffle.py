"""A group's own values in another order: every permutation inside a group is equally likely, and groups never mix."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.chance.source import Source
from shoal.errors import UsageError

Array = npt.NDArray[Any]


def shuffle(values: Array, labels: npt.NDArray[np.signedinteger[Any]], source: Source) -> Array:
    """The rows of a column, or of a table, in a uniform order inside each group (SC13 §3.3: probabilistic k-anonymity).

    The columns of a table move together: quasi-identifiers keep their relations to each other and lose those to the rest.
    Columns that are to lose each other are shuffled one by one, each with its own groups. The values of every group,
    and so of every column, stay the same to the last bit; one stream of the source is used for each call.
    """
    if labels.ndim != 1 or len(labels) != len(values):
        raise UsageError(
            "labels and values do not fit together",
            came=f"shapes {labels.shape} and {values.shape}",
            allowed="one label for each row",
        )
    return np.asarray(values[source.stream("shuffle").shuffle_within(labels)])
