"""What the generators return: a claim, a passage, and how the passage stands to the claim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Stance = Literal["supports", "refutes", "neither"]


@dataclass(frozen=True, slots=True)
class Made:
    """One made (claim, passage) pair.

    `s` and `o` stand word for word in `text` or `title`, unless the type is TIME or NUM: those are compared as values
    and may be written otherwise. `pair` is the same for the items that were built to be told apart: they share their text, or differ by
    the deciding words. `frame` names the wording, so that wordings can be kept apart. Where the object is a date or a number,
    `o_value` is its lexical form (without unit) and `o_datatype` the IRI of its XSD type.
    """

    s: str
    s_aliases: tuple[str, ...]
    s_type: str
    p_label: str
    o: str
    o_aliases: tuple[str, ...]
    o_type: str
    title: str
    text: str
    stance: Stance
    phenomenon: str
    pair: str
    frame: str
    o_value: str = ""
    o_datatype: str = ""
