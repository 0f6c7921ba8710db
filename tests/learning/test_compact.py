"""`compact` sums a conversation up at once, from a given text or in the words of the person."""

from datetime import datetime
from pathlib import Path

import pytest

from tests.learning.test_episodes import NOTE, TEA, items, say_all
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.edits.edit_errors import UnclearId
from vault_memory.mcp.http_session import Serving
from vault_memory.mcp.protocol_results import of_call
from vault_memory.rules.paths.scopes import Caller

NOW = "2026-05-25T19:00+01:00"


def compact(bedroom, *more: str):
    return bedroom.seen.ok("compact", "tea", "--user", "mira", "--now", NOW, *more)


def test_each_line_of_a_given_text_is_an_item(bedroom):
    ids = say_all(bedroom)
    said = compact(bedroom, "* Asked for the wind\n\n- Takes the morning ferry")
    assert said["note"] == NOTE
    assert said["preview"] == "Asked for the wind\nTakes the morning ferry"
    assert len(said["id"]) == 10
    assert [item.split(" (")[0] for item in items(bedroom)] == [
        "- [episode] Asked for the wind",
        "- [episode] Takes the morning ferry",
    ]
    assert f"ref:{ids[-1]}," in items(bedroom)[0]


def test_the_night_keeps_the_given_text(bedroom):
    say_all(bedroom)
    compact(bedroom, "Asked for the wind")
    before = bedroom.text(NOTE)
    bedroom.sleep()
    assert bedroom.text(NOTE) == before


def test_a_continued_conversation_keeps_the_given_text_and_adds_to_it(bedroom):
    say_all(bedroom)
    compact(bedroom, "Asked for the wind")
    bedroom.say("We decided to sleep in the boat.", session="tea", at="20:10")
    bedroom.sleep()
    text = bedroom.text(NOTE)
    assert "Asked for the wind" in text
    assert "sleep in the boat" in text


def test_without_a_text_the_person_is_quoted_however_short_the_talk_was(bedroom):
    say_all(bedroom, TEA[:1])
    assert compact(bedroom)["preview"].startswith("Could you look up the wind")
    assert len(items(bedroom)) == 1
    assert compact(bedroom)["note"] == NOTE, "and once more says the same"
    assert len(items(bedroom)) == 1


def test_another_text_takes_the_place_of_the_first(bedroom):
    say_all(bedroom)
    compact(bedroom, "Asked for the wind\nTakes the ferry")
    compact(bedroom, "Asked for the tide")
    assert [item.split(" (")[0] for item in items(bedroom)] == ["- [episode] Asked for the tide"]


def test_secrets_and_crises_of_a_given_text_are_left_out(bedroom):
    say_all(bedroom)
    text = "Asked for the wind\nHis password is swordfish\nWants to kill himself: I want to die"
    assert compact(bedroom, text)["preview"] == "Asked for the wind"


def test_a_long_text_is_cut_to_six_hundred_characters(bedroom):
    say_all(bedroom)
    text = "\n".join(f"Line {number} of the summary of this talk" for number in range(50))
    assert len(compact(bedroom, text)["preview"]) <= 600


def test_a_summary_that_a_person_edited_stays(bedroom):
    say_all(bedroom)
    compact(bedroom, "Asked for the wind")
    file = bedroom.vault / NOTE
    edited = file.read_text().replace("the wind", "the wind and the tide")
    file.write_text(edited)
    assert "the tide" in compact(bedroom, "Something else")["preview"]
    assert file.read_text() == edited


def test_an_unknown_session_is_refused_with_the_candidates(bedroom):
    say_all(bedroom)
    done = bedroom.seen.run("compact", "walk", "--user", "mira", "--json")
    assert done.code == 2
    assert done.json["error"]["candidates"] == ["tea"]
    assert done.json["error"]["code"] == "unclear_id"


def test_the_session_is_over(bedroom):
    say_all(bedroom)
    compact(bedroom)
    with VaultMemory.open(bedroom.vault, environment=bedroom.seen.environment) as memory:
        assert [session.is_open for session in memory.conversations.sessions.all()] == [False]


@pytest.fixture
def memory(bedroom):
    say_all(bedroom)
    with VaultMemory.open(bedroom.vault, environment=bedroom.seen.environment) as memory:
        yield memory


def test_an_incognito_conversation_is_not_summed_up(memory, bedroom):
    memory.record_turn(session="tea", role="user", user="mira", text="Secretly", mode="incognito")
    assert memory.learning.compact("tea", "Asked secretly", user="mira") == ("", "", "")
    assert not bedroom.text(NOTE)


def test_a_model_sums_its_own_conversation_up_and_no_others(memory, bedroom):
    own = Serving(memory, Caller("mira"))
    arguments = {"session": "tea", "text": "Asked for the wind"}
    other = of_call(Serving(memory, Caller("tomas")), "memory_compact", arguments)
    assert other["isError"]
    assert "tea:" not in other["content"][0]["text"]
    result = of_call(own, "memory_compact", arguments)
    assert not result["isError"], result
    assert result["structuredContent"]["note"] == NOTE
    assert "Asked for the wind" in str(result["structuredContent"]["preview"])


def test_the_text_of_a_person_does_not_get_into_a_channel(memory, bedroom):
    memory.record_turn(
        session="bell",
        role="user",
        user="mira",
        channel="fogbell",
        text="Good evening",
        now=datetime.fromisoformat(NOW),
    )
    result = of_call(
        Serving(memory, Caller("mira")),
        "memory_compact",
        {"session": "bell", "text": "Private words"},
    )
    assert result["isError"]
    with pytest.raises(UnclearId):
        memory.learning.compact("bell", "Private words", user="mira", channel="")
    assert not (Path(bedroom.vault) / "Channels/fogbell/memories/sessions").exists()
