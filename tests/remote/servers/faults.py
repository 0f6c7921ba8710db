"""What can go wrong between a client and a server, decided by explicit rules or by a seed.

Put `Faulty` around the fake Nextcloud for a run in process, or `proxy.FaultProxy` in front of any server on a port.
"""

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.remote.servers.exchange import (
    App,
    ConnectionLost,
    NoAnswer,
    Response,
    request_head,
    response_head,
)

LOGIN_PAGE = (
    b'<!DOCTYPE html>\n<html lang="en"><head><title>Log in</title></head><body><form method="post" action="/login">'
    b'<input name="user"><input name="password" type="password"><button>Log in</button></form></body></html>\n'
)


@dataclass(frozen=True, slots=True)
class CutRequest:
    """The line breaks after `at` bytes of the request, head and body counted; negative counts from its end."""

    at: int


@dataclass(frozen=True, slots=True)
class CutResponse:
    """The server does its work; the line breaks after `at` bytes of its answer; negative counts from its end."""

    at: int


@dataclass(frozen=True, slots=True)
class LoseAnswer:
    """The server does its work and the answer is lost: at once, or (`silent`) until the client gives up."""

    silent: bool = False


@dataclass(frozen=True, slots=True)
class LoseRequest:
    """The request never arrives: the line breaks, or (`silent`) nothing comes until the client gives up."""

    silent: bool = False


@dataclass(frozen=True, slots=True)
class Delay:
    """The answer comes late."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The request is sent twice; the client sees the second answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Somebody on the way answers, and the server never hears of it."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The server's answer is changed on its way: shortened with its length put right, other tags, evil hrefs."""

    change: Callable[[Response], Response]


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """Something happens just before the request arrives, or (`after`) just after it was answered."""

    act: Callable[[], object]
    after: bool = False


Fault = (
    CutRequest
    | CutResponse
    | LoseAnswer
    | LoseRequest
    | Delay
    | Duplicate
    | Answer
    | Rewrite
    | Meanwhile
)

LOGIN_WITH_200 = Answer(200, {"Content-Type": "text/html; charset=utf-8"}, LOGIN_PAGE)
LOGIN_WITH_302 = Answer(302, {"Location": "/login", "Content-Type": "text/html"}, b"")
NOT_FOUND = Answer(404, {"Content-Type": "text/html"}, b"<html><body>404</body></html>")
EMPTY_200 = Answer(200)
UNAVAILABLE = Answer(
    503, {"Content-Type": "text/html"}, b"<html><body>Service Unavailable</body></html>"
)
BAD_GATEWAY = Answer(502, {"Content-Type": "text/html"}, b"<html><body>Bad Gateway</body></html>")
TOO_MANY = Answer(429, {"Retry-After": "7"})


def shortened(at: int) -> Rewrite:
    """An answer that ends early and does not say so: whoever cut it has put its length right."""

    def change(answer: Response) -> Response:
        headers = {
            name: value
            for name, value in answer.headers.items()
            if name.lower() != "content-length"
        }
        return Response(answer.status, headers, answer.body[:at])

    return Rewrite(change)


def replaced(old: bytes, new: bytes) -> Rewrite:
    """An answer in which some bytes are others, in its head and its body."""

    def change(answer: Response) -> Response:
        one, other = old.decode("latin-1"), new.decode("latin-1")
        headers = {name: value.replace(one, other) for name, value in answer.headers.items()}
        headers = {
            name: value for name, value in headers.items() if name.lower() != "content-length"
        }
        return Response(answer.status, headers, answer.body.replace(old, new))

    return Rewrite(change)


def after(status: int, seconds: int | str) -> Answer:
    """An answer that says when to come back."""
    return Answer(status, {"Retry-After": str(seconds)})


@dataclass(slots=True)
class Rule:
    """Which requests a fault befalls."""

    fault: Fault
    method: str | None = None
    path: str = ""
    """A part of the target as it is sent."""
    times: int | None = 1
    skip: int = 0
    """So many matching requests pass first."""

    def takes(self, method: str, path: str) -> bool:
        """Whether this request is hit; counts."""
        if self.times == 0 or (self.method and self.method != method) or self.path not in path:
            return False
        if self.skip:
            self.skip -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True


