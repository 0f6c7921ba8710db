"""Asks a language model on a local or hosted server with OpenAI's ``/v1/chat/completions``.

The request demands the JSON schema. A server without schemas gets a request for any JSON object,
and a server without that format a request for text, which may contain a matching JSON object.
The model gets one request to repair an unusable answer. A prompt that is too long is split into
halves. Of a truncated answer the complete entries are used, and the turns after them are asked again.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from vault_memory.errors import BrainUnavailable
from vault_memory.models.base import BrainAnswer, Rung
from vault_memory.models.credentials import BRAIN, api_key, endpoint, require_https
from vault_memory.models.embedding.openai_api import BUSY, retry_after
from vault_memory.models.http_client import Unreachable, answer, read
from vault_memory.models.llm.model_access import BARE, ModelAccess, tokens_of_reply
from vault_memory.models.llm.openai_errors import (
    LIMIT,
    FormatRefused,
    Refused,
    TooLong,
    Truncated,
    answer_text,
    parse_reply,
    yes_share,
)
from vault_memory.rules.learning.extraction import cited_turns, merged, problem, stands_alone
from vault_memory.rules.learning.lenient_json import completed, without_thoughts

if TYPE_CHECKING:
    from pathlib import Path

    from vault_memory.config.sections import BrainSettings as Settings
    from vault_memory.models.llm.labels import LabelQuestion
    from vault_memory.rules.learning.model_prompt import Prompt

LARGEST = 8 << 20
"""Bytes of one answer"""
TRIES = 3
PATIENCE = 60.0
"""The longest accepted pause that a server requests, in seconds"""
DEEPEST = 4
"""How often a prompt is halved at most: into 16 prompts"""
QUOTED = 6_000
"""Characters of an unusable answer that the repair request repeats"""

LABEL_OPTIONS = {"temperature": 0, LIMIT: 1, "logprobs": True, "top_logprobs": 10}
WORD_OPTIONS = {"temperature": 0, LIMIT: 8}
"""A long word may take several tokens"""

Message = dict[str, str]
Label = TypeVar("Label", float, str)
FORMATS: tuple[Rung, ...] = ("schema", "json", "text")
_STEPS: tuple[Rung, ...] = ("schema", "json", "text", "repair")
FAILURES = 3
"""Consecutive failures that open the breaker"""
PAUSE_SECONDS = 300.0


# --- Circuit breaker ---

# Stops requests to a server that fails repeatedly: a pause follows the failures, then one
# trial.


class Breaker:
    """Counts the consecutive failures of one server.

    Closed: requests are allowed. Open: they are not. Half open: one caller tries, others wait.
    """

    def __init__(
        self, *, pause: float = PAUSE_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._pause = pause
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._until = 0.0

    def seconds_left(self) -> float:
        """Return the seconds until the next request is allowed; 0 allows it now.

        The first caller after the pause gets 0 and makes the trial.
        """
        # Fault: two threads count the failures of one server at the same time.
        with self._lock:
            if self._failures < FAILURES:
                return 0.0
            now = self._clock()
            if now < self._until:
                return self._until - now
            # Half open: a second caller must not flood a server that just recovers, so the
            # pause starts again until the trial is recorded.
            self._until = now + self._pause
            return 0.0

    def record_success(self) -> None:
        """Close the breaker."""
        with self._lock:
            self._failures = 0

    def record_failure(self) -> None:
        """Count a failure and start the pause."""
        with self._lock:
            self._failures += 1
            self._until = self._clock() + self._pause


_breakers: dict[tuple[str, str], Breaker] = {}
_breakers_lock = threading.Lock()


def breaker_of(url: str, model: str) -> Breaker:
    """Return the breaker of a server and model; the whole process shares it."""
    with _breakers_lock:
        return _breakers.setdefault((url, model), Breaker())


# --- Requests ---


@dataclass(frozen=True, slots=True)
class _PartialAnswer:
    text: str
    rung: Rung
    turn_ids: tuple[str, ...]


class OpenAIBrain:
    """Answers prompts with one model on one server."""

    def __init__(
        self,
        settings: "Settings",
        model: str,
        access: ModelAccess = BARE,
        *,
        wait: Callable[[float], object] = time.sleep,
        breaker: Breaker | None = None,
    ) -> None:
        self._url = endpoint(settings.base_url, "chat/completions", BRAIN)
        self._model = model
        self._timeout = settings.timeout_seconds
        self._wait = wait
        self._meter = access.meter
        self._key = api_key(settings.api_key_file, BRAIN, vault=access.vault)
        require_https(self._key, self._url, BRAIN)
        self._breaker = breaker or breaker_of(self._url, model)
        self._format_index = 0
        """Index of the first entry of FORMATS that the server accepts"""
        self._refused_options = set[str]()
        """Options that the server or the model does not accept"""
        self.name = f"openai {model}"

    def answer(self, prompt: "Prompt") -> BrainAnswer:
        if pause := self._breaker.seconds_left():
            raise self._unavailable(
                f"it failed several times; the next request follows in {pause:.0f} s"
            )
        answers = self._solve(prompt, DEEPEST)
        rung = max((partial.rung for partial in answers), key=_STEPS.index)
        if len(answers) == 1:
            return BrainAnswer(answers[0].text, rung, self._model)
        return BrainAnswer(
            merged((partial.text, partial.turn_ids) for partial in answers), rung, self._model
        )

    def probability_of_yes(self, question: "LabelQuestion", text: str) -> float:
        """Ask for one word; its probability where the server gives it, else 0 or 1."""
        return self._ask_label(question, text, LABEL_OPTIONS, yes_share)

    def chosen_word(self, question: "LabelQuestion", text: str) -> str:
        """Ask for one of the words of a question; "" for any other answer."""
        return self._ask_label(question, text, WORD_OPTIONS, question.chosen_in)

    def _ask_label(
        self,
        question: "LabelQuestion",
        text: str,
        options: Mapping[str, object],
        read_reply: Callable[[dict[str, Any]], Label],
    ) -> Label:
        messages = [{"role": "system", "content": question.text}]
        for example, word in question.examples:
            messages.append({"role": "user", "content": example})
            messages.append({"role": "assistant", "content": word})
        messages.append({"role": "user", "content": text})
        while True:
            request: dict[str, Any] = {
                "model": self._model,
                "messages": messages,
                "stream": False,
                **self._accepted(options),
            }
            try:
                return read_reply(self._post(json.dumps(request).encode()))
            except FormatRefused as refused:
                if not refused.option or refused.option in self._refused_options:
                    raise self._unavailable(str(refused), "read the log of the server") from None
                self._refused_options.add(refused.option)
            except Refused as error:
                raise self._unavailable(str(error), error.hint) from None
            except TooLong as error:
                raise self._unavailable(
                    str(error), "choose a model with a larger context"
                ) from None

    def _accepted(self, options: Mapping[str, object]) -> dict[str, object]:
        """Return the options that the server did not refuse."""
        return {name: value for name, value in options.items() if name not in self._refused_options}

    def _solve(self, prompt: "Prompt", depth: int) -> list[_PartialAnswer]:
        """Answer a prompt; split it into halves when it is too long.

        A division without the person's own turns is not asked: nothing could be learned from it.
        """
        if prompt.excerpts and not prompt.turn_ids:
            return []
        try:
            return [self._answer_or_repair(prompt)]
        except (TooLong, Truncated) as error:
            if isinstance(error, Truncated) and (entries := completed(error.text)):
                return self._continued(entries, prompt, depth)
            halves = prompt.halves() if depth else None
            if halves is None:
                raise self._unavailable(
                    str(error), "choose a model with a larger context"
                ) from None
        return [partial for half in halves for partial in self._solve(half, depth - 1)]

    def _continued(self, entries: str, prompt: "Prompt", depth: int) -> list[_PartialAnswer]:
        """Keep the complete entries of a truncated answer, and ask for the turns after them."""
        answers = [_PartialAnswer(entries, "text", prompt.turn_ids)]
        cited = cited_turns(entries, prompt.turn_ids)
        remaining = prompt.after(cited[-1]) if cited and depth else None
        if remaining is not None:
            answers += self._solve(remaining, depth - 1)
        return answers

    def _answer_or_repair(self, prompt: "Prompt") -> _PartialAnswer:
        """Answer a prompt, with one repair request for an unusable answer."""
        messages = [
            {"role": "system", "content": prompt.system},
            {"role": "user", "content": prompt.text},
        ]
        text, rung = self._request_text(messages, prompt)
        reason_unusable = problem(text, prompt.turn_ids)
        if not reason_unusable:
            # Some servers accept a format and ignore it: the model writes words around the object.
            real_rung = rung if stands_alone(text) else "text"
            return _PartialAnswer(text, real_rung, prompt.turn_ids)
        messages += [
            {"role": "assistant", "content": text[:QUOTED]},
            {
                "role": "user",
                "content": f"This cannot be used: {reason_unusable[:1000]}. Answer again, with the JSON object only.",
            },
        ]
        text, _ = self._request_text(messages, prompt)
        if second_problem := problem(text, prompt.turn_ids, last=True):
            raise self._unavailable(
                f"its answer is unusable, also after a repair request: {second_problem[:200]}"
            )
        return _PartialAnswer(text, "repair", prompt.turn_ids)

    def _request_text(self, messages: list[Message], prompt: "Prompt") -> tuple[str, Rung]:
        """Return the text of an answer in the strictest format that the server supports."""
        format_index = self._format_index
        while True:
            try:
                body = self._body(messages, FORMATS[format_index], prompt)
                text = answer_text(self._post(body))
            except Truncated as truncated:
                # A model that thinks aloud spends the limit before it answers.
                is_thinking = not without_thoughts(truncated.text)
                if not is_thinking or LIMIT in self._refused_options:
                    raise
                self._refused_options.add(LIMIT)
            except FormatRefused as refused:
                if refused.option and refused.option not in self._refused_options:
                    self._refused_options.add(refused.option)
                elif format_index + 1 < len(FORMATS):
                    format_index += 1
                else:
                    raise self._unavailable(str(refused), "read the log of the server") from None
            except Refused as error:
                raise self._unavailable(str(error), error.hint) from None
            else:
                self._format_index = format_index
                return text, FORMATS[format_index]

    def _body(self, messages: list[Message], rung: Rung, prompt: "Prompt") -> bytes:
        request: dict[str, Any] = {"model": self._model, "messages": messages, "stream": False}
        request |= self._accepted({"temperature": 0, LIMIT: prompt.answer_tokens})
        if rung == "schema":
            shape = {"name": prompt.role, "strict": True, "schema": prompt.schema()}
            request["response_format"] = {"type": "json_schema", "json_schema": shape}
        elif rung == "json":
            request["response_format"] = {"type": "json_object"}
        return json.dumps(request).encode()

    def _post(self, body: bytes) -> dict[str, Any]:
        """Return the parsed reply; retry while the server is busy.

        Raises the exceptions of `parse_reply`, and ``BrainUnavailable`` without a connection.
        """
        for attempt in range(1, TRIES + 1):
            try:
                status, retry_seconds, content = self._send(body)
            except Unreachable as error:
                self._breaker.record_failure()
                raise self._unavailable(str(error), "check that it runs") from None
            pause = 2.0**attempt if retry_seconds is None else retry_seconds
            if status not in BUSY or attempt == TRIES or pause > PATIENCE:
                break
            if status == 500 and content:
                # Some servers answer 500 for an unknown schema or a long prompt: a retry is useless.
                parse_reply(status, content, strict=False)
            self._wait(pause)
        if status in BUSY:
            self._breaker.record_failure()
        else:
            self._breaker.record_success()
        if status == 200:
            self._meter(tokens_of_reply(body, content))
        sends_limit = LIMIT not in self._refused_options
        return parse_reply(status, content, sends_limit=sends_limit)

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
        url = urlsplit(self._url)
        server = f"the language model at {url.scheme}://{url.netloc}"
        return BrainUnavailable(
            f"{server}: {reason}", hint=hint or "check the server; until then phrase rules answer"
        )


def reachable(settings: "Settings", *, seconds: float, vault: "Path | None" = None) -> str:
    """Return why the server does not list its models, or "".

    A server without a model list counts as reachable.
    """
    url = endpoint(settings.base_url, "models", BRAIN)
    key = api_key(settings.api_key_file, BRAIN, vault=vault)
    headers = {"Accept": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    try:
        with answer("GET", url, headers=headers, timeout=seconds, deadline=seconds) as response:
            read(response, LARGEST)
            status = response.status
    except Unreachable as error:
        return f"the language model's server: {error}"
    # Some servers have no list of models.
    if status < 400 or status in (404, 405):
        return ""
    reason = f"it answers with status {status}"
    if status in (401, 403):
        reason = "it does not accept the key"
    return f"the language model's server: {reason}"
