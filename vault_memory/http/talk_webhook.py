"""`POST /talk`: Nextcloud Talk tells its bot what is said in a room. Whoever knows the shared secret is let in.

The bot never answers in the room. Its key is the signature of each request; no token of ours is asked for.
"""

import hashlib
import hmac
import logging
from pathlib import Path
from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config.secret_file import read_secret
from vault_memory.config.sections import Talk as Settings
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import ConfigError, UsageError, VaultMemoryError
from vault_memory.http.responses import broken, failure, refusal, reply
from vault_memory.talk.activity_streams import Garbled, read_event
from vault_memory.talk.recorder import Reacted, Said, Talk

logger = logging.getLogger(__name__)

PATH = "/talk"
SHORTEST = 40
"""Characters of the secret: Nextcloud takes none that is shorter"""
RANDOM = range(32, 257)
"""Characters of the random text; Nextcloud sends 64"""


class TalkSecretUnsafe(ConfigError):
    """The secret that is shared with Nextcloud Talk is not to be had, or can be read or guessed by others."""


def talk_routes(memory: VaultMemory, settings: Settings) -> list[Route]:
    """The route, when a secret is configured. Raises TalkSecretUnsafe, RoomUnknown."""
    if not settings.secret_file:
        return []
    secret, talk = (
        _secret(Path(settings.secret_file).expanduser(), memory.root),
        Talk(memory, settings),
    )

    async def hear(request: Request) -> Response:
        body = await request.body()
        if refused := _refusal(request.headers, body, secret, settings.backend):
            return refused
        try:
            event = read_event(body)
        except Garbled as error:
            logger.warning("Talk sent what is not understood: %s", error)
            return refusal(400, "garbled", "this is none of the things that Talk sends")
        return (
            await anyio.to_thread.run_sync(_done, memory, talk, event)
            if event
            else reply({"ok": True})
        )

    return [Route(PATH, hear, methods=["POST"])]


def _done(memory: VaultMemory, talk: Talk, event: Said | Reacted) -> Response:
    try:
        if isinstance(event, Said):
            logger.info("a message of Talk: %s", talk.record(event))
        elif talk.react(event):
            logger.info("a message of Talk was taken back")
    except (
        UsageError
    ) as error:  # what was said cannot be recorded, and that will not change
        logger.warning("a message of Talk is not recorded: %s", error)
    except VaultMemoryError as error:
        return failure(error, memory)
    except (DatabaseError, OSError) as error:
        logger.warning("a message of Talk is not recorded: %s", error)
        return refusal(503, "system", "the disk or the index does not answer now")
    except Exception:
        logger.exception("a message of Talk is not recorded")
        return broken()
    return reply({"ok": True})


def _refusal(
    headers: Headers, body: bytes, secret: bytes, backend: str
) -> Response | None:
    """None when the request was signed with the secret, and says that it is of the right server."""
    random, signature = (
        _only(headers, "x-nextcloud-talk-random"),
        _only(headers, "x-nextcloud-talk-signature"),
    )
    right = hmac.new(
        secret, random.encode("latin-1") + body, hashlib.sha256
    ).hexdigest()
    given = signature.strip().lower().encode("latin-1")
    if not hmac.compare_digest(right.encode(), given) or len(random) not in RANDOM:
        return refusal(
            401,
            "unauthorised",
            "this is not signed with the secret of `talk.secret_file`",
        )
    if backend and _same(backend) != _same(_only(headers, "x-nextcloud-talk-backend")):
        return refusal(
            401, "unauthorised", "this is of another server than that of `talk.backend`"
        )
    return None


def _only(headers: Headers, name: str) -> str:
    """The value of a header that comes once."""
    said = headers.getlist(name)
    return said[0] if len(said) == 1 else ""


def _same(url: str) -> tuple[str, str, str]:
    """What tells an address from another."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return ("", "", url)
    return (parts.scheme.lower(), parts.netloc.lower(), parts.path.rstrip("/"))


def _secret(path: Path, root: Path) -> bytes:
    text = read_secret(
        path,
        root,
        name="Talk secret file",
        setting="talk.secret_file",
        error=TalkSecretUnsafe,
        hint="see `talk.secret_file`, or make one: `(umask 077; openssl rand -hex 32 > FILE)`",
    ).strip("\r\n")
    if (
        len(text) < SHORTEST
        or not (text.isascii() and text.isprintable())
        or " " in text
    ):
        raise TalkSecretUnsafe(
            f"the secret in `{path}` is not one that Nextcloud takes",
            hint=f"one line of at least {SHORTEST} letters",
        )
    return text.encode()
