"""`/metrics`: numbers in the format that Prometheus reads, for whoever has their token, about nobody in particular."""

import math
import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from tests.conftest import PROJECT
from tests.http.served import MIRA, TOMAS, Served
from tests.scenarios.outside import Outside, at
from vault_memory.api.metrics import RECOUNT_SECONDS, Family, Metrics, Sample
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.http.metrics_text import as_text
from vault_memory.http.prometheus import Requests, metrics_route
from vault_memory.http.tokens import TokenUnsafe
from vault_memory.rules.paths.scopes import Caller

TOKEN = "numbers-" + "c" * 32
LINE = re.compile(
    r"# HELP (?P<helped>[a-z_]+) [^\n]+|# TYPE (?P<typed>[a-z_]+) (gauge|counter|summary)"
    r'|(?P<name>[a-z_]+)(?:\{[a-z]+="(?:[^"\\\n]|\\["\\n])*"(?:,[a-z]+="(?:[^"\\\n]|\\["\\n])*")*\})?'
    r" (?:-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|NaN|[+-]Inf)"
)
Read = dict[str, dict[tuple[tuple[str, str], ...], float]]


def read(text: str) -> Read:
    """As the format says, line by line, and as the parser of Prometheus' own client reads it."""
    assert text.endswith("\n")
    family, seen = "", set[str]()
    for line in text.splitlines():
        found = LINE.fullmatch(line)
        assert found, line
        if found["helped"]:
            family = found["helped"]
            assert family not in seen, "the lines of a family stand together"
            seen.add(family)
        assert (found["typed"] or family) == family
        assert not found["name"] or found["name"] in (family, f"{family}_sum", f"{family}_count"), (
            line
        )
    told: Read = {}
    for one in text_string_to_metric_families(text):
        assert one.documentation
        for sample in one.samples:
            labels = tuple(sorted(sample.labels.items()))
            assert labels not in told.setdefault(sample.name.removeprefix("vault_memory_"), {})
            told[sample.name.removeprefix("vault_memory_")][labels] = sample.value
    return told


@pytest.fixture
def token(tmp_path: Path) -> str:
    file = tmp_path / "metrics-token"
    file.write_text(TOKEN + "\n")
    file.chmod(0o600)
    return str(file)


@pytest.fixture
def watched(memory: VaultMemory, serve: Callable[..., Served], token: str) -> Served:
    memory.refresh()
    return serve(memory, metrics_token_file=token)


def scraped(served: Served) -> Read:
    answer = served.client(TOKEN).get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return read(answer.text)


def test_metrics_report_index_counts_and_pending_work(watched: Served):
    told = scraped(watched)

    notes = watched.memory.notes()
    assert told["index_notes"] == {(): len(notes)}
    assert told["index_kind_notes"][(("kind", "dated"),)] == sum(
        note.kind == "dated" for note in notes
    )
    assert told["index_chunks"][()] == watched.memory.vault.indexing.index().counts()[1]
    assert (told["daemon_up"], told["inbox_open"], told["pending_writes"]) == (
        {(): 0},
        {(): 0},
        {(): 0},
    )
    assert told["index_bytes"][()] > 4096
    assert [dict(labels)["version"] for labels in told["info"]]


@pytest.mark.sampled
def test_requests_are_counted_by_route_template_only(watched: Served):
    bot, stranger = watched.client(MIRA), watched.client(None)
    bot.post("/v1/search", json={"query": "spare key"})
    bot.post("/v1/search", json={})
    bot.get("/v1/notes/Users/mira/lantern/config/USER.md")
    stranger.get("/v1/notes")
    stranger.get("/v1/../../etc/passwd?mira")
    stranger.request("BREW", "/coffee")

    told = scraped(watched)

    def count(path: str, method: str, status: int) -> float:
        return told["http_requests_total"][
            ("method", method), ("path", path), ("status", str(status))
        ]

    assert count("/v1/search", "POST", 200) == count("/v1/search", "POST", 400) == 1
    assert count("/v1/notes/{note}", "GET", 200) == 1
    assert count("/v1/notes", "GET", 401) == 1
    assert count("other", "other", 401) == 1
    assert told["http_request_seconds_count"][(("path", "/v1/search"),)] == 2
    assert 0 < told["http_request_seconds_sum"][(("path", "/v1/search"),)] < 30
    assert (
        scraped(watched)["http_requests_total"][
            ("method", "GET"), ("path", "/metrics"), ("status", "200")
        ]
        == 1
    )


