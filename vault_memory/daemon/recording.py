"""Records a turn for a short-lived command."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from vault_memory.api import json_contract, read_request
from vault_memory.contract.requests import RecordCall

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.contract.answers import RecordedJson


def record(
    memory: "VaultMemory",
    arguments: Mapping[str, Any],
) -> "RecordedJson":
    """Record a turn once: a second call with the same `moment` and `again` changes nothing."""
    call = read_request.read(arguments, RecordCall, "record")
    seconds, chance = call.moment
    turn = memory.record_turn(
        session=call.session,
        role=call.role,
        text=call.text,
        user=call.user,
        channel=call.channel,
        source=call.source,
        origin=call.origin,
        silent=call.silent,
        automated=call.automated,
        now=datetime.fromtimestamp(seconds).astimezone(),
        chance=chance,
        again=call.again,
    )
    return json_contract.of_recorded(turn)
