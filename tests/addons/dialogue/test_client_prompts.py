"""A client lists the prompts and gets their texts, over a pipe and over HTTP, in each version of the protocol."""

from datetime import date, timedelta
from typing import Any

import pytest
from mcp import Client, MCPError

from tests.addons.dialogue.doors import Connect
from tests.every import every
from tests.mcp.vaults import PLAN
from vault_memory.addons.dialogue import client_prompts
from vault_memory.errors import UsageError

pytestmark = pytest.mark.anyio
NO_VAULT: Any = None
"""What is wrong is found before the vault is asked"""
NAMES = {"what_do_you_know", "review_inbox", "weekly_review"}


async def text_of(client: Client, name: str, **arguments: str) -> str:
    got = await client.get_prompt(name, arguments)
    [message] = got.messages
    assert message.role == "user"
    return str(message.content.text)


@pytest.mark.smoke
async def test_a_client_lists_the_prompts_and_gets_each(connect: Connect) -> None:
    async with connect("bob") as client:
        listed = (await client.list_prompts()).prompts
        assert {prompt.name for prompt in listed} == NAMES
        assert all(prompt.title and prompt.description for prompt in listed)

        assert "memory_context" in await text_of(client, "what_do_you_know")
        assert "about the ferry" in await text_of(client, "what_do_you_know", about="the ferry")
        week = (date.today() - timedelta(days=7)).isoformat()
        assert week in await text_of(client, "weekly_review")
        assert "nothing waits" in await text_of(client, "review_inbox")


async def test_the_prompt_of_the_inbox_has_the_proposals_of_the_caller_alone(
    connect: Connect,
) -> None:
    async with connect("alice") as client:
        await client.call_tool("memory_forget", {"text": "Buy rope"})
        text = await text_of(client, "review_inbox")
        assert f'{PLAN}: remove from plan.md › Plan: "Buy rope"' in text
        assert text.endswith("</vault-memory>")
    async with connect("bob") as client:
        assert "nothing waits" in await text_of(client, "review_inbox")


async def test_an_unknown_prompt_is_refused(connect: Connect) -> None:
    async with connect("alice") as client:
        with pytest.raises(MCPError, match="there are what_do_you_know, review_inbox"):
            await client.get_prompt("poems")


@every("arguments", [{"about": 5}, ["about"], "about"])
def test_arguments_of_another_kind_are_refused(arguments: object) -> None:
    with pytest.raises(UsageError, match="wrong parameters"):
        client_prompts.answer(NO_VAULT, {"name": "what_do_you_know", "arguments": arguments})
