"""What a path means, and which names are memory at all."""

from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.errors import BadPath, ConfigError
from vault_memory.markdown.letters import without_case
from vault_memory.rules.paths.conflict_names import conflict_copy
from vault_memory.rules.paths.filenames import awkward, clashes, ignored, inside
from vault_memory.rules.paths.layout import KINDS, Layout, Pattern, Place, bots

LAYOUT = Layout()

TABLE = [
    # the shared layout
    ("Users/alice/istota/config/USER.md", "user", "user:alice", None, "USER"),
    ("Users/alice/istota/config/RULES.md", "rules", "user:alice", None, "RULES"),
    ("Users/alice/istota/config/FACTS.md", "facts", "user:alice", None, "FACTS"),
    ("Users/alice/istota/config/INBOX.md", "inbox", "user:alice", None, "INBOX"),
    ("Users/alice/istota/config/USER.md.audit.jsonl", "audit", "user:alice", None, "USER"),
    ("Users/alice/istota/config/USER.md.audit.phone.jsonl", "audit", "user:alice", None, "USER"),
    ("Users/alice/memories/garden.md", "note", "user:alice", None, "garden"),
    ("Users/alice/memories/trips/2025/lisbon.md", "note", "user:alice", None, "trips/2025/lisbon"),
    ("Users/alice/memories/2026-01-28.md", "dated", "user:alice", date(2026, 1, 28), "2026-01-28"),
    (
        "Users/alice/memories/sessions/2026-01-28.md",
        "episode",
        "user:alice",
        date(2026, 1, 28),
        "2026-01-28",
    ),
    (
        "Users/alice/memories/2026-01-28-standup.md",
        "dated",
        "user:alice",
        date(2026, 1, 28),
        "standup",
    ),
    (
        "Users/alice/memories/2026-01-28_stand up.md",
        "dated",
        "user:alice",
        date(2026, 1, 28),
        "stand up",
    ),
    ("Users/alice/memories/2026-02-30.md", "note", "user:alice", None, "2026-02-30"),
    ("Users/alice/memories/old/2026-01-28.md", "note", "user:alice", None, "old/2026-01-28"),
    (
        "Users/alice/memories/reflections/2026-W05.md",
        "reflection",
        "user:alice",
        date(2026, 1, 26),
        "2026-W05",
    ),
    (
        "Users/alice/memories/reflections/2026-W60.md",
        "note",
        "user:alice",
        None,
        "reflections/2026-W60",
    ),
    ("Users/alice/memories/config/USER.md", "note", "user:alice", None, "config/USER"),
    (
        "Users/alice/transcripts/2026-01-28.jsonl",
        "transcript",
        "user:alice",
        date(2026, 1, 28),
        "2026-01-28",
    ),
    (
        "Users/alice/transcripts/2026-01-28.pi4.jsonl",
        "transcript",
        "user:alice",
        date(2026, 1, 28),
        "2026-01-28.pi4",
    ),
    ("Channels/eng/CHANNEL.md", "channel", "channel:eng", None, "CHANNEL"),
    ("Channels/eng/FACTS.md", "facts", "channel:eng", None, "FACTS"),
    ("Channels/eng/INBOX.md", "inbox", "channel:eng", None, "INBOX"),
    (
        "Channels/eng/memories/2026-01-28.md",
        "dated",
        "channel:eng",
        date(2026, 1, 28),
        "2026-01-28",
    ),
    (
        "Channels/eng/transcripts/2026-01-28.jsonl",
        "transcript",
        "channel:eng",
        date(2026, 1, 28),
        "2026-01-28",
    ),
    # the workspace
    ("USER.md", "user", "user:main", None, "USER"),
    ("RULES.md", "rules", "user:main", None, "RULES"),
    ("USER.FACTS.md", "facts", "user:main", None, "USER.FACTS"),
    ("USER.INBOX.md", "inbox", "user:main", None, "USER.INBOX"),
    ("MEMORY.md", "memory", "group:main", None, "MEMORY"),
    ("memory.md", "memory", "group:main", None, "memory"),
    ("FACTS.md", "facts", "group:main", None, "FACTS"),
    ("INBOX.md", "inbox", "group:main", None, "INBOX"),
    ("SOUL.md", "persona", "group:main", None, "SOUL"),
    ("Users/alice/learning/held.jsonl", "ledger", "user:alice", None, "held"),
    ("groups/g/learning/counts.jsonl", "ledger", "group:g", None, "counts"),
    (
        "Channels/dev/learning/safety/2026-05-25.jsonl",
        "ledger",
        "channel:dev",
        None,
        "safety/2026-05-25",
    ),
    ("learning/held.jsonl", "ledger", "user:main", None, "held"),
    ("MEMORY.md.audit.jsonl", "audit", "group:main", None, "MEMORY"),
    ("memory/projects/boat.md", "note", "group:main", None, "projects/boat"),
    ("memory/2026-01-28.md", "dated", "group:main", date(2026, 1, 28), "2026-01-28"),
    ("memory/2026-01-28-boat.md", "dated", "group:main", date(2026, 1, 28), "boat"),
    ("memory/reflections/2026-W01.md", "reflection", "group:main", date(2025, 12, 29), "2026-W01"),
    ("memory/日記.md", "note", "group:main", None, "日記"),
    ("transcripts/2026-01-28.jsonl", "transcript", "user:main", date(2026, 1, 28), "2026-01-28"),
    ("groups/crew/MEMORY.md", "memory", "group:crew", None, "MEMORY"),
    ("groups/global/MEMORY.md", "memory", "group:global", None, "MEMORY"),
    ("groups/crew/FACTS.md", "facts", "group:crew", None, "FACTS"),
    ("groups/crew/INBOX.md", "inbox", "group:crew", None, "INBOX"),
    ("groups/crew/memory/knots.md", "note", "group:crew", None, "knots"),
    ("groups/crew/memory/2026-01-28.md", "dated", "group:crew", date(2026, 1, 28), "2026-01-28"),
]


