"""What a web page or a Markdown file says: its text with the blocks apart, its title and its headings, and nothing of its code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_SKIPPED = frozenset("script style template noscript head svg math iframe object embed canvas audio video select datalist".split())
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr output q rb rp rt rtc ruby s samp small "
    "span strike strong sub sup time tt u var wbr img".split()
)
_ROWS = frozenset("br tr thead tbody tfoot li dt dd".split())
_CELLS = frozenset(["td", "th"])
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_STRENGTH = {"": 0, " ": 1, "\t": 2, "\n": 3, "\n\n": 4}
_SPACES = re.compile(r"[ \t\n\r\f]+")
_HIDDEN_STYLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: where it begins in the text, how deep it is (1 to 6), what it says."""

    start: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """The text of a page. Blocks are set apart by an empty line, rows by a line break, cells by a tab."""

    text: str
    title: str = ""
    language: str = ""
    date: str = ""
    url: str = ""
    headings: tuple[Heading, ...] = ()


class _Writer:
    """Joins pieces of text; breaks asked for between them are written only where text follows."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.length = 0
        self.gap = ""

    def ask(self, gap: str) -> None:
        if _STRENGTH[gap] > _STRENGTH[self.gap]:
            self.gap = gap

    def write(self, text: str) -> None:
        if not text:
            return
        if self.gap and self.length:
            self._add(self.gap)
        self.gap = ""
        self._add(text)

    def _add(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)

    @property
    def next_start(self) -> int:
        return self.length + (len(self.gap) if self.length else 0)


def html_page(html: str) -> Page:
    """The text of an HTML page: scripts, styles, templates, comments and hidden parts left out, entities decoded."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    root = tree.root
    if root is None:
        return Page("")
    title = tree.css_first("head > title")
    writer = _Writer()
    headings: list[Heading] = []
    _write_body(tree.body or root, writer, headings)
    text = "".join(writer.parts)
    name = _SPACES.sub(" ", title.text()).strip() if title else ""
    return Page(
        text=text,
        title=name or next((heading.text for heading in headings if heading.level == 1), ""),
        language=root.attributes.get("lang") or "",
        headings=tuple(headings),
    )


def _write_body(body: Any, writer: _Writer, headings: list[Heading]) -> None:
    """Walks the tree without recursion: pages may be nested as deep as they like."""
    node = body
    preformatted = 0
    open_heading: tuple[int, int] | None = None  # where the heading being read begins, its part number
    while node is not None:
        tag = node.tag
        descend = None
        if tag == "-text":
            _write_text(node.text_content or "", writer, preformatted > 0)
        elif not _is_left_out(node, tag):
            _set_apart(tag, writer)
            if tag == "pre":
                preformatted += 1
            if tag in _HEADINGS:
                open_heading = (writer.next_start, len(writer.parts))
            descend = node.child
        if descend is not None:
            node = descend
            continue
        while node is not None:
            if tag != "-text" and not _is_left_out(node, tag):
                if tag in _HEADINGS and open_heading is not None:
                    start, part = open_heading
                    said = " ".join("".join(writer.parts[part:]).split())
                    if said:
                        headings.append(Heading(start, _HEADINGS[tag], said))
                    open_heading = None
                if tag == "pre":
                    preformatted -= 1
                _set_apart(tag, writer)
            if node.mem_id == body.mem_id:
                return
            if node.next is not None:
                node = node.next
                break
            node = node.parent
            tag = node.tag if node is not None else ""


def _is_left_out(node: Any, tag: str) -> bool:
    if tag in _SKIPPED or not tag[:1].isalpha():  # comments and the like have a name that begins with a sign
        return True
    attributes = node.attributes
    return bool(attributes) and ("hidden" in attributes or bool(_HIDDEN_STYLE.search(attributes.get("style") or "")))


def _set_apart(tag: str, writer: _Writer) -> None:
    if tag not in _INLINE:
        writer.ask("\n" if tag in _ROWS else "\t" if tag in _CELLS else "\n\n")


def _write_text(text: str, writer: _Writer, preformatted: bool) -> None:
    if preformatted:
        writer.write(text)
        return
    text = _SPACES.sub(" ", text)
    if text.startswith(" "):
        writer.ask(" ")
    writer.write(text.strip(" "))
    if text.endswith(" ") and text != " ":
        writer.ask(" ")


def markdown_page(source: str) -> Page:
    """The text of a Markdown file (CommonMark with tables). A YAML head gives title, language, date and url."""
    from markdown_it import MarkdownIt

    head: dict[str, Any] = {}
    match = _FRONT_MATTER.match(source)
    if match:
        import yaml

        try:
            read = yaml.safe_load(match[1])
        except yaml.YAMLError:
            read = None
        if isinstance(read, dict):
            head, source = read, source[match.end() :]
    page = html_page(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(source))

    def said(*names: str) -> str:
        return next((str(head[name]) for name in names if head.get(name) is not None), "")

    return Page(page.text, said("title") or page.title, said("language", "lang"), said("date"), said("url"), page.headings)
