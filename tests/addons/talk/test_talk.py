"""Nextcloud Talk: what its documentation says it sends is recorded once, in its channel, if it is signed."""

import hashlib
import hmac
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import example, given
from hypothesis import settings as tried
from hypothesis import strategies as st

from tests.http.served import Served, serving
from vault_memory.addons.talk.activity_streams import Garbled, read_event, rendered
from vault_memory.addons.talk.recorder import REMEMBERED, ReactionsUntrue, RoomUnknown
from vault_memory.addons.talk.webhook import TalkSecretUnsafe, talk_routes
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config import load
from vault_memory.config.sections import Config, EmbeddingSettings
from vault_memory.config.server_sections import TalkPerson, TalkRoom, TalkSettings
from vault_memory.errors import ConfigError

SECRET = "s" * 20 + "0123456789abcdef" * 4
RANDOM = "Zq4/" * 16
BACKEND = "https://cloud.example.org/"
ROOM, OTHER = "n3xtc10ud", "f0gbe11"
CHANNELS = {ROOM: "harbour", OTHER: "fogbell"}
MIRA = {"type": "Person", "id": "users/mira", "name": "Mira Maritz", "talkParticipantType": "1"}
TOMAS = {"type": "Person", "id": "users/tomas", "name": "Tomas"}
GUEST = {"type": "Person", "id": "guests/" + "9f" * 20, "name": "A\nGuest"}
BOT = {
    "type": "Application",
    "id": "bots/bot-a78f46c5c203141b247554e180e1aa3553d282c6",
    "name": "Bot123",
}
Event = dict[str, Any]
SIGNATURE = "x-nextcloud-talk-signature"


def message(
    text: str, number: int = 1567, *, actor: Event = MIRA, room: str = ROOM, **parameters: Event
) -> Event:
    """As docs/bots.md of Talk shows a chat message."""
    content = json.dumps(
        {
            "message": text,
            "parameters": {key.replace("_", "-"): one for key, one in parameters.items()},
        }
    )
    note = {
        "type": "Note",
        "id": str(number),
        "name": "message",
        "content": content,
        "mediaType": "text/markdown",
    }
    target = {"type": "Collection", "id": room, "name": "world"}
    return {"type": "Create", "actor": actor, "object": note, "target": target}


def reaction(
    number: int = 1567, emoji: str = "🗑", *, actor: Event = MIRA, room: str = ROOM
) -> Event:
    return {
        **message("whatever", number, room=room),
        "type": "Like",
        "actor": actor,
        "content": emoji,
    }


def signed(
    body: bytes, *, secret: str = SECRET, random: str = RANDOM, backend: str = BACKEND
) -> dict[str, str]:
    signature = hmac.new(secret.encode(), random.encode() + body, hashlib.sha256).hexdigest()
    return {
        "content-type": "application/json",
        "ocs-apirequest": "true",
        "x-nextcloud-talk-random": random,
        SIGNATURE: signature,
        "x-nextcloud-talk-backend": backend,
    }


class Cloud:
    """The Nextcloud that has this bot, and the vault behind it. Each test has rooms of its own."""

    def __init__(self, served: Served, room: str = ROOM, other: str = OTHER) -> None:
        self.served, self.memory, self.room, self.other = (served, served.memory, room, other)
        self._client = served.client(None)

    def send(
        self, event: Event | bytes, headers: dict[str, str] | None = None, **how: str
    ) -> httpx.Response:
        body = event if isinstance(event, bytes) else json.dumps(event).encode()
        if headers is None:
            body = body.replace(ROOM.encode(), self.room.encode()).replace(
                OTHER.encode(), self.other.encode()
            )
        return self._client.post(
            "/talk", content=body, headers=signed(body, **how) if headers is None else headers
        )

    def tells(self, *events: Event) -> None:
        for event in events:
            answer = self.send(event)
            assert (answer.status_code, answer.json()) == (200, {"ok": True})

    def turns(self, channel: str = "") -> list[Any]:
        return self.memory.conversations.transcripts.of(
            f"channel:{channel or CHANNELS.get(self.room, self.room)}"
        )

    def said(self, channel: str = "") -> list[str]:
        return [turn.text for turn in self.turns(channel)]

    def finds(self, text: str, *scopes: str) -> bool:
        return any(text in hit.text for hit in self.memory.search(text, scopes=scopes).hits)


