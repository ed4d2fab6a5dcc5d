"""For `field/stub.py`: what a sensible model answers to each request of the product, by the schema that it is asked for."""

from __future__ import annotations

import json
from typing import Any

QUOTE = "In 2018 Norrby Pumps acquired Halden Works for 4 million euros."
VALUES: dict[str, Any] = {"verdict": "supports", "quote": QUOTE, "quotes": [QUOTE], "relevance": "full", "instead": ""}


def answer(request: dict[str, Any]) -> str:
    """A valid answer, as text."""
    form = request.get("response_format", {}).get("json_schema", {}).get("schema")
    if form is None:
        return "Yes."
    return json.dumps({name: value_of(name, schema) for name, schema in form["properties"].items()})


def value_of(name: str, schema: dict[str, Any]) -> Any:
    allowed = schema.get("enum")
    value = VALUES.get(name, "Norrby Pumps Halden Works")
    return value if allowed is None or value in allowed else allowed[0]
