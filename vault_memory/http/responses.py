"""Responses: JSON, and errors that name no folder of the machine."""

import json
import logging
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from vault_memory.api import daemon_client
from vault_memory.api.redact_paths import folders_of, hidden, without_paths
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.api.vault_service import RETRY_SECONDS, VaultUnavailable
from vault_memory.errors import VaultMemoryError

logger = logging.getLogger(__name__)

HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
STATUS = {2: 400, 4: 503, 5: 409, 6: 409, 75: 503}
"""The HTTP status by exit code, for an error of the daemon"""

HINTS = {"note_not_found": "`GET /v1/notes` lists them"}
"""The next step by code, for errors whose hint is for a command line"""


def reply(
    answer: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Returns an answer with one JSON object."""
    # The name of a file may not be UTF-8. As an escape it can be sent nevertheless.
    body = json.dumps(answer, allow_nan=False).encode("ascii")
    return Response(body, status, {**HEADERS, **(headers or {})}, "application/json")


def refusal(
    status: int, code: str, message: str, hint: str = "", headers: Mapping[str, str] | None = None
) -> Response:
    """Returns an error that only exists over HTTP."""
    return reply({"error": {"code": code, "message": message, "hint": hint}}, status, headers)


def failure(error: VaultMemoryError, memory: VaultMemory) -> Response:
    """Returns an error of a call, without folders of the machine."""
    status = error.http_status
    if isinstance(error, daemon_client.DaemonRefused):
        status = STATUS.get(error.exit_code, 500)
    folders = folders_of(memory.vault)
    details = error.as_json() | {"hint": HINTS.get(error.code, error.hint)}
    payload = hidden(details, folders)
    # The owner of the machine reads in the log what is wrong with it.
    if status >= 500:
        logger.warning("%s: %s", error.code, error)
        payload |= {
            "message": without_paths(error.message, folders),
            "hint": without_paths(error.hint, folders),
        }
    return reply({"error": payload}, status)


def unavailable(error: VaultUnavailable) -> Response:
    """Returns the error for a vault that cannot be opened; it names no folder and no vault."""
    headers = {"retry-after": str(RETRY_SECONDS)}
    return reply({"error": error.as_json()}, error.http_status, headers)


def broken() -> Response:
    """Returns the error for a bug; the log has its traceback."""
    return refusal(
        500, "internal", "the call failed, which is a bug", "look into the log of the server"
    )
