"""Export: the files just as they are, a dump that says the same, of the named scopes and no other."""

import json
import os
from datetime import UTC, datetime

import pytest

from tests.scenarios.outside import Outside
from vault_memory import VaultMemory, config
from vault_memory.addons.transfer.exporter import TargetInUse, TargetInVault

NOW = datetime(2090, 6, 1, 12, tzinfo=UTC)
ALICE = "Users/alice/bot/config/USER.md"
BOB = "Users/bob/bot/config/USER.md"
DAY = "Users/alice/memories/2090-05-31.md"
OFF = config.Config(embedding=config.EmbeddingSettings(kind="off"))


@pytest.fixture
def memory(tmp_path):
    vault = tmp_path / "vault"
    written = {
        ALICE: b"\xef\xbb\xbf# Alice\r\n\r\n## Likes\r\n\r\n- tea\r\n- rain \xff\r\n  on\r\n",
        BOB: b"## Likes\n\n- coffee\n",
        DAY: b"## Talk\n\n- went sailing (2090-05-31)",
        "SOUL.md": b"Be kind.\n",
        "elsewhere/list.md": b"- not memory\n",
    }
    for path, raw in written.items():
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_bytes(raw)
    with VaultMemory.open(
        vault, OFF, environment={"VAULT_MEMORY_STATE": str(tmp_path / "state")}
    ) as opened:
        opened.record_turn(session="s", role="user", text="Hello\nthere ☂", user="alice", now=NOW)
        opened.add_fact("alice", "works_at", "Acme", scope="user:alice", source="cli", now=NOW)
        opened.apply(
            BOB, [{"op": "remove", "heading": "Likes", "match": "coffee"}], source="tool", now=NOW
        )
        yield opened


def dump_records(path):
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def records_of(records, kind):
    return [record for record in records if record["type"] == kind]


@pytest.mark.smoke
def test_every_file_of_memory_is_exported_byte_for_byte(memory, tmp_path):
    done = memory.transfer.export(tmp_path / "out")

    copied = {
        str(path.relative_to(tmp_path / "out/vault")): path.read_bytes()
        for path in (tmp_path / "out/vault").rglob("*")
        if path.is_file()
    }
    known = {path for path in memory.vault.folder.listing().entries if memory.layout.place(path)}
    assert set(copied) == known
    assert "elsewhere/list.md" not in copied
    assert ".vault-memory" not in copied
    assert all(raw == (memory.vault.folder.read(path).raw) for path, raw in copied.items())
    assert (done.files, done.bytes) == (len(copied), sum(map(len, copied.values())))
    assert done.records == len(dump_records(tmp_path / "out/memory.jsonl"))
    assert done.skipped == ()


def test_the_dump_gives_the_place_of_each_fact_and_text(memory, tmp_path):
    memory.transfer.export(tmp_path / "out.jsonl")

    records = dump_records(tmp_path / "out.jsonl")
    assert all({"type", "path", "scope", "kind", "date"} <= set(record) for record in records)
    for record in records_of(records, "item") + records_of(records, "fact"):
        line = (
            memory.vault.folder.read(record["path"])
            .raw.splitlines()[record["line"] - 1]
            .decode("utf-8", "replace")
        )
        assert record["text"].split(" ")[0] in line
    assert [
        (one["text"], one["line"]) for one in records_of(records, "item") if one["path"] == ALICE
    ] == [("tea", 5), ("rain � on", 6)]
    [fact] = records_of(records, "fact")
    assert (fact["subject"], fact["predicate"], fact["object"], fact["line"]) == (
        "alice",
        "works_at",
        "Acme",
        3,
    )
    assert fact["id"] == memory.facts(scopes=["user:alice"], now=NOW)[0].id
    [turn] = records_of(records, "turn")
    assert (turn["text"], turn["date"], turn["scope"], turn["line"]) == (
        "Hello\nthere ☂",
        "2090-06-01",
        "user:alice",
        1,
    )
    [proposal] = records_of(records, "proposal")
    assert (proposal["scope"], proposal["state"], proposal["path"]) == ("user:bob", "open", BOB)
    assert {one["id"] for one in records_of(records, "audit")} == {
        record.id for record in memory.log()
    }
    dated = next(one for one in records_of(records, "note") if one["path"] == DAY)
    assert (dated["date"], dated["kind"], dated["text"]) == (
        "2090-05-31",
        "dated",
        "## Talk\n\n- went sailing (2090-05-31)",
    )


