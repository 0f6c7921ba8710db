"""What is said in a channel: its decisions and tasks stay in it, and what a person says of herself stays hers."""

import json

import pytest

from tests.models.scripted import Asked, ScriptedModel, Sent, completion

NOTE = "Channels/dev/memories/2026-05-25.md"
SCOPE = "channel:dev"
MIRA = "Users/mira/lantern/config"

MEETINGS = {
    "en": (
        "We decided to ship in June.",
        "We agreed that meetings start at nine.",
        "Bob will send the draft by Friday.",
        "send the draft",
    ),
    "de": (
        "Wir haben beschlossen, im Juni auszuliefern.",
        "Wir haben vereinbart, dass Sitzungen um neun beginnen.",
        "Bob schickt den Entwurf bis Freitag.",
        "schickt den Entwurf",
    ),
    "es": (
        "Hemos decidido publicar en junio.",
        "Acordamos empezar a las nueve.",
        "Bob enviará el borrador antes del viernes.",
        "enviará el borrador",
    ),
    "fr": (
        "Nous avons décidé de livrer en juin.",
        "On s'est mis d'accord pour commencer à neuf heures.",
        "Bob enverra le brouillon d'ici vendredi.",
        "enverra le brouillon",
    ),
    "ru": (
        "Мы решили выпустить версию в июне.",
        "Мы договорились начинать в девять.",
        "Bob отправит черновик до пятницы.",
        "отправит черновик",
    ),
    "zh": (
        "我们决定六月发布新版本。",
        "我们约定每天九点开会。",
        "Bob会在周五前发送草稿。",
        "发送草稿",
    ),
}


def say(bedroom, text, user="mira", **more):
    return bedroom.say(text, user=user, channel="dev", session="dev", **more)


@pytest.mark.sampled
@pytest.mark.parametrize("language", MEETINGS)
def test_a_channels_decisions_and_tasks_are_found_without_a_model(bedroom, language):
    decided, agreed, task, words = MEETINGS[language]
    say(bedroom, "Hello.", user="bob", at="17:00")
    refs = [say(bedroom, text) for text in (decided, agreed, task)]

    bedroom.sleep("--channel", "dev")

    lines = bedroom.text(NOTE).splitlines()
    first, second, third = ("## Decisions", "## Agreements", "## Action items")
    assert f"ref:{refs[0]})" in lines[lines.index(first) + 2]
    assert f"ref:{refs[1]})" in lines[lines.index(second) + 2]
    assert lines[lines.index(third) + 2] == (
        f"- [plan] **bob**: {words} (2026-05-25, ref:{refs[2]}, until:2026-05-29)"
    )


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("Bob will send the draft by 1 June.", "send the draft"),
        ("Bob will send the draft by June 1st.", "send the draft"),
        ("Bob will send the draft by the 1st of June.", "send the draft"),
        ("Bob wird den Entwurf bis zum 1. Juni schicken.", "den Entwurf schicken"),
        ("Bob wird den Entwurf bis 1.6. schicken.", "den Entwurf schicken"),
        ("Bob va a enviar el borrador para el 1 de junio.", "enviar el borrador"),
        ("Bob va envoyer le brouillon avant le 1er juin.", "envoyer le brouillon"),
        ("Bob должен прислать черновик до 1 июня.", "прислать черновик"),
        ("Bob会在6月1日之前发送草稿。", "发送草稿"),
    ],
)
def test_a_task_may_be_due_on_a_date(bedroom, text, task):
    say(bedroom, "Hello.", user="bob", at="17:00")
    ref = say(bedroom, text)

    bedroom.sleep("--channel", "dev")

    line = f"- [plan] **bob**: {task} (2026-05-25, ref:{ref}, until:2026-06-01)"
    assert line in bedroom.text(NOTE)


def hold_a_meeting(bedroom):
    """A meeting that is still open when the channel's night comes."""
    for number, text in enumerate(MEETINGS["en"][:3]):
        say(bedroom, text, at=f"18:0{number}")
    bedroom.sleep("--channel", "dev", now="2026-05-25T18:10+01:00")
    assert "## " not in bedroom.text(NOTE)


def section_of_each_line(bedroom):
    heading = ""
    sections = {}
    for line in bedroom.text(NOTE).splitlines():
        if line.startswith("## "):
            heading = line
        elif line.startswith("- "):
            sections[heading] = [*sections.get(heading, []), line.split(" (")[0]]
    return sections


