"""Search terms: what a text and a query are compared by.

A word becomes its English stem, whatever the language, so that names meet whether or not the language of either side is known;
where the document's language has a Snowball stemmer of its own, the stem by that one is a term beside it (`de:gründ`). Scripts
that write words without spaces, and Korean, whose particles are glued to the word, become pairs of characters. A grouped
number is a term without its groups, too: 4,523,000 is found by 4523000.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from kgaudit.text import MARKS, fold_text

MAX_WORD = 100
"""Letters; longer words are no terms."""

SETTINGS = "analysis-1"
"""Changes whenever the passages or the terms of any text change: indexes made with other settings are not read."""

_STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "es": "spanish", "et": "estonian",
    "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
    "id": "indonesian", "it": "italian", "lt": "lithuanian", "nl": "dutch", "no": "norwegian", "nb": "norwegian",
    "nn": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish",
    "ta": "tamil", "tr": "turkish",
}  # fmt: skip

# Thai, Lao, Burmese, Khmer, Kana, Han and Hangul: words are not set apart by spaces, or not all of a word is the word.
_GLUED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"([{_GLUED}]+)|((?:(?![{_GLUED}])[^\W_])(?:(?![{_GLUED}])(?:[^\W_]|[{MARKS}]))*)")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:([,.' ])\d{3})(?:\1\d{3})*(?!\d)")
_NOT_A_DIGIT = re.compile(r"\D")
_LONG_RUN = re.compile(rf"[^\W_]{{{MAX_WORD + 1},}}")
_local = threading.local()


def language_of(code: str) -> str:
    """The two letters of a language code that has a stemmer of its own here beside English, else ""."""
    short = re.split(r"[-_]", code.strip().casefold(), maxsplit=1)[0]
    return short if short in _STEMMERS else ""


def _stem(word: str, algorithm: str) -> str:
    stemmers: dict[str, Any] = _local.__dict__  # a Snowball stemmer must not be used by two threads at once
    stemmer = stemmers.get(algorithm)
    if stemmer is None:
        from Stemmer import Stemmer

        stemmer = stemmers[algorithm] = Stemmer(algorithm)
    return str(stemmer.stemWord(word))


@lru_cache(maxsize=1 << 17)
def _word_terms(word: str, language: str) -> tuple[str, ...]:
    term = _stem(word, "english")
    if not language:
        return (term,)
    own = _stem(word, _STEMMERS[language])
    return (term,) if own == term else (term, f"{language}:{own}")


def terms(text: str, languages: Iterable[str] = ()) -> list[str]:
    """The terms of a text, with repeats. `languages` are codes by `language_of`; "" is English alone."""
    folded = fold_text(text)
    own = [language for language in languages if language] or [""]
    found: list[str] = []
    for glued, word in _WORD.findall(folded):
        if word:
            if len(word) <= MAX_WORD:
                found += (
                    _word_terms(word, own[0]) if len(own) == 1 else sorted({term for one in own for term in _word_terms(word, one)})
                )
        elif len(glued) == 1:
            found.append(glued)
        else:
            found += [glued[i : i + 2] for i in range(len(glued) - 1)]
    found += ungrouped(folded)
    return found


def ungrouped(folded: str) -> list[str]:
    """The grouped numbers of a folded text without their groups: 4523000 for 4,523,000."""
    return [_NOT_A_DIGIT.sub("", match[0]) for match in _GROUPED.finditer(folded)]


def count_long_words(text: str) -> int:
    """How many words of the text are too long to be terms."""
    return sum(len(word) > MAX_WORD for run in _LONG_RUN.findall(text) for _, word in _WORD.findall(fold_text(run)))
