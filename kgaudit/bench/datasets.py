"""Datasets: a folder with `triples-SPLIT.jsonl`, `corpus.jsonl` and a graph file `kg-eval.*` is one.

What an item says of the answer (`label`, `neg_type`, `evidence`) is read for scoring only: what is measured sees the graph file and
the corpus.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgaudit.errors import EmptyInputError, InputError, UsageError, storage_error
from kgaudit.literals import STRING
from kgaudit.triples import iri_term, literal_term, triple_key

CORPUS = "corpus.jsonl"
_ITEMS_HINT = "Each line is an object with `id`, `s`, `p`, `o` and `label`."


@dataclass(frozen=True, slots=True)
class Item:
    """One triple with its answer. `evidence` holds (document id, text) pairs."""

    id: str
    key: str
    gold: bool
    neg_type: str | None = None
    phenomenon: str | None = None
    evidence: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Dataset:
    """A folder that can be measured on; `splits` are the names of those that it has."""

    name: str
    folder: Path
    splits: tuple[str, ...]

    @property
    def corpus(self) -> Path:
        """The documents."""
        return self.folder / CORPUS

    def graph(self, split: str) -> Path:
        """The graph file that holds the triples of a split: `kg-train.*` for train, `kg-eval.*` for every other."""
        stem = "kg-train" if split == "train" else "kg-eval"
        found = _graphs(self.folder, stem)
        if len(found) != 1:
            happened = f"there are several graph files {', '.join(path.name for path in found)}" if found else f"there is no {stem}.*"
            raise InputError(happened, where=str(self.folder), todo=f"Keep one {stem}.nt or {stem}.ttl there.")
        return found[0]


def open_dataset(data: Path, name: str) -> Dataset:
    """The dataset DATA/NAME. Raises `UsageError` where it is none, naming those that there are."""
    folder = data / name
    splits = _splits(folder)
    if splits and (folder / CORPUS).is_file() and _graphs(folder, "kg-eval"):
        return Dataset(name, folder, splits)
    if not data.is_dir():
        raise UsageError("there is no such folder", where=str(data), todo="Name the folder that holds the datasets with --data.")
    if not folder.is_dir():
        happened = f"there is no dataset {name}"
    else:
        missing = [
            what
            for what, there in (
                ("triples-SPLIT.jsonl", splits),
                (CORPUS, (folder / CORPUS).is_file()),
                ("kg-eval.nt or kg-eval.ttl", _graphs(folder, "kg-eval")),
            )
            if not there
        ]
        happened = f"{name} is not a dataset of triples: it has no {' and no '.join(missing)}"
    known = sorted(path.name for path in data.iterdir() if _splits(path) and _graphs(path, "kg-eval"))
    raise UsageError(happened, where=str(data), todo=f"Datasets there: {', '.join(known) or 'none'}.")


def read_split(dataset: Dataset, split: str) -> list[Item]:
    """The items of a split, in the order of the file.

    Raises `UsageError` where there is no such split, `InputError` on a line that is no item and on an id that comes twice,
    `EmptyInputError` where there is no item.
    """
    if split not in dataset.splits:
        raise UsageError(f"there is no split {split}", where=dataset.name, todo=f"Splits there: {', '.join(dataset.splits)}.")
    path = dataset.folder / f"triples-{split}.jsonl"
    items: dict[str, Item] = {}
    for where, row in _rows(path):
        try:
            item = _item(row)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"this is no item ({type(error).__name__}: {error})", where=where, todo=_ITEMS_HINT) from None
        if item.id in items:
            raise InputError(f"the id {item.id} comes twice", where=where, todo="Give each item an id of its own.")
        items[item.id] = item
    if not items:
        raise EmptyInputError("there is no item", where=str(path), todo=_ITEMS_HINT)
    return list(items.values())


def read_texts(dataset: Dataset) -> dict[str, str]:
    """Document id to text, straight from the corpus file: what quotes are checked against, whatever the index made of it."""
    texts: dict[str, str] = {}
    for where, row in _rows(dataset.corpus):
        try:
            # Of two documents of one id the index keeps the first.
            texts.setdefault(str(row["doc_id"] if "doc_id" in row else row["id"]), str(row["text"]))
        except (KeyError, TypeError) as error:
            raise InputError(
                f"this is no document ({type(error).__name__}: {error})", where=where, todo="Give it `id` and `text`."
            ) from None
    return texts


def _splits(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(path.name.removeprefix("triples-").removesuffix(".jsonl") for path in folder.glob("triples-*.jsonl")))


def _graphs(folder: Path, stem: str) -> list[Path]:
    return sorted(path for path in folder.glob(f"{stem}.*") if path.is_file())


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    """(file and line for messages, value) of each line that is not blank."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield f"{path}:{number}", json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"this is no JSON ({error})", where=f"{path}:{number}", todo="Write one JSON object a line.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"this is not UTF-8 ({error.reason})", where=str(path), todo="Save the file as UTF-8.") from None
    except OSError as error:
        raise storage_error(error, str(path)) from error


def _item(row: dict[str, Any]) -> Item:
    if not isinstance(row["label"], bool):
        raise ValueError("label must be true or false")
    return Item(
        id=str(row["id"]),
        key=triple_key(iri_term(row["s"]), iri_term(row["p"]), _object_term(row["o"])),
        gold=row["label"],
        neg_type=row.get("neg_type"),
        phenomenon=row.get("phenomenon"),
        evidence=tuple((str(entry["doc_id"]), str(entry["text"])) for entry in row.get("evidence") or ()),
    )


def _object_term(value: str | dict[str, str]) -> str:
    """The term of an item's object: an IRI, or `{"value", "datatype"}` for a literal, with `language` where it has one."""
    if isinstance(value, str):
        return iri_term(value)
    return literal_term(value["value"], value.get("datatype") or STRING, value.get("language"))
