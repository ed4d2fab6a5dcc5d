from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgaudit.text import find_names, fold, fold_name, fold_text, guess_language, one_line, sentences, visible


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def found(text: str, *names: str) -> list[str]:
    folded = fold(text)
    return [text[slice(*folded.original(mention.start, mention.end))] for mention in find_names(text, folded, names)]


def test_composed_and_decomposed_letters_fold_alike_and_offsets_point_into_the_original() -> None:
    decomposed = unicodedata.normalize("NFD", "Die Fähre von Mühlbrück fährt.")
    assert fold_text(decomposed) == fold_text("Die Fähre von Mühlbrück fährt.")
    assert found(decomposed, "Mühlbrück") == [unicodedata.normalize("NFD", "Mühlbrück")]
    assert found(unicodedata.normalize("NFD", "하늘강 다리는"), "하늘강 다리") == [unicodedata.normalize("NFD", "하늘강 다리")]


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=40))
@settings(max_examples=200, deadline=None)
def test_folding_with_and_without_offsets_is_one_and_offsets_stay_inside(text: str) -> None:
    folded = fold(text)
    assert folded.text == fold_text(text)
    for i in range(len(folded.text)):
        start, end = folded.original(i, i + 1)
        assert 0 <= start < end <= len(text)


@pytest.mark.parametrize(
    ("text", "names", "right"),
    [
        ("Norrby\u00a0Pumps and NORRBY  PUMPS", ["Norrby Pumps"], ["Norrby\u00a0Pumps", "NORRBY  PUMPS"]),
        ("Orviks is not Orvik's", ["Orvik"], ["Orvik"]),
        ("IT makes it", ["IT"], ["IT"]),
        ("4,523,000 or 523", ["523"], ["523"]),
        ("U.S.A. and U.S. firms", ["U.S."], ["U.S."]),
        ("C++ & Co. has it", ["C++ & Co."], ["C++ & Co."]),
        ("Studiolo", ["Studio*", "Studio"], []),
        ("हिन्दी", ["हिन्द"], []),
        ("서울특별시는 서울이", ["서울", "서울특별시"], ["서울특별시", "서울"]),
        ("東京都に", ["東京"], ["東京"]),
        ("Straße, STRASSE", ["Strasse"], ["Straße", "STRASSE"]),
        ("anything", ["", " "], []),
    ],
)
def test_names_are_found_as_wholes(text: str, names: list[str], right: list[str]) -> None:
    assert found(text, *names) == right


def test_a_name_folds_to_one_form() -> None:
    assert fold_name("  Öland\u2009Süd\n") == fold_name("o\u0308land su\u0308d")
    assert fold_name("x\u200by – “z”") == 'xy - "z"'


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("He met Dr. Sund. They spoke.", ["He met Dr. Sund.", "They spoke."]),
        ("J. R. Brandt came. So did I.", ["J. R. Brandt came.", "So did I."]),
        ("Er kam am 3. Mai nach Orvik. Dann ging er.", ["Er kam am 3. Mai nach Orvik.", "Dann ging er."]),
        ("Norrby Pumps Inc. It makes pumps.", ["Norrby Pumps Inc.", "It makes pumps."]),
        ("Norrby Inc. Holdings is here.", ["Norrby Inc. Holdings is here."]),
        ("wrapped\nprose goes on. Next", ["wrapped\nprose goes on.", "Next"]),
        ("Seat: Orvik\nFounder: Ida Sund", ["Seat: Orvik", "Founder: Ida Sund"]),
        ("First.\n\nlower case begins a paragraph", ["First.", "lower case begins a paragraph"]),
        ("no full stop\r\n\r\nand on", ["no full stop", "and on"]),
        ("1. First thing\n2. Second thing", ["1. First thing", "2. Second thing"]),
        ("これは文です。iPhoneもある。", ["これは文です。", "iPhoneもある。"]),
        ("하늘강 다리다. 그는 왔다.", ["하늘강 다리다.", "그는 왔다."]),
        ("Wait... what? Yes!", ["Wait... what?", "Yes!"]),
        (" \n\t ", []),
    ],
)
def test_sentences(text: str, right: list[str]) -> None:
    assert cut(text) == right


@given(st.text(alphabet="ab.!?。\n\r \"'1AÉ\u0301", max_size=60))
@settings(max_examples=200, deadline=None)
def test_sentences_lose_nothing_but_white_space(text: str) -> None:
    spans = sentences(text)
    assert all(start < end for start, end in spans)
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())


@pytest.mark.parametrize("text", ["." * 60_000, "a" + '."' * 30_000, ("\n" + " " * 300) * 200, ".'" + "'" * 60_000, "x" * 500_000])
def test_no_text_takes_long_to_cut(text: str) -> None:
    begun = time.perf_counter()
    sentences(text)
    assert time.perf_counter() - begun < 2


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The seat of the firm is in Orvik and it was founded by Ida Sund.", "en"),
        ("Der Sitz der Firma ist in Orvik und sie wurde von Ida Sund gegründet.", "de"),
        ("하늘강 다리는 1987년에 완공되었다.", "ko"),
        ("東京は日本の首都です。", "ja"),
        ("Norrby", ""),
        ("", ""),
    ],
)
def test_language_is_guessed_from_script_and_function_words(text: str, language: str) -> None:
    assert guess_language(text) == language


def test_characters_that_turn_or_hide_text_are_made_visible() -> None:
    assert visible("a\u202eb\x1b[2J\n") == "a[U+202E]b[U+001B][2J\n"
    assert one_line(" a\nb\tc ") == "a b c"
    assert one_line("abcdef", 4) == "abc…"


def _named(text: str, *names: str) -> list[tuple[str, str]]:
    return [(mention.name, text[mention.start : mention.end]) for mention in find_names(text, fold(text), names)]


@pytest.mark.parametrize(
    ("text", "name", "stands_at"),
    [
        ("Norrby includes three works, at Orvik, Halden and Tarn.", "Halden works", "Halden"),
        ("The Orvik, Halden and Tarn works were closed.", "Orvik works", "Orvik"),
        ("It opened offices in Orvik and New Tarn.", "New Tarn office", "New Tarn"),
        ("It has plants in Orvik, Tarn, and Halden.", "Halden plant", "Halden"),
    ],
)
def test_a_list_names_each_of_its_things(text: str, name: str, stands_at: str) -> None:
    assert _named(text, name) == [(name, stands_at)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Norrby includes three works, at Orvik, Halden and Tarn.", "Sund works"),
        ("Norrby includes three works, at Orvik, Halden and Tarn.", "Norrby works"),  # not in the list
        ("In Halden there are works; Orvik and Tarn have none.", "Halden works"),
        ("Halden and Tarn work hard.", "Halden works"),  # a verb
        ("Offices in Orvik and New Tarn closed.", "Tarn office"),  # a part of another name
        ("It opened offices in Orvik and Tarn.", "Orvik Office"),  # a name of its own
    ],
)
def test_what_no_list_spreads_out_is_not_named(text: str, name: str) -> None:
    assert _named(text, name) == []


def test_a_name_that_stands_as_a_whole_is_found_there_alone() -> None:
    text = "The Halden works burnt down; works at Orvik, Halden and Tarn were spared."
    assert _named(text, "Halden works") == [("Halden works", "Halden works")]
