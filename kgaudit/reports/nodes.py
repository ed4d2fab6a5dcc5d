"""Pieces of a page as nested lists: one description that is written as HTML here and built as DOM by the page's script.

A node is a text or `[tag, attributes, child, ...]`. Texts are never markup: they are escaped in HTML and become text nodes in the page,
with control and direction characters as visible marks. So nothing that a graph or a document holds can become an element.
"""

from __future__ import annotations

from html import escape
from typing import TypeAlias

from kgaudit.text import visible

Node: TypeAlias = "str | list[Node | dict[str, str]]"

_VOID = frozenset({"br", "input"})


def element(tag: str, *children: Node | None, **attributes: str | None) -> Node:
    """An element. Attributes that are None and children that are None or empty are left out; `cls` is `class`, `_` in names is `-`."""
    named = {
        "class" if name == "cls" else name.replace("_", "-"): _shown(text) for name, text in attributes.items() if text is not None
    }
    return [tag, named, *[_shown(child) if isinstance(child, str) else child for child in children if child]]


def _shown(text: str) -> str:
    return text if text.isprintable() else visible(text)


def isolated(text: str, **attributes: str | None) -> Node:
    """A text of others, kept apart from the direction of the words around it."""
    return element("bdi", text, **attributes)


def to_html(node: Node) -> str:
    """The node as HTML."""
    out: list[str] = []
    _write(_shown(node) if isinstance(node, str) else node, out)
    return "".join(out)


def _write(node: Node | dict[str, str], out: list[str]) -> None:
    if isinstance(node, str):
        out.append(escape(node))
        return
    tag, attributes, *children = node
    assert isinstance(tag, str)
    assert isinstance(attributes, dict)
    out.append(f"<{tag}")
    out.extend(f' {name}="{escape(value)}"' for name, value in attributes.items())
    out.append(">")
    if tag in _VOID:
        return
    for child in children:
        _write(child, out)
    out.append(f"</{tag}>")
