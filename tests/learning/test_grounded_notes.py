"""What a model writes into USER.md and reflections is what notes say."""

import json

import pytest

from tests.models.scripted import Asked, ScriptedModel, Sent, completion, learned

SCOPE = "user:mira"
PROFILE = "Users/mira/lantern/config/USER.md"
FACTS = "Users/mira/lantern/config/FACTS.md"
NOTE = "Users/mira/memories/2026-05-24.md"
SAID = "- [activity] Rebuilds a clinker dinghy with Anneke (2026-05-24, ref:mb3k2)\n"


def curated(bedroom, *ops) -> dict[str, object]:
    """A night in which a model edits the profile with these ops."""

    def answers(asked: Asked) -> Sent:
        is_curation = "You keep the note" in asked.system
        said = {"ops": ops} if is_curation else learned(asked)
        return Sent(200, completion(json.dumps(said)))

    bedroom.say("The fog came early again.")
    with ScriptedModel(answers) as model:
        bedroom.set(
            BRAIN_KIND="openai",
            BRAIN_BASE_URL=model.url,
            BRAIN_MODEL="small",
            SLEEP_CYCLE_CURATE_USER_MEMORY="true",
        )
        return bedroom.sleep()[SCOPE]


def append(line: str, heading: str = "Preferences") -> dict[str, object]:
    return {"op": "append", "heading": heading, "line": line}


def add(heading: str, *lines: str) -> dict[str, object]:
    return {"op": "add_heading", "heading": heading, "lines": list(lines)}