class Script:
    """Says what befalls each request: the first rule that takes it, else what the seed says."""

    def __init__(self, rules: Sequence[Rule] = ()) -> None:
        self.rules = list(rules)
        self.happened: list[tuple[str, str, Fault]] = []
        self._draw: Callable[[], Fault | None] = lambda: None
        self._lock = threading.Lock()

    @classmethod
    def seeded(cls, seed: int, rate: float, faults: Sequence[Fault] | None = None) -> "Script":
        """One request in 1/`rate` is hit by one of `faults`, or by any kind at a random place."""
        script, chance = cls(), random.Random(seed)

        def draw() -> Fault | None:
            if chance.random() >= rate:
                return None
            return chance.choice(faults) if faults else _any_fault(chance)

        script._draw = draw
        return script

    def add(
        self,
        fault: Fault,
        method: str | None = None,
        path: str = "",
        *,
        times: int | None = 1,
        skip: int = 0,
    ) -> None:
        """One more rule."""
        self.rules.append(Rule(fault, method, path, times, skip))

    def clear(self) -> None:
        """From now on nothing goes wrong."""
        with self._lock:
            self.rules.clear()
            self._draw = lambda: None

    def next(self, method: str, path: str) -> Fault | None:
        """What befalls this request."""
        with self._lock:
            fault = (
                next((rule.fault for rule in self.rules if rule.takes(method, path)), None)
                or self._draw()
            )
            if fault is not None:
                self.happened.append((method, path, fault))
            return fault


def _any_fault(chance: random.Random) -> Fault:
    possible: list[Fault] = [
        CutRequest(chance.randrange(0, 1500)),
        CutRequest(-chance.randrange(1, 40)),
        CutResponse(chance.randrange(0, 1500)),
        CutResponse(-chance.randrange(1, 40)),
        LoseAnswer(),
        LoseAnswer(silent=True),
        LoseRequest(),
        Duplicate(),
        LOGIN_WITH_200,
        LOGIN_WITH_302,
        EMPTY_200,
        NOT_FOUND,
        UNAVAILABLE,
        BAD_GATEWAY,
        TOO_MANY,
    ]
    return chance.choice(possible)


class Faulty:
    """An app around an app, on whose requests and answers the script's faults fall."""

    def __init__(
        self, app: App, script: Script, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.app = app
        self.script = script
        self._sleep = sleep

    def handle(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        address: str = "127.0.0.1",
    ) -> Response:
        """As the app answers, or worse."""

        def send(part: bytes = body) -> Response:
            return self.app.handle(method, path, headers, part, address=address)

        match self.script.next(method, path):
            case None:
                return send()
            case CutRequest(at=at):
                return self._cut_request(request_head(method, path, headers), body, at, send)
            case CutResponse(at=at):
                answer = send()
                return Response(answer.status, answer.headers, answer.body, cut=_place(at, answer))
            case LoseAnswer(silent=silent):
                send()
                raise NoAnswer if silent else ConnectionLost
            case LoseRequest(silent=silent):
                raise NoAnswer if silent else ConnectionLost
            case Delay(seconds=seconds):
                self._sleep(seconds)
                return send()
            case Duplicate():
                send()
                return send()
            case Rewrite(change=change):
                return change(send())
            case Meanwhile(act=act, after=False):
                act()
                return send()
            case Meanwhile(act=act):
                answer = send()
                act()
                return answer
            case Answer(status=status, headers=its, body=content):
                return Response(status, dict(its), content)

    def _cut_request(
        self, head: bytes, body: bytes, at: int, send: Callable[[bytes], Response]
    ) -> Response:
        if at < 0:
            at = max(0, len(head) + len(body) + at)
        if at >= len(head) and (body or at == len(head)):
            send(body[: at - len(head)])
        raise ConnectionLost


def _place(at: int, answer: Response) -> int:
    if at >= 0:
        return at
    return max(0, len(response_head(answer)) + len(answer.body) + at)
