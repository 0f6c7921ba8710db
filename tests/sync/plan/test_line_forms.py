"""An earlier form of a line does not come back beside the form that somebody gave it since."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.sync.plan.line_forms import SeenText, forms_in

HEAD = b"## Tea\n\n- green\n"
MARK = " ⚠ (other device, 2100-01-01)".encode()

EDITS: dict[str, tuple[bytes, ...]] = {
    "grows": (b"- buy milk", b"- buy milk and eggs", b"- buy milk and eggs today"),
    "shrinks": (b"- buy milk and eggs", b"- buy milk and", b"- buy milk"),
    "gets another word": (b"- call Anna at five", b"- call Anna at six"),
    "is ticked": (b"- [ ] buy milk", b"- [x] buy milk"),
    "gets a longer word": (b"- buy mi", b"- buy milk"),
    "is Japanese": ("- 牛乳を買う".encode(), "- 牛乳と卵を買う".encode()),
}


def seen(*lines: bytes, is_of_device: bool = True) -> list[SeenText]:
    return [SeenText(HEAD + line + b"\n", is_of_device) for line in lines]


@every("kind", list(EDITS))
def test_an_earlier_form_that_comes_back_is_left_out(kind: str):
    *earlier, last = EDITS[kind]
    forms = forms_in(seen(*EDITS[kind]))

    for form in earlier:
        both = HEAD + form + b"\n" + last + b"\n"
        assert forms.renew(both) == HEAD + last + b"\n"
        assert forms.renew(HEAD + form + MARK + b"\n" + last + b"\n") == forms.renew(both)


@every("kind", list(EDITS))
def test_an_earlier_form_of_one_side_becomes_the_form_of_the_other_side(kind: str):
    *earlier, last = EDITS[kind]
    forms = forms_in(seen(*EDITS[kind]))
    ours = HEAD + last + b"\n"

    for form in earlier:
        theirs = HEAD + form + b"\n- theirs\n"
        for base in (HEAD, theirs):
            merged = forms.merge(base, ours, theirs, "2100-01-01")
            assert merged is not None
            assert last in merged.splitlines()
            assert form not in merged.splitlines()


@every("kind", list(EDITS))
def test_an_earlier_form_that_its_author_made_of_the_latest_one_stays(kind: str):
    *_, form, last = EDITS[kind]
    forms = forms_in(seen(*EDITS[kind]))
    ours = HEAD + last + b"\n"

    merged = forms.merge(ours, ours + b"- mine\n", HEAD + form + b"\n", "2100-01-01")

    assert merged == HEAD + form + b"\n- mine\n"


def test_an_earlier_form_without_a_later_one_stays():
    forms = forms_in(seen(b"- buy milk", b"- buy milk and eggs"))
    text = HEAD + b"- buy milk\n"

    assert forms.renew(text) == text


def test_a_line_that_somebody_here_writes_anew_stays_beside_its_later_form():
    both = b"- buy milk and eggs\n- buy milk"
    forms = forms_in(seen(b"- buy milk", b"- buy milk and eggs", both))

    assert forms.renew(HEAD + both) == HEAD + both


@pytest.mark.parametrize(
    ("had", "wrote"),
    [
        (b"- call Anna at five", b"- call Anna at six"),
        (b"- buy milk", b"- buy eggs"),
        (b"- buy milk and eggs", b"- buy eggs"),
    ],
)
def test_a_line_that_its_author_had_not_read_is_no_earlier_form(had: bytes, wrote: bytes):
    forms = forms_in(seen(had, wrote, is_of_device=False))

    assert forms.next_forms == {}


def test_a_text_of_a_program_that_had_not_read_the_last_edit_turns_nothing_round():
    short, long = b"- buy milk", b"- buy milk and eggs"
    forms = forms_in(seen(short, long, short, is_of_device=False))

    assert forms.next_forms == {short: long}


@given(st.lists(st.sampled_from(range(6)), min_size=1, max_size=8), st.data())
def test_a_line_leaves_a_text_only_if_a_later_form_of_it_stands(
    numbers: list[int], data: st.DataObject
):
    lines = [b"- buy milk" + b" and eggs" * number for number in range(3)]
    lines += [b"- swim" + b" far" * number for number in range(3)]
    history = [
        SeenText(HEAD + lines[number] + b"\n", data.draw(st.booleans())) for number in numbers
    ]
    chosen = data.draw(st.lists(st.sampled_from(lines), unique=True))
    text = HEAD + b"".join(line + b"\n" for line in chosen)

    forms = forms_in(history)
    rows = forms.renew(text).splitlines()

    assert set(rows) <= set(text.splitlines())
    for line in set(chosen) - set(rows):
        later, form = set[bytes](), line
        while form in forms.next_forms and form not in later:
            later.add(form)
            form = forms.next_forms[form]
        assert (later | {form}) & set(rows)