def test_exporting_twice_gives_the_same_bytes(memory, tmp_path):
    memory.transfer.export(tmp_path / "one.jsonl")
    memory.transfer.export(tmp_path / "two")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two/memory.jsonl").read_bytes()


def test_only_the_named_scopes_are_exported(memory, tmp_path):
    done = memory.transfer.export(tmp_path / "out", scopes=["user:alice"])

    text = "".join(
        path.read_text(errors="replace") for path in (tmp_path / "out").rglob("*") if path.is_file()
    )
    assert {record["scope"] for record in dump_records(tmp_path / "out/memory.jsonl")} == {
        "user:alice"
    }
    assert "coffee" not in text
    assert "bob" not in text
    assert "sailing" in text
    assert done.files == sum(path.is_file() for path in (tmp_path / "out/vault").rglob("*"))


def test_an_empty_list_of_scopes_exports_nothing(memory, tmp_path):
    assert memory.transfer.export(tmp_path / "out", scopes=[]).files == 0
    assert dump_records(tmp_path / "out/memory.jsonl") == []


def test_an_export_overwrites_no_file(memory, tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine.txt").write_text("mine")
    (tmp_path / "mine.jsonl").write_text("mine")
    for target in (full, full / "mine.txt", tmp_path / "mine.jsonl"):
        with pytest.raises(TargetInUse):
            memory.transfer.export(target)
    assert (full / "mine.txt").read_text() == (tmp_path / "mine.jsonl").read_text() == "mine"
    empty = tmp_path / "empty"
    empty.mkdir()
    assert memory.transfer.export(empty).files > 0
    assert sorted(os.listdir(empty)) == ["memory.jsonl", "vault"]


def test_an_exported_folder_is_never_indexed_as_memory(memory, tmp_path):
    (tmp_path / "link").symlink_to(memory.root)
    for target in (memory.root / "memory", memory.root, tmp_path / "link/out"):
        with pytest.raises(TargetInVault):
            memory.transfer.export(target)
    assert not (memory.root / "memory").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_files_are_listed_and_the_others_are_exported(memory, tmp_path):
    (memory.root / DAY).chmod(0)
    done = memory.transfer.export(tmp_path / "out")
    assert [one.path for one in done.skipped] == [DAY]
    assert (tmp_path / "out/vault" / ALICE).exists()


def test_a_symlink_out_of_the_vault_is_not_followed(memory, tmp_path):
    (tmp_path / "secret.md").write_text("secret")
    (memory.root / "memory").mkdir()
    (memory.root / "memory/secret.md").symlink_to(tmp_path / "secret.md")
    done = memory.transfer.export(tmp_path / "out")
    assert [one.path for one in done.skipped] == ["memory/secret.md"]
    assert not list((tmp_path / "out").rglob("secret.md"))
    assert b"secret\n" not in (tmp_path / "out/memory.jsonl").read_bytes()


def test_the_export_command_reports_counts(tmp_path):
    outside = Outside(tmp_path / "vault", tmp_path / "home")
    outside.home.mkdir()
    outside.write("MEMORY.md", "## Boat\n\n- red\n")
    said = outside.ok("export", "--to", str(tmp_path / "out"))
    assert (said["files"], said["bytes"], said["records"], said["skipped"]) == (1, 15, 2, [])
    again = outside.run("export", "--to", str(tmp_path / "out"), "--json")
    assert (again.code, again.error["code"]) == (2, "target_in_use")
    assert outside.run("export").code == 0
    assert (
        outside.home / "vault-memory-export/vault/MEMORY.md"
    ).read_text() == "## Boat\n\n- red\n"