@every(("path", "kind", "scope", "day", "name"), TABLE, ids=[row[0] for row in TABLE])
def test_each_path_of_the_format_has_its_kind_and_scope(path, kind, scope, day, name):
    indexed = kind not in ("persona", "inbox", "audit", "ledger")

    assert LAYOUT.place(path) == Place(kind, scope, day, name, indexed)


def test_every_kind_of_note_is_in_the_table():
    # Only the layout `obsidian`, or a pattern, claims boards.
    assert {row[1] for row in TABLE} == set(KINDS) - {"canvas"}


@every(
    "path",
    [
        "README.md",
        "user.md",
        "USER.MD",
        "USER.md ",
        "USER.md\n",
        "./USER.md",
        "/USER.md",
        "Users/alice/USER.md",
        "Users/alice/istota/USER.md",
        "Users/alice/istota/config/notes.md",
        "users/alice/memories/x.md",
        "Users//memories/x.md",
        "Users/../memories/x.md",
        "Users/alice/memories/../../bob/memories/x.md",
        "Users/alice/memories/.trash/x.md",
        "Users/.alice/memories/x.md",
        "Users/alice/memories/sub//x.md",
        "Users/alice/memories/.md",
        "Users/alice/memories/x\x00.md",
        "Users/alice/memories/x\n.md",
        "Users/alice/memories/\udcff.md",
        "Users/alice/memories/2026-01-28.jsonl",
        "Users/alice/transcripts/today.jsonl",
        "Channels/eng/memories/x.md",
        "Channels/eng/RULES.md",
        "README.md.audit.jsonl",
        "memory/a (conflicted copy 2026-01-28 101112).md",
        "memory/.#a.md",
        "memory",
        "",
        "memory/",
    ],
)
def test_a_path_outside_the_format_is_ignored(path):
    assert LAYOUT.place(path) is None


def test_the_workspace_belongs_to_the_configured_person():
    layout = Layout(user="ann{x}")

    assert layout.place("USER.md").scope == "user:ann{x}"
    assert layout.place("MEMORY.md").scope == "group:main"
    assert layout.place("Users/bob/memories/x.md").scope == "user:bob"


def test_of_several_bots_only_the_configured_one_is_indexed():
    paths = [
        "Users/ann/istota/config/USER.md",
        "Users/ann/other/config/USER.md",
        "Users/ann/memories/config/USER.md",
    ]

    assert bots(paths) == {"istota", "other"}
    assert [Layout(bot="istota").place(path) is not None for path in paths] == [True, False, True]
    assert Layout(bot="ISTOTA").place(paths[0]) is None


