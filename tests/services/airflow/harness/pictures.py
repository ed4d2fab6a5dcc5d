"""Airflow's pages as a person sees them."""

from __future__ import annotations

import base64
from pathlib import Path

from browser import Browser

from harness.rest import Rest


class Pages(Browser):
    """A browser in which the user of `rest` is logged in."""

    def __init__(self, program: str, rest: Rest) -> None:
        super().__init__(program)
        self._url = rest.url
        self.call("Network.setCookie", name="_token", value=rest.token, url=rest.url)

    def visit(self, path: str, until: str, seconds: float = 60) -> None:
        """Opens a page of the deployment, or one at another address, and waits for words on it."""
        self.events.clear()
        self.call("Page.navigate", url=path if "://" in path else self._url + path)
        self.wait_for_words(until, seconds)

    def wait_for_words(self, words: str, seconds: float = 60) -> None:
        self.wait(f"document.body !== null && document.body.innerText.includes({words!r})", seconds)

    def picture(self, to: Path) -> Path:
        self.wait("document.readyState === 'complete'")
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
        return to
