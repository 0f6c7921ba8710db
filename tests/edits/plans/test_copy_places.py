"""Places where a note and its copy differ: decided in any order, they give the text that was chosen."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import cases
from vault_memory.edits.plans.copy_places import CopyDecisions, decisions_on
from vault_memory.rules.edits.audit_record import Record, RecordedOp
from vault_memory.vault.snapshots import revision_of

CHOICES = ("keep", "take", "both")
FILE = "f" * 64
LINES = st.lists(st.sampled_from([b"a", b"b", b"- c", b"## d", b"", b"- e"]), max_size=9)


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    newline = draw(st.sampled_from([b"\n", b"\r\n"]))
    raw = newline.join(draw(LINES))
    return raw + newline * draw(st.booleans())


def record(number: int, op: dict[str, object], undoes: str = "") -> Record:
    recorded = RecordedOp(op, "applied")
    return Record(
        f"r{number}",
        f"2026-11-30T00:00:{number:02}+00:00",
        "",
        "cli",
        "USER.md",
        (recorded,),
        undoes=undoes,
    )


class Deciding:
    """A note, its copy, and the audit log of what was decided."""

    def __init__(self, note: bytes, copy: bytes) -> None:
        self.note, self.copy = note, copy
        self.records: list[Record] = []
        self.stored: dict[str, bytes] = {}

    def decisions(self) -> CopyDecisions:
        return decisions_on(FILE, self.note, self.copy, self.records, self.stored.get)

    def decide(self, index: int, choice: str) -> None:
        decisions = self.decisions()
        for raw in decisions[:2]:
            self.stored[revision_of(raw)] = raw
        places = decisions.open_places()
        place = places[index % len(places)]
        op = decisions.op(place.id, choice, FILE)
        self.note, _ = decisions._replace(choices={**decisions.choices, place.id: choice}).texts()
        self.records.append(record(len(self.records), op))


def lines(raw: bytes) -> list[bytes]:
    return raw.splitlines()


@settings(max_examples=cases(1500), deadline=None)
@given(texts(), texts(), st.data())
@example(b"x\n", b"y", None)
def test_all_places_in_any_order_give_the_text_composed_directly(
    note: bytes, copy: bytes, data: st.DataObject | None
) -> None:
    desk = Deciding(note, copy)
    places = desk.decisions().open_places()
    ids = [place.id for place in places]
    choices = {
        place_id: data.draw(st.sampled_from(CHOICES)) if data else "both" for place_id in ids
    }
    composed, rest = CopyDecisions(note, copy, choices).texts()
    assert lines(composed) == lines(rest)

    for place_id in data.draw(st.permutations(ids)) if data else ids:
        waiting = [place.id for place in desk.decisions().open_places()]
        desk.decide(waiting.index(place_id), choices[place_id])

    assert desk.note == composed
    assert not desk.decisions().open_places()


@settings(max_examples=cases(600), deadline=None)
@given(texts(), texts())
def test_all_kept_is_the_note_and_all_taken_is_the_copy(note: bytes, copy: bytes) -> None:
    ids = [place.id for place in CopyDecisions(note, copy, {}).open_places()]

    kept, _ = CopyDecisions(note, copy, dict.fromkeys(ids, "keep")).texts()
    taken, _ = CopyDecisions(note, copy, dict.fromkeys(ids, "take")).texts()
    both, _ = CopyDecisions(note, copy, dict.fromkeys(ids, "both")).texts()

    assert kept == note
    assert lines(taken) == lines(copy)
    assert not set(lines(note) + lines(copy)) - set(lines(both))


@settings(max_examples=cases(600), deadline=None)
@given(texts(), texts(), texts(), st.integers(0, 9), st.sampled_from(CHOICES))
def test_a_save_between_two_decisions_is_asked_about_and_never_overwritten(
    note: bytes, copy: bytes, saved: bytes, index: int, choice: str
) -> None:
    desk = Deciding(note, copy)
    if not desk.decisions().open_places():
        return
    desk.decide(index, choice)
    desk.note = saved

    while places := desk.decisions().open_places():
        shown = {line for place in places for line in lines(place.note.encode())}
        before = set(lines(desk.note))
        desk.decide(0, "take")
        assert before - set(lines(desk.note)) <= shown


@settings(max_examples=cases(600), deadline=None)
@given(texts(), texts(), st.integers(0, 9), st.sampled_from(CHOICES))
def test_an_undone_decision_is_asked_again(
    note: bytes, copy: bytes, index: int, choice: str
) -> None:
    desk = Deciding(note, copy)
    places = desk.decisions().open_places()
    if not places:
        return
    desk.decide(index, choice)
    settled = desk.records[-1]
    undo = {"op": "undo", "of": dict(settled.applied[0].op)}
    desk.records.append(record(99, undo, undoes=settled.id))
    desk.note = note

    assert [place[1:] for place in desk.decisions().open_places()] == [
        place[1:] for place in places
    ]


def test_lines_of_the_front_matter_cannot_follow_each_other() -> None:
    note = b"---\nmood: glad\n---\n# Me\n\n- green\n"
    copy = note.replace(b"glad", b"tired").replace(b"green", b"red")

    front, item = CopyDecisions(note, copy, {}).open_places()

    assert (front.note, front.copy, front.can_keep_both) == ("mood: glad\n", "mood: tired\n", False)
    assert (item.line, item.can_keep_both) == (6, True)


def test_an_audit_log_that_somebody_edited_asks_again() -> None:
    desk = Deciding(b"- a\n", b"- b\n")
    wrong = {
        "op": "settle",
        "revision": FILE,
        "note": 7,
        "rest": None,
        "place": ["1"],
        "choice": {},
    }
    desk.records.append(record(1, wrong))

    assert len(desk.decisions().open_places()) == 1
