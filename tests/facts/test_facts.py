"""Facts through the Python API: the page, the index and the audit say the same, whoever changed the page."""

import threading
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vault_memory import VaultMemory, config
from vault_memory.errors import UsageError, VaultMemoryError
from vault_memory.index import fact_queries as rows
from vault_memory.markdown.document import parse
from vault_memory.rules.facts.fact import SINGLE, current, read_facts

NOW = datetime(2090, 6, 1, 12, tzinfo=UTC)
ALICE, BOB = "user:alice", "user:bob"
PAGE = "Users/alice/bot/config/FACTS.md"
OFF = config.Config(embedding=config.EmbeddingSettings(kind="off"))


def opened(folder: Path, settings: config.Config = OFF) -> VaultMemory:
    (folder / "vault").mkdir(exist_ok=True)
    return VaultMemory.open(
        folder / "vault", settings, environment={"VAULT_MEMORY_STATE": str(folder / "state")}
    )


@pytest.fixture
def memory(tmp_path):
    with opened(tmp_path) as vault:
        yield vault


def add(memory, subject, predicate, said, **more):
    return memory.add_fact(
        subject, predicate, said, **{"scope": ALICE, "source": "cli", "now": NOW, **more}
    )


def page(memory, path=PAGE):
    return (memory.root / path).read_text()


def objects(facts):
    return [fact.object for fact in facts]


def test_an_added_fact_is_on_its_page_in_the_index_and_in_the_audit(memory):
    done = add(memory, "alice", "works_at", "Acme", valid_from=date(2026, 1, 28), ref="1234")

    assert done.outcome == "added"
    assert page(memory) == "## alice\n\n- works_at: Acme (since 2026-01-28, ref:1234)\n"
    [fact] = memory.facts(scopes=[ALICE], now=NOW)
    assert (fact.id, fact.ref, fact.scope) == (done.id, "1234", ALICE)
    [record] = memory.log(PAGE)
    assert record.applied[0].remark == f"fact {done.id} added"
    assert memory.search("Acme", scopes=[ALICE]).hits
    memory.undo(record.id, now=NOW)
    assert memory.facts(scopes=[ALICE], now=NOW) == ()


def test_adding_a_fact_reports_added_duplicate_refined_or_superseded(memory):
    said = [
        ("Initech", "2024-03-01"),
        ("Initech", "2024-03-01"),
        ("Initech Ltd", None),
        ("Acme", "2026-01-28"),
    ]
    outcomes = [
        add(
            memory, "alice", "works_at", name, valid_from=since and date.fromisoformat(since)
        ).outcome
        for name, since in said
    ]

    assert outcomes == ["added", "duplicate", "refined", "superseded"]
    assert objects(memory.facts(scopes=[ALICE], now=NOW)) == ["Acme"]
    assert objects(memory.timeline("alice", scopes=[ALICE], now=NOW)) == ["Initech Ltd", "Acme"]
    assert memory.undo(memory.log(PAGE)[-1].id, now=NOW).changed
    assert objects(memory.facts(scopes=[ALICE], now=NOW)) == ["Initech Ltd"]


def test_each_change_by_id_can_be_undone(memory):
    done = add(memory, "alice", "likes", "tea")
    before = page(memory)

    for call, more, there in (
        (memory.facts.invalidate, {}, "- ~~likes: tea~~ (until 2090-06-01)\n"),
        (memory.facts.confirm, {}, "- likes: tea (confirmed)\n"),
        (memory.correct_fact, {"object": "coffee"}, "- likes: coffee\n"),
        (memory.facts.delete, {}, "## alice\n\n"),
    ):
        change = call(done.id[:6], scopes=[ALICE], now=NOW, **more)
        assert page(memory).endswith(there), change
        memory.undo(change.edit.audit_id, now=NOW)
        assert page(memory) == before


def test_an_id_of_another_scope_is_unknown_and_reveals_nothing(memory):
    done = add(memory, "alice", "likes", "the secret")
    add(memory, "bob", "likes", "tea", scope=BOB)

    for call in (memory.facts.invalidate, memory.facts.delete, memory.facts.confirm):
        with pytest.raises(UsageError) as error:
            call(done.id, scopes=[BOB], now=NOW)
        assert error.value.code == "unclear_id"
        assert "secret" not in str(error.value.as_json())
        assert done.id not in error.value.as_json()["candidates"]
    assert "likes: the secret\n" in page(memory)
    assert memory.facts(scopes=[], now=NOW) == ()
    with pytest.raises(UsageError):
        memory.facts(scopes=ALICE)


@pytest.mark.sampled
def test_an_ambiguous_id_lists_its_candidates_and_changes_nothing(memory):
    ids = [add(memory, "alice", "likes", f"thing {number}").id for number in range(40)]
    first = next(one for one in ids if sum(other[0] == one[0] for other in ids) > 1)[0]
    before = page(memory)

    with pytest.raises(UsageError) as error:
        memory.facts.delete(first, scopes=[ALICE], now=NOW)

    assert set(error.value.as_json()["candidates"]) == {one for one in ids if one.startswith(first)}
    assert page(memory) == before


