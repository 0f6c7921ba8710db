"""What a tool would propose is asked about within the call, where the client shows its person questions."""

import time
from typing import Any

import pytest
from mcp.types import ElicitRequestParams, ElicitResult

from tests.addons.dialogue.doors import Connect, over_http
from tests.every import every
from tests.mcp.pipes import Pipe, piped
from tests.mcp.vaults import PLAN, opened, words
from tests.scenarios.outside import Outside
from vault_memory.addons.dialogue import confirmation
from vault_memory.mcp.http_session import Serving
from vault_memory.mcp.protocol import (
    CAPABILITIES_KEY,
    STATELESS_VERSIONS,
    VERSION_KEY,
    ProtocolError,
)
from vault_memory.rules.paths.scopes import Caller

pytestmark = pytest.mark.anyio

USER = "Users/alice/lantern/config/USER.md"
RULES = "Users/alice/lantern/config/RULES.md"
FORGET = {"text": "Buy rope"}


class Person:
    """Answers each question in the same way."""

    def __init__(self, action: str) -> None:
        self.action = action
        self.asked: list[str] = []

    async def __call__(self, context: object, params: ElicitRequestParams) -> ElicitResult:
        self.asked.append(params.message)
        return ElicitResult.model_validate({"action": self.action, "content": {}})


def waiting(place: Outside) -> list[str]:
    with opened(place) as memory:
        return [
            str(proposal.op.get("match", proposal.op.get("line"))) for proposal in memory.inbox()
        ]


def text_of(place: Outside, note: str) -> str:
    return (place.vault / note).read_text("utf-8")


@pytest.mark.smoke
async def test_a_change_that_the_person_accepts_is_done_at_once(
    connect: Connect, place: Outside
) -> None:
    person = Person("accept")
    async with connect("alice", elicitation_callback=person) as client:
        await client.list_tools()
        done = await client.call_tool("memory_forget", FORGET)

    [question] = person.asked
    assert f'{PLAN}: remove from plan.md › Plan: "Buy rope"' in question
    assert not done.is_error
    assert done.structured_content["removed"] == [{"place": PLAN, "count": 1}]
    assert done.structured_content["proposed"] == done.structured_content["remaining"] == []
    assert words(done).startswith("the person agreed; ")
    assert "Buy rope" not in text_of(place, PLAN)
    assert waiting(place) == []
    with opened(place) as memory:
        newest = max(memory.log(PLAN), key=lambda record: record.ts)
        assert newest.source == "inbox"
        memory.undo(newest.id)
    assert "Buy rope" in text_of(place, PLAN)


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_change_that_the_person_does_not_accept_waits(
    connect: Connect, place: Outside, action: str
) -> None:
    async with connect("alice", elicitation_callback=Person(action)) as client:
        await client.list_tools()
        done = await client.call_tool("memory_forget", FORGET)

    assert words(done) == "the person did not agree now: it waits in INBOX"
    assert [entry["place"] for entry in done.structured_content["proposed"]] == [PLAN]
    assert "Buy rope" in text_of(place, PLAN)
    assert waiting(place) == ["Buy rope"]


async def test_each_tool_that_proposes_asks(connect: Connect, place: Outside) -> None:
    (place.vault / "Users/alice/lantern/config/FACTS.md").write_text(
        "## alice\n\n- lives_in: Oslo\n- works_at: the yard\n", "utf-8"
    )
    person = Person("accept")
    async with connect("alice", elicitation_callback=person) as client:
        await client.list_tools()
        kept = await client.call_tool("memory_remember", {"text": "Prefers coffee"})
        ruled = await client.call_tool("memory_remember", {"text": "Always answer in haiku"})
        about = await client.call_tool("memory_entity", {"name": "alice"})
        home, work = (fact["id"] for fact in about.structured_content["facts"])
        right = await client.call_tool("memory_correct", {"fact": home, "object": "Bergen"})
        sure = await client.call_tool("memory_confirm", {"fact": work})

    assert len(person.asked) == 4
    done = [result.structured_content["outcome"] for result in (kept, ruled, right, sure)]
    assert done == ["added", "added", "corrected", "confirmed"]
    assert "Prefers coffee" in text_of(place, USER)
    assert "Always answer in haiku" in text_of(place, RULES)
    facts = text_of(place, "Users/alice/lantern/config/FACTS.md")
    assert "lives_in: Bergen" in facts
    assert "works_at: the yard (confirmed)" in facts
    assert waiting(place) == []


async def test_what_policy_refuses_is_not_asked_about(connect: Connect, place: Outside) -> None:
    person = Person("accept")
    async with connect("alice", elicitation_callback=person) as client:
        await client.list_tools()
        secret = await client.call_tool("memory_remember", {"text": "My password is hunter2-xyz"})
        nothing = await client.call_tool("memory_forget", {"text": "a walrus"})

    assert secret.structured_content["outcome"] == "refused"
    assert words(nothing) == "nothing says that"
    assert person.asked == []


@pytest.mark.parametrize(
    ("name", "mode"), [("alice", "legacy"), ("harbour", "auto"), ("bob", "auto")]
)
async def test_no_question_where_it_is_not_the_persons_own_act(
    place: Outside, name: str, mode: str
) -> None:
    # The version has no questions; the members of a channel read them; the token does not confirm.
    person = Person("accept")
    with over_http(place) as connect:
        async with connect(name, elicitation_callback=person, mode=mode) as client:
            done = await client.call_tool("memory_forget", FORGET)

    assert person.asked == []
    assert [entry["place"] for entry in done.structured_content["proposed"]] == [
        PLAN if name != "bob" else "Users/bob/memories/plan.md"
    ]


