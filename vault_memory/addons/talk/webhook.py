"""`POST /talk`: Nextcloud Talk sends each message of a room, signed with a shared secret.

The bot never answers in the room. The signature replaces a token.
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

from vault_memory.addons.talk.activity_streams import Garbled, read_event
from vault_memory.addons.talk.recorder import Reacted, Said, Talk
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config.secret_file import read_secret
from vault_memory.config.server_sections import TalkSettings as Settings
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import ConfigError, UsageError, VaultMemoryError
from vault_memory.http.responses import broken, failure, refusal, reply

logger = logging.getLogger(__name__)

PATH = "/talk"
SHORTEST = 40
"""Characters of the secret: Nextcloud accepts no shorter one"""
RANDOM = range(32, 257)
"""Characters of the random text; Nextcloud sends 64"""


class TalkSecretUnsafe(ConfigError):
    """The secret for Nextcloud Talk is missing, or others can read or guess it."""


def talk_routes(memory: VaultMemory, settings: Settings) -> list[Route]:
    """Returns the route, if a secret is configured.

    Raises TalkSecretUnsafe, RoomUnknown, ReactionsUntrue.
    """
    if not settings.secret_file:
        return []
    secret = _secret(Path(settings.secret_file).expanduser(), memory.root)
    talk = Talk(memory, settings)

    async def receive_event(request: Request) -> Response:
        body = await request.body()
        if response := _refusal(request.headers, body, secret, settings.backend):
            return response
        try:
            event = read_event(body)
        except Garbled as error:
            logger.warning("an event of Talk is not understood: %s", error)
            return refusal(400, "garbled", "this is not an event of Talk")
        if event is None:
            return reply({"ok": True})
        return await anyio.to_thread.run_sync(_handle, memory, talk, event)

    return [Route(PATH, receive_event, methods=["POST"])]


def _handle(memory: VaultMemory, talk: Talk, event: Said | Reacted) -> Response:
    """Records a message, or takes it back."""
    try:
        if isinstance(event, Said):
            logger.info("a message of Talk: %s", talk.record(event))
        elif talk.react(event):
            logger.info("a message of Talk was taken back")
    except UsageError as error:
        # The message can never be recorded: Talk must not be asked to send it again.
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


def _refusal(headers: Headers, body: bytes, secret: bytes, backend: str) -> Response | None:
    """Returns None when the secret signed the request, and it names the right server."""
    random = _single(headers, "x-nextcloud-talk-random")
    signature = _single(headers, "x-nextcloud-talk-signature")
    signed = random.encode("latin-1") + body
    expected = hmac.new(secret, signed, hashlib.sha256).hexdigest().encode()
    actual = signature.strip().lower().encode("latin-1")
    # The duration of a plain comparison would tell how much of a signature is right.
    if not hmac.compare_digest(expected, actual) or len(random) not in RANDOM:
        return refusal(401, "unauthorised", "the secret of `talk.secret_file` did not sign this")
    server = _single(headers, "x-nextcloud-talk-backend")
    if backend and _normalised(backend) != _normalised(server):
        return refusal(
            401,
            "unauthorised",
            f"this is from {server!r}, another server than `talk.backend` names; "
            "that has to be `overwrite.cli.url` of the Nextcloud",
        )
    return None


def _single(headers: Headers, name: str) -> str:
    """Returns the value of a header; "" unless the request has it exactly once."""
    # With two of them, a proxy may have checked another one.
    values = headers.getlist(name)
    return values[0] if len(values) == 1 else ""


def _normalised(url: str) -> tuple[str, str, str]:
    """Returns the scheme, the host and the path by which two addresses are compared."""
    try:
        address = urlsplit(url.strip())
    except ValueError:
        # A header may contain anything. Such a text only equals itself.
        return ("", "", url)
    return (address.scheme.lower(), address.netloc.lower(), address.path.rstrip("/"))


def _secret(path: Path, root: Path) -> bytes:
    text = read_secret(
        path,
        root,
        name="Talk secret file",
        setting="talk.secret_file",
        error=TalkSecretUnsafe,
        hint="see `talk.secret_file`, or make one: `(umask 077; openssl rand -hex 32 > FILE)`",
    ).strip("\r\n")
    is_plain = text.isascii() and text.isprintable() and " " not in text
    if len(text) < SHORTEST or not is_plain:
        raise TalkSecretUnsafe(
            f"Nextcloud does not accept the secret in `{path}`",
            hint=f"write one line of at least {SHORTEST} letters",
        )
    return text.encode()
