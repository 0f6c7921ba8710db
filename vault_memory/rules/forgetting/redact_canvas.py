"""Redacts the boards of Obsidian: the texts of a `.canvas` file, and nothing else of its JSON."""

import json
import re

from vault_memory.rules.forgetting.matcher import TextMatcher
from vault_memory.rules.forgetting.redact_notes import Redacted, cut_note
from vault_memory.rules.paths.canvas import TEXT


def cut_canvas(raw: bytes, matcher: TextMatcher) -> Redacted:
    """Returns a board without the text. Each of its cards is redacted like a note."""
    count = 0

    def redact(match: "re.Match[str]") -> str:
        nonlocal count
        try:
            card = str(json.loads(match[1]))
        except ValueError:
            # Fault: another program wrote an invalid escape. What is left is reported.
            return match[0]
        clean = cut_note(card.encode("utf-8", "surrogatepass"), matcher, facts=False)
        if not clean.count:
            return match[0]
        count += clean.count
        text = clean.raw.decode("utf-8", "surrogatepass")
        # Fault: a line that is removed from JSON, as from a note, leaves no valid board.
        return match[0].removesuffix(match[1]) + json.dumps(text, ensure_ascii=False)

    board = TEXT.sub(redact, raw.decode("utf-8", "surrogateescape"))
    return Redacted(board.encode("utf-8", "surrogateescape"), count)