def settings(folder: Path, **more: Any) -> TalkSettings:
    file = folder / "talk-secret"
    file.write_text(SECRET + "\n")
    file.chmod(0o600)
    rooms = tuple(TalkRoom(*one) for one in CHANNELS.items())
    said = {
        "rooms": rooms,
        "people": (TalkPerson("Ada.L@example.org", "ada"),),
        "forget_by": ("keeper",),
    }
    return TalkSettings(
        str(file),
        "https://CLOUD.example.org",
        **{**said, "forget_reaction": "🗑️", "version": "22.0.9", **more},
    )


@contextmanager
def running(folder: Path, **more: Any) -> Iterator[Cloud]:
    vault = folder / "vault"
    for name in ("mira", "tomas"):
        notes = vault / "Users" / name / "lantern/config"
        notes.mkdir(parents=True)
        (notes / "USER.md").write_text("- likes the lamp room\n")
    places = {
        "VAULT_MEMORY_STATE": str(folder / "state"),
        "VAULT_MEMORY_CACHE": str(folder / "cache"),
    }
    config = Config(embedding=EmbeddingSettings(kind="off"), talk=settings(folder, **more))
    with (
        VaultMemory.open(vault, config, environment=places) as memory,
        serving(memory, {}) as served,
    ):
        memory.refresh()
        yield Cloud(served)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """With the rooms that have channels, in which no test of those that share it leaves anything."""
    with running(tmp_path_factory.mktemp("talk")) as cloud:
        yield cloud


@pytest.fixture
def cloud(shared: Cloud) -> Cloud:
    """With rooms of its own, which have no other name."""
    token = os.urandom(4).hex()
    return Cloud(shared.served, f"r{token}", f"o{token}")


# ---- what is recorded -----------------------------------------------------------------------------------------------


def test_a_message_is_found_in_its_channel_and_by_its_author_only(tmp_path: Path):
    with running(tmp_path) as cloud:
        cloud.tells(message("the lamp is lit", room=OTHER), message("the zephyr winch is greased"))

        [turn] = cloud.turns("harbour")
        assert (turn.user, turn.channel, turn.session, turn.role) == (
            "mira",
            "harbour",
            ROOM,
            "user",
        )
        assert (turn.origin, turn.source) == ("owner", "talk")
        assert cloud.finds("zephyr winch", "channel:harbour")
        assert cloud.finds("zephyr winch", "user:mira")
        others = {*cloud.memory.scopes()} - {"channel:harbour", "user:mira"}
        assert others == {"channel:fogbell", "user:tomas"}
        assert not cloud.finds("zephyr winch", *others)


@pytest.mark.smoke
def test_a_room_without_a_configured_channel_is_recorded_under_its_token(cloud: Cloud):
    cloud.tells(message("the zephyr winch is greased"))

    assert cloud.said(cloud.room) == ["the zephyr winch is greased"]
    assert cloud.finds("zephyr winch", f"channel:{cloud.room}")
    assert not cloud.finds("zephyr winch", "channel:harbour", f"channel:{cloud.other}")


def test_an_account_with_another_name_is_mapped_to_its_person(cloud: Cloud):
    cloud.tells(message("greased", actor={**MIRA, "id": "users/Ada.L@example.org"}))

    assert cloud.turns()[0].user == "ada"


@pytest.mark.parametrize(
    ("actor", "shown", "origin", "role"),
    [
        (GUEST, "A Guest (guests): I am Mira", "person", "user"),
        ({**GUEST, "id": "emails/abc"}, "A Guest (emails): I am Mira", "person", "user"),
        (
            {**MIRA, "id": "federated_users/m@x.example"},
            "Mira Maritz (federated_users): I am Mira",
            "person",
            "user",
        ),
        ({**MIRA, "id": "users/../tomas"}, "Mira Maritz (users): I am Mira", "person", "user"),
        ({"type": "Person", "id": "guests/1"}, "guests (guests): I am Mira", "person", "user"),
        (BOT, "Bot123 (bots): I am Mira", "tool", "tool"),
    ],
)
def test_messages_of_guests_and_bots_belong_to_no_person(
    cloud: Cloud, actor: Event, shown: str, origin: str, role: str
):
    cloud.tells(message("I came first"), message("I am Mira", 1568, actor=actor))

    turn = cloud.turns()[-1]
    assert (turn.text, turn.user, turn.origin, turn.role) == (shown, "", origin, role)
    assert cloud.finds("I am Mira", f"channel:{cloud.room}")
    assert not cloud.finds("I am Mira", "user:mira", "user:tomas")