def test_configured_patterns_add_paths_and_a_date_takes_precedence_over_a_name():
    layout = Layout(
        [
            Pattern("Journal/{user}/{path}.md", "note", "user:{user}"),
            Pattern("Journal/{user}/{date}.md", "dated", "user:{user}"),
            Pattern("{channel}/log/{date} {name}.md", "dated", "channel:{channel}"),
            Pattern("wiki/{path}.md", "note", "group:global"),
        ]
    )

    assert layout.place("Journal/ann/2026-01-28.md") == Place(
        "dated", "user:ann", date(2026, 1, 28), "2026-01-28", True
    )
    assert layout.place("Journal/ann/2026-01-28-boat.md").name == "boat"
    assert layout.place("Journal/ann/boats/gull.md") == Place(
        "note", "user:ann", None, "boats/gull", True
    )
    assert layout.place("sea/log/2026-01-28 tide.md") == Place(
        "dated", "channel:sea", date(2026, 1, 28), "tide", True
    )
    assert layout.place("memory/log/2026-01-28 tide.md").scope == "channel:memory"
    assert layout.place("wiki/a/b.md").scope == "group:global"
    assert layout.place("wiki/a/b.md.audit.jsonl").kind == "audit"
    assert layout.place("Users/bob/memories/x.md").scope == "user:bob"


@every(
    ("pattern", "said"),
    [
        (Pattern("a/{who}.md", "note", "user:x"), "`{who}` is no capture"),
        (Pattern("a/{name}/{name}.md", "note", "user:x"), "twice"),
        (Pattern("a/{date}/{date:YYYY-MM-DD}.md", "dated", "user:x"), "twice"),
        (Pattern("a/{date:YYYY-MM}.md", "dated", "user:x"), "has no day"),
        (Pattern("a/{date:YYYY-MM-DD HH}.md", "dated", "user:x"), "`HH` of the date"),
        (Pattern("a/{date:YYYY-DDD}.md", "dated", "user:x"), "`DDD` of the date"),
        (Pattern("a/{name:x}.md", "note", "user:x"), "`{name:x}` is no capture"),
        (Pattern("a/b**/{name}.md", "note", "user:x"), "in `b**` write `*`"),
        (Pattern("a/**.md", "note", "user:x"), "in `**.md` write `*`"),
        (Pattern("a/{name}.md", "diary", "user:x"), "`diary` is no kind"),
        (Pattern("a/{name}.md", "note", "team:x"), "scope `team:x`"),
        (Pattern("a/{name}.md", "note", "user:"), "scope `user:`"),
        (Pattern("a/{name}.md", "note", "group:{group}"), "`{group}` is in the scope"),
        (Pattern("a/{name}", "note", "user:x"), "ends in `.md`"),
        (Pattern("/a/{name}.md", "note", "user:x"), "relative"),
    ],
)
def test_an_invalid_pattern_is_refused_with_the_reason(pattern, said):
    with pytest.raises(ConfigError, match="layout pattern") as caught:
        Layout([pattern])

    assert said in str(caught.value)


CLAIMS = [
    ("{name} is one part of a path", "wiki/{name}.md", "wiki/a.md", "wiki/a/b.md"),
    ("{path} is several", "wiki/{path}.md", "wiki/a/b/c.md", "a/wiki/b.md"),
    ("a star is text in one part", "wiki/*-log/x*.md", "wiki/a-log/xy.md", "wiki/a/b.md"),
    ("a star claims no hidden file", "wiki/*.md", "wiki/a.md", "wiki/.a.md"),
    ("two stars are any folders", "wiki/**/{name}.md", "wiki/a/b/c.md", "a/wiki/b.md"),
    ("two stars may be no folder", "wiki/**/{name}.md", "wiki/c.md", "wiki/.a/c.md"),
    ("a first star is any folder", "*/log.md", "a/log.md", "a/b/log.md"),
    ("an ending of Markdown", "wiki/{name}.md", "wiki/A.MD", "wiki/A.mdx"),
    ("a long ending", "wiki/{name}.md", "wiki/a.markdown", "wiki/a.markdow"),
    ("brackets are brackets", "[Old]/{name}.md", "[Old]/a.md", "O/a.md"),
]


