"""A language model behind any server that speaks OpenAI's ``/v1/chat/completions``: in the house or hosted.

The answer is had by a ladder: the model is held to the JSON schema; a server that cannot do that is asked for some JSON
object, and one that cannot do that either for a text, in which the first fitting JSON object is taken. What is still
wrong then is told to the model once. An answer that was cut off is no answer; what is too long is asked in halves.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from vault_memory.errors import BrainUnavailable
from vault_memory.models.base import Answer, Rung
from vault_memory.models.circuit_breaker import Breaker, breaker_of
from vault_memory.models.credentials import BRAIN, api_key, endpoint, require_https
from vault_memory.models.embedding.openai_api import BUSY, retry_after
from vault_memory.models.http_client import Unreachable, answer, read
from vault_memory.models.llm.openai_errors import (
    CutShort,
    NotHeld,
    Refused,
    TooLong,
    content_of,
    judged,
)
from vault_memory.rules.learning.extraction import merged, problem, stands_alone

if TYPE_CHECKING:
    from pathlib import Path

    from vault_memory.config.sections import Brain as Settings
    from vault_memory.rules.learning.model_prompt import Prompt

LARGEST = 8 << 20
"""Bytes of one answer"""
TRIES = 3
PATIENCE = 60.0
"""Seconds we wait at most when a server asks us to come back later"""
DEEPEST = 4
"""How often a question is halved at most: into 16 parts"""
QUOTED = 6_000
"""Characters of a bad answer that are shown to the model again"""

Message = dict[str, str]
FORMATS: tuple[Rung, ...] = ("schema", "json", "text")
_STEPS: tuple[Rung, ...] = ("schema", "json", "text", "repair")


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    rung: Rung
    turn_ids: tuple[str, ...]


class OpenAIBrain:
    """One model on one server."""

    def __init__(
        self,
        settings: "Settings",
        model: str,
        *,
        vault: "Path | None" = None,
        wait: Callable[[float], object] = time.sleep,
        breaker: Breaker | None = None,
    ) -> None:
        self._url = endpoint(settings.base_url, "chat/completions", BRAIN)
        self._model, self._timeout, self._wait = model, settings.timeout_seconds, wait
        self._key = api_key(settings.api_key_file, BRAIN, vault=vault)
        require_https(self._key, self._url, BRAIN)
        self._breaker = breaker or breaker_of(self._url, model)
        self._first = 0
        """the first of FORMATS that the server did not refuse"""
        self._cool = True
        """it takes a temperature"""
        self.name = f"openai {model}"

    def answer(self, prompt: "Prompt") -> Answer:
        if left := self._breaker.seconds_left():
            raise self._unavailable(
                f"it failed several times and is left alone for {left:.0f} s more"
            )
        parts = self._solve(prompt, DEEPEST)
        rung = max((part.rung for part in parts), key=_STEPS.index)
        if len(parts) == 1:
            return Answer(parts[0].text, rung, self._model)
        return Answer(
            merged((part.text, part.turn_ids) for part in parts), rung, self._model
        )

    def _solve(self, prompt: "Prompt", depth: int) -> list[_Part]:
        """The answer to a prompt, or to its halves when all of it is too much."""
        try:
            return [self._once(prompt)]
        except (TooLong, CutShort) as error:
            halves = prompt.halves() if depth else None
            if halves is None:
                raise self._unavailable(
                    str(error), "take a model that reads and writes more at once"
                ) from None
        return [part for half in halves for part in self._solve(half, depth - 1)]

    def _once(self, prompt: "Prompt") -> _Part:
        """One question, and once more what is wrong with the answer."""
        messages = [
            {"role": "system", "content": prompt.system},
            {"role": "user", "content": prompt.text},
        ]
        text, rung = self._ask(messages, prompt)
        wrong = problem(text, prompt.turn_ids)
        if not wrong:
            return _Part(text, rung if stands_alone(text) else "text", prompt.turn_ids)
        messages += [
            {"role": "assistant", "content": text[:QUOTED]},
            {
                "role": "user",
                "content": f"This cannot be used: {wrong[:1000]}. Answer again, with the JSON object only.",
            },
        ]
        text, _ = self._ask(messages, prompt)
        if still := problem(text, prompt.turn_ids, last=True):
            raise self._unavailable(
                f"its answer cannot be used, also when asked again: {still[:200]}"
            )
        return _Part(text, "repair", prompt.turn_ids)

    def _ask(self, messages: list[Message], prompt: "Prompt") -> tuple[str, Rung]:
        """The text of an answer, held to as much as the server can hold it to."""
        at = self._first
        while True:
            try:
                text = content_of(self._post(self._body(messages, FORMATS[at], prompt)))
            except NotHeld as refused:
                if refused.temperature and self._cool:
                    self._cool = False
                elif at + 1 < len(FORMATS):
                    at += 1
                else:
                    raise self._unavailable(str(refused), "see its own log") from None
            except Refused as error:
                raise self._unavailable(str(error), error.hint) from None
            else:
                self._first = at
                return text, FORMATS[at]

    def _body(self, messages: list[Message], rung: Rung, prompt: "Prompt") -> bytes:
        asked: dict[str, Any] = {
            "model": self._model,
            "messages": messages,
            "stream": False,
        }
        if self._cool:
            asked["temperature"] = 0
        if rung == "schema":
            shape = {"name": prompt.role, "strict": True, "schema": prompt.schema()}
            asked["response_format"] = {"type": "json_schema", "json_schema": shape}
        elif rung == "json":
            asked["response_format"] = {"type": "json_object"}
        return json.dumps(asked).encode()

    def _post(self, body: bytes) -> dict[str, Any]:
        """The reply, when it is one; a busy server is asked again. Raises what `judged` and `_unavailable` make."""
        for attempt in range(1, TRIES + 1):
            try:
                status, later, content = self._send(body)
            except Unreachable as error:
                self._breaker.failed()
                raise self._unavailable(str(error), "see whether it runs") from None
            pause = 2.0**attempt if later is None else later
            if status not in BUSY or attempt == TRIES or pause > PATIENCE:
                break
            if status == 500 and content:
                judged(
                    status, content, strict=False
                )  # some say by 500 that they know no schema, or that it is too much
            self._wait(pause)
        if status in BUSY:
            self._breaker.failed()
        else:
            self._breaker.succeeded()
        return judged(status, content)

    def _send(self, body: bytes) -> tuple[int, float | None, bytes]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
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

    def _unavailable(self, reason: str, hint: str = "") -> BrainUnavailable:
        parts = urlsplit(self._url)
        where = f"the language model at {parts.scheme}://{parts.netloc}"
        return BrainUnavailable(
            f"{where}: {reason}",
            hint=hint or "what it was asked is answered by phrases meanwhile",
        )


def reachable(
    settings: "Settings", *, seconds: float, vault: "Path | None" = None
) -> str:
    """Why the server does not even tell its models; nothing when it does, or when it has no such list."""
    url = endpoint(settings.base_url, "models", BRAIN)
    key = api_key(settings.api_key_file, BRAIN, vault=vault)
    headers = {"Accept": "application/json"} | (
        {"Authorization": f"Bearer {key}"} if key else {}
    )
    try:
        with answer(
            "GET", url, headers=headers, timeout=seconds, deadline=seconds
        ) as response:
            read(response, LARGEST)
            status = response.status
    except Unreachable as error:
        return f"the language model's server: {error}"
    refused = (
        "it does not accept the key"
        if status in (401, 403)
        else f"it answers with status {status}"
    )
    return (
        ""
        if status < 400 or status in (404, 405)
        else f"the language model's server: {refused}"
    )
