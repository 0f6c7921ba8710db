"""Without the add-on there are no prompts and no questions, and all else is as before."""

import pytest

from tests.mcp.vaults import PLAN, opened
from tests.scenarios.outside import Outside
from vault_memory.addons import table
from vault_memory.mcp.http_session import Serving
from vault_memory.mcp.protocol import (
    CAPABILITIES_KEY,
    STATELESS_VERSIONS,
    VERSION_KEY,
    Conversation,
    ProtocolError,
)
from vault_memory.rules.paths.scopes import Caller

META = {VERSION_KEY: STATELESS_VERSIONS[-1], CAPABILITIES_KEY: {"elicitation": {}}}


def test_a_change_is_proposed_and_there_is_no_prompt(
    place: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "optional_part", lambda name: None)
    with opened(place) as memory:
        serving = Serving(memory, Caller("alice", confirms=True))
        conversation = Conversation(lambda: serving)

        assert conversation.answer("prompts/list", {})["prompts"] == []
        with pytest.raises(ProtocolError, match="no add-on for the prompts and questions of MCP"):
            conversation.answer("prompts/get", {"name": "weekly_review"})
        call = {"name": "memory_forget", "arguments": {"text": "Buy rope"}, "_meta": META}
        done = conversation.answer("tools/call", call)

    assert done["resultType"] == "complete"
    assert [entry["place"] for entry in done["structuredContent"]["proposed"]] == [PLAN]
