"""Where something comes from: the turns behind a fact, for those who may read them."""

import pytest

from tests.addons.page.served_page import ServedPage
from vault_memory.api.vault_memory import VaultMemory


def say(memory: VaultMemory, user: str, text: str) -> str:
    """Records a turn of a person. Returns its id."""
    turn = memory.record_turn(session=f"of-{user}", role="user", text=text, user=user)
    assert turn.id
    return turn.id


def test_a_fact_leads_to_the_turn_that_it_comes_from(own_page: ServedPage) -> None:
    memory = own_page.memory
    say(memory, "mira", "Good morning")
    turn = say(memory, "mira", "I drink <b>quinces</b> now")
    fact = memory.add_fact("mira", "likes", "quinces", scope="user:mira", ref=turn, source="cli")

    text = own_page.browser("mira").get(f"/source?ref={fact.id}").text

    assert "I drink &lt;b&gt;quinces&lt;/b&gt; now" in text
    assert "this is where it comes from</strong>" in text
    assert "Good morning" in text
    assert "/lantern/config/FACTS.md#line-" in text
    assert f'href="/log?id={fact.edit.audit_id}"' in text


def test_what_a_person_wrote_has_no_turn(page: ServedPage) -> None:
    ref = "Users/mira/lantern/config/USER.md:9"

    text = page.browser("mira").get(f"/source?ref={ref}").text

    assert "A person wrote this line" in text


@pytest.mark.sampled
def test_the_turn_of_another_person_is_as_unknown_as_none(own_page: ServedPage) -> None:
    memory = own_page.memory
    turn = say(memory, "mira", "I like quinces now")
    fact = memory.add_fact("mira", "likes", "quinces", scope="user:mira", ref=turn)
    browser = own_page.browser("tomas")

    for ref in (turn, fact.id, fact.edit.audit_id or ""):
        absent = ref[:-2] + ("00" if not ref.endswith("00") else "11")
        answers = [browser.get(f"/source?ref={name}") for name in (ref, absent)]

        assert [answer.status_code for answer in answers] == [404, 404]
        assert "quinces" not in answers[0].text
        assert "mira" not in answers[0].text


def test_without_a_question_the_view_says_what_to_ask(page: ServedPage) -> None:
    answer = page.browser().get("/source")

    assert answer.status_code == 200
    assert "NOTE:LINE" in answer.text
