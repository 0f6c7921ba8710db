"""What is one's own stays one's own: in the night, in what a model is asked, in what is known, and in errors."""

import json

import pytest

from tests.models.scripted import Asked, ScriptedModel, Sent, completion, learned

OWNERS = {
    "user:mira": ("Users/mira/lantern/config", "Users/mira/memories", "quokka"),
    "user:tomas": ("Users/tomas/lantern/config", "Users/tomas/memories", "axolotl"),
    "channel:kitchen": ("Channels/kitchen", "Channels/kitchen/memories", "pangolin"),
}
"""Of each scope: where its pages lie, where its dated notes lie, and a word that nobody else knows"""
OPTIONS = {scope: (f"--{scope.partition(':')[0]}", scope.partition(":")[2]) for scope in OWNERS}
PEOPLE = [scope for scope in OWNERS if scope.startswith("user:")]
PAIRS = [(mine, other) for mine in OWNERS for other in OWNERS if mine != other]


def secret_of(scope: str) -> str:
    return OWNERS[scope][2]


def words_in(text: object) -> set[str]:
    return {
        secret_of(scope)
        for scope in OWNERS
        if secret_of(scope) in json.dumps(text, ensure_ascii=False, default=str).casefold()
    }


def answers(asked: Asked) -> Sent:
    """A good model that also states facts of what it is shown."""
    said = learned(asked)
    said["facts"] = [
        {
            "subject": who,
            "predicate": "likes",
            "object": text,
            "from": "",
            "until": "",
            "evidence": [id_],
        }
        for id_, who, text in asked.turns
    ]
    return Sent(200, completion(json.dumps(said, ensure_ascii=False)))


@pytest.fixture
def model_requests(bedroom):
    """The requests to the model during a night of everybody, over pages of every kind."""
    for scope, (pages, notes, secret) in OWNERS.items():
        page = "USER.md" if scope in PEOPLE else "CHANNEL.md"
        bedroom.seen.write(f"{pages}/{page}", f"## Likes\n\n- the {secret} above all\n")
        facts = "".join(
            f"- {predicate}: the {secret} {predicate} (since 2026-05-2{day})\n"
            for day, predicate in enumerate(("owns", "uses", "knows", "created"))
        )
        name = scope.partition(":")[2]
        bedroom.seen.write(
            f"{pages}/FACTS.md", f"## {name}\n\n- also_known_as: {secret} keeper\n{facts}"
        )
        bedroom.seen.write(f"{notes}/2026-05-24.md", f"- saw the {secret} again\n")
        if scope in PEOPLE:
            bedroom.seen.write(f"{pages}/RULES.md", f"## Rules\n\n- Always greet the {secret}\n")
            bedroom.say(f"The {secret} is my secret.", user=name)
    bedroom.say("The pangolin sleeps in the kitchen.", user="guest", channel="kitchen", session="k")
    with ScriptedModel(answers) as model:
        settings = {"BRAIN_KIND": "openai", "BRAIN_BASE_URL": model.url, "BRAIN_MODEL": "small"}
        bedroom.set(**settings, SLEEP_CYCLE_CURATE_USER_MEMORY="true")
        slept = bedroom.sleep()
        assert {
            scope: one["state"] for scope, one in slept.items() if scope in OWNERS
        } == dict.fromkeys(OWNERS, "done")
        yield model.asked


@pytest.mark.sampled
def test_no_prompt_contains_words_of_two_people(bedroom, model_requests):
    held = [words_in(one.body) for one in model_requests]

    assert all(len(found) <= 1 for found in held)
    assert {secret for found in held for secret in found} == {secret_of(scope) for scope in OWNERS}
    assert len(model_requests) > len(OWNERS), "curation and reflection ask, too"


@pytest.mark.sampled
def test_learned_text_is_stored_only_with_its_owner(bedroom, model_requests):
    for path, raw in bedroom.files().items():
        owner = [
            scope
            for scope, (pages, notes, _) in OWNERS.items()
            if path.startswith((pages.removesuffix("/lantern/config"), notes))
        ]
        # A guest of the kitchen said it: her own facts may have it, too.
        owner += ["channel:kitchen"] if path.startswith("Users/guest/") else []
        assert words_in(raw.decode("utf-8", "replace")) <= {secret_of(scope) for scope in owner}, (
            path
        )
    for scope in PEOPLE:
        assert list(bedroom.vault.glob(f"{OWNERS[scope][1]}/reflections/*.md")), (
            "there is a reflection to look at"
        )


@pytest.mark.sampled
def test_facts_entities_and_turns_do_not_cross_scopes(bedroom, model_requests):
    for mine, other in PAIRS:
        secret, options = secret_of(other), OPTIONS[mine]
        for command in (
            ["facts"],
            ["timeline", f"{secret} keeper"],
            ["facts", "--entity", f"{secret} keeper"],
            ["search", f"the {secret} keeper"],
            ["entity", f"{secret} keeper"],
        ):
            found = bedroom.seen.ok(*command, *options)
            found.pop("name", None)
            assert secret not in json.dumps(found, ensure_ascii=False).casefold(), (mine, command)
    for scope in OWNERS:
        found = bedroom.seen.ok("facts", *OPTIONS[scope])
        assert words_in(found) == {secret_of(scope)}


@pytest.mark.sampled
def test_an_error_reveals_no_facts_of_others_and_changes_nothing(bedroom, model_requests):
    theirs = {
        scope: bedroom.seen.ok("facts", *OPTIONS[scope])["facts"][0]["id"] for scope in OWNERS
    }
    before = bedroom.files()

    for mine, other in PAIRS:
        for command in (["confirm"], ["invalidate"], ["delete-fact"], ["correct", "nothing"]):
            done = bedroom.seen.run(
                command[0], theirs[other], *command[1:], *OPTIONS[mine], "--json"
            )

            assert done.code != 0, (mine, other)
            assert secret_of(other) not in (done.out + done.err).casefold(), (mine, command)
    assert bedroom.files() == before