MEETING = {
    "## Decisions": ["- We decided to ship in June"],
    "## Agreements": ["- We agreed that meetings start at nine"],
    "## Action items": ["- [plan] Bob will send the draft"],
}


def test_what_a_channel_held_back_comes_to_its_section(bedroom):
    hold_a_meeting(bedroom)

    bedroom.sleep("--channel", "dev")

    assert section_of_each_line(bedroom) == MEETING


def test_what_a_person_promotes_comes_to_its_section(bedroom):
    hold_a_meeting(bedroom)

    now = ("--now", "2026-05-25T19:00+01:00")
    for entry in bedroom.seen.ok("held", "--channel", "dev", *now)["held"]:
        bedroom.seen.ok("held", "promote", entry["id"], *now)

    assert section_of_each_line(bedroom) == MEETING


def test_nobody_owns_the_task_of_a_stranger(bedroom):
    ref = say(bedroom, "Bob will send the draft by Friday.")

    bedroom.sleep("--channel", "dev")

    line = f"- [plan] Bob will send the draft (2026-05-25, ref:{ref}, until:2026-05-29)"
    assert line in bedroom.text(NOTE)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "text",
    [
        "I'll be late.",
        "The weather will change by tomorrow.",
        "Bob will not come by Friday.",
        "If we decided to ship, Bob would be glad.",
        "Will Bob send it by Friday?",
        "> We decided to ship in June.",
    ],
)
def test_small_talk_makes_no_task(bedroom, text):
    say(bedroom, "Hello.", user="bob", at="17:00")
    say(bedroom, text)

    bedroom.sleep("--channel", "dev")

    assert "ref:" not in bedroom.text(NOTE)


@pytest.mark.parametrize("user", ["mira", "newcomer"])
def test_an_allergy_told_in_a_channel_is_in_her_facts_alone(bedroom, user):
    ref = say(bedroom, "I am allergic to mackerel.", user=user)

    slept = bedroom.sleep()

    page = f"Users/{user}/lantern/config/FACTS.md"
    assert f"- allergic_to: mackerel (ref:{ref})" in bedroom.text(page)
    for path, raw in bedroom.files().items():
        is_hers = path.startswith(f"Users/{user}/lantern/config/FACTS.md")
        is_transcript = path.startswith("Channels/dev/transcripts/")
        assert b"mackerel" not in raw or is_hers or is_transcript, path
    assert {"ref": ref, "reason": "personal"} in slept[SCOPE]["dropped"]


