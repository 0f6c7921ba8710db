"""Masks the secrets in what was said, before a model reads it. Pure."""

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from vault_memory.lazy import lazy_module
from vault_memory.rules.learning.policy.secret_signs import KEY_LINE

if TYPE_CHECKING:
    from vault_memory.rules.conversations import statements
    from vault_memory.rules.sentences import sentence_splitter
else:
    statements = lazy_module("vault_memory.rules.conversations.statements")
    sentence_splitter = lazy_module("vault_memory.rules.sentences.sentence_splitter")

MASK = "[a secret is left out]"
_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)", re.DOTALL
)


def masked(text: str, is_secret: Callable[[str], bool]) -> str:
    """Returns a turn in which each sentence with a secret is replaced by `MASK`."""
    text = KEY_LINE.sub(MASK, _KEY_BLOCK.sub(MASK, text))
    stretches: list[str] = []
    place = 0
    for start, end in sentence_splitter.sentence_spans(text):
        sentence = text[start:end].strip()
        # Fault: the name of a speaker before a colon would be a value.
        if is_secret(statements.without_speaker(sentence)):
            first = text.index(sentence, start)
            stretches += text[place:first], MASK
            place = first + len(sentence)
    text = "".join(stretches) + text[place:]
    # Fault: the cue may be in one sentence and the value in the next one.
    return MASK if is_secret(statements.without_speaker(text)) else text


def masked_lines(text: str, is_secret: Callable[[str], bool]) -> str:
    """Returns lines of a transcript without the secrets in their turns."""
    lines = text.splitlines(keepends=True)
    return "".join(_masked_line(line, is_secret) for line in lines)


def is_same(recorded: str, text: str) -> bool:
    """Returns whether a recorded turn may be this text, without its secrets."""
    if MASK not in recorded:
        return recorded == text
    first, *between, last = recorded.split(MASK)
    place = len(first)
    for part in between:
        start = text.find(part, place)
        if start < 0:
            return False
        place = start + len(part)
    return text.startswith(first) and text.endswith(last) and place + len(last) <= len(text)


def _masked_line(line: str, is_secret: Callable[[str], bool]) -> str:
    try:
        record = json.loads(line)
        words = record["text"]
        plain = masked(words, is_secret)
    except (ValueError, KeyError, TypeError, AttributeError):
        # A torn line is no turn.
        return masked(line, is_secret)
    if plain == words:
        return line
    return json.dumps({**record, "text": plain}, ensure_ascii=False) + "\n"
