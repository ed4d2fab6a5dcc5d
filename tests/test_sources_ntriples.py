from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyoxigraph
import pytest
import sources_tools
from hypothesis import given, settings
from hypothesis import strategies as st

from kgaudit.errors import EmptyInputError, InputError, StorageError, UsageError
from kgaudit.sources import Quarantine, SourceOptions, read_batches
from kgaudit.sources import ntriples as lines_module
from kgaudit.triples import canonical_term

Row = tuple[int, str, str, str, str | None]


def read_text(folder: Path, text: str | bytes, name: str = "kg.nt", **options: Any) -> tuple[list[Row], list[dict[str, Any]]]:
    """(line, s, p, o, graph) of each statement, and what went into quarantine."""
    rows, bad = sources_tools.read_text(folder, text, name, **options)
    return [(row["line"], row["s"], row["p"], row["o"], row["graph"]) for row in rows], bad


def test_lines_become_statements_with_their_numbers(tmp_path: Path) -> None:
    rows, bad = read_text(
        tmp_path,
        '# a comment\n\n<e:s> <e:p> <e:o> .\n  <e:s>\t<e:p>  <e:o2> . # behind\n_:b <e:p> _:c .\n<e:s> <e:p> "x"@EN .\n'
        '<e:s> <e:p> "5"^^<e:t>.\n<e:s> <e:p> <<( <e:a> <e:b> "c d" )>> .\n<e:s> <e:p> "no end of line" .',
    )
    assert bad == []
    assert rows == [
        (3, "<e:s>", "<e:p>", "<e:o>", None),
        (4, "<e:s>", "<e:p>", "<e:o2>", None),
        (5, "_:b", "<e:p>", "_:c", None),
        (6, "<e:s>", "<e:p>", '"x"@EN', None),
        (7, "<e:s>", "<e:p>", '"5"^^<e:t>', None),
        (8, "<e:s>", "<e:p>", '<<( <e:a> <e:b> "c d" )>>', None),
        (9, "<e:s>", "<e:p>", '"no end of line"', None),
    ]


def test_quads_keep_their_graph_and_literals_that_look_like_one(tmp_path: Path) -> None:
    rows, bad = read_text(
        tmp_path,
        '<e:s> <e:p> <e:o> <e:g> .\n<e:s> <e:p> "see <e:g>" .\n<e:s> <e:p> "see <e:g> "^^<e:t> .\n<e:s> <e:p> "l <e:x> ." <e:g>.\n'
        "<e:s> <e:p> <e:o> _:g .\n<e:s> <e:p> <e:o> .\n",
        "kg.nq",
    )
    assert bad == []
    assert [(o, graph) for _, _, _, o, graph in rows] == [
        ("<e:o>", "<e:g>"),
        ('"see <e:g>"', None),
        ('"see <e:g> "^^<e:t>', None),
        ('"l <e:x> ."', "<e:g>"),
        ("<e:o>", "_:g"),
        ("<e:o>", None),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("<e:valve 7> <e:p> <e:o> .", r"^space \(U\+0020\) in an IRI"),
        ("<e:s> <e:p> <e:Halden\\u0020Works> .", r"^escaped space \(U\+0020\)"),
        ("<e:valve_{10}> <e:p> <e:o> .", r"^opening brace \(U\+007B\)"),
        ("<e:s> <e:p> <e:a|b> .", "vertical bar"),
        ("<e:s> <e:p> <e:a#b#c> .", "number sign"),
        ("<e:s> <e:p> <e:%zz> .", "(?i)percent"),
        ("<e:s> <e:p> <http://[x> .", "."),
        ("<s> <e:p> <e:o> .", "relative IRI"),
        ('<e:s> <e:p> "\\uD83D\\uDEA2" .', "surrogate"),
        ('<e:s> <e:p> "x \\uD83D" .', "surrogate"),
        ('<e:s> <e:p> "\\x" .', "escape"),
        ('<e:s> <e:p> "x"@e_n .', "."),
        ('<e:s> <e:p> "x"@toolonglanguage .', "language tag"),
        ('<e:s> <e:p> "x"@en-x .', "language tag"),
        ('<e:s> <e:p> "open .', "not closed"),
        ("<e:s> <e:p> <e:o>", "does not end in a dot"),
        ("<e:s> <e:p> <e:o> <e:g> .", "does not end in a dot"),
        ("<e:s> <e:p> <e:o> . <e:s> <e:p> <e:o> .", "(?i)single triple"),
        ('"x" <e:p> <e:o> .', "subject"),
        ("<e:s> _:p <e:o> .", "predicate"),
    ],
)
def test_faulty_lines_are_kept_apart_with_a_reason(tmp_path: Path, line: str, reason: str) -> None:
    rows, (bad,) = read_text(tmp_path, f"<e:a> <e:b> <e:c> .\n{line}\n<e:d> <e:e> <e:f> .\n")
    assert [row[0] for row in rows] == [1, 3]
    assert (bad["file"], bad["line"], bad["text"]) == ("kg.nt", 2, line)
    assert re.search(reason, bad["reason"]), bad["reason"]


