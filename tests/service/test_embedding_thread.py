"""Vectors in the background: from warming to ready, through kills, other models, and none at all."""

import functools
import hashlib
import json
import random
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.scenarios.index_dump import rows
from tests.scenarios.outside import PATIENCE_SECONDS, Outside, Running, until
from tests.warm import tell
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.models.embedding.packaged import MINILM_TOKENIZER, MINILM_WEIGHTS, installed
from vault_memory.service.background_turns import EmbeddingTurns

ONNX = {"VAULT_MEMORY_EMBEDDING_KIND": "onnx"}
EAGER = """
import sys
from vault_memory.cli import main
from vault_memory.models.embedding import shared_embedders

shared_embedders.RETRY_SECONDS = 0.3
sys.argv = sys.argv[sys.argv.index("--vault") - 1 :]
main()
"""
"""Runs a command that tries a missing embedder again soon"""
BATCH = 16
SECRETS = (
    "- The spare key of the lighthouse is under the blue flower pot",
    "- Ann is allergic to hazelnuts",
    "- The ferry leaves on Tuesdays at nine",
    "- Rent is paid on the first of the month",
)


@pytest.fixture
def notes(outside: Outside) -> Outside:
    outside.write("USER.md", "# Me\n\n" + "\n".join(SECRETS) + "\n")
    return outside


def model_folder(at: Path) -> None:
    """The installed weights, laid out as a model's folder."""
    weights, tokenizer = installed(MINILM_WEIGHTS), installed(MINILM_TOKENIZER)
    if weights is None or tokenizer is None:
        pytest.skip("the packaged model is not installed")
    at.mkdir()
    (at / "model.onnx").symlink_to(weights)
    (at / "tokenizer.json").symlink_to(tokenizer)


def eager(outside: Outside) -> AbstractContextManager[Running]:
    """A daemon that tries a missing embedder again soon."""
    return outside.daemon(before=(sys.executable, "-c", EAGER))


def missing(outside: Outside) -> int:
    """Chunks that have no vector."""
    sql = (
        "SELECT count(DISTINCT heading || who || text) FROM chunk"
        " WHERE identity NOT IN (SELECT identity FROM vector)"
    )
    return int(rows(outside.state, sql)[0][0])


# --- A real model -----------------------------------------------------------------------------------------------------


def test_a_real_model_warms_up_and_then_finds_by_meaning(notes: Outside):
    if installed(MINILM_WEIGHTS) is None:
        pytest.skip("the packaged model is not installed")
    notes.settings = dict(ONNX)
    with notes.daemon() as daemon:
        seen = {daemon.search("key")["freshness"]["semantic"]}

        daemon.until_status(
            lambda status: (seen.add(status["semantic"]), status["semantic"] == "ready")[1]
        )
        answer = daemon.search("which food makes her ill?", mode="semantic")
        assert answer["hits"][0]["text"] == SECRETS[1]
        assert answer["freshness"] == {"stale_files": [], "semantic": "ready", "reason": ""}
        assert seen <= {"off", "warming", "ready"}
        assert (
            notes.search("which food makes her ill?", "--mode", "semantic")["hits"][0]["text"]
            == SECRETS[1]
        )

        notes.write("memory/a.md", "- The dog sleeps in the boathouse\n")
        daemon.until_found("boathouse")
        until(lambda: missing(notes) == 0, says="not embedded")
        hits = daemon.search("where does the pet spend the night?", mode="semantic")["hits"]
        assert "boathouse" in hits[0]["text"]
        assert daemon.stop()[0] == 0


def test_index_embeds_before_it_returns_and_search_can_load_the_model(notes: Outside):
    if installed(MINILM_WEIGHTS) is None:
        pytest.skip("the packaged model is not installed")
    notes.settings = dict(ONNX)

    assert notes.ok("index", "--no-embed")["embedded"] == 0
    assert notes.ok("index")["embedded"] == missing(notes) + len(SECRETS)
    assert notes.ok("index")["embedded"] == 0

    found = notes.search("which food makes her ill?", "--mode", "semantic")
    assert found["hits"][0]["text"] == SECRETS[1]
    assert found["freshness"]["semantic"] == "ready"
    assert notes.search("food")["freshness"]["semantic"] == "ready"
    assert notes.search("food", "--mode", "keyword")["freshness"] == {
        "stale_files": [],
        "semantic": "off",
        "reason": "no daemon",
    }


