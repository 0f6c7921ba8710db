"""What each route does: the call of VaultMemory that it stands for, with the scopes of the caller and no other."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from vault_memory.api import json_contract
from vault_memory.api.redact_paths import folders_of, placeless
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.errors import NoteNotFound
from vault_memory.http import request_models
from vault_memory.lazy import lazy_module
from vault_memory.rules.paths.caller import Caller
from vault_memory.rules.paths.filenames import inside

if TYPE_CHECKING:
    from vault_memory.api import facts_json
    from vault_memory.daemon import query_or_local
else:
    facts_json = lazy_module("vault_memory.api.facts_json")
    query_or_local = lazy_module("vault_memory.daemon.query_or_local")

Answer = Mapping[str, Any]


def search(memory: VaultMemory, caller: Caller, asked: request_models.Search) -> Answer:
    given = _given(asked)
    query = given.pop("query")
    found = query_or_local.search(
        memory, query, scopes=caller.reads(memory.layout), arguments=given
    )
    return _shown(memory, caller, found)


def context(
    memory: VaultMemory, caller: Caller, asked: request_models.Context
) -> Answer:
    given = _given(asked)
    prompt, given["private"] = given.pop("prompt"), caller.private
    found = query_or_local.context(
        memory, prompt, scopes=caller.reads(memory.layout), arguments=given
    )
    return _shown(memory, caller, found)


def turns(memory: VaultMemory, caller: Caller, asked: request_models.Turn) -> Answer:
    given = _given(asked)
    return json_contract.of_recorded(
        memory.record_turn(user=caller.user, channel=caller.channel or None, **given)
    )


def end_session(
    memory: VaultMemory, caller: Caller, asked: request_models.Session
) -> Answer:
    ended = memory.end_session(
        asked.session, user=caller.user, channel=caller.channel or None
    )
    return json_contract.of_ended(ended)


def notes(memory: VaultMemory, caller: Caller, asked: request_models.Nothing) -> Answer:
    return json_contract.of_notes(memory.notes(caller.reads(memory.layout)))


def note(memory: VaultMemory, caller: Caller, asked: request_models.Note) -> Answer:
    path = inside(asked.note)
    if not caller.may_read(path, memory.layout):
        raise NoteNotFound(path)
    return json_contract.of_note(memory.read(path))


def remember(
    memory: VaultMemory, caller: Caller, asked: request_models.Remember
) -> Answer:
    return asdict(
        memory.remember(
            asked.text, scope=caller.scopes(memory.layout)[0], source="tool"
        )
    )


def facts(memory: VaultMemory, caller: Caller, asked: request_models.Facts) -> Answer:
    return facts_json.of_facts(
        memory.facts(scopes=caller.reads(memory.layout), entity=asked.entity)
    )


def _shown(memory: VaultMemory, caller: Caller, found: Answer) -> Answer:
    """Without the names of others' notes, and of folders of the machine."""
    answer = caller.shown(found, memory.layout)
    freshness = answer["freshness"]
    return {
        **answer,
        "freshness": {
            **freshness,
            "reason": placeless(freshness["reason"], folders_of(memory)),
        },
    }


def _given(asked: Any) -> dict[str, Any]:
    """What was said, as JSON has it; what was not said is left out."""
    import msgspec

    said: dict[str, Any] = msgspec.to_builtins(asked)
    return {name: value for name, value in said.items() if value is not None}
