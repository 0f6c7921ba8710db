"""Whether whoever saved a note knew of the bot's lines: laws for any of them."""

from hypothesis import given
from hypothesis import strategies as st

from tests.rules.edits.tombstones import tombstones
from vault_memory.markdown.document import SectionedDoc, parse
from vault_memory.rules.edits.audit_record import Record, RecordedOp
from vault_memory.rules.edits.ownership import Ownership, replay
from vault_memory.rules.edits.stale_save import (
    SeenVersion,
    classify_revert,
    classify_save,
    propose_missing,
)

WORDS = st.integers(0, 10**6)


def note(*items: str) -> bytes:
    return ("## Tea\n\n" + "".join(f"- {item}\n" for item in items)).encode()


def wrote(*items: str) -> tuple[Record, ...]:
    dones = tuple(
        RecordedOp({"op": "append", "heading": "Tea", "line": item}, "applied") for item in items
    )
    return (Record("1", "2026-04-01T09:00:00+00:00", "", "tool", "USER.md", dones),)


def named(kind: str, numbers: list[int]) -> list[str]:
    return [f"{kind}{number}" for number in numbers]


def owned(bots: list[str]) -> Ownership:
    return replay(wrote(*bots))


many = st.lists(WORDS, max_size=6, unique=True)
some = st.lists(WORDS, min_size=1, max_size=6, unique=True)


@given(before=many, bot=some, typed=many)
def test_a_person_who_never_saw_the_bots_lines_has_not_deleted_them(
    before: list[int], bot: list[int], typed: list[int]
):
    persons, bots, fresh = named("p", before), named("b", bot), named("n", typed)
    since = [SeenVersion(note(*persons, *bots), True), SeenVersion(note(*persons), False)]

    verdict = classify_save(note(*persons, *fresh), since, owned(bots), older=False)

    assert verdict.kind == "undecided"
    assert [item.text for item in verdict.missing] == bots
    assert classify_save(note(*persons, *fresh), since, owned(bots), older=True).kind == "stale"


@given(before=many, bot=some, typed=many, kept=st.integers(0, 5))
def test_a_person_who_keeps_one_of_the_bots_lines_has_seen_them_all(
    before: list[int], bot: list[int], typed: list[int], kept: int
):
    persons, bots, fresh = named("p", before), named("b", bot), named("n", typed)
    since = [SeenVersion(note(*persons, *bots), True), SeenVersion(note(*persons), False)]
    saved = note(*persons, bots[kept % len(bots)], *fresh)

    assert classify_save(saved, since, owned(bots), older=False).kind == "accepted"


def test_extending_an_older_line_is_not_a_rewording_of_the_bots_line():
    likes = "likes cheese and clay pots"
    since = [
        SeenVersion(note(likes, "likes clay and cheese cake"), True),
        SeenVersion(note(likes), False),
    ]
    bots = owned(["likes clay and cheese cake"])

    assert classify_save(note(f"{likes} a lot"), since, bots, older=False).kind == "undecided"
    assert (
        classify_save(note(likes, "likes clay and cheese pies"), since, bots, older=False).kind
        == "accepted"
    )


@given(before=many, bot=some, typed=some)
def test_a_person_who_once_saved_the_bots_lines_may_delete_them(
    before: list[int], bot: list[int], typed: list[int]
):
    persons, bots, fresh = named("p", before), named("b", bot), named("n", typed)
    with_bots = note(*persons, *bots)
    since = [
        SeenVersion(note(*persons, *fresh, *bots), False),
        SeenVersion(with_bots, True),
        SeenVersion(note(*persons), False),
    ]

    assert classify_save(note(*persons, *fresh), since, owned(bots), older=False).kind == "accepted"


@given(before=many, bot=some, other=some, typed=many)
def test_a_save_without_another_devices_lines_comes_from_a_stale_buffer(
    before: list[int], bot: list[int], other: list[int], typed: list[int]
):
    persons, bots, theirs, fresh = (
        named("p", before),
        named("b", bot),
        named("o", other),
        named("n", typed),
    )
    since = [
        SeenVersion(note(*persons, *bots, *theirs), False),
        SeenVersion(note(*persons, *bots), True),
        SeenVersion(note(*persons), False),
    ]

    assert classify_save(note(*persons, *fresh), since, owned(bots), older=False).kind == "stale"


@given(before=many, bot=some, now=many)
def test_all_missing_lines_are_proposed_once(before: list[int], bot: list[int], now: list[int]):
    persons, bots = named("p", before), named("b", bot)
    verdict = classify_revert(note(*persons), note(*persons, *bots), owned(bots))
    live = note(*persons, *named("n", now))

    proposed = propose_missing("USER.md", verdict.missing, live, wrote(*bots))

    assert [one.op["line"] for one in proposed] == bots
    record = Record("2", "2026-04-01T10:00:00+00:00", "", "proposal", "USER.md", proposed=proposed)
    assert propose_missing("USER.md", verdict.missing, live, (*wrote(*bots), record)) == ()
    assert not any(tombstones(replay((*wrote(*bots), record)), _doc(live)))


def _doc(raw: bytes) -> SectionedDoc:
    return parse(raw)
