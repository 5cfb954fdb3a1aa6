"""Go through trees of nodes, and make tables of contents, without work that changes nothing on any page.

A reference page is a tree of a hundred thousand nodes, and some sixty transforms look for something in every tree. Every page has
the contents of the whole documentation at its side. What stands here is what docutils and Sphinx do, with the same results.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from docutils import nodes, statemachine
from sphinx import addnodes
from sphinx.builders import html
from sphinx.search.en import SearchEnglish

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment


def find_nodes(top: nodes.Node, fits: Callable[[nodes.Node], bool]) -> Iterator[nodes.Node]:
    """A node and all below it, from top to bottom, that fit; docutils makes a generator for each node instead."""
    if fits(top):
        yield top
    below = [iter(top.children)]
    while below:
        for node in below[-1]:
            if fits(node):
                yield node
            if node.children:
                below.append(iter(node.children))
                break
        else:
            below.pop()


def find_instances(top: nodes.Node, kind: type) -> Iterator[nodes.Node]:
    """As `find_nodes`, for the nodes of a class."""
    if isinstance(top, kind):
        yield top
    below = [iter(top.children)]
    while below:
        for node in below[-1]:
            if isinstance(node, kind):
                yield node
            if node.children:
                below.append(iter(node.children))
                break
        else:
            below.pop()


find_others = nodes.Node.findall


def findall(
    self: nodes.Node,
    condition: type | Callable[[nodes.Node], bool] | None = None,
    include_self: bool = True,
    descend: bool = True,
    siblings: bool = False,
    ascend: bool = False,
) -> Iterator[nodes.Node]:
    """Find nodes as docutils does."""
    if not (include_self and descend) or siblings or ascend:
        return find_others(self, condition, include_self, descend, siblings, ascend)
    if isinstance(condition, type):
        return find_instances(self, condition)
    return find_instances(self, nodes.Node) if condition is None else find_nodes(self, condition)


def setup_child(self: nodes.Node, child: nodes.Node) -> None:
    """Hang a node below another; the document, for which every node above is asked, is asked for once."""
    child.parent = self
    document = self.document
    if document:
        child.document = document
        if child.source is None:
            child.source = document.current_source
        if child.line is None:
            child.line = document.current_line


make_transition = statemachine.State.make_transition
known_patterns: dict[tuple[type, str, str | None], tuple[Any, str]] = {}


def remember_transition(self: statemachine.State, name: str, next_state: str | None = None) -> tuple[Any, Any, str]:
    """A transition of a parser's state: the pattern is that of the class, and only the method is the state's own."""
    key = (type(self), name, next_state)
    if key not in known_patterns:
        pattern, _, following = make_transition(self, name, next_state)
        known_patterns[key] = (pattern, following)
    pattern, following = known_patterns[key]
    return pattern, getattr(self, name), following


global_toctree = html.global_toctree_for_doc
short_contents: dict[str, nodes.bullet_list] = {}


def titles_of(contents: nodes.bullet_list) -> nodes.bullet_list:
    """The contents of a page without its sections, as Sphinx cuts them down after copying all of them."""
    if any(find_instances(contents, addnodes.only)):
        return contents
    short = contents.deepcopy()
    for entry in short.children:
        if len(entry) > 1:
            trees = list(find_instances(entry, addnodes.toctree))
            if trees:
                entry[1][:] = trees
            else:
                entry.pop(1)
    return short


def toctree_of_titles(env: BuildEnvironment, docname: str, builder: Any, **options: Any) -> nodes.Element | None:
    """The contents of the documentation for one page; where they have titles alone, no section of any page is copied."""
    if not options.get("titles_only"):
        return global_toctree(env, docname, builder, **options)
    if short_contents.keys() != env.tocs.keys():
        short_contents.clear()
        short_contents.update({page: titles_of(contents) for page, contents in env.tocs.items()})
    complete = env.tocs
    env.tocs = short_contents
    try:
        return global_toctree(env, docname, builder, **options)
    finally:
        env.tocs = complete


def setup(app: Sphinx) -> dict[str, Any]:
    """Put these in the place of what they repeat."""
    nodes.Node.findall = findall
    nodes.Node.setup_child = setup_child
    statemachine.State.make_transition = remember_transition
    html.global_toctree_for_doc = toctree_of_titles
    SearchEnglish.stem = functools.cache(SearchEnglish.stem)  # type: ignore[method-assign]
    app.connect("builder-inited", lambda _: short_contents.clear())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