def test_changes_the_bot_may_not_make_itself_are_proposed(memory):
    (memory.root / PAGE).parent.mkdir(parents=True)
    (memory.root / PAGE).write_text("## alice\n- lives_in: Lima (since 2020-01-01)\n")

    done = add(memory, "alice", "lives_in", "Oslo", valid_from=date(2026, 1, 1), source="tool")

    assert "- lives_in: Lima (since 2020-01-01)\n" in page(memory)
    [proposal] = memory.inbox()
    assert objects(memory.facts(scopes=[ALICE], now=NOW)) == ["Oslo"]
    memory.approve(proposal.id, now=NOW)
    assert "~~lives_in: Lima~~ (2020-01-01 to 2026-01-01" in page(memory)
    assert done.outcome == "superseded"


def test_a_fact_a_person_removed_from_the_page_does_not_return(memory):
    add(memory, "alice", "likes", "tea", source="tool", ref="1")
    (memory.root / PAGE).write_text("## alice\n\n")

    again = add(
        memory, "alice", "likes", "tea", source="tool", ref="2", valid_from=date(2026, 1, 1)
    )

    assert again.outcome == "rejected"
    assert again.edit.rejected[0].reason == "deleted_by_person"
    assert page(memory) == "## alice\n\n"
    assert add(memory, "alice", "likes", "tea").outcome == "added"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("## alice\n- likes: tea\n- ~~uses: vim~~ (until 2026-01-01)\n", ["tea"]),
        ("## alice\n- likes: tea\n", ["tea"]),
        ("## alice\n- likes: green tea\n- uses: vim\n", ["green tea", "vim"]),
        ("", []),
    ],
)
def test_an_edit_of_the_page_changes_the_facts(memory, text, left):
    path = memory.root / PAGE
    path.parent.mkdir(parents=True)
    path.write_text("## alice\n- likes: tea\n- uses: vim\n")
    assert len(memory.facts(scopes=[ALICE], now=NOW)) == 2

    path.write_text(text)

    assert objects(memory.facts(scopes=[ALICE], now=NOW)) == left


def test_an_entity_is_recognised_by_its_aliases(memory):
    add(memory, "Acme Corp", "also_known_as", "Acme")
    add(memory, "acme", "is_a", "organization")
    add(memory, "alice", "manages", "Bob")
    (memory.root / "Users/alice/memories").mkdir()
    (memory.root / "Users/alice/memories/work.md").write_text(
        "- Acme moved\n- Acme Corp grew\n- tea with @carol\n"
    )

    acme, bob, carol, nobody = (
        memory.facts.entity(name, scopes=[ALICE], now=NOW)
        for name in ("Acme", "bob", "carol", "dora")
    )

    assert (acme.name, acme.type, acme.aliases) == ("Acme Corp", "organization", ("Acme",))
    assert acme.mentions >= 4
    assert any(hit.text == "- Acme moved" for hit in acme.hits)
    assert [(one.subject, one.predicate, one.object) for one in bob.facts][-1] == (
        "Bob",
        "reports_to",
        "alice",
    )
    assert (carol.type, carol.mentions) == ("person", 1)
    assert (nobody.type, nobody.facts, nobody.mentions) == ("other", (), 0)
    assert memory.facts.entity("Acme", scopes=[BOB], now=NOW).facts == ()


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        ("hello", {"tea"}),
        ("is ACME big?", {"tea", "anvils", "Acme"}),
        ("北京市怎么样", {"tea", "北京"}),
        ("acmes", {"tea"}),
        ("what does Carol do", {"tea", "北京"}),
    ],
)
def test_a_prompt_gets_the_persons_facts_and_those_about_named_entities(memory, prompt, found):
    add(memory, "alice", "likes", "tea")
    add(memory, "acme corp", "also_known_as", "Acme")
    add(memory, "acme corp", "makes", "anvils")
    add(memory, "carol", "lives_in", "北京")
    add(memory, "alice", "likes", "a secret", scope=BOB)

    facts = memory.facts.relevant(prompt, scopes=[ALICE], user="Alice", now=NOW)

    assert set(objects(facts)) == found
    assert objects(
        memory.facts.relevant(prompt, scopes=[ALICE], user="alice", most=1, now=NOW)
    ) == ["tea"]


@pytest.mark.parametrize(
    "said",
    [
        ("", "likes", "tea"),
        ("alice", " ", "tea"),
        ("alice", "likes", "//tea"),
        ("alice", "17", "tea"),
        ("alice", "a:b", "c"),
    ],
)
def test_an_invalid_fact_is_refused(memory, said):
    with pytest.raises(UsageError):
        add(memory, *said)
    with pytest.raises(UsageError):
        add(
            memory,
            "alice",
            "likes",
            "tea",
            valid_from=date(2026, 1, 2),
            valid_until=date(2026, 1, 1),
        )
    with pytest.raises(UsageError):
        add(memory, "alice", "likes", "tea", scope="nobody")
    assert memory.facts(scopes=[ALICE], now=NOW) == ()