@every(
    ("pattern", "claimed", "ignored_path"),
    [row[1:] for row in CLAIMS],
    ids=[row[0] for row in CLAIMS],
)
def test_a_pattern_claims_what_its_form_says(pattern, claimed, ignored_path):
    layout = Layout([Pattern(pattern, "note", "group:wiki")])

    assert layout.place(claimed).scope == "group:wiki"
    assert layout.place(ignored_path) is None


def test_excluded_files_and_folders_are_no_memory_whatever_claims_them():
    everything = Pattern("{path}.md", "note", "user:ann")
    exclude = ["Templates", "Archive/old/**", "*.excalidraw.md", "memory/drafts"]
    layout = Layout([everything], exclude=exclude)

    for path in (
        "Templates/day.md",
        "a/Templates/deep/day.md",
        "Archive/old/a.md",
        "drawing.excalidraw.md",
        "a/drawing.excalidraw.md",
        "memory/drafts/2026-01-28.md",
    ):
        assert layout.place(path) is None, path
    for path in ("Templates.md", "Archive/new/a.md", "b/Archive/old/a.md", "memory/a.md"):
        assert layout.place(path) is not None, path


@pytest.mark.parametrize(("glob", "reason"), [("a/b**", "`**` is a part"), ("/", "empty")])
def test_an_invalid_exclusion_is_refused_with_the_reason(glob, reason):
    with pytest.raises(ConfigError, match="layout exclusion") as caught:
        Layout(exclude=[glob])

    assert reason in str(caught.value)


def test_the_audit_of_a_note_belongs_to_it_whatever_its_ending():
    layout = Layout([Pattern("wiki/{name}.md", "note", "group:wiki")])

    for note in ("a.md", "a.MD", "a.markdown"):
        assert layout.place(f"wiki/{note}.audit.jsonl").kind == "audit"


segments = st.text(min_size=1, max_size=12) | st.sampled_from(
    [
        "..",
        ".",
        "../bob",
        "alice\u2215bob",
        "Alice",
        "alice",
        "é",
        "e\u0301",
        "a:b",
        "{user}",
        "ali ce",
        "alice ",
        "\udcff",
    ]
)


@given(
    st.text()
    | st.lists(segments, max_size=6).map("/".join)
    | st.lists(segments, max_size=5).map(lambda p: "/".join([*p, "x.md"]))
)
@example("Users/alice/memories/" + "a/" * 200 + "x.md")
@example("." * 5000 + ".md")
@example("(" * 2000 + "conflicted copy" + "(" * 2000 + ".md")
@example("_conflict-" * 500 + ".md")
@example(".md" * 3000 + ".audit.jsonl")
def test_any_path_is_handled(path):
    LAYOUT.place(path)
    ignored(path)
    conflict_copy(path)
    awkward(path)
    clashes([path])


@given(
    segments,
    st.sampled_from(
        [
            "Users/{}/memories/x.md",
            "Users/{}/bot/config/USER.md",
            "Users/{}/transcripts/2026-01-01.jsonl",
        ]
    ),
)
def test_a_scope_is_exactly_one_segment_of_the_path(name, template):
    place = LAYOUT.place(template.format(name))

    assert place is None or (
        place.scope == f"user:{name}" and "/" not in name and name not in (".", "..")
    )


@given(
    st.sampled_from(
        ["alice", "Alice", "ALICE", "élan", "e\u0301lan", "alice ", "alice\u2215bob", "ali"]
    ),
    st.data(),
)
def test_similar_names_are_different_scopes_and_clash_only_if_they_fold_alike(one, data):
    other = data.draw(st.sampled_from(["alice", "Alice", "élan", "e\u0301lan", "alices", "bob"]))
    paths = [f"Users/{name}/memories/x.md" for name in (one, other)]

    scopes = {LAYOUT.place(path).scope for path in paths}

    assert len(scopes) == len({one, other})
    assert bool(clashes(paths)) == (one != other and without_case(one) == without_case(other))