ALLERGIES = {
    "en": ("I have a severe walnut allergy.", "walnut"),
    "de": ("Ich habe eine schwere Nuss-Allergie.", "Nuss"),
    "es": ("Soy alérgica a las nueces.", "nueces"),
    "fr": ("Je suis allergique aux noix.", "noix"),
    "ru": ("У меня аллергия на орехи.", "орехи"),
    "zh": ("我对花生过敏。", "花生"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("language", ALLERGIES)
def test_no_summary_and_no_question_of_a_channel_names_an_allergy(bedroom, language):
    text, object_ = ALLERGIES[language]
    ref = say(bedroom, text)
    say(bedroom, "We meet at the slipway and look at the new winch. " * 3, at="18:01")
    say(bedroom, "After that we take the boat out of the water. " * 3, at="18:02")

    bedroom.sleep()

    assert f"- allergic_to: {object_} (ref:{ref})" in bedroom.text(f"{MIRA}/FACTS.md")
    summary = bedroom.text("Channels/dev/memories/sessions/2026-05-25.md")
    assert "slipway" in summary
    for path, raw in bedroom.files().items():
        if path.startswith("Channels/dev/") and "transcripts" not in path:
            assert object_.encode() not in raw, path


def test_what_a_model_invents_about_a_member_waits_in_no_channel(bedroom):
    def answer(asked: Asked) -> Sent:
        [(id_, _, _)] = asked.turns
        fact = {"subject": "mira", "predicate": "allergic_to", "object": "walnuts"}
        said = {"memories": [], "facts": [fact | {"evidence": [id_]}]}
        return Sent(200, completion(json.dumps(said)))

    say(bedroom, "The bell weighs ninety kilos.")
    with ScriptedModel(answer) as model:
        bedroom.set(BRAIN_KIND="openai", BRAIN_BASE_URL=model.url, BRAIN_MODEL="small")
        slept = bedroom.sleep("--channel", "dev")

    assert not any(b"walnuts" in raw for raw in bedroom.files().values())
    assert (slept[SCOPE]["proposed"], slept[SCOPE]["refused"]) == (0, 1)


def test_a_rule_told_in_a_channel_is_hers(bedroom):
    say(bedroom, "From now on, give me the wind in Beaufort.")

    bedroom.sleep()

    assert "the wind in Beaufort" in bedroom.text(f"{MIRA}/RULES.md")


def test_a_person_learns_nothing_from_what_others_say_in_a_channel(bedroom):
    say(bedroom, "I live in Paris.", user="bob")
    say(bedroom, "Bob is allergic to nuts.", at="18:01")
    say(bedroom, "Remember that the printer is on the second floor.", at="18:02")
    before = bedroom.files()

    slept = bedroom.sleep("--user", "mira")

    assert slept["user:mira"]["gathered"] == 2
    assert bedroom.files() == before


def test_the_channel_and_the_person_each_read_a_turn_once(bedroom):
    say(bedroom, "I am allergic to mackerel.")
    first = bedroom.sleep()
    again = bedroom.sleep(now="2026-05-27T03:05+01:00")

    for scope in (SCOPE, "user:mira"):
        assert (first[scope]["gathered"], again[scope]["gathered"]) == (1, 0)


def test_a_models_tasks_are_taken_only_as_far_as_the_turn_says_them(bedroom):
    def answer(asked: Asked) -> Sent:
        rows = {text: id_ for id_, _, text in asked.turns}
        draft, ship = (
            rows["Bob sends us the draft by next Monday, he says."],
            rows["Then we ship in June."],
        )
        said = {
            "decisions": [{"turn": ship, "text": "Ship in June"}],
            "agreements": [{"turn": ship, "text": "Never work on Sundays"}],
            "actions": [
                {"turn": draft, "owner": "bob", "text": "send the draft", "due": "2026-06-01"},
                {"turn": ship, "owner": "tomas", "text": "Ship", "due": "2026-07-01"},
            ],
            "memories": [],
        }
        return Sent(200, completion(json.dumps(said)))

    say(bedroom, "Hello.", user="bob", at="17:00")
    draft = say(bedroom, "Bob sends us the draft by next Monday, he says.")
    ship = say(bedroom, "Then we ship in June.", at="18:01")
    with ScriptedModel(answer) as model:
        bedroom.set(BRAIN_KIND="openai", BRAIN_BASE_URL=model.url, BRAIN_MODEL="small")
        bedroom.sleep("--channel", "dev")

    text = bedroom.text(NOTE)
    assert f"- [plan] **bob**: send the draft (2026-05-25, ref:{draft}, until:2026-06-01)" in text
    assert f"- Ship in June (2026-05-25, ref:{ship})" in text
    assert "Sundays" not in text
    assert "tomas" not in text
    assert "2026-07-01" not in text
    [asked] = [one for one in model.asked if "dev" in one.system]
    assert "`decisions`" in asked.system


def test_a_channels_night_may_be_repeated(bedroom):
    say(bedroom, "We decided to ship in June.")
    bedroom.sleep()
    before = bedroom.text(NOTE)
    for file in (bedroom.seen.state / "nights").glob("*"):
        if file.is_file():
            file.unlink()

    bedroom.sleep()

    assert before.count("ref:") == 1
    assert bedroom.text(NOTE) == before


def test_an_allergy_that_a_model_takes_for_news_stays_out_of_the_channel(bedroom):
    def answer(asked: Asked) -> Sent:
        rows = [{"turn": id_, "text": text, "type": "context"} for id_, _, text in asked.turns]
        return Sent(200, completion(json.dumps({"memories": rows})))

    ref = say(bedroom, "I am allergic to wool.")
    say(bedroom, "The bell weighs ninety kilos.", at="18:01")
    with ScriptedModel(answer) as model:
        bedroom.set(BRAIN_KIND="openai", BRAIN_BASE_URL=model.url, BRAIN_MODEL="small")
        slept = bedroom.sleep("--channel", "dev")

    assert "ninety kilos" in bedroom.text(NOTE)
    assert "wool" not in bedroom.text(NOTE)
    assert {"ref": ref, "reason": "personal"} in slept[SCOPE]["dropped"]
