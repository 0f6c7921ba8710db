"""What was recorded is read from the files; of a file that only grew, what came to it."""

import random

import pytest

from vault_memory.curate.trail import MOST_KNOWN, Trail
from vault_memory.memory import Record
from vault_memory.vault import Folder


def line(number: int) -> bytes:
    return b'{"id":"%03d","ts":"2026-01-01T00:00:%02dZ","note":"n.md","source":"tool"}\n' % (number, number % 60)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_becomes_of_a_file_it_is_read_as_it_stands(tmp_path, seed: int) -> None:
    vault, state = tmp_path / "vault", tmp_path / "state"
    vault.mkdir()
    state.mkdir()
    trail, chance = Trail(Folder(vault), state), random.Random(seed)
    files = [vault / f"n{number}.md.audit.jsonl" for number in range(MOST_KNOWN + 1)]
    for number in range(120):
        file = chance.choice(files)
        raw = file.read_bytes() if file.exists() else b""
        match chance.randrange(6):
            case 0:
                raw = raw.replace(b"tool", b"cli", 1)
            case 1:
                raw = raw[: chance.randrange(len(raw) + 1)]
            case 2:
                raw += line(number)[: chance.randrange(80)]
            case _:
                raw += line(number)
        file.write_bytes(raw)
        note = file.name.removesuffix(".audit.jsonl")

        assert trail.of(note) == Trail(Folder(vault), state).of(note)
        trail.add(Record(f"r{number}", "2026-01-01T00:01:00Z", "", "cli", note))
        assert trail.of(note) == Trail(Folder(vault), state).of(note)
