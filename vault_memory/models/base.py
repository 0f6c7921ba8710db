"""What every embedder promises: texts in, vectors of one length out, and a name for exactly this model.

And what every brain promises: a prompt in, a text out that can be read, and by which rung it was had.
"""

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from vault_memory.rules.learning.model_prompt import Prompt

Rung = Literal["schema", "json", "text", "repair", "command", "rules"]
"""How an answer was had: held to the schema, as some JSON object, found in a text, mended after it was told what is
wrong, from a program, or by phrases. Each is a step down from the one before."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a brain says to one prompt; `read_answer` makes something of it."""

    text: str
    rung: Rung
    model: str
    reason: str = ""
    """why it comes from the rules although a model was asked; never any of the texts"""


class Brain(Protocol):
    """Answers prompts. Safe to call from several threads."""

    @property
    def name(self) -> str:
        """For people: who answers, e.g. ``openai small``"""

    def answer(self, prompt: "Prompt") -> Answer:
        """Raises ``BrainUnavailable`` when there is nobody to ask, or no usable answer."""


class Embedder(Protocol):
    """Turns texts into vectors whose dot product says how alike they are in meaning."""

    @property
    def name(self) -> str:
        """For people: what embeds, e.g. ``onnx minilm``"""

    @property
    def fingerprint(self) -> str:
        """64 hex digits that change when weights, tokenizer, pooling or dimension do.

        Vectors of two fingerprints never meet.
        """

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        """One vector per text: float32, little-endian, of unit length. ``query``: the text is a question, not a note.

        Safe to call from several threads. Raises ``EmbedderUnavailable`` when there is nobody to ask.
        """


def unit(vector: Sequence[float]) -> bytes:
    """The vector as float32 bytes, scaled to length 1; ``ValueError`` when it has no direction."""
    length = math.hypot(*vector)
    if not 0 < length < math.inf:
        raise ValueError("a vector of zeros, NaN or infinity has no direction")
    return struct.pack(f"<{len(vector)}f", *[x / length for x in vector])


def plain(text: str) -> str:
    """The text as every tokenizer can take it: no NUL, no half of a surrogate pair."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
