"""The laws of reading, through whole processes: whatever was done to the files, the index says what they say."""

import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scenarios.index_dump import dump
from tests.scenarios.outside import Outside, until
from vault_memory.api.vault_memory import VaultMemory

NAMES = (
    [f"memory/{name}.md" for name in "abcdefgh"]
    + [f"memory/d/{name}.md" for name in "ab"]
    + ["USER.md", "groups/x/MEMORY.md"]
)
Deed = Callable[[Path, random.Random], None]


def text(chance: random.Random) -> str:
    lines = [
        f"- {chance.choice(('owl', 'stork', 'crane'))} {chance.randrange(30)}"
        for _ in range(chance.randrange(1, 8))
    ]
    return f"# {chance.choice('AB')}\n\n" + "\n".join(lines) + "\n"


def write(path: Path, chance: random.Random) -> None:
    path.write_text(text(chance))


def rename_over(path: Path, chance: random.Random) -> None:
    other = path.with_name(".other")
    other.write_text(text(chance))
    os.replace(other, path)


def append(path: Path, chance: random.Random) -> None:
    with path.open("a") as file:
        file.write(f"- more {chance.randrange(100)}\n")


def truncate(path: Path, chance: random.Random) -> None:
    path.write_text("")


def delete(path: Path, chance: random.Random) -> None:
    path.unlink(missing_ok=True)


def move(path: Path, chance: random.Random) -> None:
    if path.exists():
        os.replace(path, path.with_name(chance.choice("abcdefgh") + ".md"))


def move_folder(path: Path, chance: random.Random) -> None:
    folder, away = (path.parent, path.parent.with_name("e" if path.parent.name == "d" else "d"))
    if folder.name in ("d", "e") and not away.exists():
        folder.rename(away)


def delete_folder(path: Path, chance: random.Random) -> None:
    if path.parent.name in ("d", "e"):
        shutil.rmtree(path.parent)


def turn_back_time(path: Path, chance: random.Random) -> None:
    if path.exists():
        before = path.stat()
        path.write_bytes(path.read_bytes().replace(b"owl", b"auk"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


DEEDS: tuple[Deed, ...] = (
    write,
    write,
    rename_over,
    append,
    truncate,
    delete,
    move,
    move_folder,
    delete_folder,
    turn_back_time,
)


def dump_of_new_index(outside: Outside) -> dict[str, set[object]]:
    environment = {
        "VAULT_MEMORY_STATE": str(outside.home / "afresh"),
        "VAULT_MEMORY_EMBEDDING_KIND": "off",
    }
    with VaultMemory.open(outside.vault, environment=environment) as memory:
        memory.index()
        found = dump(memory.vault.state.path)
    shutil.rmtree(outside.home / "afresh")
    return found


def random_actions(outside: Outside, chance: random.Random, count: int) -> list[str]:
    done = []
    for _ in range(count):
        path = outside.vault / chance.choice(NAMES)
        path.parent.mkdir(parents=True, exist_ok=True)
        deed = chance.choice(DEEDS)
        deed(path, chance)
        done.append(f"{deed.__name__} {path.name}")
        if chance.random() < 0.3:
            time.sleep(chance.choice((0.0, 0.005, 0.03)))
    return done


def histories(outside: Outside, seed: int, rounds: int) -> None:
    """Deeds under a daemon that is killed now and then; after each round it says what the files say."""
    chance = random.Random(seed)
    for _ in range(rounds):
        with outside.daemon() as daemon:
            done = random_actions(outside, chance, 60)
            if chance.random() < 0.5:
                daemon.kill()
                done += ["kill", *random_actions(outside, chance, 10)]
                outside.here("search", "owl", "--json")
                continue
            expected = dump_of_new_index(outside)
            until(
                lambda: dump(outside.state) == expected,  # noqa: B023
                seconds=20,
                pause=0.1,
                says=lambda: f"seed {seed}: {done}",  # noqa: B023
            )
            until(lambda: not daemon.stale(), says=daemon.stale)
    with outside.daemon() as daemon:
        expected = dump_of_new_index(outside)
        until(lambda: dump(outside.state) == expected, seconds=20, pause=0.1, says=f"seed {seed}")


@pytest.mark.scenario("G117")
def test_after_any_actions_and_kills_a_daemons_index_equals_one_built_afresh(outside: Outside):
    histories(outside, seed=int(time.time()), rounds=3)


@pytest.mark.deep
@pytest.mark.scenario("G117")
def test_after_many_more_actions_and_kills_the_index_equals_one_built_afresh(outside: Outside):
    histories(outside, seed=int(time.time()), rounds=60)


@pytest.mark.sampled
def test_logs_contain_names_of_notes_but_never_their_text(outside: Outside):
    outside.write("memory/a.md", "- the word is swordfish\n")
    with outside.daemon() as daemon:
        daemon.stop()
    import subprocess

    process = subprocess.Popen(
        outside.command("--verbose", "run"),
        env=outside.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until(outside.socket.exists, says="it did not start")
        outside.write("memory/b.md", "- another word is marlin\n")
        until(lambda: outside.finds("marlin"), says="not found")
        outside.write("memory/b.md", "")
    finally:
        process.terminate()
        out, err = process.communicate(timeout=120)
    assert "memory/b.md" in out + err
    assert "swordfish" not in out + err
    assert "marlin" not in out + err