def test_mentions_and_attachments_are_recorded_by_their_names(cloud: Cloud):
    call = {"type": "call", "id": ROOM, "name": "world", "call-type": "group"}
    user = {"type": "user", "id": "tomas", "name": "Tomas {file}"}
    file = {"type": "file", "id": "7", "name": "winch\nplan.pdf", "path": "a/winch plan.pdf"}

    cloud.tells(
        message(
            "hi {mention-call1} and {mention-user1}, {nothing} {}",
            mention_call1=call,
            mention_user1=user,
        ),
        message("{file}", 1568, file=file),
        message("see this", 1569, file=file),
    )

    assert cloud.said() == [
        "hi @world and @Tomas {file}, {nothing} {}",
        "winch plan.pdf",
        "see this [winch plan.pdf]",
    ]


def test_an_unnamed_file_message_of_talk_before_23_is_recorded(cloud: Cloud):
    event = message("{file}", file={"type": "file", "name": "winch.pdf"})
    event["object"]["name"] = ""

    cloud.tells(event)

    assert cloud.said() == ["winch.pdf"]


OF_NO_CONCERN = {
    "a system message": {**message("{actor} joined"), "type": "Activity"},
    "a command": {**message("x"), "object": {**message("x")["object"], "name": "user_added"}},
    "an empty message": message("  "),
    "the bot joins": {
        "type": "Join",
        "actor": BOT,
        "object": {"type": "Collection", "id": ROOM, "name": "world"},
    },
    "the bot leaves": {
        "type": "Leave",
        "actor": BOT,
        "object": {"type": "Collection", "id": ROOM, "name": "world"},
    },
    "a reaction": reaction(),
    "a reaction is taken back": {
        "type": "Undo",
        "actor": MIRA,
        "object": reaction(),
        "target": reaction()["target"],
    },
}


@pytest.mark.parametrize("event", OF_NO_CONCERN.values(), ids=OF_NO_CONCERN.keys())
def test_an_event_that_is_not_a_message_is_accepted_and_not_recorded(shared: Cloud, event: Event):
    shared.tells(event)

    assert shared.turns() == []


# ---- who is heard ---------------------------------------------------------------------------------------------------

BODY = json.dumps(message("let me in")).encode()
RIGHT = signed(BODY)


def without(name: str) -> dict[str, str]:
    return {key: value for key, value in RIGHT.items() if not key.endswith(name)}


STRANGERS = {
    "no signature": without("signature"),
    "no random": without("random"),
    "nothing": {},
    "no backend": without("backend"),
    "another secret": signed(BODY, secret="x" + SECRET),
    "an empty secret": signed(BODY, secret=""),
    "the signature of another body": signed(BODY + b" "),
    "another random": {**RIGHT, "x-nextcloud-talk-random": RANDOM[::-1]},
    "no signature of a short random": signed(BODY, random="x"),
    "an empty random": signed(BODY, random=""),
    "a signature in part": {**RIGHT, SIGNATURE: RIGHT[SIGNATURE][:-1]},
    "an empty signature": {**RIGHT, SIGNATURE: ""},
    "no hex": {**RIGHT, SIGNATURE: "ü" * 64},
    "another backend": signed(BODY, backend="https://cloud.example.net/"),
    "a backend below": signed(BODY, backend="https://cloud.example.org/nextcloud/"),
    "a backend beside": signed(BODY, backend="https://cloud.example.org.example.net/"),
    "no address as backend": signed(BODY, backend="https://[/"),
    "a bearer": {"authorization": f"Bearer {SECRET}"},
}


@pytest.mark.smoke
@pytest.mark.parametrize("headers", STRANGERS.values(), ids=STRANGERS.keys())
def test_a_request_without_a_valid_nextcloud_signature_is_refused(
    shared: Cloud, headers: dict[str, str]
):
    raw = {name.encode(): value.encode("latin-1") for name, value in headers.items()}

    refused = shared.send(BODY, raw)  # type: ignore[arg-type]

    assert refused.status_code == 401
    assert shared.turns() == []


def test_a_duplicated_signature_header_is_refused(shared: Cloud):
    twice = [*RIGHT.items(), (SIGNATURE, RIGHT[SIGNATURE])]

    assert shared.send(BODY, twice).status_code == 401  # type: ignore[arg-type]


