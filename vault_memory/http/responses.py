"""What goes back over the wire: JSON, and errors in the words of the contract that tell nothing of the machine."""

import json
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from vault_memory.api.redact_paths import folders_of, hidden, without_paths
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.errors import VaultMemoryError
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.daemon import client
else:
    client = lazy_module("vault_memory.daemon.client")

logger = logging.getLogger(__name__)

HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
STATUS = {2: 400, 4: 503, 5: 409, 6: 409, 75: 503}
"""By exit code, for an error that came from the daemon"""

HINTS = {"note_not_found": "`GET /v1/notes` lists them"}
"""By code: the next step, where the hint of an error is for a command line"""


def reply(
    answer: Mapping[str, Any],
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """One JSON object. Letters beyond ASCII are escaped: a name of a file need not be UTF-8."""
    body = json.dumps(answer, allow_nan=False).encode("ascii")
    return Response(body, status, {**HEADERS, **(headers or {})}, "application/json")


def refusal(
    status: int,
    code: str,
    message: str,
    hint: str = "",
    headers: Mapping[str, str] | None = None,
) -> Response:
    """An error of this face's own."""
    return reply(
        {"error": {"code": code, "message": message, "hint": hint}}, status, headers
    )


def failure(error: VaultMemoryError, memory: VaultMemory) -> Response:
    """An error of a call, without the places of the machine."""
    status = (
        STATUS.get(error.exit_code, 500)
        if isinstance(error, client.DaemonRefused)
        else error.http_status
    )
    folders = folders_of(memory)
    told = hidden(
        error.as_json() | {"hint": HINTS.get(error.code, error.hint)}, folders
    )
    if (
        status >= 500
    ):  # of what is wrong with the machine, its owner reads the rest in the log
        logger.warning("%s: %s", error.code, error)
        told |= {
            "message": without_paths(error.message, folders),
            "hint": without_paths(error.hint, folders),
        }
    return reply({"error": told}, status)


def broken() -> Response:
    """An error that should not be; what it was stands in the log."""
    return refusal(
        500,
        "internal",
        "this failed, which is a bug",
        "the log of the server says where",
    )
