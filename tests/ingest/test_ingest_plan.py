"""The pure decision what to read and what to forget."""

from hypothesis import given
from hypothesis import strategies as st

from vault_memory.index.store import IndexedFile, State
from vault_memory.ingest.ingest_plan import plan_ingest, stamp
from vault_memory.vault.listing import Listing, Stat

FILE = Stat(10, 1, 1, 1, 1)
OTHER = Stat(11, 2, 2, 1, 1)
SAME = IndexedFile(10, 1, 1, 1, "r", State.SETTLED)


def plan(held, entries, *, unknown=None, parked=None, is_memory=lambda path: path.endswith(".md")):
    listing = Listing()
    listing.entries.update(entries)
    listing.unknown.update(unknown or {})
    return plan_ingest(held.items(), listing, is_memory=is_memory, parked=parked or {})


def test_an_unchanged_note_is_not_read_again():
    assert plan({"a.md": SAME}, {"a.md": FILE}).changed == {}


def test_any_difference_in_file_metadata_causes_a_read():
    for field in ("size", "mtime_ns", "ctime_ns", "ino"):
        assert plan({"a.md": SAME}, {"a.md": FILE._replace(**{field: 99})}).changed.keys() == {
            "a.md"
        }


def test_a_new_note_is_read_and_other_files_are_ignored():
    assert plan({}, {"a.md": FILE, "a.png": FILE}).changed.keys() == {"a.md"}


def test_a_deleted_note_is_removed():
    assert plan({"a.md": SAME}, {}).removed == ("a.md",)


def test_an_unreadable_path_does_not_count_as_deleted():
    assert plan({"folder/a.md": SAME}, {}, unknown={"folder": "permission denied"}).removed == ()
    assert plan({"a.md": SAME}, {}, unknown={"a.md": "input/output error"}).removed == ()
    assert plan({"a.md": SAME}, {}, unknown={"": "input/output error"}).removed == ()
    assert plan({"a.md": SAME}, {}, unknown={"": "input/output error"}).unseen == ("a.md",)


def test_a_parked_note_is_read_again_only_after_a_change():
    assert plan({}, {"a.md": FILE}, parked={"a.md": stamp(FILE)}).changed == {}
    assert plan({}, {"a.md": OTHER}, parked={"a.md": stamp(FILE)}).changed.keys() == {"a.md"}


stats = st.builds(Stat, *[st.integers(0, 2)] * 5)
names = st.sampled_from([f"{folder}{name}.md" for folder in ("", "a/", "a/b/") for name in "xyz"])


@given(
    st.dictionaries(names, stats),
    st.dictionaries(names, stats),
    st.sets(st.sampled_from(["", "a", "a/b", "x.md"])),
)
def test_every_note_is_exactly_one_of_read_removed_or_kept(before, entries, unknown):
    held = {path: IndexedFile(*stat[:4], "r", State.SETTLED) for path, stat in before.items()}
    found = plan(held, entries, unknown=dict.fromkeys(unknown, "unknown"))

    assert not set(found.changed) & set(found.removed)
    assert set(found.changed) <= set(entries)
    assert set(found.removed) <= set(held) - set(entries)
    assert set(found.removed) | set(found.unseen) == set(held) - set(entries)
    for path in found.unseen:
        assert any(path == part or path.startswith(f"{part}/") or not part for part in unknown)