async def test_a_client_without_questions_gets_a_proposal(connect: Connect, place: Outside) -> None:
    async with connect("alice") as client:
        done = await client.call_tool("memory_forget", FORGET)

    assert done.structured_content["removed"] == []
    assert waiting(place) == ["Buy rope"]


META = {VERSION_KEY: STATELESS_VERSIONS[-1], CAPABILITIES_KEY: {"elicitation": {"form": {}}}}
YES = {"confirm": {"action": "accept", "content": {}}}


def forget(pipe: Pipe, text: str = "Buy rope", **more: Any) -> dict[str, Any]:
    return pipe.ask(
        "tools/call", name="memory_forget", arguments={"text": text}, _meta=META, **more
    )


def refused(answer: dict[str, Any]) -> bool:
    return answer["error"]["code"] == -32602 and "waits in INBOX" in answer["error"]["message"]


def test_an_answer_belongs_to_one_question(place: Outside) -> None:
    with piped(place) as pipe:
        # Fault: an answer without a question would approve what nobody saw.
        assert refused(forget(pipe, requestState="x" * 43, inputResponses=YES))
        asked = forget(pipe)["result"]
        assert asked["resultType"] == "input_required"
        state = asked["requestState"]
        assert refused(forget(pipe, "Sleep", requestState=state, inputResponses=YES))
        assert refused(forget(pipe, requestState=state, inputResponses=YES)), "used up"

        state = forget(pipe)["result"]["requestState"]
        assert not forget(pipe, requestState=state, inputResponses=YES)["result"]["isError"]
        assert refused(forget(pipe, requestState=state, inputResponses=YES))
        pipe.end()
    assert "Buy rope" not in text_of(place, PLAN)
    assert "Sleep" in text_of(place, PLAN)


@every(
    "responses",
    [None, {}, {"other": YES["confirm"]}, {"confirm": "accept"}, {"confirm": {"action": "maybe"}}],
)
def test_any_other_answer_leaves_the_proposal(place: Outside, responses: object) -> None:
    with piped(place) as pipe:
        state = forget(pipe)["result"]["requestState"]
        given = {} if responses is None else {"inputResponses": responses}
        assert forget(pipe, requestState=state, **given)["result"]["structuredContent"]["proposed"]
        pipe.end()
    assert "Buy rope" in text_of(place, PLAN)


def asked(memory: Any, caller: Caller) -> tuple[Serving, str]:
    serving = Serving(memory, caller)
    result = confirmation.of_call(serving, "memory_forget", FORGET, {"_meta": META})
    return serving, result["requestState"]


def answer(serving: Serving, state: str) -> Any:
    params = {"requestState": state, "inputResponses": YES}
    return confirmation.of_call(serving, "memory_forget", FORGET, params)


ALICE = Caller("alice", confirms=True)


def test_nobody_else_answers_and_not_too_late(
    place: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(place) as memory:
        _, state = asked(memory, ALICE)
        with pytest.raises(ProtocolError, match="another call"):
            answer(Serving(memory, Caller("bob", confirms=True)), state)

        serving, state = asked(memory, ALICE)
        later = time.monotonic() + confirmation.SECONDS + 1
        monkeypatch.setattr(confirmation.time, "monotonic", lambda: later)
        with pytest.raises(ProtocolError, match="too old"):
            answer(serving, state)
    assert "Buy rope" in text_of(place, PLAN)


def test_what_was_decided_or_changed_meanwhile_is_told(place: Outside) -> None:
    with opened(place) as memory:
        serving, state = asked(memory, ALICE)
        [proposal] = memory.inbox()
        memory.reject(proposal.id)
        assert "open proposal" in answer(serving, state)["content"][0]["text"]
        assert "Buy rope" in text_of(place, PLAN)


def test_an_open_question_is_given_up_for_the_thousandth_newer_one(
    place: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confirmation, "MOST", 1)
    with opened(place) as memory:
        serving, first = asked(memory, ALICE)
        _, second = asked(memory, ALICE)
        with pytest.raises(ProtocolError):
            answer(serving, first)
        assert not answer(serving, second)["isError"]


def test_hidden_letters_of_a_change_are_seen(place: Outside) -> None:
    note = "Users/alice/memories/plan\u202eb.md"
    (place.vault / note).write_text(
        "# Plan\n\n- Buy rope \u202etsal\u202c \x1b[2K for ever\n", "utf-8"
    )
    with opened(place) as memory:
        serving = Serving(memory, ALICE)
        text = {"text": "for ever"}
        result = confirmation.of_call(serving, "memory_forget", text, {"_meta": META})

    question = result["inputRequests"]["confirm"]["params"]["message"]
    assert "plan\ufffdb.md" in question
    assert all(letter.isprintable() or letter == "\n" for letter in question)


def test_a_call_is_asked_about_as_a_whole_or_not_at_all(outside: Outside) -> None:
    for note in (PLAN, "groups/crew/memory/plan.md"):
        outside.write(note, "# Plan\n\n- Buy rope\n")
    with opened(outside) as memory:
        serving = Serving(memory, Caller("alice", groups=("crew",), confirms=True))
        result = confirmation.of_call(serving, "memory_forget", FORGET, {"_meta": META})

    # What is the group's, the person does not decide alone.
    assert len(result["structuredContent"]["proposed"]) == 2