def test_a_dry_run_reports_the_outcome_and_writes_nothing(memory):
    assert add(memory, "alice", "likes", "tea", dry_run=True).outcome == "added"
    assert not (memory.root / PAGE).exists()


def test_the_same_fact_added_concurrently_is_stored_once(tmp_path):
    with opened(tmp_path) as first:
        add(first, "alice", "uses", "vim")
        forks = [opened(tmp_path) for _ in range(4)]
        threads = [
            threading.Thread(target=add, args=(fork, "alice", "likes", "tea")) for fork in forks
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for fork in forks:
            fork.close()

        assert page(first).count("likes: tea") == 1


def test_single_valued_predicates_are_configurable(tmp_path):
    settings = config.Config(
        embedding=OFF.embedding, facts=config.Facts(single_valued=("drives",), conflicts="ask")
    )
    with opened(tmp_path, settings) as memory:
        add(memory, "alice", "drives", "a Saab", valid_from=date(2020, 1, 1))
        done = add(memory, "alice", "drives", "a Volvo", valid_from=date(2026, 1, 1))

        assert objects(memory.facts(scopes=[ALICE], now=NOW)) == ["a Saab", "a Volvo"]
        assert [one.id for one in done.edit.proposed] == [one.id for one in memory.inbox()]


subjects = st.sampled_from(["alice", "bob", "acme"])
predicates = st.sampled_from([*sorted(SINGLE), "likes", "visiting"])
edits = st.lists(
    st.tuples(
        st.sampled_from(["add", "bot adds", "invalidate", "delete", "line", "strike", "drop line"]),
        subjects,
        predicates,
        st.sampled_from(["Acme", "acme corp", "Oslo", "tea", "北京"]),
        st.none() | st.dates(date(2080, 1, 1), date(2095, 1, 1)),
    ),
    max_size=5,
)


@pytest.mark.sampled
@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(edits)
def test_after_any_edits_the_index_has_the_facts_on_the_pages(tmp_path_factory, history):
    with opened(tmp_path_factory.mktemp("facts")) as memory:
        path = memory.root / PAGE
        path.parent.mkdir(parents=True)
        for kind, subject, predicate, said, since in history:
            text = path.read_text() if path.exists() else ""
            lines = text.splitlines(keepends=True)
            known = (
                memory.facts(scopes=[ALICE], now=NOW) if kind in ("invalidate", "delete") else ()
            )
            if kind in ("add", "bot adds"):
                source = "cli" if kind == "add" else "tool"
                add(memory, subject, predicate, said, valid_from=since, source=source)
            elif kind in ("invalidate", "delete") and known:
                call = memory.facts.invalidate if kind == "invalidate" else memory.facts.delete
                call(known[0].id, scopes=[ALICE], now=NOW)
            elif kind == "line":
                path.write_text(f"{text}\n## {subject}\n- {predicate}: {said}\n- an odd line\n")
            elif kind == "strike" and lines:
                path.write_text(
                    "".join([*lines[:-1], lines[-1].replace("- ", "- ~~").replace("\n", "~~\n")])
                )
            elif kind == "drop line":
                path.write_text("".join(lines[:-1]))
        memory.facts(scopes=[ALICE], now=NOW)
        index = memory.vault.indexing.index()
        held = [fact for _, fact in rows.all_facts(index, index.scope_ids([ALICE]))]
        there = read_facts(parse(path.read_bytes()), ALICE) if path.exists() else []

        assert held == there
        answers = [
            memory.timeline(name, scopes=[ALICE], now=NOW) for name in ("alice", "bob", "acme")
        ]
        now = memory.facts(scopes=[ALICE], now=NOW)
        assert list(now) == current(there, NOW.date())
        ones = [
            (fact.key, fact.scope)
            for fact in now
            if fact.predicate in SINGLE and not fact.temporary
        ]
        assert len(ones) == len(set(ones))
        memory.index(rebuild=True)
        assert memory.facts(scopes=[ALICE], now=NOW) == now
        assert [
            memory.timeline(name, scopes=[ALICE], now=NOW) for name in ("alice", "bob", "acme")
        ] == answers


def test_errors_reveal_nothing_of_other_scopes(memory):
    add(memory, "alice", "likes", "the secret")
    calls = [
        lambda: memory.facts.find("0", scopes=[BOB]),
        lambda: memory.correct_fact("secret", scopes=[BOB], object="x"),
        lambda: add(memory, "alice", "", "x", scope=BOB),
    ]
    for call in calls:
        with pytest.raises(VaultMemoryError) as error:
            call()
        assert "secret" not in str(error.value.as_json()).replace("'secret'", "")
