"""A client of the official SDK at each door: a pipe to a process, and HTTP to a real `serve`."""

import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.scenarios.outside import PATIENCE_SECONDS, Outside

Connect = Callable[..., AbstractAsyncContextManager[Client]]
"""Connects a person, with the options of the client"""
ROWS = {
    "alice": 'user = "alice"\nconfirms = true\n',
    "bob": 'user = "bob"\n',
    "harbour": 'user = "alice"\nchannel = "harbour"\nprivate = true\nconfirms = true\n',
}
"""Row of `[[serve.tokens]]` by the name of its token"""
OPTIONS = {
    "alice": ["--user", "alice"],
    "bob": ["--user", "bob"],
    "harbour": ["--user", "alice", "--channel", "harbour", "--private"],
}


def token_of(name: str) -> str:
    return name.ljust(40, "x")


def over_stdio(place: Outside) -> Connect:
    """Connects to a process of its own."""

    @asynccontextmanager
    async def connect(name: str, **options: Any) -> AsyncIterator[Client]:
        program, *arguments = place.command("mcp", *OPTIONS[name])
        server = StdioServerParameters(command=program, args=arguments, env=place.environment)
        async with Client(server, **options) as client:
            yield client

    return connect


@contextmanager
def over_http(place: Outside) -> Iterator[Connect]:
    """Connects to one server."""
    rows = []
    for name, row in ROWS.items():
        file = place.home / f"{name}.token"
        file.touch(0o600)
        file.write_text(token_of(name))
        rows.append(f'[[serve.tokens]]\ntoken_file = "{file}"\n{row}')
    settings = place.home / "served.toml"
    settings.write_text("\n".join(rows))

    with serving(place.command("--config", str(settings), "serve", "--port", "0"), place) as url:

        @asynccontextmanager
        async def connect(name: str, **options: Any) -> AsyncIterator[Client]:
            headers = {"authorization": f"Bearer {token_of(name)}"}
            async with (
                httpx2.AsyncClient(headers=headers) as carrier,
                Client(
                    streamable_http_client(f"{url}/mcp", http_client=carrier), **options
                ) as client,
            ):
                yield client

        yield connect


@contextmanager
def serving(command: list[str], place: Outside) -> Iterator[str]:
    """A server of its own process, and its address."""
    process = subprocess.Popen(
        command, env=place.environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("listening on http://127.0.0.1:"), line + process.stderr.read()
        yield line.split()[-1]
    finally:
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0
        process.stderr.close()
