"""Changes to the text of a policy that leave a person's comments, order and spelling where they were."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from shoal.errors import PolicyError
from shoal.guarantee.rounding import exact_text
from shoal.policy.text.problem import Path, dotted_path, excerpt
from shoal.policy.text.reading import Tree, read_yaml

Change = str | tuple[str, ...]

_SAFE = re.compile(r"(?:\w|\+|[.-](?=[0-9]))[\w./+-]*(?: [\w./+-]+)*")

"""What can be written without quotes."""
_NESTED = re.compile(r"^( {2,8})[^\s#-]", re.MULTILINE)
_DASHED = re.compile(r"^( *)[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n( *)- ", re.MULTILINE)
"""The first nested key, and the first list below a key: how the person indents."""


class _TextResolver(VersionedResolver):
    """Knows one kind of scalar, text: so that nothing is guessed on the way in or respelled on the way out."""

    @property
    def versioned_resolver(self) -> Any:
        return {}


def change_text(text: str, changes: Mapping[Change, object]) -> str:
    """The text with the values at these keys replaced, added, or (None) removed.

    >>> print(change_text("epsilon: 1  # ours", {"epsilon": "0.5"}), end="")
    epsilon: 0.5  # ours
    """
    root, meant = deepcopy(_load(text)), read_yaml(text).tree
    for key, value in changes.items():
        path = tuple(key.split(".")) if isinstance(key, str) else key
        new = None if value is None else _plain(value)
        for tree in (root, meant):
            _set_key(tree, path, new)
    return _check_same_meaning(_dump(_yaml(text), root), meant)


@lru_cache(maxsize=4)
def _load(text: str) -> Any:
    """The text with its comments, read once however often it is changed; a copy of it takes a fifth of the time."""
    return _yaml(text).load(text)


def text_of(values: Mapping[str, object]) -> str:
    """Plain values as the text of a policy."""
    meant = _plain(values)
    return _check_same_meaning(_dump(_yaml(""), _block(meant)), meant)


def _check_same_meaning(text: str, meant: Tree) -> str:
    """The text, if it says what was meant: a file is never written on trust."""
    if read_yaml(text).tree != meant:
        raise PolicyError("these values cannot be written so that they are read the same", fix="edit the file by hand")
    return text


ENDLESS = 2**30
"""No line is broken: ruamel breaks a key of several words as it would a sentence, and then nobody can read the file."""


def _yaml(text: str) -> YAML:
    yaml = YAML(typ="rt", pure=True)
    yaml.Resolver = _TextResolver
    yaml.preserve_quotes = True
    yaml.width = ENDLESS
    nested, dashed = _NESTED.search(text), _DASHED.search(text)
    offset = max(0, len(dashed[2]) - len(dashed[1])) if dashed else 0
    yaml.indent(mapping=len(nested[1]) if nested else 2, sequence=offset + 2, offset=offset)
    return yaml


def _dump(yaml: YAML, root: Any) -> str:
    out = StringIO()
    yaml.dump(root, out)
    return out.getvalue()


def _set_key(root: Any, path: Path, value: Tree | None) -> None:
    """Change one key of a tree, ruamel's or a plain one."""
    here = root
    for i, step in enumerate(path[:-1]):
        if not isinstance(here, dict) or (value is None and step not in here):
            break
        here = here.setdefault(step, type(root)())
        if not isinstance(here, dict):
            fix = f"change {dotted_path(path[: i + 1])} as a whole"
            raise PolicyError(
                f"{dotted_path(path[: i + 1])}: one value, which has no keys", came=excerpt(here), fix=fix
            )
    else:
        if value is None:
            here.pop(path[-1], None)
        elif isinstance(root, CommentedMap):
            here[path[-1]] = _block(value) if len(path) == 1 else _flow(value)
        else:
            here[path[-1]] = deepcopy(value)


def _block(value: Tree) -> Any:
    """A mapping over several lines, and what it holds on one line each."""
    if not isinstance(value, dict):
        return _flow(value)
    below = [item for item in value.values() if isinstance(item, dict)]
    deep = any(isinstance(item, dict) for each in below for item in each.values())
    return CommentedMap((_quote(key), (_block if deep else _flow)(item)) for key, item in value.items())


def _flow(value: Tree) -> Any:
    """A value on one line."""
    made: Any
    if isinstance(value, dict):
        made = CommentedMap((_quote(key), _flow(item)) for key, item in value.items())
    elif isinstance(value, list):
        made = CommentedSeq(_flow(item) for item in value)
    else:
        return _quote(value)
    made.fa.set_flow_style()
    return made


def _quote(text: str) -> str:
    """A text in quotes, unless no reader of YAML could take any part of it for a sign."""
    return text if _SAFE.fullmatch(text) else DoubleQuotedScalarString(text)


def _plain(value: object) -> Any:
    """Values of Python as a tree of texts, as a person would type them; None is not there."""
    if isinstance(value, Mapping):
        return {_text(key): _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return _text(value)


def _text(value: object) -> str:
    """One scalar as a person would type it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Fraction):
        return exact_text(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int | Decimal):
        return str(value)
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, dt.date):
        return value.isoformat()
    raise PolicyError("a value that a policy cannot hold", came=type(value).__name__, allowed="texts, numbers, dates")