def test_metrics_name_no_person_channel_or_note(watched: Served):
    bot = watched.client(MIRA)
    bot.get("/v1/notes/Users/mira/lantern/config/USER.md")
    bot.get("/v1/facts", params={"entity": "Tomas"})
    text = watched.client(TOKEN).get("/metrics").text.lower()

    names = {
        part.lower()
        for note in watched.memory.notes()
        for part in Path(note.note).with_suffix("").parts
    }
    names -= {
        "channels",
        "users",
        "memory",
        "memories",
        "facts",
        "channel",
        "user",
        "rules",
        "reflections",
        "config",
    }
    assert len(names) > 20
    assert not {name for name in names if re.search(rf"\b{re.escape(name)}\b", text)}
    assert str(watched.memory.root) not in text


@pytest.mark.sampled
@pytest.mark.parametrize(
    "said",
    [
        [],
        [f"Bearer {MIRA}"],
        [f"Bearer {TOKEN}x"],
        [f"Bearer {TOKEN[:-1]}"],
        [f"Basic {TOKEN}"],
        ["Bearer"],
        ["Bearer é"],
        [f"Bearer {TOKEN}", f"Bearer {TOKEN}"],
    ],
)
def test_only_the_metrics_token_opens_the_metrics(watched: Served, said: list[str]):
    headers = httpx.Headers([(b"authorization", one.encode()) for one in said])

    refused = watched.client(None).get("/metrics", headers=headers)

    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert "index_notes" not in refused.text


def test_the_metrics_token_opens_nothing_else(watched: Served):
    assert watched.client(TOKEN).get("/v1/notes").status_code == 401


def test_without_a_metrics_token_the_metrics_are_hidden_even_from_bots(served: Served):
    assert served.client(None).get("/metrics").status_code == 401
    assert served.client(TOMAS).get("/metrics").status_code == 404


def test_the_owner_of_the_unix_socket_needs_no_metrics_token(
    memory: VaultMemory, serve: Callable[..., Served], tmp_path: Path
):
    served = serve(memory, {}, local=Caller("mira"), uds=tmp_path / "s")

    assert read(served.client(None).get("/metrics").text)["info"]
    assert served.client("wrong" * 10).get("/metrics").status_code == 401


def test_a_unix_socket_that_may_be_shared_does_not_open_the_metrics(
    memory: VaultMemory, serve: Callable[..., Served], tmp_path: Path, token: str
):
    """A server in front hands its requests on over the socket."""
    served = serve(memory, uds=tmp_path / "s", metrics_token_file=token)

    assert served.client(None).get("/metrics").status_code == 401
    assert served.client(TOKEN).get("/metrics").status_code == 200


@pytest.mark.parametrize(("text", "mode"), [("short", 0o600), (TOKEN, 0o644)])
def test_a_metrics_token_that_others_can_read_or_guess_is_refused(
    memory: VaultMemory, tmp_path: Path, text: str, mode: int
):
    file = tmp_path / "metrics-token"
    file.write_text(text)
    file.chmod(mode)

    with pytest.raises(TokenUnsafe, match="metrics"):
        metrics_route(list, Requests(), "serve.metrics_token_file", str(file), memory.root)


# ---- what it costs, and what it does without -------------------------------------------------------------------------


def metrics_of(memory: VaultMemory, **more: Callable[[], float]) -> Metrics:
    return Metrics(memory, lambda: None, **more)


def values(metrics: Metrics) -> dict[str, float]:
    return {one.name: one.samples[0].value for one in metrics.families() if one.samples}


def test_metrics_that_need_a_scan_are_refreshed_periodically(memory: VaultMemory):
    memory.refresh()
    now = [0.0]
    metrics = metrics_of(memory, clock=lambda: now[0])
    assert values(metrics)["conflict_copies"] == 0
    (memory.root / "MEMORY.sync-conflict-20260511-101112-ABCDEFG.md").write_text("- tea\n")

    now[0] = RECOUNT_SECONDS - 1
    assert values(metrics)["conflict_copies"] == 0
    now[0] = RECOUNT_SECONDS
    assert values(metrics)["conflict_copies"] == 1


