"""From what a user names to a chat model."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from kgaudit.errors import UsageError
from kgaudit.models.address import model_digest, parse_model
from kgaudit.models.chat import ChatModel


def require_client(where: str) -> None:
    """Raises `UsageError` where what the client needs is not installed."""
    missing = [module for module in ("aiohttp", "pydantic") if find_spec(module) is None]
    if missing:
        raise UsageError(f"a chat model needs {' and '.join(missing)}", where=where, todo="Install it: pip install 'kgaudit[llm]'.")


def open_model(text: str, calls: Path | None = None) -> ChatModel:
    """The model of an address (`kgaudit.models.address`); with `calls`, a folder that keeps its answers. Nothing is asked yet.

    `replay:FOLDER#name` answers from such a folder alone; what was never asked is a `ModelError`. The key comes from
    `KGAUDIT_MODEL_KEY` or `OPENAI_API_KEY`. Raises `UsageError`.
    """
    require_client(text)
    if text.startswith("replay:"):
        return _replay(text)
    address = parse_model(text)
    from kgaudit.models.openai_client import OpenAIChat

    model = OpenAIChat(address)
    if calls is None:
        return model
    from kgaudit.models.replay_chat import CachedChat

    return CachedChat(model, calls)


def _replay(text: str) -> ChatModel:
    from kgaudit.models.replay_chat import ReplayChat

    folder, _, name = text.removeprefix("replay:").rpartition("#")
    if not folder or not name or not Path(folder).is_dir():
        raise UsageError("this is no folder of kept calls and the name of their model", where=text, todo="Write replay:RUN/calls#name.")
    return ReplayChat(Path(folder), name, model_digest(name))
