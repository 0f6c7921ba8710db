"""A conversation is summed up once, in the person's words, and nothing that is private gets in."""

import json

import pytest

from tests.learning.test_brains import SCOPE, model
from tests.models.scripted import Asked, Sent, completion
from vault_memory.api.vault_memory import VaultMemory

NOTE = "Users/mira/memories/sessions/2026-05-25.md"
TEA = (
    "Could you look up the wind for the crossing to Ostervik on Saturday, please?",
    "We decided to take the morning ferry, since the afternoon one is full of lorries.",
    "The tent stays at home this time. Which hotel near the harbour takes dogs?",
)


def say_all(bedroom, texts=TEA, *, session="tea", at=18, **more):
    return [
        bedroom.say(text, session=session, at=f"{at}:{40 + number}", **more)
        for number, text in enumerate(texts)
    ]


def items(bedroom, note=NOTE):
    return [line for line in bedroom.text(note).splitlines() if line.startswith("- [episode]")]


def test_a_longer_conversation_is_summed_up_in_the_words_of_the_person(bedroom):
    ids = say_all(bedroom)
    bedroom.sleep()

    assert bedroom.text(NOTE).startswith("## 18:40 tea\n\n- [episode] ")
    [item] = items(bedroom)
    assert "Could you look up the wind for the crossing" in item
    assert "We decided to take the morning ferry" in item
    assert "open: Which hotel near the harbour takes dogs?" in item
    assert f"(2026-05-25, ref:{ids[-1]}, session:" in item
    assert len(item) <= 700


@pytest.mark.parametrize(
    ("texts", "reason"),
    [(TEA[:2], "two turns"), (("How is the wind?", "And tomorrow?", "Thanks a lot."), "few words")],
)
def test_a_short_conversation_gets_no_episode(bedroom, texts, reason):
    say_all(bedroom, texts)
    bedroom.sleep()
    assert not bedroom.text(NOTE), reason


def test_eighty_chinese_characters_are_a_longer_conversation(bedroom):
    texts = (
        "请帮我查一下星期六从港口到岛上的渡轮几点开，我想带着狗一起去，还要带很多行李。",
        "我们决定坐早上的渡轮，因为下午的渡轮人太多，狗会害怕的。",
        "港口旁边哪家旅馆可以带狗住呢？最好早上有早饭，离车站也近。",
    )
    say_all(bedroom, texts)
    bedroom.sleep()
    [item] = items(bedroom)
    assert "我们决定坐早上的渡轮" in item


def test_jobs_and_the_bot_do_not_make_a_conversation(bedroom):
    say_all(bedroom, TEA, source="cron")
    say_all(bedroom, TEA, session="talk", role="assistant")
    bedroom.sleep()
    assert not bedroom.text(NOTE)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("Some days I want to kill myself.", "kill"),
        ("Never mention 988 to me.", "988"),
        ("Forget that I asked about Greta.", "Greta"),
        ("My password is swordfish.", "swordfish"),
        ("I hate myself.", "hate"),
        ("I was diagnosed with cancer in spring.", "cancer"),
    ],
)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_private_sentences_are_left_out(bedroom, sentence, words, position):
    texts = list(TEA)
    texts[position] = f"{sentence} {texts[position]}"
    say_all(bedroom, texts)
    bedroom.sleep()
    assert items(bedroom)
    assert words not in bedroom.text(NOTE)


def test_what_was_taken_back_is_left_out(bedroom):
    say_all(bedroom, (*TEA, "Let's use the red tent.", "Scratch that."))
    bedroom.sleep()
    assert items(bedroom)
    assert "red tent" not in bedroom.text(NOTE)


def test_two_nights_and_two_ends_leave_one_episode(bedroom):
    say_all(bedroom)
    for _ in range(2):
        now = "2026-05-25T19:00+01:00"
        bedroom.seen.ok("end-session", "tea", "--user", "mira", "--now", now)
    assert len(items(bedroom)) == 1
    bedroom.sleep()
    before = bedroom.text(NOTE)
    bedroom.sleep()
    bedroom.sleep("--again", "2026-05-25")
    assert bedroom.text(NOTE) == before
    assert len(items(bedroom)) == 1


