"""The interfaces of embedders and brains.

An embedder turns texts into vectors of one length and identifies its model by a fingerprint.
A brain turns a prompt into a text and names the rung that produced it.
"""

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from vault_memory.rules.learning.model_prompt import Prompt

Rung = Literal["schema", "json", "text", "repair", "command", "labels", "rules"]
"""How a brain produced an answer, the most reliable way first: by a JSON schema, as a JSON object,
extracted from a text, repaired after the brain read what was wrong, by a program, by one word for
each turn, by phrases."""


@dataclass(frozen=True, slots=True)
class BrainAnswer:
    """The answer of a brain to one prompt; `read_answer` parses it."""

    text: str
    rung: Rung
    model: str
    reason: str = ""
    """Why the rules answered in place of the configured model; contains no text of a prompt."""


class Brain(Protocol):
    """Answers prompts. Safe to call from several threads."""

    @property
    def name(self) -> str:
        """The brain's name for people, e.g. ``openai small``."""

    def answer(self, prompt: "Prompt") -> BrainAnswer:
        """Answer one prompt. Raises ``BrainUnavailable`` without a server, or without a usable answer."""


class Embedder(Protocol):
    """Turns texts into vectors whose dot product measures how similar their meanings are."""

    @property
    def name(self) -> str:
        """The embedder's name for people, e.g. ``onnx minilm``."""

    @property
    def fingerprint(self) -> str:
        """64 hex digits that change with the weights, tokenizer, pooling or dimension.

        Vectors with different fingerprints are never compared.
        """

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        """Return one vector per text: float32, little-endian, of unit length.

        ``query``: the texts are questions, not notes. Safe to call from several threads.
        Raises ``EmbedderUnavailable`` when the model or its server cannot be used.
        """


def unit(vector: Sequence[float]) -> bytes:
    """Return the vector as float32 bytes, scaled to length 1.

    Raises ``ValueError`` when the vector has no direction.
    """
    length = math.hypot(*vector)
    # Fault: a server sends a vector of zeros or `NaN`, which would be equally near to every text.
    if not 0 < length < math.inf:
        raise ValueError("a vector of zeros, NaN or infinity has no direction")
    return struct.pack(f"<{len(vector)}f", *[x / length for x in vector])


def plain(text: str) -> str:
    """Return the text in a form that every tokenizer accepts: no NUL, no half of a surrogate pair."""
    # Fault: a note may have a NUL or half of a surrogate pair, at which a tokenizer fails.
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