JUNK = [
    ".n.md.swp",
    ".n.md.swo",
    ".n.md.swx",
    "4913",
    "n.md~",
    ".#n.md",
    "#n.md#",
    ".goutputstream-AB12CD",
    ".gedit-save-AB12",
    ".n.md.kate-swp",
    "n.md.kXyZab",
    ".~lock.n.md#",
    "lu12345.tmp",
    "sedoFHHvq",
    "n.md___jb_tmp___",
    "n.md___jb_old___",
    ".syncthing.n.md.tmp",
    "~syncthing~n.md.tmp",
    ".unison.n.md.0a1b.unison.tmp",
    ".n.md.XyZabc",
    "n.md.1a2b.partial",
    "n.part",
    "n.crdownload",
    "n.filepart",
    ".n.md.~1a2b",
    ".sync_0a1b.db",
    "._sync_0a1b.db",
    ".n.md.icloud",
    "~$n.md",
    ".DS_Store",
    ".USER.md.~0a1b2c",
    "USER.md.~1",
    ".vault-memory",
    ".obsidian",
    ".git",
    ".trash",
    ".stfolder",
    ".stversions",
    "n.vsctmp",
    "~$budget.md",
    "n.~x.md",
]


@pytest.mark.scenario("C23", "C24", "D75")
@every("name", JUNK)
def test_leftovers_of_editors_and_sync_programs_are_not_notes(name):
    assert ignored(name)
    assert LAYOUT.place(f"memory/{name}") is None


@every(
    "name",
    [
        "USER.md",
        "a.md",
        "Meeting notes (draft).md",
        "x~y.md",
        "team_conflict-resolution.md",
        "conflict.md",
        "sedation.md",
        "日記.md",
        "C# notes.md",
        "#1 goal.md",
        "2026-01-28.jsonl",
        "USER.md.audit.jsonl",
        "a.b.md",
        "template.tmp.md",
        "4913.md",
        "my clash of clans (best of).md",
    ],
)
def test_an_ordinary_name_is_not_taken_for_junk(name):
    assert not ignored(name)
    assert conflict_copy(name) is None


COPIES = [
    ("USER (conflicted copy 2026-01-28 101112).md", "USER.md"),
    ("USER (Ann's conflicted copy 2026-01-28).md", "USER.md"),
    ("USER (Ann (laptop)'s conflicted copy 2026-01-28 (1)).md", "USER.md"),
    ("USER (Conflicted copy pixel 202601281011).md", "USER.md"),
    ("USER_conflict-20260128-101112.md", "USER.md"),
    ("USER.sync-conflict-20260128-101112-ABCDEF7.md", "USER.md"),
    ("USER (SFConflict ann@example.org 2026-01-28-10-11-12).md", "USER.md"),
    ("USER (memory copy 2026-01-28 10.11.12 pi4).md", "USER.md"),
    ("USER (memory copy 2026-01-28 was a file).md", "USER.md"),
    ("tee (case clash 1).md", "tee.md"),
    ("tee (unicode clash 1).md", "tee.md"),
    ("tee (case conflict).md", "tee.md"),
    ("n (conflicted copy A) (conflicted copy B).md", "n.md"),
    ("n.sync-conflict-20260128-101112-ABCDEF7.sync-conflict-20260129-101112-ABCDEF7.md", "n.md"),
]


@pytest.mark.scenario("D70", "D71")
@every(("name", "original"), COPIES)
def test_a_conflict_copy_is_not_a_note_and_its_original_is_known(name, original):
    assert conflict_copy(name) == original
    assert ignored(name)


@pytest.mark.scenario("F108")
def test_names_that_clash_on_a_case_folding_file_system_are_reported_once():
    found = clashes(
        [
            "a/Tee.md",
            "a/tee.md",
            "b/Tee.md",
            "ö.md",
            "o\u0308.md",
            "Users/Ann/x.md",
            "Users/ann/x.md",
            "straße.md",
            "STRASSE.md",
        ]
    )

    assert found == [
        ("STRASSE.md", "straße.md"),
        ("Users/Ann", "Users/ann"),
        ("a/Tee.md", "a/tee.md"),
        ("o\u0308.md", "ö.md"),
    ]