def test_a_signature_in_capital_letters_is_accepted(cloud: Cloud):
    body = json.dumps(message("let me in", room=cloud.room)).encode()
    right = signed(body)

    assert cloud.send(body, {**right, SIGNATURE: right[SIGNATURE].upper()}).status_code == 200
    assert cloud.said() == ["let me in"]


GARBLED = {
    "nothing": b"",
    "no json": b"type=Create",
    "no utf-8": b'{"type": "\xff"}',
    "a list": b"[]",
    "deep": b"[" * 100_000,
    "no type": b"{}",
    "no object": b'{"type": "Create"}',
    "an object that is a list": b'{"type": "Create", "object": []}',
    "content that is no json": json.dumps(
        {**message("x"), "object": {"id": "1", "content": "x"}}
    ).encode(),
    "a number as message": json.dumps(
        message("x") | {"object": {"id": "1", "content": '{"message":1}'}}
    ).encode(),
    "no number": json.dumps(
        message("x") | {"object": {**message("x")["object"], "id": "../1"}}
    ).encode(),
    "a room that is a path": json.dumps(message("x", room="../../Users")).encode(),
    "no actor": json.dumps(message("x", actor={"id": ""})).encode(),
    "a reaction without emoji": json.dumps({**reaction(), "content": None}).encode(),
}


@pytest.mark.parametrize("body", GARBLED.values(), ids=GARBLED.keys())
def test_a_signed_request_that_talk_never_sends_is_refused(shared: Cloud, body: bytes):
    assert shared.send(body).status_code == 400
    assert shared.turns() == []


def test_a_request_that_is_too_long_is_refused(shared: Cloud):
    assert shared.send(message("x" * (1 << 20))).status_code == 413


def test_without_a_secret_the_webhook_does_not_exist(shared: Cloud):
    assert talk_routes(shared.memory, TalkSettings()) == []


def test_a_request_from_a_browser_page_is_refused(shared: Cloud):
    assert shared.send(BODY, {**RIGHT, "origin": "https://evil.example"}).status_code == 403


JSON = st.recursive(
    st.none()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([ROOM, "1", "users/x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "actor",
                    "object",
                    "target",
                    "id",
                    "name",
                    "content",
                    "message",
                    "parameters",
                ]
            ),
            inner,
        )
    ),
    max_leaves=8,
)


@tried(max_examples=40)
@given(JSON, JSON, st.sampled_from(["actor", "object", "target", "content", "type"]))
@example(
    {"name": "x"},
    {"id": "1", "name": "message", "content": '{"message": "\\ud83d", "parameters": []}'},
    "object",
)
@example(
    {},
    {
        "id": "1",
        "content": '{"message": "{file}", "parameters": {"file": 1, "a": {"type": "file"}}}',
    },
    "object",
)
def test_any_json_is_parsed_or_rejected_as_garbled(parameters: Any, changed: Any, where: str):
    for event in ({**message("hi {a}"), where: changed}, {**reaction(), where: changed}, changed):
        body = json.dumps(event).encode()
        try:
            read_event(body)
        except Garbled:
            continue
    content = json.dumps({"message": "{a} {name}", "parameters": parameters})
    said = read_event(
        json.dumps(message("") | {"object": {"id": "1", "content": content}}).encode()
    )
    assert said is not None
    assert said.text.encode()  # type: ignore[union-attr]


PARTS = st.lists(st.sampled_from(["{a}", "{b}", "{", "}", "a", " "]), max_size=8).map("".join)


@given(PARTS, PARTS)
@example("x {a}", "{a} {a}")
def test_a_display_name_is_never_expanded_as_a_placeholder(text: str, name: str):
    shown = rendered(text, {"a": {"type": "user", "name": name}})

    assert shown == text.replace("{a}", " ".join(name.split()) or "{a}").strip()


# ---- once -----------------------------------------------------------------------------------------------------------


def test_a_repeated_message_is_recorded_once(cloud: Cloud):
    event = message("the zephyr winch is greased")
    cloud.tells(event, event, message("and oiled", 1568), event)
    assert cloud.send(event, random=RANDOM[::-1]).status_code == 200

    assert cloud.said() == ["the zephyr winch is greased", "and oiled"]


