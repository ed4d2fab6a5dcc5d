"""`kgaudit train judge` on a small invented world: killed and taken up again, the same for a seed, used without torch."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

PEOPLE = [
    f"{first} {last}" for first in "Ada Bo Cai Dag Eva Finn Gro Hal".split() for last in "Quill Storm Marsh Holt Berg Lind".split()
]
TOWNS = "Orvik Tarn Halden Norrby Sund Pecs Alder Marn Strand Umby".split()


def _world(folder: Path) -> None:
    """Births that documents state, and towns that were only visited."""
    rng = random.Random(0)
    for name in ("wiki-triples", "biomed-triples"):
        (folder / name).mkdir(parents=True)
        corpus, items, pairs = [], {"train": [], "dev": []}, []
        for n, person in enumerate(PEOPLE):
            born, seen = rng.sample(TOWNS, 2)
            text = f"{person} was born in {born} and once paid {seen} a short visit."
            corpus.append({"doc_id": f"{name}-{n}", "title": "", "text": text, "lang": "en"})
            proof = [{"doc_id": f"{name}-{n}", "text": text}]
            for town, label in ((born, True), (seen, False)):
                row = {
                    "s_label": person,
                    "s_aliases": [],
                    "s_type": "PER",
                    "p": "urn:p:born",
                    "p_label": "place of birth",
                    "o_label": town,
                    "o_aliases": [],
                    "o_type": "LOC",
                }
                items["dev" if n % 3 == 0 else "train"].append(
                    {
                        **row,
                        "id": f"{n}-{label}",
                        "s": f"urn:s:{n}",
                        "o": f"urn:o:{town}",
                        "label": label,
                        "neg_type": None if label else "in_document",
                        "evidence": proof if label else [],
                    }
                )
                pairs.append({**row, "doc_id": f"{name}-{n}", "stated": "supports" if label else "neither"})
        _lines(folder / name / "corpus.jsonl", corpus)
        for split, rows in items.items():
            _lines(folder / name / f"triples-{split}.jsonl", rows)
        _lines(folder / name / "train-pairs.jsonl", pairs)
    (folder / "judge-extra").mkdir()
    extra = [{**row, "text": corpus[n // 2]["text"], "source": "core", "lang": "en", "neg_type": None} for n, row in enumerate(pairs)]
    _lines(folder / "judge-extra" / "relations.jsonl", extra)
    claims = [{"claim": "A man sleeps.", "passage": "A man is awake.", "label": "refutes", "lang": "en", "source": "snli-dev"}] * 8
    _lines(folder / "judge-extra" / "claims.jsonl", claims)


def _lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _base(folder: Path) -> None:
    """An untrained BERT of two small layers, with a vocabulary of letters and the world's words."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    words = "was born in and once paid a short visit place of birth man sleeps is awake . @ #".split()
    letters = [chr(c) for c in range(97, 123)]
    names = [word.lower() for name in [*PEOPLE, *TOWNS] for word in name.split()]
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *dict.fromkeys([*words, *names, *letters, *(f"##{c}" for c in letters)]),
    ]
    tokenizer = Tokenizer(models.WordPiece({word: n for n, word in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    config = BertConfig(vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=64)
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)


RECIPE = """
data: data
seed: 3
cue: shipped
made: 60
corpus: 20
student:
  base: base
  layers: 2
  stages:
    - {name: reading, learning_rate: 0.001, batch: 8, shares: {relations-en: 1, claims-en: 1}}
    - {name: triples, learning_rate: 0.001, batch: 8, shares: {wiki-triples: 1, made: 1}}
    - {name: taught, learning_rate: 0.001, batch: 8, taught: true, keep: [1], shares: {wiki-triples: 1, corpus: 1}}
teacher:
  base: base
  layers: 3
  grown: true
  stages:
    - {name: triples, learning_rate: 0.001, batch: 8, shares: {wiki-triples: 1}}
"""


def _train(recipe: Path, out: Path, **more: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "kgaudit", "train", "judge", str(recipe), "--out", str(out)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1"}
    )


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("train")
    _world(folder / "data")
    _base(folder / "base")
    (folder / "recipe.yaml").write_text(RECIPE)
    return folder


def test_a_judge_is_made_killed_taken_up_again_and_the_same(ground: Path) -> None:
    out = ground / "one"
    process = _train(ground / "recipe.yaml", out)
    begun = time.monotonic()
    while not (out / "work" / "student-reading").exists() and process.poll() is None and time.monotonic() - begun < 300:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (out / "judge.json").exists()
    for folder in (out, ground / "two"):
        process = _train(ground / "recipe.yaml", folder)
        said, _ = process.communicate(timeout=600)
        assert process.returncode == 0, said
    for name in ("encoder.onnx", "tokenizer.json", "judge.json", "cue.npz"):
        assert (out / name).read_bytes() == (ground / "two" / name).read_bytes(), name
    card = (out / "MODEL_CARD.md").read_text()
    assert "recipe.yaml" in card
    assert "| made | " in card


def test_the_teacher_grows_from_the_student_and_teaches_it(ground: Path) -> None:
    from safetensors.numpy import load_file

    work = ground / "two" / "work"
    grown, student = (
        load_file(work / "teacher-grown" / "model.safetensors"),
        load_file(work / "student-triples/model/model.safetensors"),
    )
    lower = [name for name in student if "encoder.layer." in name]
    assert len(lower) > 20
    assert all((grown[name] == student[name]).all() for name in lower)
    assert (work / "teacher-triples" / "model" / "config.json").exists()
    assert (work / "student-taught" / "teacher.npy").exists()


def test_the_judge_reads_without_torch(ground: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from kgaudit.models.embedded import load_judge\n"
        "from kgaudit.documents import Passage; from kgaudit.training.cue import claim_of\n"
        "row = {'s_label': 'Ada Quill', 's_aliases': [], 'p': '', 'p_label': 'place of birth', 'o_label': 'Orvik', 'o_aliases': []}\n"
        "text = 'Ada Quill was born in Orvik and once paid Tarn a short visit.'\n"
        f"judge = load_judge(Path({str(ground / 'two')!r}))\n"
        "stance = judge.judge([(claim_of(row), Passage('d', 0, len(text), text, '', 'en'))])[0]\n"
        "print(judge.name, stance.supports, 'torch' in sys.modules)\n"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert said[0] == "embedded-1"
    assert 0 < float(said[1]) < 1
    assert said[2] == "False"


def test_the_exported_encoder_scores_as_the_trained_one_does(ground: Path) -> None:
    from kgaudit.models.encoder import Encoder
    from kgaudit.models.excerpts import Excerpt
    from kgaudit.training.encoder import score

    asked = [
        (f"@ {person} @ place of birth # {town} #", f"@ {person} @ was born in # {town} # .")
        for person in PEOPLE[:10]
        for town in TOWNS[:3]
    ]
    trained = score(ground / "two" / "work" / "student-triples" / "model", asked, lambda line: None)
    expected = trained[:, 0] - np.logaddexp(trained[:, 1], trained[:, 2])
    exported = Encoder(ground / "two").log_odds([Excerpt(claim, text, 0, 0) for claim, text in asked])[:, 0]
    assert exported == pytest.approx(expected, abs=0.25)


def test_another_recipe_is_refused(ground: Path) -> None:
    other = ground / "other.yaml"
    other.write_text(RECIPE.replace("seed: 3", "seed: 4"))
    said, _ = _train(other, ground / "two").communicate(timeout=60)
    assert "another recipe" in said
    assert "Traceback" not in said
