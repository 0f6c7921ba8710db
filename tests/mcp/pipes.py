"""`mcp` as a host runs it: a process, and JSON lines on its pipes."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tests.scenarios.outside import PATIENCE_SECONDS, Outside


class Pipe:
    """A running server."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def send(self, *messages: object) -> None:
        """Each as one line; bytes as they are."""
        assert self.process.stdin is not None
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def next(self) -> Any:
        """The next message of the server."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ask(self, method: str, id_: object = 1, **params: Any) -> dict[str, Any]:
        self.send(request(method, id_, **params))
        answer: dict[str, Any] = self.next()
        assert answer["id"] == id_
        return answer

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result: dict[str, Any] = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        return result

    def end(self) -> tuple[int, list[Any], str]:
        """Close its input; the exit code, what it still said, and its standard error."""
        out, errors = self.process.communicate(timeout=PATIENCE_SECONDS)
        return (
            self.process.returncode,
            [json.loads(line) for line in out.splitlines()],
            errors.decode(),
        )


def request(method: str, id_: object = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def hello(version: str = "2025-06-18") -> dict[str, Any]:
    return request(
        "initialize",
        protocolVersion=version,
        capabilities={},
        clientInfo={"name": "x", "version": "1"},
    )


@contextmanager
def piped(place: Outside, *options: str) -> Iterator[Pipe]:
    """`mcp` for alice."""
    pipe = Pipe(place.command("mcp", "--user", "alice", *options), place.environment)
    try:
        yield pipe
    finally:
        if pipe.process.poll() is None:
            pipe.process.kill()
            pipe.process.communicate(timeout=PATIENCE_SECONDS)
        for stream in (pipe.process.stdin, pipe.process.stdout, pipe.process.stderr):
            assert stream is not None
            stream.close()
