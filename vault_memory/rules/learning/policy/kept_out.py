"""Finds the reason why a text is stored by no tool and no model, in any note. Pure."""

from collections.abc import Callable, Iterable

from vault_memory.rules.learning.write_policy import LOGGED, UNTOLD

NEVER_STORED = UNTOLD | LOGGED
"""Reasons of the write policy that hold for each text, wherever it is written"""

_ANY_VALUE = "q7x9z4"

ReasonsOf = Callable[[str], frozenset[str]]


def reason_to_keep_out(heading: str, lines: Iterable[str], reasons_of: ReasonsOf) -> str:
    """Returns why lines below a heading are not stored, or an empty string."""
    lines = list(lines)
    # Fault: a sentence may stand in two lines, the word for a secret in the first one.
    texts = [heading, *lines, " ".join(lines)]
    # Fault: the word for a secret may be the heading, with the value in a line below it.
    if "secret" in reasons_of(f"{heading}: {_ANY_VALUE}"):
        texts += [f"{heading}: {line}" for line in lines]
    # Fault: the predicate of a fact has its words joined, as in `wifi_password: quayfish`.
    texts += [text.replace("_", " ") for text in texts]
    reasons = [reasons_of(text) for text in dict.fromkeys(texts) if text]
    return min(NEVER_STORED & frozenset().union(*reasons), default="")