@pytest.mark.scenario("F109")
@every(
    ("name", "said"),
    [
        ("CON.md", "reserved"),
        ("nul", "reserved"),
        ("Aux.tar.md", "reserved"),
        ("COM1.md", "reserved"),
        ("a:b.md", "':'"),
        ("what?.md", "'?'"),
        ('"q".md', "'\"'"),
        ("a/b.md", "'/'"),
        ("a\\b.md", "backslash"),
        ("end. ", "dot or a blank"),
        ("end.", "dot or a blank"),
        ("x" * 300 + ".md", "255 bytes"),
        ("字" * 90 + ".md", "255"),
        ("a\nb.md", "control"),
        ("a\x00b.md", "control"),
        ("\udcff.md", "UTF-8"),
        ("..", "no name"),
        ("", "no name"),
        ("pay\u202egpj.md", "direction"),
    ],
)
def test_a_name_that_cannot_be_synced_is_reported_with_the_reason(name, said):
    assert said in awkward(name)


@pytest.mark.scenario("F109")
@every(
    "name",
    [
        "a.md",
        "🌊.md",
        "日記.md",
        "CONTACTS.md",
        "con man.md",
        "a b.md",
        ".hidden",
        "x" * 252 + ".md",
    ],
)
def test_an_ordinary_name_can_be_synced(name):
    assert awkward(name) is None


HOSTILE = [
    "../x.md",
    "a/../../x.md",
    "..",
    ".",
    "a/./b.md",
    "",
    "a//b.md",
    "/etc/passwd",
    "//host/share/x.md",
    "C:/x.md",
    "c:\\x.md",
    "..\\x.md",
    "a\\..\\x.md",
    "a\x00.md",
    "a\x1bb.md",
    "a\x85.md",
    "https://other.example/x.md",
    "file:///etc/passwd",
    "x/",
    "\udcff.md",
    "a/\ud800.md",
]


@pytest.mark.scenario("H119")
@every("name", HOSTILE)
def test_a_name_that_leads_outside_is_refused(name):
    with pytest.raises(BadPath):
        inside(name)


BASE = "https://cloud.example/remote.php/dav/files/ann/Vault"


@pytest.mark.scenario("H119")
@every(
    "href",
    [
        "../x.md",
        "%2e%2e%2fx.md",
        "%2E%2E/x.md",
        "a/%2e%2e/%2e%2e/x.md",
        "..%5cx.md",
        "a%00.md",
        "%252e%252e%252fx.md",
        "a%252fb.md",
        "//x.md",
        "%2fetc/passwd",
        "a//b.md",
        "a%5c..%5cb.md",
        "a%0ab.md",
        "%ff.md",
        "",
    ],
)
def test_an_encoded_name_that_leads_outside_is_refused(href):
    with pytest.raises(BadPath):
        inside(f"{BASE}/{href}", base=BASE, encoded=True)


@pytest.mark.scenario("H119")
@every(
    "href",
    [
        "https://other.example/remote.php/dav/files/ann/Vault/x.md",
        "https://cloud.example/remote.php/dav/files/ann/Vaults/x.md",
        "https://cloud.example@other.example/remote.php/dav/files/ann/Vault/x.md",
        "/remote.php/dav/files/ann/Vault/x.md",
    ],
)
def test_a_name_of_another_origin_or_folder_is_refused(href):
    with pytest.raises(BadPath):
        inside(href, base=BASE, encoded=True)


def test_an_encoded_name_is_decoded_once():
    assert (
        inside(f"{BASE}/Meeting%20notes/%E6%97%A5%E8%A8%98.md", base=BASE, encoded=True)
        == "Meeting notes/日記.md"
    )
    assert inside(f"{BASE}/100%25.md", base=BASE + "/", encoded=True) == "100%.md"
    assert inside("100%25 sure.md") == "100%25 sure.md"


@given(st.text())
@example("a/\u202eb.md")
def test_an_accepted_name_stays_inside_the_folder(name):
    for encoded in (False, True):
        try:
            path = inside(name, encoded=encoded)
        except BadPath:
            continue
        assert path
        assert not path.startswith("/")
        assert not {"", ".", ".."} & set(path.split("/"))
        assert "\\" not in path
        assert path.isprintable() or all(ord(letter) >= 0x20 for letter in path)
        path.encode()
