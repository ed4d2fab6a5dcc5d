"""What the encoder reads: both names are always there, marked, wherever they stand in a document."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgaudit.agent.statements import statement_claim
from kgaudit.claims import Entity
from kgaudit.documents import Passage
from kgaudit.models.excerpts import BUDGET, claim_words, excerpts, plain_excerpt
from kgaudit.models.mentions import find_mentions
from kgaudit.models.reading import read
from kgaudit.training.cue import claim_of
from kgaudit.training.pairs import excerpts_of

_FILLER = "Nobody spoke of it for many years, and the archive holds no further letters from that time. "


def _claim(s: str = "Ada Quill", o: str = "Orvik", p: str = "place of birth", aliases: tuple[str, ...] = ()):  # type: ignore[no-untyped-def]
    return claim_of({"p": "", "p_label": p, "s_label": s, "s_aliases": list(aliases), "o_label": o, "o_aliases": []})


def _of(claim, text: str, title: str = "", most: int = 2):  # type: ignore[no-untyped-def]
    return excerpts_of(claim, Passage("d", 0, len(text), text, title, "en"), most)


def test_names_are_marked_by_role_and_aliases_count() -> None:
    (one,) = _of(_claim(aliases=("Miss Quill",)), "Miss Quill was born in Orvik. She left Orvik early.")
    assert one.claim == "@ Ada Quill @ place of birth # Orvik #"
    assert one.text == "@ Miss Quill @ was born in # Orvik # . She left # Orvik # early."


def test_marks_in_the_text_itself_are_taken_out() -> None:
    (one,) = _of(_claim(), "Ada Quill @ Orvik #1: born there in #1910.")
    assert one.text.count("@") == 2
    assert one.text.count("#") == 2


@pytest.mark.parametrize("gap", [0, 2, 5, 12, 40])
def test_both_names_are_in_the_excerpt_however_far_apart_they_stand(gap: int) -> None:
    text = _FILLER * 3 + "Ada Quill kept a shop. " + _FILLER * gap + "The harbour of Orvik was hers. " + _FILLER * 3
    found = _of(_claim(), text, most=1)
    assert len(found) == 1
    assert "@ Ada Quill @" in found[0].text
    assert "# Orvik #" in found[0].text
    assert len(found[0].text) < 2 * BUDGET


def test_a_long_sentence_is_cut_around_the_names() -> None:
    text = "and so on " * 200 + "Ada Quill was born in Orvik " + "and so on " * 200
    (one,) = _of(_claim(), text, most=1)
    assert "@ Ada Quill @ was born in # Orvik #" in one.text
    assert len(one.text) < BUDGET + 60


@pytest.mark.parametrize("letter", ["=", "x"])
def test_an_immense_word_beside_the_names_does_not_push_them_out(letter: str) -> None:
    text = letter * 5000 + " Ada Quill was born in Orvik. " + letter * 5000
    (one,) = _of(_claim(), text, most=1)
    assert "@ Ada Quill @ was born in # Orvik #" in one.text
    assert len(one.text) < BUDGET + 100


def test_a_title_that_names_the_subject_is_marked_and_the_text_need_not() -> None:
    (one,) = _of(_claim(), "Born in Orvik, she went to sea.", title="Ada Quill")
    assert one.text.startswith("@ Ada Quill @: ")
    assert "# Orvik #" in one.text


def test_windows_are_different_places() -> None:
    text = "Ada Quill was born in Orvik. " + _FILLER * 8 + "In later years Ada Quill sold her house in Orvik."
    found = _of(_claim(), text)
    assert len(found) == 2
    assert found[0].end < found[1].start or found[1].end < found[0].start


def test_places_are_those_of_the_text() -> None:
    text = _FILLER + "Ada Quill was born in Orvik. " + _FILLER
    claim = _claim()
    reading = read(text, "en")
    (one,) = excerpts(claim, reading, find_mentions(claim, reading, None, 6), "", 1)
    assert "Ada Quill was born in Orvik." in text[one.start : one.end]


def test_a_statement_gives_the_predicate_where_one_is_checked() -> None:
    named = replace(_claim(), object=Entity("urn:o", "Orvik"))
    claim = statement_claim(named, "Ada Quill came from Orvik.")
    assert claim is not None
    assert claim_words(claim) == "@ Ada Quill @ came from # Orvik #"
    assert plain_excerpt("A  claim", "Its text", "Title").text == "Title: Its text"
