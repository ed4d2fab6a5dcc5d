"""A trained encoder as an ONNX graph with int8 weights, one scale a channel.

The graph is written from the model's own parts (queries, keys and values in one product, positions as a table of distances), so that
it holds no branch that an example input decided.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from kgaudit.errors import ModelError, storage_error
from kgaudit.training.encoder import load_encoder

REACH = 128
"""Word pieces further apart than this share one position bias (transformers' MPNet: max_distance)."""


def export(folder: Path, out: Path) -> None:
    """Writes `encoder.onnx` and `tokenizer.json` to `out` from a folder of transformers. Raises `ModelError`, `StorageError`."""
    try:
        import onnx  # noqa: F401
        import torch
        from onnxruntime.quantization import QuantType, quantize_dynamic
    except ImportError as error:
        raise ModelError("exporting an encoder needs torch, onnx and onnxruntime", todo="Install kgaudit[train].") from error
    tokenizer, model = load_encoder(folder, 99)
    module = _plain_module(torch, model.float().eval())
    ids = torch.tensor([[0, 7, 8, 2], [0, 9, 2, 1]])
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
    names = {"ids": {0: "batch", 1: "length"}, "mask": {0: "batch", 1: "length"}}
    out.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            whole = Path(scratch) / "whole.onnx"
            torch.onnx.export(
                module, (ids, mask), str(whole), input_names=["ids", "mask"], output_names=["logits"], dynamic_axes=names,
                opset_version=17, dynamo=False,
            )  # fmt: skip
            quantize_dynamic(
                whole, out / "encoder.partial", per_channel=True, weight_type=QuantType.QInt8, op_types_to_quantize=["MatMul", "Gather"]
            )
        os.replace(out / "encoder.partial", out / "encoder.onnx")
        tokenizer.backend_tokenizer.save(str(out / "tokenizer.json"))
    except OSError as error:
        raise storage_error(error, str(out)) from error


def _plain_module(torch: Any, model: Any) -> Any:
    """The classifier as a module of plain products, for MPNet and BERT."""
    nn, gelu = torch.nn, torch.nn.functional.gelu
    kind = model.config.model_type
    if kind not in ("mpnet", "bert"):
        raise ModelError(f"no export for models of type {kind}", todo="Take a base of type mpnet or bert.")
    body = getattr(model, kind)
    heads = model.config.num_attention_heads

    class Plain(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            embeddings = body.embeddings
            self.words = nn.Parameter(embeddings.word_embeddings.weight.data)
            first = model.config.pad_token_id + 1 if kind == "mpnet" else 0
            positions = embeddings.position_embeddings.weight.data[first:]
            self.positions = nn.Parameter(positions + (embeddings.token_type_embeddings.weight.data[0] if kind == "bert" else 0))
            self.norm = embeddings.LayerNorm
            self.layers = nn.ModuleList(body.encoder.layer)
            self.fused = nn.ModuleList()
            for layer in self.layers:
                parts = _attention_parts(layer, kind)[:3]
                fused = nn.Linear(model.config.hidden_size, 3 * model.config.hidden_size)
                fused.weight.data = torch.cat([part.weight.data for part in parts])
                fused.bias.data = torch.cat([part.bias.data for part in parts])
                self.fused.append(fused)
            if kind == "mpnet":
                distance = torch.arange(-REACH, REACH + 1)
                buckets = body.encoder.relative_position_bucket(distance, num_buckets=model.config.relative_attention_num_buckets)
                self.distances = nn.Parameter(body.encoder.relative_attention_bias.weight.data[buckets])
            self.head = model.classifier
            self.pooler: Any = getattr(body, "pooler", None)

        def forward(self, ids: Any, mask: Any) -> Any:
            length = ids.shape[1]
            x = self.norm(self.words[ids] + self.positions[:length])
            bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * -1e4
            if kind == "mpnet":
                place = torch.arange(length)
                apart = (place[None, :] - place[:, None]).clamp(-REACH, REACH) + REACH
                bias = bias + self.distances[apart].permute(2, 0, 1).unsqueeze(0)
            for number, (layer, fused) in enumerate(zip(self.layers, self.fused, strict=True)):
                q, k, v = fused(x).chunk(3, dim=-1)
                if number + 1 == len(self.layers):  # of the last layer nothing but the first place is asked for
                    q, x, bias = q[:, :1], x[:, :1], bias[:, :, :1]
                q, k, v = (t.reshape(t.shape[0], t.shape[1], heads, -1).transpose(1, 2) for t in (q, k, v))
                weights = torch.softmax(q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5) + bias, dim=-1)
                mixed = (weights @ v).transpose(1, 2).reshape(x.shape)
                _, _, _, dense, norm = _attention_parts(layer, kind)
                x = norm(dense(mixed) + x)
                x = layer.output.LayerNorm(layer.output.dense(gelu(layer.intermediate.dense(x))) + x)
            if kind == "mpnet":
                first = torch.tanh(self.head.dense(x[:, 0]))
                return self.head.out_proj(first)
            return self.head(torch.tanh(self.pooler.dense(x[:, 0])))

    return Plain().eval()


def _attention_parts(layer: Any, kind: str) -> tuple[Any, Any, Any, Any, Any]:
    """Query, key, value, output product and normalisation of a layer's attention."""
    attention = layer.attention
    if kind == "mpnet":
        return attention.attn.q, attention.attn.k, attention.attn.v, attention.attn.o, attention.LayerNorm
    inner = attention.self
    return inner.query, inner.key, inner.value, attention.output.dense, attention.output.LayerNorm