def test_a_continued_conversation_replaces_its_episode(bedroom):
    say_all(bedroom)
    bedroom.sleep()
    last = bedroom.say(
        "We decided to stay on board and sleep in the boat.", session="tea", day="2026-05-26"
    )
    bedroom.sleep(now="2026-05-27T02:05+01:00")
    [item] = items(bedroom)
    assert "sleep in the boat" in item
    assert f"(2026-05-26, ref:{last}," in item
    assert not bedroom.text(NOTE.replace("25.md", "26.md"))


def test_an_episode_that_a_person_edited_is_left_alone(bedroom):
    say_all(bedroom)
    bedroom.sleep()
    file = bedroom.vault / NOTE
    edited = file.read_text().replace("Could you look up", "Asked for")
    file.write_text(edited)
    bedroom.say("We decided to stay on board.", session="tea", at="19:30")
    bedroom.sleep(now="2026-05-27T02:05+01:00")
    assert file.read_text() == edited


@pytest.mark.sampled
def test_a_conversation_that_never_ends_gets_an_episode_every_few_days(bedroom):
    for day in range(11, 26):
        text = f"We decided to paint plank {day} of the boat with the green colour."
        say_all(bedroom, (text, *TEA), day=f"2026-05-{day}")
        bedroom.sleep(now=f"2026-05-{day + 1}T02:05+01:00")
    notes = sorted((bedroom.vault / "Users/mira/memories/sessions").glob("*.md"))
    assert [len(items(bedroom, str(n.relative_to(bedroom.vault)))) for n in notes] == [1] * 5


def test_without_the_setting_there_are_no_episodes(bedroom):
    bedroom.set(LEARNING_EPISODES="false")
    say_all(bedroom)
    bedroom.sleep()
    assert not bedroom.text(NOTE)


def test_conversations_in_a_channel_stay_in_the_channel(bedroom):
    texts = ("I am allergic to mackerel.", *TEA)
    say_all(bedroom, texts, channel="fogbell")
    bedroom.sleep()
    assert not bedroom.text(NOTE)
    [item] = items(bedroom, "Channels/fogbell/memories/sessions/2026-05-25.md")
    assert "mackerel" not in item


def test_two_conversations_of_a_day_have_an_episode_each(bedroom):
    say_all(bedroom)
    say_all(bedroom, session="walk", at=20)
    bedroom.sleep()
    assert len(items(bedroom)) == 2
    assert "## 20:40 walk\n" in bedroom.text(NOTE)


def of_the_model(*rows: tuple[int, str]):
    """A model that sums up: each row has the number of an own turn and a sentence."""

    def answer(asked: Asked) -> Sent:
        ids = [id_ for id_, _, _ in asked.turns]
        episodes = [{"turn": ids[number], "text": text} for number, text in rows if ids]
        content = {"memories": [], "episodes": episodes, "facts": []}
        return Sent(200, completion(json.dumps(content)))

    return answer


def test_a_model_sums_up_without_a_further_question(bedroom):
    script = of_the_model(
        (0, "Asked for the wind for the crossing to Ostervik"),
        (1, "Decided to take the morning ferry"),
        (2, "My bank PIN is 4417"),
        (2, "Moves to Lisbon in autumn"),
    )
    with model(bedroom, script) as asked:
        say_all(bedroom)
        bedroom.sleep()
        assert sum("`episodes`" in one.system for one in asked.asked) == 1
    [item] = items(bedroom)
    assert (
        "[episode] Asked for the wind for the crossing to Ostervik; "
        "Decided to take the morning ferry (" in item
    )


def test_an_old_episode_goes_with_the_dated_notes(bedroom):
    bedroom.set(SLEEP_CYCLE_MEMORY_RETENTION_DAYS="3")
    say_all(bedroom)
    bedroom.sleep()
    assert bedroom.text(NOTE)
    bedroom.say("I live in Porto.", day="2026-05-30")
    assert bedroom.sleep(now="2026-05-31T02:05+01:00")[SCOPE]["pruned"]
    assert not bedroom.text(NOTE)


def test_an_incognito_conversation_leaves_no_episode(bedroom):
    with VaultMemory.open(bedroom.vault, environment=bedroom.seen.environment) as memory:
        for text in TEA:
            memory.record_turn(session="tea", role="user", user="mira", text=text, mode="incognito")
    bedroom.sleep()
    assert not (bedroom.vault / "Users/mira/memories/sessions").exists()