@pytest.mark.sampled
def test_other_metrics_are_reported_without_an_index_or_a_vault(tmp_path: Path):
    vault = tmp_path / "vault"
    vault.mkdir()
    environment = {
        "VAULT_MEMORY_STATE": str(tmp_path / "state"),
        "VAULT_MEMORY_CACHE": str(tmp_path / "cache"),
    }
    with VaultMemory.open(vault, environment=environment) as memory:
        assert "index_notes" not in values(metrics_of(memory))
        memory.index()
        vault.rename(tmp_path / "away")

        told = values(metrics_of(memory))

        assert told["index_notes"] == 0
        assert told["daemon_up"] == 0
        assert "inbox_open" not in told, "nobody knows"


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Outside:
    outside = at(tmp_path_factory.mktemp("metrics"))
    outside.write(
        "USER.md", (PROJECT / "sample_vault/Users/mira/lantern/config/USER.md").read_bytes()
    )
    return outside


def test_with_a_daemon_the_metrics_report_its_state(outside: Outside):
    with ExitStack() as stack:
        daemon = stack.enter_context(outside.daemon())
        memory = stack.enter_context(
            VaultMemory.open(outside.vault, environment=outside.environment)
        )

        found = Metrics(memory, lambda: daemon.ask("vitals")).families()

    told = read(as_text(found).decode())
    assert (told["daemon_up"], told["watcher_healthy"], told["index_stale_notes"]) == (
        {(): 1},
        {(): 1},
        {(): 0},
    )
    assert told["semantic"] == {
        (("state", "ready"),): 0,
        (("state", "warming"),): 0,
        (("state", "off"),): 1,
    }
    assert "sync" not in told, "there is no server"


def test_the_sync_state_is_reported_without_its_reasons(memory: VaultMemory):
    sync = {
        "state": "waiting",
        "reason": "mira",
        "last_good": "2026-05-11T10:00:00+02:00",
        "queue": 3,
    }
    vitals = {"stale_files": 0, "semantic": "off", "watcher": {"healthy": True}}
    vitals["sync"] = {**sync, "errors": [{"path": "Users/mira", "reason": "no"}], "held": []}

    told = read(as_text(Metrics(memory, lambda: vitals).families()).decode())

    assert told["sync"][(("state", "waiting"),)] == 1
    assert sum(told["sync"].values()) == 1
    assert (told["sync_queue"][()], told["sync_errors"][()], told["sync_held"][()]) == (3, 1, 0)
    assert told["sync_last_good_timestamp_seconds"][()] == 1778486400


def test_the_last_nights_are_reported(memory: VaultMemory):
    folder = memory.vault.state.path / "nights"
    folder.mkdir()
    for scope, night, state in (
        ("user:mira", "2026-05-10", "done"),
        ("user:tomas", "2026-05-11", "failed"),
    ):
        said = f'{{"scope": "{scope}", "night": "{night}", "idle": 2, "outcome": {{"state": "{state}"}}}}'
        (folder / f"{scope[5:]}.last.json").write_text(said)

    told = values(metrics_of(memory))

    assert told["night_last_timestamp_seconds"] == 1778457600
    assert (told["night_scopes"], told["night_failed_scopes"], told["night_idle"]) == (2, 1, 2)


NUMBERS = st.floats() | st.integers(-(2**60), 2**60).map(float)


@given(st.text(max_size=20), NUMBERS)
@example('\\"\n\\n', math.nan)
@example("é\r\u2028 {}", -math.inf)
@example("", 1e300)
@example("", -0.0)
def test_any_label_value_is_read_back_unchanged_by_the_parser(label: str, value: float):
    family = Family("x", "gauge", "a\\b\nc", (Sample(value, {"label": label}),))

    [found] = text_string_to_metric_families(as_text([family]).decode().replace("\r", "␍"))
    [sample] = found.samples

    assert sample.labels == {"label": label.replace("\r", "␍")}
    assert sample.value == value or (math.isnan(sample.value) and math.isnan(value))
    assert found.documentation == "a\\b\nc"
