"""Fine-tunes an encoder on pairs: bfloat16 passes over float32 weights, checkpoints that resume, the same result for the same seed.

A pair whose target is `not` is learnt as "refutes or neither": its loss is the negative log of their sum. One without a label is learnt
from the teacher alone.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgaudit.errors import ModelError, storage_error
from kgaudit.models.encoder import MAX_TOKENS
from kgaudit.training.pairs import Pair, Target

CLASSES = ("supports", "refutes", "neither")
_POOL = 40
"""Batches are drawn from so many at a time, sorted by length: little padding, still a random order."""
CHECKPOINT_SECONDS = 120.0
_MASK: dict[Target, tuple[float, float, float]] = {
    "supports": (1.0, 0.0, 0.0),
    "refutes": (0.0, 1.0, 0.0),
    "neither": (0.0, 0.0, 1.0),
    "not": (0.0, 1.0, 1.0),
    "unlabelled": (1.0, 1.0, 1.0),
}
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Fit:
    """How one stage is trained: `base` is a folder of transformers, `layers` how many of its layers are kept, from below; `keep`: which
    of those, where it is not all."""

    base: Path
    layers: int
    learning_rate: float
    batch: int
    seed: int
    keep: tuple[int, ...] = ()


def _torch() -> Any:
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError as error:
        raise ModelError("training an encoder needs torch and transformers", todo="Install kgaudit[train].") from error
    return torch


def load_encoder(base: Path, layers: int, keep: Sequence[int] = ()) -> tuple[Any, Any]:
    """Tokenizer and classifier of three classes from a folder, cut to `layers` layers, and of those to `keep`. Raises `ModelError`."""
    _torch()
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        tokenizer = AutoTokenizer.from_pretrained(base)
        config = AutoConfig.from_pretrained(base, num_labels=len(CLASSES), hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.0)
        model = AutoModelForSequenceClassification.from_pretrained(base, config=config, ignore_mismatched_sizes=True)
    except (OSError, ValueError) as error:
        raise ModelError(f"the base model cannot be read ({error})", where=str(base), todo="Name a folder of transformers.") from error
    stack = next(part for name, part in model.named_modules() if name.endswith("encoder.layer"))
    kept = list(range(min(layers, len(stack)))) if not keep else list(keep)
    if kept[-1] >= len(stack):
        raise ModelError(f"there is no layer {kept[-1]}", where=str(base), todo=f"`keep` counts from 0 to {len(stack) - 1}.")
    for number in reversed(range(len(stack))):
        if number not in kept:
            del stack[number]
    model.config.num_hidden_layers = len(kept)
    return tokenizer, model


def grow(base: Path, layers: int, lower: Path, out: Path) -> Path:
    """Writes to `out` the encoder of `base` with the lower layers of a trained one in the place of its own: what those have learnt to
    see, the upper layers need not learn again. Raises `ModelError`, `StorageError`."""
    if (out / "config.json").exists():
        return out
    tokenizer, model = load_encoder(base, layers)
    _, trained = load_encoder(lower, layers)
    kept = {name: weights for name, weights in trained.state_dict().items() if "encoder.layer." in name or "relative_attention" in name}
    model.load_state_dict(kept, strict=False)
    _write_model(tokenizer, model, out)
    return out


def _write_model(tokenizer: Any, model: Any, out: Path) -> None:
    partial = out.with_name(f"{out.name}.partial")
    try:
        model.save_pretrained(partial)
        tokenizer.save_pretrained(partial)
        os.replace(partial, out)
    except OSError as error:
        raise storage_error(error, str(out)) from error


def plan(pairs: Sequence[Pair], lengths: Sequence[int], batch: int, seed: int) -> list[list[int]]:
    """The batches of one pass, as indices into `pairs`, in the order in which they are taken."""
    rng = random.Random(seed)
    order = list(range(len(pairs)))
    rng.shuffle(order)
    batches = list[list[int]]()
    for at in range(0, len(order), batch * _POOL):
        pool = sorted(order[at : at + batch * _POOL], key=lambda i: lengths[i])
        cut = [pool[i : i + batch] for i in range(0, len(pool), batch)]
        rng.shuffle(cut)
        batches += cut
    return batches


def train_stage(pairs: Sequence[Pair], fit: Fit, out: Path, say: Say, *, soft: NDArray[np.float32] | None = None) -> Path:
    """Trains one stage and writes tokenizer and model to `out`; a stage that was ended goes on from its last checkpoint.

    `soft`: (pairs, 3) probabilities of a teacher, learnt beside the targets. Raises `ModelError`, `StorageError`.
    """
    torch = _torch()
    done = out / "model"
    if (done / "config.json").exists():
        return done
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(fit.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer, model = load_encoder(fit.base, fit.layers, fit.keep)
    encoded = tokenizer([p.claim for p in pairs], [p.text for p in pairs], truncation="only_second", max_length=MAX_TOKENS)["input_ids"]
    batches = plan(pairs, [len(ids) for ids in encoded], fit.batch, fit.seed)
    model.to(device=device, dtype=torch.bfloat16)
    model.train()
    trained = _choose_trained(model)
    masters = [p.detach().float().clone() for p in trained]
    optimizer = torch.optim.AdamW(masters, lr=fit.learning_rate, weight_decay=0.01)
    checkpoint = out / "checkpoint.pt"
    step = 0
    if checkpoint.exists():
        state = torch.load(checkpoint, map_location=device, weights_only=True)
        step = state["step"]
        for master, kept in zip(masters, state["masters"], strict=True):
            master.copy_(kept)
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["rng"].cpu())
        _write_back(torch, trained, masters)
        say(f"goes on at step {step:,} of {len(batches):,}")
    begun, first, last_kept, losses = time.monotonic(), step, time.monotonic(), list[float]()
    total = len(batches)
    while step < total:
        for group in optimizer.param_groups:
            group["lr"] = fit.learning_rate * _rate(step, total)
        chosen = batches[step]
        ids, mask = _pad(torch, [encoded[i] for i in chosen], tokenizer.pad_token_id, device)
        logits = model(input_ids=ids, attention_mask=mask).logits.float()
        loss = _loss(torch, logits, [pairs[i] for i in chosen], None if soft is None else soft[chosen])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        for master, parameter in zip(masters, trained, strict=True):
            master.grad = parameter.grad.float() if parameter.grad is not None else None
            parameter.grad = None
        optimizer.step()
        _write_back(torch, trained, masters)
        step += 1
        losses.append(loss.item())
        if step % 20 == 0:
            rate = (step - first) * fit.batch / (time.monotonic() - begun)
            say(f"step {step:,} of {total:,}, loss {np.mean(losses[-100:]):.3f}, {rate:.1f} pairs/s")
        if time.monotonic() - last_kept > CHECKPOINT_SECONDS or step == total:
            _keep(torch, checkpoint, step, masters, optimizer)
            last_kept = time.monotonic()
    model.float()
    for master, parameter in zip(masters, trained, strict=True):
        parameter.data.copy_(master)
    _write_model(tokenizer, model, done)
    checkpoint.unlink()
    return done


def _choose_trained(model: Any) -> list[Any]:
    """Word embeddings stay as they are: they are a third of the weights, and the pairs touch few of them."""
    trained = []
    for name, parameter in model.named_parameters():
        parameter.requires_grad = "embeddings." not in name
        if parameter.requires_grad:
            trained.append(parameter)
    return trained


def _write_back(torch: Any, parameters: list[Any], masters: list[Any]) -> None:
    with torch.no_grad():
        torch._foreach_copy_(parameters, masters)


def _rate(step: int, total: int) -> float:
    warm = max(1, total // 16)
    return (step + 1) / warm if step < warm else max(0.02, (total - step) / (total - warm))


def _pad(torch: Any, rows: list[list[int]], pad: int, device: Any) -> tuple[Any, Any]:
    width = max(len(row) for row in rows)
    ids = torch.tensor([row + [pad] * (width - len(row)) for row in rows], device=device)
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows], device=device)
    return ids, mask


def _loss(torch: Any, logits: Any, pairs: Sequence[Pair], soft: NDArray[np.float32] | None) -> Any:
    log_p = torch.log_softmax(logits, dim=-1)
    mask = torch.tensor([_MASK[pair.target] for pair in pairs], device=logits.device)
    weights = torch.tensor([pair.weight for pair in pairs], device=logits.device)
    hard = -torch.logsumexp(log_p + torch.log(mask + 1e-9), dim=-1)
    if soft is not None:
        taught = torch.tensor(soft, device=logits.device)
        told = -(taught * log_p).sum(-1)
        hard = 0.3 * hard + 0.7 * told
    return (hard * weights).sum() / weights.sum()


def _keep(torch: Any, path: Path, step: int, masters: list[Any], optimizer: Any) -> None:
    partial = path.with_suffix(".partial")
    state = {"step": step, "masters": masters, "optimizer": optimizer.state_dict(), "rng": torch.get_rng_state()}
    try:
        torch.save(state, partial)
        os.replace(partial, path)
    except OSError as error:
        raise storage_error(error, str(path)) from error


def score(folder: Path, inputs: Sequence[tuple[str, str]], say: Say, batch: int = 32) -> NDArray[np.float32]:
    """(inputs, 3) log-probabilities of a trained encoder, by torch."""
    torch = _torch()
    tokenizer, model = load_encoder(folder, 99)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.to(device=device, dtype=torch.bfloat16).eval()
    encoded = tokenizer([a for a, _ in inputs], [b for _, b in inputs], truncation="only_second", max_length=MAX_TOKENS)["input_ids"]
    out = np.zeros((len(inputs), len(CLASSES)), np.float32)
    order = sorted(range(len(inputs)), key=lambda i: len(encoded[i]))
    last, done = time.monotonic(), 0
    with torch.inference_mode():
        for chosen in _chunks(order, batch):
            ids, mask = _pad(torch, [encoded[i] for i in chosen], tokenizer.pad_token_id, device)
            out[chosen] = torch.log_softmax(model(input_ids=ids, attention_mask=mask).logits.float(), -1).cpu().numpy()
            done += len(chosen)
            if time.monotonic() - last > 10:
                last = time.monotonic()
                say(f"{done:,} of {len(inputs):,} scored")
    return out


def _chunks(order: list[int], size: int) -> Iterator[list[int]]:
    for at in range(0, len(order), size):
        yield order[at : at + size]