def test_a_newly_installed_model_is_used_without_a_restart(notes: Outside):
    folder = notes.home / "model"
    notes.settings = ONNX | {"VAULT_MEMORY_EMBEDDING_MODEL": str(folder)}
    with eager(notes) as daemon:
        status = daemon.until_status(lambda status: "does not exist" in status["reason"])
        assert status["semantic"] == "off"
        assert daemon.finds("hazelnuts")

        folder.mkdir()
        (folder / "tokenizer.json").write_text("{")
        (folder / "model.onnx").write_bytes(b"no weights")
        daemon.until_status(
            lambda status: status["semantic"] == "off" and "does not exist" not in status["reason"]
        )
        assert daemon.finds("hazelnuts")

        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
        model_folder(folder)
        daemon.until_status(lambda status: status["semantic"] == "ready")
        assert (
            daemon.search("which food makes her ill?", mode="semantic")["hits"][0]["text"]
            == SECRETS[1]
        )
        assert not any("Traceback" in line for line in daemon.errors)


# --- A server whose work can be counted -------------------------------------------------------------------------------


class Counting:
    """Answers `/v1/embeddings` with vectors that depend on model and text, and counts what it was asked."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.models: Counter[str] = Counter()
        self.broken = threading.Event()
        self.slow = threading.Event()
        self.answers = threading.Event()
        self.answers.set()
        counting = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if counting.slow.is_set():
                    threading.Event().wait(0.02)
                if counting.broken.is_set():
                    self.send_error(403)
                    return
                counting.asked.update(asked["input"])
                counting.models.update([asked["model"]])
                counting.answers.wait()
                data = [
                    {"index": place, "embedding": vector(asked["model"], text)}
                    for place, text in enumerate(asked["input"])
                ]
                body = json.dumps({"data": data}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True

            def log_message(self, *words: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.handle_error = lambda *_: None  # type: ignore[method-assign]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()
        self.settings = {
            "VAULT_MEMORY_EMBEDDING_KIND": "api",
            "VAULT_MEMORY_EMBEDDING_BASE_URL": f"http://127.0.0.1:{self._http.server_address[1]}/v1",
            "VAULT_MEMORY_EMBEDDING_MODEL": "one",
            "VAULT_MEMORY_EMBEDDING_DIMENSIONS": "8",
        }

    def close(self) -> None:
        self.answers.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


def vector(model: str, text: str) -> list[float]:
    return [byte / 255 - 0.5 for byte in hashlib.sha256(f"{model}\0{text}".encode()).digest()[:8]]


@pytest.fixture
def server() -> Iterator[Counting]:
    counting = Counting()
    yield counting
    counting.close()


def embedded(server: Counting, outside: Outside, target: int) -> bool:
    return sum(server.asked.values()) >= target or missing(outside) == 0


def test_turns_of_different_threads_embed_each_text_once(outside: Outside, server: Counting):
    outside.write("USER.md", "".join(f"- fact number {number} of many\n" for number in range(200)))
    outside.ok("index", "--no-embed")
    outside.settings = server.settings
    count = missing(outside)
    lines: list[str] = []
    with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
        fork = memory.fork()
        turns = EmbeddingTurns(fork, tell=lines.append)
        batches = iter(range(2))
        with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
            first.submit(turns.embedding_turn, lambda: next(batches, None) is not None).result()
            left = missing(outside)
            assert 0 < left < count
            pause = second.submit(turns.embedding_turn).result()
        fork.close()
    assert pause == 60.0
    assert missing(outside) == 0
    assert set(server.asked.values()) == {1}
    assert lines == [f"embedded {count - left:,} chunks", f"embedded {left:,} chunks"]


@pytest.mark.sampled
def test_embedding_resumes_after_a_kill(outside: Outside, server: Counting):
    chance = random.Random(5)
    outside.write("USER.md", "".join(f"- fact number {number} of many\n" for number in range(600)))
    outside.ok("index", "--no-embed")
    outside.settings = server.settings
    server.slow.set()
    kills = 0
    while True:
        before = sum(server.asked.values())
        target = before + chance.randrange(BATCH, 200)
        with outside.daemon(ready=False) as daemon:
            enough = functools.partial(embedded, server, outside, target)
            until(enough, pause=0.002, says=server.asked)
            if missing(outside) == 0:
                break
            daemon.kill()
            kills += 1
        assert kills < 60, "it begins anew each time"
    assert kills >= 3
    assert len(server.asked) == 600
    twice = sum(count - 1 for count in server.asked.values())
    assert twice <= kills * BATCH, f"{twice} texts were embedded again after {kills} kills"


def test_embedding_stops_soon_in_the_middle_of_a_batch(outside: Outside, server: Counting):
    outside.write("USER.md", "".join(f"- fact number {number} of many\n" for number in range(2000)))
    outside.ok("index", "--no-embed")
    outside.settings = server.settings
    server.slow.set()
    server.answers.clear()
    with outside.daemon() as daemon:
        until(lambda: server.asked, says="nothing is embedded")
        # Fault: on a busy machine all was embedded before the daemon was asked to stop.
        tell(daemon.pid, signal.SIGTERM)
        threading.Event().wait(0.5)
        server.answers.set()
        code = daemon.process.wait(PATIENCE_SECONDS)

        assert code == 0
    assert missing(outside) > 0, "it stops after the batch, not after all"


def test_unchanged_text_is_never_embedded_again(outside: Outside, server: Counting):
    lines = [f"- fact number {number} of many\n" for number in range(200)]
    note = outside.write("USER.md", "".join(lines))
    outside.settings = server.settings
    with outside.daemon() as daemon:
        daemon.until_status(lambda status: status["semantic"] == "ready")
        assert sum(server.asked.values()) == 200

        note.write_text("- a new fact\n" + "".join(lines))
        until(lambda: server.asked["a new fact"] == 1, says=server.asked)
        note.rename(outside.vault / "memory.md")
        outside.write("memory/copy.md", "".join(reversed(lines)))
        daemon.until_status(
            lambda status: not status["index"]["stale_files"] and status["semantic"] == "ready"
        )
        outside.ok("index", "--rebuild")
        daemon.until_status(lambda status: status["semantic"] == "ready")
    assert sum(server.asked.values()) == 201


def test_a_change_of_model_never_mixes_vectors(notes: Outside, server: Counting):
    notes.settings = dict(server.settings)
    with eager(notes) as daemon:
        daemon.until_status(lambda status: status["semantic"] == "ready")
        first = daemon.search(SECRETS[1].removeprefix("- "), mode="semantic", why=True)["hits"]
    notes.settings["VAULT_MEMORY_EMBEDDING_MODEL"] = "two"
    server.broken.set()
    with eager(notes) as daemon:
        status = daemon.ask("status")
        assert status["semantic"] != "ready", (
            "the vectors of the first model are none of the second"
        )
        server.broken.clear()
        daemon.until_status(lambda status: status["semantic"] == "ready")
        second = daemon.search(SECRETS[1].removeprefix("- "), mode="semantic", why=True)["hits"]
    assert set(server.models) == {"one", "two"}
    counted = "SELECT model.name, count(*) FROM vector JOIN model ON model.id = vector.model GROUP BY model.id"
    until(lambda: len(found := rows(notes.state, counted)) == 1 and found[0][1] == len(SECRETS))
    assert [hit["text"] for hit in first] != [] != [hit["text"] for hit in second]


def test_a_failing_embedding_server_leaves_keyword_search_and_recovers(
    notes: Outside, server: Counting
):
    notes.settings = server.settings
    server.broken.set()
    with eager(notes) as daemon:
        status = daemon.until_status(
            lambda status: status["semantic"] == "off" and "the key" in status["reason"]
        )
        assert "127.0.0.1" in status["reason"]
        assert daemon.finds("hazelnuts")

        server.broken.clear()
        daemon.until_status(lambda status: status["semantic"] == "ready")

        server.broken.set()
        answer = daemon.search("hazelnuts")
        assert answer["hits"][0]["text"] == SECRETS[1]
        assert answer["freshness"]["semantic"] == "off"
        assert "the key" in answer["freshness"]["reason"]
        server.broken.clear()
        daemon.until_status(lambda status: status["semantic"] == "ready")


def test_indexing_completes_without_an_embedding_server(notes: Outside):
    notes.settings = {
        "VAULT_MEMORY_EMBEDDING_KIND": "api",
        "VAULT_MEMORY_EMBEDDING_BASE_URL": "http://127.0.0.1:9/v1",
        "VAULT_MEMORY_EMBEDDING_DIMENSIONS": "8",
    }

    done = notes.run("index")

    assert done.code == 0
    assert "semantic: off" in done.err
    assert notes.finds("hazelnuts", "--mode", "rrf")
