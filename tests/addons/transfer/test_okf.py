"""The Open Knowledge Format: what is exported is conformant, and comes back as it was."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from okf_schema.validator import validate_bundle
from ruamel.yaml import YAML

from tests.scenarios.outside import Outside
from vault_memory import VaultMemory, config
from vault_memory.addons.transfer import okf_concepts
from vault_memory.addons.transfer.okf_bundles import NoBundle
from vault_memory.rules.paths.layout import Place

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
OFF = config.Config(embedding=config.EmbeddingSettings(kind="off"))
SAMPLE = Path(__file__).resolve().parents[3] / "sample_vault"
MIRA = "Users/mira/memories/"


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    (tmp_path / "vault/Users/mira").mkdir(parents=True)
    with opened(tmp_path / "vault") as memory:
        yield memory


def opened(vault: Path) -> VaultMemory:
    vault.mkdir(exist_ok=True)
    state = str(vault.with_name(f"{vault.name}-state"))
    return VaultMemory.open(vault, OFF, environment={"VAULT_MEMORY_STATE": state})


def notes(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*.md"))
        if not path.name.startswith(".")
    }


def written(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


def errors_of(bundle: Path) -> list[Any]:
    """What the published validator finds that is no advice."""
    return list(validate_bundle(bundle).errors)


def fields_of(concept: bytes) -> dict[str, Any]:
    front = concept.decode().split("\n---\n", 1)[0].removeprefix("---\n")
    return dict(yaml.safe_load(front))


# ---- one note ------------------------------------------------------------------------------------

ORIGIN = okf_concepts.NoteOrigin(
    MIRA + "boat.md", Place("note", "user:mira", None, "boat", True), (), "", NOW
)
lines = st.sampled_from(
    [
        "type: Book",
        "type:",
        "type: [a]",
        "title: a: b",
        "title: 'A boat'",
        "tags: [boat, 'sea']",
        "tags: [[Boat]]",
        "tags:\n  - boat",
        "aliases: {a: 1, a: 2}",
        "date: 2026-13-45",
        "when: 2026-01-31",
        "generated: {by: human:mira, at: 2026-01-31T00:00:00Z}",
        "text: |\n  a\n  ---b",
        "# added by vault-memory",
        "# added above the note by vault-memory",
        "~",
        "text: a\u2028'@': b",
        "\ttab: 1",
        "@: x",
        "- a",
        "...",
        "",
    ]
)
bodies = st.text() | st.sampled_from(["- red\r\n", "---\na: b\n---\n", "\ufeff- red", "- red"])


@given(st.none() | st.lists(lines), bodies)
@example(["type: Book", "type: Book"], "- red\n")
@example([], "")
@example(None, "---\n# added above the note by vault-memory\n---\n- red\n")
def test_a_note_is_a_concept_and_comes_back_byte_for_byte(
    front: list[str] | None, body: str
) -> None:
    block = "" if front is None else "".join(["---\n", *(f"{line}\n" for line in front), "---\n"])
    raw = (block + body).encode("utf-8", "replace")

    concept = okf_concepts.concept_of(raw, ORIGIN)

    assert okf_concepts.note_in(concept) == (ORIGIN.path, raw)
    text = concept.decode().removeprefix("---\n").split("\n---\n", 1)[0]
    fields = YAML(typ="safe").load(text)
    assert fields["type"].strip()
    assert fields["vault_memory"]["scope"] == "user:mira"


# ---- a vault -------------------------------------------------------------------------------------


def test_the_sample_vault_is_a_bundle_and_comes_back(tmp_path: Path) -> None:
    shutil.copytree(SAMPLE, tmp_path / "vault")
    odd = {
        MIRA + "index.md": "# An index of the garden\n",
        MIRA + "log.md": "---\ntitle: Log\n---\n- rain\n",
        MIRA + "index.note1.md": "- a note\n",
        MIRA + "broken.md": "---\n\tno: yaml: at all\n---\n- red\n",
        MIRA + "book.md": "---\ntype: Book\ntags: [sea]\n---\n- white whale\n",
    }
    written(tmp_path / "vault", odd)
    with opened(tmp_path / "vault") as memory:
        report = memory.transfer.export(tmp_path / "bundle", format="okf")
        again = memory.transfer.export(tmp_path / "again", format="okf")

    expected = notes(tmp_path / "vault")
    assert (report.records, report.skipped) == (len(expected), ())
    assert notes(tmp_path / "bundle") == notes(tmp_path / "again")
    assert again.records == report.records
    assert errors_of(tmp_path / "bundle") == []
    with opened(tmp_path / "empty") as memory:
        imported = memory.transfer.import_from(tmp_path / "bundle", format="okf", now=NOW)
        second = memory.transfer.import_from(tmp_path / "bundle", format="okf", now=NOW)
    assert notes(tmp_path / "empty") == expected
    assert (imported.left, imported.skipped) == (["index.md"], [])
    assert (second.notes, second.known) == ([], len(expected))


def test_a_bundle_says_who_wrote_and_who_confirmed_a_note(
    memory: VaultMemory, tmp_path: Path
) -> None:
    note = MIRA + "boat.md"
    written(memory.root, {note: "# Boat\n\n## Learned\n\n- Red\n"})
    by_hand = int(NOW.timestamp())
    os.utime(memory.root / note, (by_hand, by_hand))
    bot = MIRA + "2026-04-30.md"
    memory.apply(
        bot,
        [
            {
                "op": "add_heading",
                "heading": "Learned",
                "lines": ["The boat is red (2026-04-30, ref:t1, topic:work, until:2026-06-01)"],
            }
        ],
        source="tool",
        now=NOW,
    )

    memory.transfer.export(tmp_path / "bundle", format="okf")
    own = fields_of((tmp_path / "bundle" / note).read_bytes())
    learned = fields_of((tmp_path / "bundle" / bot).read_bytes())

    assert own["generated"] == {"by": "human:mira", "at": "2026-05-01T12:00:00Z"}
    assert (own["type"], own["title"]) == ("Note", "boat")
    assert learned["generated"]["by"].startswith("vault-memory/")
    assert learned["generated"]["at"] == "2026-05-01T12:00:00Z"
    assert learned["sources"] == [
        {"id": "t1", "resource": "turn t1 of user:mira", "author": "human:mira"}
    ]
    assert (learned["tags"], learned["stale_after"]) == (["work"], "2026-06-02T00:00:00Z")
    assert "verified" not in learned
    assert "status" not in learned

    memory.apply(
        bot,
        [
            {
                "op": "replace",
                "heading": "Learned",
                "old": "The boat is red",
                "line": "The boat is red (2026-04-30, ref:t1, confirmed)",
            }
        ],
        source="cli",
        now=NOW,
    )
    memory.transfer.export(tmp_path / "later", format="okf")
    later = fields_of((tmp_path / "later" / bot).read_bytes())
    assert later["generated"]["by"] == "human:mira"


# ---- bundles of others ---------------------------------------------------------------------------

FLAT = {
    "tea.md": "---\ntype: Note\ntitle: Tea\n---\n\n# Tea\n\nGreen, in the afternoon.\n",
    "oil.md": "---\ntype: Playbook\ntags: [lamp, oil]\nx-owner: {team: lamps}\n---\n1. Fill it.\n",
}
NESTED = {
    "index.md": '---\nokf_version: "0.2"\n---\n\n# All\n\n* [Height](metrics/height.md) - of the tide\n',
    "log.md": "# Log\n\n## 2026-05-22\n* **Creation**: the first figures.\n",
    "metrics/height.md": (
        "---\ntype: Metric\ntitle: Height\ndescription: Height of the tide.\nstatus: draft\n"
        "generated: { by: gauge/2, at: 2026-05-20T08:00:00Z }\n"
        "verified:\n  - { by: human:mira, at: 2026-05-21T08:00:00Z }\n"
        "  - { by: process:nightly, at: 2026-05-22T02:00:00Z }\n"
        "stale_after: 2026-09-01T00:00:00Z\nsources:\n  - id: table\n"
        "    resource: https://example.org/tides\n    usage_count: 3\n"
        "usage_window: { from: 2026-05-01T00:00:00Z, to: 2026-05-31T00:00:00Z }\n---\n\n"
        "See [the sum](/computations/sum.md).[^table]\n\n[^table]: The table\n"
    ),
    "computations/sum.md": (
        "---\ntype: Attested Computation\nruntime: python\nparameters:\n"
        "  - { name: day, type: date, required: true }\nexecutor:\n"
        "  resource: references/run.md\n  receipt: [result]\n---\n\n# Computation\n\n    sum(day)\n"
    ),
    "references/run.md": "---\ntype: Reference\n---\nRun it.\n",
}
LEGACY = {
    "tables/boats.md": (
        "---\ntype: Table\ntimestamp: '2026-05-28T22:53:05+00:00'\n---\n\n# Schema\n\n| a |\n|---|\n"
        "\n# Citations\n- https://example.org/boats\n"
    ),
    "plain.md": "No front matter at all.\n",
}


@pytest.mark.parametrize("bundle", [FLAT, NESTED, LEGACY], ids=["flat", "nested", "legacy"])
def test_a_bundle_of_others_keeps_what_it_says(
    memory: VaultMemory, tmp_path: Path, bundle: dict[str, str]
) -> None:
    written(tmp_path / "theirs", bundle)
    concepts = {path: text for path, text in bundle.items() if path not in ("index.md", "log.md")}

    report = memory.transfer.import_from(
        tmp_path / "theirs", format="okf", scopes=["user:mira"], now=NOW
    )
    assert sorted(report.notes) == sorted(MIRA + path for path in concepts)
    assert notes(memory.root) == {MIRA + path: text.encode() for path, text in concepts.items()}

    memory.transfer.export(tmp_path / "ours", format="okf")
    assert errors_of(tmp_path / "ours") == []
    for path, text in concepts.items():
        concept = (tmp_path / "ours" / MIRA / path).read_bytes()
        if text.startswith("---\n"):
            theirs = fields_of(text.encode())
            ours = fields_of(concept)
            assert {key: ours[key] for key in theirs} == theirs
        assert concept.decode().endswith(text.rpartition("---\n")[2])
    with opened(tmp_path / "back") as back:
        back.transfer.import_from(tmp_path / "ours", format="okf", now=NOW)
        assert notes(back.root) == notes(memory.root)


def test_a_bundle_writes_nothing_outside_of_the_notes(memory: VaultMemory, tmp_path: Path) -> None:
    front = '---\ntype: Note\n# added by vault-memory\nvault_memory: {"path": "%s"}\n---\nbad\n'
    paths = ["../out.md", "/etc/out.md", "Users/mira/INBOX.md", ".vault-memory", "a\\u0000.md"]
    written(tmp_path / "theirs", {f"{n}.md": front % path for n, path in enumerate(paths)})
    before = notes(memory.root)

    report = memory.transfer.import_from(tmp_path / "theirs", format="okf", now=NOW)

    assert notes(memory.root) == before
    assert not (tmp_path / "out.md").exists()
    assert len(report.skipped) == len(paths)


def test_a_note_that_is_not_utf_8_is_named_and_others_are_exported(
    memory: VaultMemory, tmp_path: Path
) -> None:
    written(memory.root, {MIRA + "a.md": "- red\n"})
    (memory.root / MIRA / "b.md").write_bytes(b"- r\xffd\n")

    report = memory.transfer.export(tmp_path / "bundle", format="okf")

    assert (report.records, [skipped.path for skipped in report.skipped]) == (1, [MIRA + "b.md"])
    assert list(notes(tmp_path / "bundle")) == [MIRA + "a.md", "index.md"]


def test_the_commands_export_and_import_a_bundle(tmp_path: Path) -> None:
    outside = Outside(tmp_path / "vault", tmp_path / "home")
    outside.home.mkdir()
    written(outside.vault, {MIRA + "boat.md": "- red\n"})
    bundle = str(tmp_path / "bundle")

    assert outside.ok("export", "--format", "okf", "--to", bundle)["records"] == 1
    assert outside.run("export", "--format", "okf", bundle).code == 2
    (outside.vault / MIRA / "boat.md").unlink()
    assert outside.ok("import", "okf", bundle)["notes"] == [MIRA + "boat.md"]
    assert outside.ok("import", "okf", bundle, "--user", "mira", "--dry-run")["known"] == 1
    with opened(outside.vault) as memory, pytest.raises(NoBundle):
        memory.transfer.import_from(tmp_path / "home", format="okf")
