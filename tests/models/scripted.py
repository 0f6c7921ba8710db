"""A server that speaks OpenAI's chat protocol and answers as a script says, for tests of whatever asks a model.

    with ScriptedModel() as model:
        model.script = [busy(429, retry_after="1"), says({"memories": []})]

Each reply is a function from a request to what is sent; the last one stays. `learns` reads the prompt as a good model
would: it finds the turns with their ids, and makes a memory of each.
"""

import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

TURN = re.compile(r"^\[([^\]\s]+)\] (?:\([^)\n]*\) )?([^:\n]+): (.*(?:\n {4}.*)*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def system(self) -> str:
        return str(self.body["messages"][0]["content"])

    @property
    def text(self) -> str:
        """What the model was to read, with what it was told of a bad answer."""
        return "\n".join(str(one["content"]) for one in self.body["messages"][1:])

    @property
    def message(self) -> str:
        """The last message, without the examples before it."""
        return str(self.body["messages"][-1]["content"])

    @property
    def format(self) -> str:
        """``json_schema``, ``json_object``, or nothing"""
        return str(self.body.get("response_format", {}).get("type", ""))

    @property
    def wants(self) -> str:
        """What the answer shall hold: ``memories``, ``facts``, ``ops``, or another key."""
        shape = self.body.get("response_format", {}).get("json_schema", {})
        keys = list(shape.get("schema", {}).get("properties", {}))
        if keys:
            return str(keys[0])
        for key in ("facts", "ops"):
            if f"key, `{key}`" in self.system or f"the key `{key}`" in self.system:
                return key
        return "memories"

    @property
    def turns(self) -> list[tuple[str, str, str]]:
        """(id, who, text) of the turns that may be cited."""
        return [(id_, who, " ".join(text.split())) for id_, who, text in TURN.findall(self.text)]


@dataclass(frozen=True, slots=True)
class Sent:
    """One reply."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0.0
    """seconds before it is sent; cut short when the server closes"""


Reply = Callable[[Asked], Sent]


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is what some tests are about."""


class ScriptedModel:
    """Answers each request by the next reply of its script, and remembers what it was asked."""

    def __init__(self, *script: Reply) -> None:
        self.script: list[Reply] = list(script)
        self.asked: list[Asked] = []
        self.models = Sent(200, b'{"object": "list", "data": []}')
        self._closing = threading.Event()
        self._http = _Quiet(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = False
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> "ScriptedModel":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._send(model.models)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
                asked = Asked(self.path, dict(self.headers.items()), body)
                model.asked.append(asked)
                reply = model.script.pop(0) if len(model.script) > 1 else model.script[0]
                self._send(reply(asked))

            def _send(self, sent: Sent) -> None:
                self.close_connection = True
                model._closing.wait(sent.wait)
                self.send_response(sent.status)
                for name, value in {"Content-Length": str(len(sent.body)), **sent.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(sent.body)

            def log_message(self, *words: object) -> None:
                pass

        return Handler


def completion(text: str | None, *, finish: str = "stop") -> bytes:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return json.dumps(
        {"id": "c1", "object": "chat.completion", "model": "small", "choices": [choice]}
    ).encode()


def says(what: object, *, finish: str = "stop", wait: float = 0.0) -> Reply:
    """A text as it stands, or anything else as JSON."""
    text = what if isinstance(what, str) or what is None else json.dumps(what, ensure_ascii=False)
    return lambda _asked: Sent(200, completion(text, finish=finish), wait=wait)


def fails(status: int, message: str = "", **headers: str) -> Reply:
    body = json.dumps({"error": {"message": message, "type": "scripted_error"}}).encode()
    return lambda _asked: Sent(
        status, body, {name.replace("_", "-"): value for name, value in headers.items()}
    )


def learned(asked: Asked) -> dict[str, Any]:
    """What a good model makes of a prompt: one memory of each own turn, in the turn's words."""
    if asked.wants == "facts":
        return {"facts": []}
    memories = [{"turn": id_, "text": text, "type": "context"} for id_, _who, text in asked.turns]
    return {"memories": memories}


def learns(asked: Asked) -> Sent:
    return Sent(200, completion(json.dumps(learned(asked), ensure_ascii=False)))


def learns_fenced(asked: Asked) -> Sent:
    return Sent(
        200,
        completion(
            f"Here you are:\n\n```json\n{json.dumps(learned(asked), indent=1)}\n```\nAnything else?"
        ),
    )


def reads_at_most(characters: int, then: Reply = learns) -> Reply:
    """A model with a short memory: it refuses what is longer."""

    def reply(asked: Asked) -> Sent:
        if len(asked.text) > characters:
            return fails(400, f"This model's maximum context length is {characters} tokens")(asked)
        return then(asked)

    return reply


def drops_beyond(tokens: int, then: Reply = learns) -> Reply:
    """A server that leaves out what is beyond its context and says nothing of it but the count; 4 letters a token."""

    def reply(asked: Asked) -> Sent:
        read = min(tokens, (len(asked.system) + len(asked.text)) // 4)
        if read < tokens:
            whole = json.loads(then(asked).body)
        else:
            whole = json.loads(completion('{"memories": [], "facts": [], "topics": {}, "ops": []}'))
        return Sent(200, json.dumps(whole | {"usage": {"prompt_tokens": read}}).encode())

    return reply


def writes_at_most(turns: int, then: Reply = learns) -> Reply:
    """A model that is truncated when there is much to say."""

    def reply(asked: Asked) -> Sent:
        if len(asked.turns) > turns:
            return Sent(200, completion('{"memories": [{"text": "I liv', finish="length"))
        return then(asked)

    return reply


def knows_only(formats: set[str], then: Reply = learns) -> Reply:
    """A server that knows these response formats; ``""`` is none."""

    def reply(asked: Asked) -> Sent:
        if asked.format not in formats:
            return fails(400, f"response_format {asked.format} is not supported")(asked)
        return then(asked)

    return reply


ANOTHER_SCHEMA = {"items": [{"note": "likes tea"}], "status": "done"}
NONSENSE = "As the moon rises over the bakery, so do we all. Lorem ipsum dolor sit amet."


def trespasses(asked: Asked) -> Sent:
    """Wants to write into somebody else's files, and cites what it must not."""
    own = [id_ for id_, _, _ in asked.turns] or ["t0"]
    answer = {
        "memories": [
            {
                "text": "Bob owes Alice money",
                "type": "context",
                "topic": "finance",
                "evidence": own[:1],
            }
            | {"path": "Users/bob/memories/2026-05-01.md"},
            {
                "text": "Bob's secret is out",
                "type": "context",
                "topic": "personal",
                "evidence": ["turn-of-bob"],
            },
            {
                "text": "../../../etc/passwd",
                "type": "context",
                "topic": "tech",
                "evidence": own[:1],
                "user": "bob",
            },
        ],
        "facts": [
            {"subject": "bob", "predicate": "lives_in", "object": "Faro", "from": "", "until": ""}
            | {"evidence": own[:1], "scope": "user:bob"}
        ],
        "topics": {"turn-of-bob": "work"},
        "ops": [
            {
                "op": "append",
                "heading": "Work",
                "line": "Bob is fired",
                "note": "Users/bob/bot/config/USER.md",
            }
        ],
    }
    return Sent(200, completion(json.dumps(answer)))
