"""What an image in the text of a note takes does not count for the size of the note."""

import base64
from pathlib import Path
from random import Random

import pytest

from tests.scenarios.outside import Outside, outside
from vault_memory.vault.reader import Folder, NoteTooLarge

__all__ = ["outside"]

IMAGE = base64.b64encode(Random(1).randbytes(3 << 20))


def test_a_note_is_as_large_as_its_text(tmp_path: Path):
    note = tmp_path / "pier.md"
    note.write_bytes(b"The pier\n\n![map](data:image/png;base64," + IMAGE + b")\n")

    assert Folder(tmp_path).read("pier.md").raw.endswith(b")\n")

    note.write_bytes(b"The pier\n" * 150_000)
    with pytest.raises(NoteTooLarge, match="are more than the 1,048,576"):
        Folder(tmp_path).read("pier.md")


def test_a_note_with_a_large_image_is_found_by_its_text(outside: Outside):
    image = b"![map](data:image/png;base64," + IMAGE + b")"
    outside.write("memory/pier.md", b"- The heron\n\n" + image + b"The quay\n")
    outside.write("memory/other.md", "- A heronry\n")

    for query in ("heron", "quay"):
        hit = outside.search(query)["hits"][0]
        assert hit["note"] == "memory/pier.md"
        assert max(map(len, hit["text"].split())) <= 200
    checks = {check["name"]: check["state"] for check in outside.ok("doctor")["checks"]}
    assert checks["index equals notes"] == "ok"
    assert "parked" not in checks