INVENTED = {
    "a line": append("Jo owns three yachts"),
    "a line with a type": append("[identity] Owns three yachts (2026-05-25)"),
    "a line of a new section": add("Boats", "Rebuilds a dinghy", "Owns three yachts"),
    "the heading of a new section": add("Mira owns three yachts", "Tea"),
    "a heading of three words": add("Owns three yachts", "Tea"),
    "the quotation of a line": append(
        'Rebuilds a clinker dinghy with Anneke — "She owns three yachts"'
    ),
    "a rewritten line": {
        "op": "replace",
        "heading": "Preferences",
        "match": "tea",
        "line": "Owns three yachts",
    },
    "another number": append("Rebuilds 7 clinker dinghies with Anneke"),
    "another name": append("Rebuilds a clinker dinghy with Sigurd"),
    "the opposite": append("Never rebuilds a clinker dinghy with Anneke"),
    "words of a quoted mail": append("Owns a yacht in Cowes"),
    "what another person has": append("Mira commands the harbour police"),
    "what no longer holds": append("Mira lives in Ostervik"),
    "Chinese": append("乔有三艘游艇"),
    "Russian": append("У Йо есть три яхты"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("kind", INVENTED)
def test_what_no_note_says_waits_for_the_person(bedroom, kind):
    bedroom.seen.write(
        NOTE,
        "## Mail\n\n"
        "From: Eve <eve@example.org>\n"
        "To: Mira\n\n"
        "She owns a yacht in Cowes.\n\n"
        f"## Learned\n\n{SAID}",
    )
    page = bedroom.text(FACTS)
    bedroom.seen.write(FACTS, f"{page}\n## eve\n\n- commands: the harbour police\n")
    before = bedroom.text(PROFILE)

    out = curated(bedroom, INVENTED[kind])

    assert out["curated"] == 0
    assert bedroom.text(PROFILE) == before
    [waiting] = bedroom.seen.ok("inbox")["items"]
    assert "no note says this" in waiting["why"]


SAYS = {
    "a line of a day": append("Rebuilds a clinker dinghy with Anneke"),
    "some words of it": append("Mira rebuilds a dinghy with Anneke"),
    "a fact": append("Learns Chinese"),
    "a fact about another thing": append("The petrel is a supply boat"),
    "a line of the profile": add("Drinks", "Tea"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("kind", SAYS)
def test_what_a_note_says_is_written(bedroom, kind):
    bedroom.seen.write(NOTE, f"## Learned\n\n{SAID}")

    assert curated(bedroom, SAYS[kind])["curated"] == 1


WEEK = (
    "I am allergic to mackerel.",
    "I love sour cherries.",
    "Ich hasse Nebelhörner.",
    "My sister is called Anneke.",
)
REVIEW = "Users/mira/memories/reflections/2026-W22.md"
MAIL = "## Mail\n\n> Eve bought a yacht in Cowes and painted it red.\n"


def test_a_review_without_a_model_is_what_was_said_in_sentences(bedroom):
    for number, text in enumerate(WEEK):
        bedroom.say(text, at=f"18:0{number}")

    bedroom.sleep()

    lines = bedroom.text(REVIEW).splitlines()
    assert [line.partition(" (")[0] for line in lines if line.startswith("- ")] == [
        f"- {text.rstrip('.')}" for text in WEEK
    ]


def test_a_review_says_a_fact_as_a_person_corrected_it(bedroom):
    refs = [bedroom.say(text, at=f"19:0{n}") for n, text in enumerate(WEEK)]
    page = "".join(f"- likes: thing {ref} (ref:{ref})\n" for ref in refs)
    bedroom.seen.write(FACTS, f"## mira\n\n{page}")

    bedroom.sleep()

    assert f"- mira likes thing {refs[0]} (" in bedroom.text(REVIEW)


@pytest.mark.sampled
def test_a_model_reviews_learned_lines_and_nothing_of_a_mail(bedroom):
    asked: list[Asked] = []
    lines = [
        "Allergic to mackerel, loves sour cherries",
        "Eve bought a yacht in Cowes",
        "Moved to Ostervik in 1999",
    ]

    def answers(question: Asked) -> Sent:
        asked.append(question)
        ops = [append(line, "The week") for line in lines]
        is_review = "You look back" in question.system
        reply = {"ops": ops} if is_review else learned(question)
        return Sent(200, completion(json.dumps(reply)))

    refs = [bedroom.say(text, at=f"18:0{n}") for n, text in enumerate(WEEK)]
    page = "".join(f"- likes: thing {ref} (ref:{ref})\n" for ref in refs)
    bedroom.seen.write(FACTS, f"## mira\n\n{page}")
    bedroom.seen.write("Users/mira/memories/2026-05-25.md", MAIL)
    with ScriptedModel(answers) as model:
        bedroom.set(BRAIN_KIND="openai", BRAIN_BASE_URL=model.url, BRAIN_MODEL="small")
        bedroom.sleep()

    [review] = [one for one in asked if "You look back" in one.system]
    assert "yacht" not in review.text
    assert "sour cherries" in review.text
    assert bedroom.text(REVIEW).count("\n- ") == 1
    assert lines[0] in bedroom.text(REVIEW)


ATTRIBUTES = {
    "en": ("I'm allergic to walnuts and kiwi.", "I really love sour cherries."),
    "de": ("Ich bin allergisch gegen Walnüsse und Kiwi.", "Ich wohne jetzt in Bergen."),
    "es": ("Soy alérgica a las nueces y al kiwi.", "Me mudé a Bergen en mayo."),
    "fr": ("Je suis allergique aux noix et au kiwi.", "J'habite à Bergen."),
    "ru": ("У меня аллергия на орехи и киви.", "Я работаю акушеркой."),
    "zh": ("我对核桃和猕猴桃过敏。", "我喜欢樱桃。"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("language", ATTRIBUTES)
def test_an_attribute_stands_in_the_facts_alone(bedroom, language):
    said = ATTRIBUTES[language]
    for number, text in enumerate(said):
        bedroom.say(text, at=f"18:0{number}")

    out = bedroom.sleep()[SCOPE]

    assert out["facts"] >= len(said)
    assert bedroom.text("Users/mira/memories/2026-05-25.md") == ""


MORE = {
    "en": ("I live in Bergen, alone with a parrot.", "I have a dog called Rex."),
    "de": ("Ich wohne in Bergen, allein mit einem Papagei.",),
    "zh": ("我住在卑尔根，独自带着一只鹦鹉。",),
}


@pytest.mark.sampled
@pytest.mark.parametrize("language", MORE)
def test_a_sentence_that_says_more_than_its_fact_is_kept_too(bedroom, language):
    for number, text in enumerate(MORE[language]):
        bedroom.say(text, at=f"18:0{number}")

    bedroom.sleep()

    note = bedroom.text("Users/mira/memories/2026-05-25.md")
    assert note.count("\n- ") == len(MORE[language])
