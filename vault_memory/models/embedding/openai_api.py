"""Vectors from a server that speaks OpenAI's ``/v1/embeddings``: in the house or in a cloud.

The answer is trusted in nothing: status, size, shape, order, dimension and every number are checked before use.
"""

import base64
import json
import math
import struct
import time
from collections.abc import Callable, Sequence
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from vault_memory.errors import EmbedderUnavailable
from vault_memory.models.base import plain, unit
from vault_memory.models.credentials import EMBEDDING, api_key, endpoint, require_https
from vault_memory.models.embedding.fingerprint import fingerprint
from vault_memory.models.http_client import Unreachable, answer, read

if TYPE_CHECKING:
    from pathlib import Path

    from vault_memory.config.sections import Embedding

BATCH = 64
LONGEST = 8_000
"""Characters of one text; servers refuse what is longer than their model reads"""
LARGEST = 32 << 20
"""Bytes of one answer"""
TRIES = 4
PATIENCE = 60.0
"""Seconds we wait at most when a server asks us to come back later"""
BUSY = frozenset({408, 429, 500, 502, 503, 504})


class ApiEmbedder:
    """One model on one server."""

    def __init__(
        self,
        embedding: "Embedding",
        *,
        vault: "Path | None" = None,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        self._url = embeddings_url(embedding.base_url)
        self._model, self._timeout, self._wait = (
            embedding.model,
            embedding.timeout_seconds,
            wait,
        )
        self._key = api_key(embedding.api_key_file, vault=vault)
        require_https(self._key, self._url, EMBEDDING)
        self.name = f"api {embedding.model}"
        self.dimensions = self._asked = embedding.dimensions
        if not self.dimensions:
            self.dimensions = len(self.embed(["one word"])[0]) // 4
        self.fingerprint = fingerprint("api", self._url, self._model, self.dimensions)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        """A question is asked once: whoever waits for it is better served by keywords than by patience."""
        sendable = [plain(text)[:LONGEST].strip() or "." for text in texts]
        batches = [
            sendable[start : start + BATCH] for start in range(0, len(sendable), BATCH)
        ]
        return [
            vector
            for batch in batches
            for vector in self._batch(batch, tries=1 if query else TRIES)
        ]

    def _batch(self, texts: list[str], tries: int) -> list[bytes]:
        asked: dict[str, object] = {
            "model": self._model,
            "input": texts,
            "encoding_format": "float",
        }
        if self._asked:
            asked["dimensions"] = self._asked
        body = json.dumps(asked).encode()
        for attempt in range(1, tries):
            status, later, content = self._post(body)
            pause = 0.5 * 2**attempt if later is None else later
            if status not in BUSY or pause > PATIENCE:
                break
            self._wait(pause)
        else:
            status, later, content = self._post(body)
        if status != 200:
            raise self._refused(status, content, later)
        try:
            return vectors(content, len(texts), self.dimensions)
        except ValueError as error:
            raise self._unavailable(
                str(error), "see whether `embedding.model` and `dimensions` fit it"
            ) from None

    def _post(self, body: bytes) -> tuple[int, float | None, bytes]:
        """Status, the seconds it asks us to wait, and the body."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            with answer(
                "POST",
                self._url,
                headers=headers,
                body=body,
                timeout=self._timeout,
                deadline=self._timeout,
            ) as response:
                return (
                    response.status,
                    retry_after(response.headers.get("Retry-After")),
                    read(response, LARGEST),
                )
        except Unreachable as error:
            raise self._unavailable(
                str(error), "see whether it runs; until then search goes by keywords"
            ) from None

    def _refused(
        self, status: int, content: bytes, later: float | None
    ) -> EmbedderUnavailable:
        match status:
            case 401 | 403:
                return self._unavailable(
                    "it does not accept the key", "check `embedding.api_key_file`"
                )
            case 429:
                hint = (
                    f"it wants {later:.0f} s of rest"
                    if later
                    else "it is asked too often; try again later"
                )
                return self._unavailable("it is busy (status 429)", hint)
            case _ if 300 <= status < 400:
                return self._unavailable(
                    f"it points elsewhere (status {status})",
                    "put the final address into `embedding.base_url`",
                )
            case _:
                return self._unavailable(
                    f"it answers with status {status}{self._said(content)}",
                    "see its own log",
                )

    def _said(self, content: bytes) -> str:
        """What the server says of its error, made safe to print."""
        try:
            error = json.loads(content)["error"]
            said = str(error["message"] if isinstance(error, dict) else error)
        except (ValueError, KeyError, TypeError, RecursionError):
            return ""
        if self._key:
            said = said.replace(self._key, "***")
        return ": " + "".join(c if c.isprintable() else " " for c in said)[:200]

    def _unavailable(self, reason: str, hint: str) -> EmbedderUnavailable:
        parts = urlsplit(self._url)
        return EmbedderUnavailable(
            f"the embedding server {parts.scheme}://{parts.netloc}: {reason}", hint=hint
        )


def embeddings_url(base: str) -> str:
    """Where to post to."""
    return endpoint(base, "embeddings", EMBEDDING)


def vectors(content: bytes, wanted: int, dimensions: int) -> list[bytes]:
    """The vectors of an answer in the order of the texts; ``ValueError`` in words when anything is wrong with it."""
    try:
        data = json.loads(content)["data"]
        rows = {
            int(row.get("index", place)): row["embedding"]
            for place, row in enumerate(data)
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError("its answer is no list of embeddings") from None
    if len(data) != wanted or set(rows) != set(range(wanted)):
        raise ValueError(f"it answers {len(data)} vectors to {wanted} texts")
    found = [_numbers(rows[place]) for place in range(wanted)]
    expected = dimensions or len(found[0])
    for vector in found:
        if len(vector) != expected:
            raise ValueError(
                f"its vectors have {len(vector)} numbers instead of {expected}"
            )
    return [unit(vector) for vector in found]


def _numbers(embedding: object) -> list[float]:
    """Some servers send base64 whatever one asks for."""
    try:
        if isinstance(embedding, str):
            raw = base64.b64decode(embedding, validate=True)
            return list(struct.unpack(f"<{len(raw) // 4}f", raw))
        if isinstance(embedding, list) and embedding:
            return [float(x) for x in embedding]
    except (ValueError, TypeError, OverflowError, struct.error):
        pass
    raise ValueError("its vectors are no lists of numbers")


def retry_after(value: str | None) -> float | None:
    """Seconds to wait, from a number or a date; None when the header says nothing useful."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