def test_the_same_message_number_in_another_room_is_another_message(cloud: Cloud):
    cloud.tells(message("greased"), message("oiled", room="f0gbe11"))

    assert (cloud.said(), cloud.said(cloud.other)) == (["greased"], ["oiled"])


def test_a_message_delivered_many_times_at_once_is_recorded_once(cloud: Cloud):
    threads = [threading.Thread(target=cloud.send, args=(message("greased"),)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert cloud.said() == ["greased"]


def test_messages_may_arrive_out_of_order(cloud: Cloud):
    cloud.tells(message("b", 20), message("a", 10), message("c", 15), message("a", 10))

    assert sorted(cloud.said()) == ["a", "b", "c"]


def test_a_replayed_old_message_is_not_recorded_again(cloud: Cloud):
    """So many have come since that nobody remembers it."""
    (cloud.memory.vault.state.path / "talk.json").write_text(
        json.dumps({cloud.room: list(range(1000, 1000 + REMEMBERED))})
    )

    cloud.tells(message("replayed", 999), message("replayed", 1000), message("new", 5000))

    assert cloud.said() == ["new"]


@pytest.mark.parametrize("damage", [b"", b"[1]", b'{"room": ["x"]}', b"\xff"])
def test_a_damaged_record_of_seen_messages_blocks_no_new_one(cloud: Cloud, damage: bytes):
    (cloud.memory.vault.state.path / "talk.json").write_bytes(damage)

    cloud.tells(message("greased"), message("greased"))

    assert cloud.said() == ["greased"]


def test_a_message_that_cannot_be_recorded_is_recorded_on_redelivery(cloud: Cloud):
    away = cloud.memory.root.with_name("away")
    cloud.memory.root.rename(away)
    assert cloud.send(message("greased")).status_code == 503
    away.rename(cloud.memory.root)

    cloud.tells(message("greased"))

    assert cloud.said() == ["greased"]


# ---- taken back -----------------------------------------------------------------------------------------------------


def holds(cloud: Cloud, text: str) -> list[str]:
    """The files of vault and state whose bytes hold it."""
    roots = (cloud.memory.root, cloud.memory.vault.state.path)
    files = [file for root in roots for file in root.rglob("*") if file.is_file()]
    return [str(file) for file in files if text.encode() in file.read_bytes().lower()]


def test_a_reaction_of_its_author_retracts_a_message(cloud: Cloud):
    secret = "the zephyrine safe opens with 4711"
    cloud.tells(message(secret), message("and oiled", 1568), reaction())

    assert cloud.said() == ["and oiled"]
    assert not cloud.finds("zephyrine", f"channel:{cloud.room}", "user:mira")
    assert holds(cloud, "zephyrine") == []
    cloud.tells(message(secret))
    assert cloud.said() == ["and oiled"], "a replay does not bring it back"


def test_the_same_words_of_others_are_kept_after_a_retraction(cloud: Cloud):
    cloud.tells(message("the kettle is on", 0, actor=TOMAS))
    cloud.memory.remember("Tomas likes green tea", scope=f"channel:{cloud.room}", source="cli")
    cloud.tells(message("green tea", 1), message("green tea", 2, actor=TOMAS), reaction(1))

    assert [(turn.user, turn.text) for turn in cloud.turns()][1:] == [("tomas", "green tea")]
    assert "likes green tea" in cloud.memory.read(f"Channels/{cloud.room}/CHANNEL.md").text


@pytest.mark.sampled
@pytest.mark.parametrize(
    "event",
    [
        reaction(actor=TOMAS),
        reaction(actor={**MIRA, "id": "guests/mira"}),
        reaction(actor={**MIRA, "id": "federated_users/mira"}),
        reaction(actor={**MIRA, "id": "users/"}),
        reaction(emoji="👍"),
        reaction(emoji=""),
        reaction(1568),
        reaction(room="f0gbe11"),
        {"type": "Undo", "actor": MIRA, "object": reaction(), "target": reaction()["target"]},
    ],
)
def test_any_other_reaction_retracts_nothing(cloud: Cloud, event: Event):
    cloud.tells(message("greased"), event)

    assert cloud.said() == ["greased"]


def test_a_guest_can_retract_nothing(cloud: Cloud):
    cloud.tells(message("greased", actor=GUEST), reaction(actor=GUEST))

    assert len(cloud.said()) == 1


def test_an_unmapped_account_cannot_retract_messages_of_guests(cloud: Cloud):
    cloud.tells(message("greased", actor=GUEST), reaction(actor={**MIRA, "id": "users/../mira"}))

    assert len(cloud.said()) == 1


def test_a_message_that_mentions_a_retracted_one_is_kept(cloud: Cloud):
    cloud.tells(message("greased"))
    cloud.tells(message(f"see {cloud.turns()[0].id}", 1568, actor=TOMAS), reaction())

    assert [turn.user for turn in cloud.turns()] == ["tomas"]


def test_a_configured_moderator_can_retract_any_message(cloud: Cloud):
    cloud.tells(message("greased", actor=GUEST), reaction(actor={**TOMAS, "id": "guests/keeper"}))
    assert len(cloud.said()) == 1

    cloud.tells(reaction(actor={**TOMAS, "id": "users/keeper"}))

    assert cloud.said() == []


def test_without_a_configured_reaction_nothing_can_be_retracted(tmp_path: Path):
    with running(tmp_path, forget_reaction="") as cloud:
        cloud.tells(message("greased"), reaction(), reaction(emoji=""))

        assert cloud.said() == ["greased"]


OLD = ("", "21", "21.1.7", "21.1.10", "22", "22.0", "22.0.8", "9.99.99")
MENDED = ("22.0.9", "22.0.10", "22.1", "23", "23.0.0", " 22.0.9 ", "100.0")


@pytest.mark.parametrize("version", OLD)
def test_a_reaction_that_retracts_is_refused_for_a_talk_that_names_the_wrong_person(
    shared: Cloud, tmp_path: Path, version: str
):
    with pytest.raises(ReactionsUntrue) as refused:
        talk_routes(shared.memory, settings(tmp_path, version=version))

    assert "22.0.9" in refused.value.message
    assert "installed_version" in refused.value.message
    assert talk_routes(
        shared.memory, settings(tmp_path, version=version, forget_reaction=" \ufe0f")
    )


@pytest.mark.parametrize("version", MENDED)
def test_a_reaction_retracts_with_a_talk_that_names_who_reacted(
    shared: Cloud, tmp_path: Path, version: str
):
    assert talk_routes(shared.memory, settings(tmp_path, version=version))


@pytest.mark.parametrize("version", ["22.0.9-rc.1", "v22.0.9", "new", "22,0,9", "²²"])
def test_a_version_of_talk_that_is_no_release_is_refused(
    shared: Cloud, tmp_path: Path, version: str
):
    with pytest.raises(ReactionsUntrue):
        talk_routes(shared.memory, settings(tmp_path, version=version))


def test_a_configuration_file_with_an_unstated_talk_is_refused_with_its_place(tmp_path: Path):
    file = tmp_path / "vault-memory.toml"
    file.write_text('[talk]\nforget_reaction = "🗑"\n')

    with pytest.raises(ConfigError) as refused:
        load(file, {})

    assert "talk" in refused.value.message.partition("needs Talk 22.0.9")[0]
    file.write_text('[talk]\nforget_reaction = "🗑"\nversion = "22.0.16"\n')
    assert load(file, {}).talk.version == "22.0.16"


def test_a_message_of_another_server_is_refused_with_the_address_that_it_named(shared: Cloud):
    answer = shared.send(message("greased"), backend="https://other.example.org/")

    assert answer.status_code == 401
    assert "https://other.example.org/" in answer.text
    assert "overwrite.cli.url" in answer.text


# ---- the configuration ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "mode"), [("short", 0o600), (SECRET, 0o640), ("x " * 30, 0o600), ("é" * 40, 0o600)]
)
def test_a_secret_that_others_can_read_or_guess_is_refused(
    shared: Cloud, tmp_path: Path, text: str, mode: int
):
    said = settings(tmp_path)
    file = Path(said.secret_file)
    file.write_text(text)
    file.chmod(mode)

    with pytest.raises(TalkSecretUnsafe) as refused:
        talk_routes(shared.memory, said)

    assert text not in f"{refused.value} {refused.value.hint}"


@pytest.mark.parametrize("channel", ["", "..", "a/b"])
def test_an_impossible_channel_name_is_an_error_at_the_start(
    shared: Cloud, tmp_path: Path, channel: str
):
    with pytest.raises(RoomUnknown):
        talk_routes(shared.memory, settings(tmp_path, rooms=(TalkRoom(ROOM, channel),)))
