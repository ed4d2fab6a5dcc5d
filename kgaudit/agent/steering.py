"""Sentences that speak to a machine instead of about the world: instructions, forged turns, forged answers.

They are no evidence, whoever judges: they are held back from what a language model is shown, and no verdict rests on them. This is one
line of defence beside the fence, the verbatim quotes and the independent witnesses, never the only one: no list of phrases is complete.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from kgaudit.documents import Passage
from kgaudit.text import fold_text
from kgaudit.verdicts import Stance

_LOOKALIKES = str.maketrans("аеорсухіјѕԁһԛԝвкмнтαοορνικτυχγ", "aeopcyxijsdhqwbkmhtaoopviktuxy")
"""Cyrillic and Greek letters that pass for Latin ones."""

_EARLIER = r"(?:previous|prior|above|earlier|preceding|foregoing|former|other|original|your|system|all|any|these|those|the)"
_ORDERS = (
    r"(?:instructions?|prompts?|directions?|guidelines?|rules|commands?|task|system messages?|documents?|passages?|evidence|sources?)"
)
_MACHINE = r"(?:(?:large )?language model|llm|ai|chat ?bot|ai assistant|verifier|fact[- ]?checker|verification system)"
_MODEL = rf"(?:{_MACHINE}|assistant|judge|agent|grader|evaluator|annotator|model)"
_LABEL = r"(?:supported|supports|refuted|refutes|neither|not[_ ]enough[_ ]evidence|not[_ ]judged|true|false|verified|correct|incorrect)"
_SAY = (
    r"(?:answer|reply|respond|return|output|print|write|say|choose|select|pick|emit|give|mark|label|rate|classify|judge|treat|report"
    r"|record|set)"
)
_SUBMIT = r"(?:answer|reply|conclude|treat|mark|report|ignore|accept|reject|output|return|judge|use|trust)"
_ROLES = r"(?:system|assistant|user|human|instruction|developer)"
_TOKENS = (
    r"(?:im_start|im_end|system|assistant|user|endoftext|eot_id|start_header_id|end_header_id|begin_of_text|s|think|tool_call"
    r"|tool_response|document|instructions?)"
)

_ENGLISH = (
    rf"\b(?:ignore|disregard|forget|override|skip|bypass|dismiss)\b[^.!?]{{0,30}}\b{_EARLIER}\b[^.!?]{{0,30}}\b{_ORDERS}\b",
    r"\b(?:new|updated|revised|real|actual|hidden|secret) (?:system )?(?:instructions?|prompts?|task)\b\s*(?::|for|follow|is|are)",
    r"\bsystem (?:prompt|message|override|notice|instruction)s?\b",
    rf"\b(?:you are|you're|act as|pretend to be) (?:now |an? |the )*{_MACHINE}\b",
    (
        rf"\b(?:attention|note|notice|message|memo|instructions?|dear|hey|hello|hint)\b[ ,:]*(?:to|for|all)?[ ]*"
        rf"(?:the |any |every |all |an? )*(?:automated |ai )?{_MODEL}s?\b[^.]{{0,60}}(?::|,|—|-|must|should|please)"
    ),
    r"\b(?:as|for|if you are) an? (?:ai|llm|(?:large )?language model|chatbot)\b",
    rf"\b{_SAY}\b[^.!?]{{0,110}}\b(?:as|with|to|be|only|simply|is)\s*[\"'`“‘*_<\[(]*{_LABEL}\b",
    (
        r"\b(?:answer|reply|respond|output|print|return|say)(?:ed|s)?(?:\s+(?:with|as|only|simply|the|a|verdict|label))*\s*[:=]*"
        r"\s*[\"'`“‘*_<\[(]*"
        r"(?:supports|refutes|supported|refuted)\b"
    ),
    rf"\b{_SAY}\b[^.!?]{{0,110}}(?:=|:)\s*[\"'`“‘*_<\[(]*{_LABEL}\b",
    (
        rf"\b(?:answer|reply|respond|output|verdict|label|stance)\b\s*(?:must|should|shall|has to|needs to|is to|will)\b[^.!?]{{0,40}}"
        rf"\b{_LABEL}\b"
    ),
    r"^\W*claim\s*:",  # of a forged question, or of a page that examines claims: never a statement of its own
    r"[\"'`]\b(?:verdict|stance|p_supported|label|relevance)\b[\"'`]\s*[:=]",
    rf"\b(?:verdict|stance|p_supported|label)\b\s*[:=]\s*[\"'`]*{_LABEL}",
    rf"\byour (?:line|part|answer|verdict|reply|response|output|label)\b\s*(?:is|:|=)\s*[\"'`“‘*_<\[(]*{_LABEL}\b",
    r"\b(?:final|correct|right|true|expected) (?:verdict|answer|label)\b\s*(?:is|:|=)",
    r"\b(?:quote|cite|copy|use)\b[^.!?]{0,40}\b(?:as|for) (?:your |the )?(?:quote|evidence|citation|answer)\b",
    r"\bthis (?:document|passage|text|page|source) (?:overrides|supersedes|outranks|replaces|takes precedence|is the only)\b",
    rf"\b{_MODEL}s? (?:must|should|shall|has to|have to|are to|is to|will now|need to)\b[^.!?]{{0,60}}\b{_SUBMIT}\b",
)
_FORGED = (
    rf"<\|?/?{_TOKENS}\|?>",
    r"\[/?(?:inst|system|assistant|user|sys)\]|<<\s*/?\s*(?:sys|claim|document|system|options|earlier|thoughts)\b",
    rf"(?:^|[\n#*>|-])\s*(?:#+\s*)?{_ROLES}s?\s*(?:\([^)]*\))?\s*:",
    r"(?:^|\n)\s*#+\s*(?:system|assistant|instruction|response|input|task)\b",
    r"(?:^|[\s=*#_-])(?:end|begin|start) of (?:the )?(?:documents?|data|context|passages?|prompt|evidence|input)\b",
)
_TONGUES = (
    r"\bignorier\w*\b[^.!?]{0,40}\b(?:anweisung|anleitung|vorgabe|regel|dokument|instruktion)",
    (
        r"\b(?:antworte|antworten sie|urteile|gib|bewerte|werte|melde)\b[^.!?]{0,60}"
        r"\b(?:belegt|widerlegt|wahr|falsch|supports|refutes|supported|refuted)\b"
    ),
    (
        r"\b(?:ignor\w+|oubli\w+)\b[^.!?]{0,40}"
        r"\b(?:instructions?|consignes?|instrucciones|istruzioni|instruções|instruktioner|instrukcje|instructies)\b"
    ),
    (
        r"\b(?:répond\w*|respond\w*|rispond\w*|antwoord|svara|odpowiedz)\b[^.!?]{0,60}"
        r"\b(?:supports|refutes|supported|refuted|vrai|faux|verdadero|falso|vero|waar|onwaar|sant|falskt|prawda|fałsz)\b"
    ),
    r"\b(?:negeer|glöm|zignoruj)\b[^.!?]{0,40}\b(?:instruct|instruk|polece)",
    r"(?:игнориру|забуд|пренебрег)\w*[^.!?]{0,40}(?:инструкци|указани|документ)",
    r"(?:ответь|отвечай|верни|напиши)\w*[^.!?]{0,60}(?:supports|refutes|истин|ложь|ложн|опроверг|подтвержд)",
    r"(?:忽略|无视|無視|忽视|忘记)[^。！？]{0,12}(?:指令|指示|说明|命令|文档|規則|规则)",
    r"(?:回答|输出|返回|判定|判断)[^。！？]{0,20}(?:supports|refutes|支持|反驳|驳斥|真|假)",
    r"(?:指示|命令|指令)[^。！？]{0,6}(?:無視|無効|従わ)|(?:答え|回答|出力)[^。！？]{0,16}(?:supports|refutes|真|偽)",
    r"(?:지시|명령|지침)[^.!?]{0,12}(?:무시|따르지|잊)|(?:답변|대답|답|출력)[^.!?]{0,24}(?:supports|refutes|거짓|참으로|지지|반박)",
    r"(?:تجاهل|انس)[^.!?]{0,30}(?:التعليمات|الأوامر)",
)
_PATTERNS = re.compile("|".join((*_ENGLISH, *_FORGED, *_TONGUES)), re.IGNORECASE)
_HIDDEN_LETTERS = re.compile("[\U000e0000-\U000e007f]{4}")
"""Letters of the block of tags, which no reader sees."""


@lru_cache(maxsize=8192)
def steers(sentence: str) -> bool:
    """Whether a sentence (or title) addresses whoever judges it: an instruction, a forged turn or a forged answer."""
    head = sentence[:4000]
    if _HIDDEN_LETTERS.search(head):
        return True
    folded = fold_text(head)
    if _PATTERNS.search(folded):
        return True
    return not folded.isascii() and _PATTERNS.search(folded.translate(_LOOKALIKES)) is not None


def unsteered(passage: Passage, stance: Stance) -> Stance:
    """The stance, taken back where the sentences that it rests on steer."""
    if stance.neither > 0.9 or not steers(passage.text[stance.start : stance.end]):
        return stance
    return replace(stance, supports=0.0, refutes=0.0, neither=1.0, note="speaks to whoever judges, not of the matter")
