"""Files of questions and of priors: YAML in which every value is the text that was typed."""

from __future__ import annotations

from pathlib import Path

from shoal.errors import UsageError
from shoal.policy.text.problem import RefusedPolicyError
from shoal.policy.text.reading import Tree, read

_EMPTY = "the policy is empty"


def plain_values(path: str | Path, what: str, allowed: str | None = None) -> Tree:
    """What a file holds; `what` names it in messages, since it is no policy."""
    where = Path(path)
    try:
        text = where.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{what} is not UTF-8 text", came=where, fix="save it as UTF-8") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no such name"
        raise UsageError(f"{what} cannot be read", came=f"{where} ({reason})", allowed=allowed) from None
    try:
        return read(text, str(where)).tree
    except RefusedPolicyError as error:
        first = error.problems[0]
        if first.wrong == _EMPTY:
            raise UsageError(f"{what} is empty", came=where, allowed=allowed) from None
        wrong = first.wrong.replace("a policy", "one")
        raise UsageError(
            f"{what}: {first.place(str(where))}: {wrong}", came=first.came, allowed=first.allowed, fix=first.fix
        ) from None