def test_strict_stops_at_the_first_bad_line(tmp_path: Path) -> None:
    (tmp_path / "kg.nt").write_text("<e:s> <e:p> <e:o> .\n<e:s> <e:p> <e:a b> .\nnonsense\n")
    with Quarantine(tmp_path, strict=True) as quarantine, pytest.raises(InputError, match=r"kg\.nt: line 2: space"):
        list(read_batches(tmp_path / "kg.nt", SourceOptions(strict=True), quarantine))
    assert not quarantine.path.exists()


def test_all_line_ends_and_a_mark_at_the_start_and_inside(tmp_path: Path) -> None:
    text = "\ufeff<e:1> <e:p> <e:o> .\r\n<e:2> <e:p> <e:o> .\r<e:3> <e:p> <e:o> .\n\r\n\ufeff<e:5> <e:p> <e:o> .\r"
    rows, bad = read_text(tmp_path, text)
    assert bad == []
    assert [(line, s) for line, s, *_ in rows] == [(1, "<e:1>"), (2, "<e:2>"), (3, "<e:3>"), (5, "<e:5>")]


@pytest.mark.parametrize("block", [1, 7, 64])
def test_blocks_that_end_anywhere_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(lines_module, "BLOCK", block)
    text = "".join(f'<e:{i}> <e:p> "ü{i}" .\r\n' if i % 3 else f"<e:{i}> <e:p> <e:o> .\r" for i in range(20)) + "<e:x> <e:p> <e:o> ."
    rows, bad = read_text(tmp_path, text)
    assert bad == []
    assert [line for line, *_ in rows] == list(range(1, 22))


def test_bytes_that_are_no_utf8_cost_their_line_only(tmp_path: Path) -> None:
    rows, (bad,) = read_text(tmp_path, b'<e:1> <e:p> "ok" .\n<e:2> <e:p> "M\xfchle" .\n<e:3> <e:p> "\xc3\xa9" .\n')
    assert [(row[0], row[3]) for row in rows] == [(1, '"ok"'), (3, '"é"')]
    assert (bad["line"], bad["text"]) == (2, '<e:2> <e:p> "M\\xfchle" .')
    assert "UTF-8: byte 0xFC at byte 15" in bad["reason"]


def test_a_line_without_end_is_kept_apart_with_its_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "LINE_LIMIT", 1000)
    monkeypatch.setattr(lines_module, "BLOCK", 100)
    rows, (bad,) = read_text(tmp_path, '<e:1> <e:p> <e:o> .\n<e:2> <e:p> "' + "a" * 5000 + '" .\n<e:3> <e:p> <e:o> .\n')
    assert [line for line, *_ in rows] == [1, 3]
    assert bad["line"] == 2
    assert "5,016 bytes" in bad["reason"]
    assert len(bad["text"]) <= 2000


def test_quarantined_text_is_cut(tmp_path: Path) -> None:
    _, (bad,) = read_text(tmp_path, "<e:a> <e:b> <e:c> .\n" + "x" * 9000 + "\n")
    assert bad["text"] == "x" * 2000


def test_one_value_has_one_text(tmp_path: Path) -> None:
    rows, bad = read_text(
        tmp_path, '<e:1> <e:p> "\\U0001F6A2" .\n<e:2> <e:p> "🚢" .\n<e:3> <e:p> "a\tb\\u0022"@en .\n<e:4> <e:p> <e:\\u00FC> .\n'
    )
    assert bad == []
    assert [o for *_, o, _ in rows] == ['"🚢"', '"🚢"', '"a\\tb\\""@en', "<e:ü>"]


LINES = "".join(f"<e:s{i}> <e:p> <e:o> .\n" for i in range(3000)).encode()


@pytest.mark.parametrize("name", ["kg.nt.gz", "kg.nt.zst"])
def test_compressed_files_are_read_whole_or_refused(tmp_path: Path, name: str) -> None:
    pack = gzip.compress if name.endswith("gz") else lambda data: pa.compress(data, "zstd", asbytes=True)
    rows, _ = read_text(tmp_path, pack(LINES) + pack(LINES), name)  # two members
    assert len(rows) == 6000
    with pytest.raises(InputError, match=r"ends early: [\d,]+ statements were read"):
        read_text(tmp_path, pack(LINES)[:-40], name)
    with pytest.raises(InputError, match=r"ends early|damaged"):
        read_text(tmp_path, b"<e:s> <e:p> <e:o> .\n", name)
    with pytest.raises(EmptyInputError, match="empty"):
        read_text(tmp_path, b"", name)
    with pytest.raises(EmptyInputError, match="empty"):
        read_text(tmp_path, pack(b""), name)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<!DOCTYPE html>\n<html><body>404</body></html>", "HTML"),
        (b'{"@id": "e:x"}', "JSON"),
        (b"PK\x03\x04\x00\x00", "zip"),
        (b"\x1f\x8b\x08\x00", "gzip"),
        (b"@prefix e: <e:> .\ne:a e:b e:c .", "Turtle"),
        (b"<?xml version='1.0'?><rdf:RDF/>", "XML"),
        (b"<e:s> <e:p> <e:o> .".decode().encode("utf-16"), "UTF-16"),
        (b"\x00\x01\x02\x03", "binary"),
        (b"some prose\nand more\n", "no statement could be read: 2 went into quarantine"),
    ],
)
def test_other_formats_are_named(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_text(tmp_path, data)


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff", "# only a comment\n"])
def test_nothing_is_said_to_be_nothing(tmp_path: Path, text: str) -> None:
    with pytest.raises(EmptyInputError):
        read_text(tmp_path, text)


def test_missing_files_and_unknown_formats(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="no such file"):
        sources_tools.read(tmp_path / "nothing.nt")
    (tmp_path / "kg.txt").write_text("<e:s> <e:p> <e:o> .\n")
    with pytest.raises(UsageError, match="--format"):
        sources_tools.read(tmp_path / "kg.txt")
    assert len(sources_tools.read(tmp_path / "kg.txt", format="ntriples")[0]) == 1
    with pytest.raises(UsageError, match="unknown format"):
        sources_tools.read(tmp_path / "kg.txt", format="n3")


PIECES = st.sampled_from(
    [
        "<e:s>", "<http://a.b/c?d=%20#e>", "<http://a:80/x>", "<http://a:b/>", "<e:ü>", "<e:\ue000>", "<e:a b>", "<e:%4>", "<rel>",
        "<e:\\u00e9>", "<e:>", "<http://u@h/>", "<http://[::1]/>", "<e:[x]>", "<e:'(x)!$&*,;=:@>", "<1e:x>", "<e:a#b#c>", "<e:\x85>",
        "<//a>", "<e://ü/>", "<e:///x>", "<e:/>", "<e:/a>", "<e:#>", "<e:?>", "<e:%41>", "<e:/%41%>", "<e:\\u0020>", "<e:a\\>",
        "_:b", "_:1.2", "_:a.", "_:é", "_:-", '"x"', '"é\\n\\"\\\\"', '"a b <c> ."', '"\\u00e9"', '"\\ud83d"', '"\\U0010FFFF"',
        '"\\U00110000"', '"\\q"', '""', '"x"@en', '"x"@de-AT', '"x"@en-', '"x"@zh-Hant-TW', '"x"@x-y', '"x"@e', '"x"@abcd', '"x"@en-1',
        '"x"@en--ltr', '"5"^^<e:t>', '"5"^^<t>', '"a\tb"', '"\x01"', '"\ufeff"', '<<( <e:a> <e:b> "c" )>>', ".", "#", "x",
    ]
)  # fmt: skip
SPACES = st.sampled_from([" ", " ", " ", " ", "\t", "  ", ""])


@given(st.lists(st.tuples(PIECES, SPACES), min_size=2, max_size=5), st.sampled_from([" .", ".", " . # c", "", " . ."]), st.booleans())
@settings(max_examples=300, deadline=None)
def test_lines_are_read_as_pyoxigraph_reads_them(
    tmp_path_factory: pytest.TempPathFactory, parts: list[tuple[str, str]], end: str, quads: bool
) -> None:
    text = "".join(piece + space for piece, space in parts).rstrip() + end
    form = pyoxigraph.RdfFormat.N_QUADS if quads else pyoxigraph.RdfFormat.N_TRIPLES
    try:
        expected = list(pyoxigraph.parse(text + "\n", format=form))
    except SyntaxError:
        expected = []
    folder = tmp_path_factory.getbasetemp()
    rows, bad = read_text(folder, f"<e:first> <e:p> <e:o> .\n{text}\n", "any.nq" if quads else "any.nt")
    found = [(canonical_term(s), p, canonical_term(o), graph) for line, s, p, o, graph in rows if line == 2]
    assert found == [
        (
            str(quad.subject),
            str(quad.predicate),
            canonical_term(lines_module.term_text(quad.object)),
            None if isinstance(quad.graph_name, pyoxigraph.DefaultGraph) else str(quad.graph_name),
        )
        for quad in expected
    ]
    assert len(found) + len(bad) == 1 or not text.split("#")[0].strip()
