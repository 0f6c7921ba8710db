"""One process serves many vaults, each to its own people."""

import json
import subprocess
import time

import pytest

from tests.service.many import NOTE, WORDS, Vaults, token_of
from tests.service.running_host import command, run, running_host, until


def status(vaults: Vaults) -> dict:
    printed = run(vaults, "host", "--vaults", str(vaults.path), "--status", "--json")
    assert printed.returncode == 0, printed.stderr
    return json.loads(printed.stdout)


def states(vaults: Vaults) -> dict[str, str]:
    return {row["root"].rpartition("/")[2]: row["state"] for row in status(vaults)["vaults"]}


@pytest.mark.sampled
def test_a_token_reaches_its_vault_and_no_other(vaults: Vaults) -> None:
    vaults.add_three()
    with running_host(vaults) as host:
        for name, word in WORDS.items():
            texts = host.search(name, "what does the ferry carry")
            assert texts == [f"- The ferry carries the {word}"]
            for other, other_word in WORDS.items():
                if other != name:
                    answer = host.ask(name, "/v1/search", query=other_word)
                    assert other_word not in json.dumps(answer.json()["hits"])
        wrong = host.client("x" * 40).post("/v1/search", json={"query": "ferry"})
        assert wrong.status_code == 401


def test_a_save_of_an_editor_is_found_by_the_next_search(vaults: Vaults) -> None:
    vaults.add_three()
    with running_host(vaults) as host:
        host.search("north", "ferry")
        note = vaults.path / "north" / NOTE
        for word in ("puffin", "heron", "plover"):
            note.write_text(f"{note.read_text()}- The {word} sleeps\n")
            assert f"- The {word} sleeps" in host.search("north", word)


def test_a_turn_and_a_remembered_text_are_found_at_once(vaults: Vaults) -> None:
    vaults.add_three()
    with running_host(vaults) as host:
        said = host.ask(
            "south",
            "/v1/turns",
            session="s1",
            role="user",
            text="My boat is called Marigold. I moor at Quay Nine.",
        )
        assert said.status_code == 200, said.text
        kept = host.ask("south", "/v1/remember", text="I moor at Quay Nine")
        assert (kept.status_code, kept.json()["outcome"]) == (200, "added"), kept.text
        assert any("Quay Nine" in text for text in host.search("south", "Quay Nine"))
        assert not any("Quay" in text for text in host.search("north", "Quay Nine"))


def test_a_second_host_of_a_folder_is_refused(vaults: Vaults) -> None:
    vaults.add_three()
    with running_host(vaults):
        again = run(vaults, "host", "--vaults", str(vaults.path), "--no-http")
        assert again.returncode == 6
        assert "already serves" in again.stderr


@pytest.mark.sampled
def test_a_new_vault_is_served_while_the_host_runs(vaults: Vaults) -> None:
    vaults.add_three()
    with running_host(vaults) as host:
        vaults.add("east", "dunlin")
        vaults.set_token("east")

        def is_served() -> bool:
            return host.ask("east", "/v1/search", query="ferry").status_code == 200

        assert until(is_served)
        assert host.search("east", "ferry") == ["- The ferry carries the dunlin"]


def test_a_new_token_opens_a_vault_at_once(vaults: Vaults) -> None:
    vaults.add_three()
    with running_host(vaults) as host:
        assert host.search("west", "ferry")
        vaults.set_token("west", "n" * 40)
        time.sleep(1.1)
        client = host.client("n" * 40)
        answer = client.post("/v1/search", json={"query": "ferry"})
        assert answer.status_code == 200
        assert host.ask("west", "/v1/search", query="ferry").status_code == 401


def test_a_broken_vault_leaves_the_others_alone(vaults: Vaults) -> None:
    vaults.add_three()
    vaults.configure("south", "[serve")
    with running_host(vaults) as host:
        assert host.search("north", "ferry")
        assert host.ask("south", "/v1/search", query="ferry").status_code == 401
        assert states(vaults)["south"] == "refused"
        vaults.set_token("south")
        assert until(lambda: host.ask("south", "/v1/search", query="ferry").status_code == 200)


def test_a_damaged_index_troubles_only_its_vault(vaults: Vaults) -> None:
    vaults.add_three()
    with running_host(vaults) as host:
        assert host.search("south", "ferry")
        assert host.stop() == 0
    state = vaults.config_file("south").parent
    for file in (state / "index").rglob("*.sqlite*"):
        file.write_bytes(b"damaged" * 1000)
    with running_host(vaults) as host:
        assert host.search("north", "ferry")
        assert host.search("south", "ferry") == ["- The ferry carries the bittern"]


@pytest.mark.sampled
def test_sigterm_ends_the_host_and_loses_nothing(vaults: Vaults) -> None:
    vaults.add_three()
    with running_host(vaults) as host:
        boats = [f"I own boat {number}" for number in range(5)]
        turn = {"session": "s", "role": "user", "text": ". ".join(boats)}
        assert host.ask("north", "/v1/turns", **turn).status_code == 200
        for boat in boats:
            kept = host.ask("north", "/v1/remember", text=boat)
            assert (kept.status_code, kept.json()["outcome"]) == (200, "added")
        assert host.stop() == 0
    with running_host(vaults) as host:
        texts = " ".join(host.search("north", "boat"))
        assert all(f"boat {number}" in texts for number in range(5))


def test_a_kill_amid_writes_loses_no_acknowledged_write(vaults: Vaults) -> None:
    vaults.add_three()
    acknowledged = []
    with running_host(vaults) as host:
        client = host.client(token_of("north"))
        skiffs = ". ".join(f"I own skiff {number}" for number in range(12))
        turn = {"session": "s", "role": "user", "text": skiffs}
        assert client.post("/v1/turns", json=turn).status_code == 200
        for number in range(12):
            answer = client.post("/v1/remember", json={"text": f"I own skiff {number}"})
            if answer.status_code == 200:
                acknowledged.append(number)
        host.kill()
    assert acknowledged
    with running_host(vaults) as host:
        texts = " ".join(host.search("north", "skiff"))
        notes = "".join(file.read_text() for file in (vaults.path / "north").rglob("*.md"))
        for number in acknowledged:
            assert f"skiff {number}" in notes
        assert "skiff" in texts


def test_idle_vaults_are_closed_and_answer_the_same_afterwards(vaults: Vaults) -> None:
    vaults.add_three()
    settings = vaults.folder / "host.toml"
    settings.write_text("[host]\nidle_seconds = 0.5\nmost_open = 1\n")
    with running_host(vaults, "--config", str(settings)) as host:
        before = host.ask("north", "/v1/search", query="ferry").json()["hits"]
        assert until(lambda: set(states(vaults).values()) == {"closed"})
        after = host.ask("north", "/v1/search", query="ferry").json()["hits"]
        assert after == before
    alone = run(
        vaults, "search", "ferry", "--user", "mira", "--vault", str(vaults.path / "north"), "--json"
    )
    hits = json.loads(alone.stdout)["hits"]
    assert [hit["score"] for hit in hits] == [hit["score"] for hit in before]
    assert [hit["text"] for hit in hits] == [hit["text"] for hit in before]


@pytest.mark.sampled
def test_a_vault_with_a_daemon_of_its_own_is_served_and_not_tended(vaults: Vaults) -> None:
    vaults.add_three()
    daemon = subprocess.Popen(
        command("run", "--vault", str(vaults.path / "north")),
        env=vaults.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        socket = vaults.config_file("north").parent / "daemon.sock"
        assert until(socket.exists)
        with running_host(vaults) as host:
            assert host.search("north", "ferry") == ["- The ferry carries the albatross"]
            note = vaults.path / "north" / NOTE
            note.write_text(f"{note.read_text()}- The puffin sleeps\n")
            assert "- The puffin sleeps" in host.search("north", "puffin")
            assert daemon.poll() is None
            assert host.search("south", "ferry")
    finally:
        daemon.terminate()
        daemon.wait(120)


def test_a_daemon_is_refused_for_a_vault_that_the_host_tends(vaults: Vaults) -> None:
    vaults.add_three()
    with running_host(vaults) as host:
        host.search("north", "ferry")
        again = run(vaults, "run", "--vault", str(vaults.path / "north"))
        assert again.returncode == 6
        assert str(host.pid) in again.stderr


def test_commands_beside_the_host_work(vaults: Vaults) -> None:
    vaults.add_three()
    with running_host(vaults) as host:
        host.search("north", "ferry")
        root = str(vaults.path / "north")
        added = run(vaults, "remember", "I own a sextant", "--user", "mira", "--vault", root)
        assert added.returncode == 0, added.stderr
        printed = run(vaults, "search", "sextant", "--user", "mira", "--vault", root)
        assert "sextant" in printed.stdout
        assert any("sextant" in text for text in host.search("north", "sextant"))


def test_the_status_of_a_vault_names_the_host_that_tends_it(vaults: Vaults) -> None:
    vaults.add_three()
    root = str(vaults.path / "north")
    with running_host(vaults) as host:
        printed = run(vaults, "status", "--vault", root).stdout
        assert f"tends this vault, process {host.pid}" in printed
        assert "vault-memory run" not in printed
        answer = json.loads(run(vaults, "status", "--vault", root, "--json").stdout)
        assert answer["daemon"] == {"running": True, "pid": host.pid}
        assert answer["watcher"]["healthy"]
        host.kill()
        assert "vault-memory run" in run(vaults, "status", "--vault", root).stdout


def test_the_status_of_a_vault_says_that_its_host_refuses_it(vaults: Vaults) -> None:
    vaults.add_three()
    vaults.configure("west", "[serve\n")
    root = vaults.path / "west"
    with running_host(vaults):
        # The configuration is wrong for the command, too: it gets another one.
        config = vaults.folder / "empty.toml"
        config.touch()
        words = ("status", "--vault", str(root), "--config", str(config))
        answer = json.loads(run(vaults, *words, "--json").stdout)
        assert answer["daemon"] == {"running": False, "pid": None}
        assert answer["watcher"]["reason"] == "the host does not serve this vault"
        assert "--status` tells why" in run(vaults, *words).stdout


def test_the_status_names_each_vault_and_its_trouble(vaults: Vaults) -> None:
    vaults.add_three()
    vaults.set_token("west", token_of("south"))
    answer = status(vaults)
    assert not answer["running"]
    troubles = {row["root"].rpartition("/")[2]: row["trouble"] for row in answer["vaults"]}
    assert not troubles["north"]
    assert "in common" in troubles["south"]
    assert "in common" in troubles["west"]


@pytest.mark.parametrize("options", [("--vault", "x"), ("--socket", "s", "--web")])
def test_options_that_do_not_fit_are_refused(vaults: Vaults, options: tuple[str, ...]) -> None:
    vaults.add_three()
    refused = run(vaults, "host", "--vaults", str(vaults.path), *options)
    assert refused.returncode == 2
    assert "hint:" in refused.stderr


def test_metrics_name_no_vault_and_need_their_token(vaults: Vaults) -> None:
    vaults.add_three()
    token_file = vaults.folder / "metrics.token"
    token_file.touch(0o600)
    token_file.write_text("m" * 40)
    settings = vaults.folder / "host.toml"
    settings.write_text(f'[serve]\nmetrics_token_file = "{token_file}"\n')
    with running_host(vaults, "--config", str(settings)) as host:
        host.search("north", "ferry")
        refused = host.client(token_of("north")).get("/metrics")
        assert refused.status_code == 401
        numbers = host.client("m" * 40).get("/metrics").text
        assert "host_vaults" in numbers
        names = (*WORDS, "mira", str(vaults.folder))
        assert not any(name in numbers for name in names)


def test_the_doctor_of_a_host_names_the_vault_with_trouble(vaults: Vaults) -> None:
    vaults.add_three()
    command = ("host", "--vaults", str(vaults.path), "--doctor", "--json")
    healthy = run(vaults, *command)
    assert healthy.returncode == 0, healthy.stdout
    vaults.configure("south", "[serve")
    troubled = run(vaults, *command)
    assert troubled.returncode == 1
    failed = [check for check in json.loads(troubled.stdout)["checks"] if check["state"] == "fail"]
    assert len(failed) == 1
    assert "south" in failed[0]["reason"]


def test_the_doctor_of_a_host_warns_of_a_folder_without_vaults(vaults: Vaults) -> None:
    done = run(vaults, "host", "--vaults", str(vaults.path), "--doctor", "--json")
    assert done.returncode == 0, done.stdout
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["vaults"]["state"] == "warn"
    assert "init" in checks["vaults"]["fix"]


def test_the_doctor_of_a_host_names_a_vault_that_no_token_opens(vaults: Vaults) -> None:
    vaults.add_three()
    vaults.add("east")
    done = run(vaults, "host", "--vaults", str(vaults.path), "--doctor", "--json")
    assert done.returncode == 0, done.stdout
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["tokens"]["state"] == "warn"
    assert "east" in checks["tokens"]["reason"]
    assert "--new-token" in checks["tokens"]["fix"]


def test_a_vault_that_goes_is_no_longer_served(vaults: Vaults) -> None:
    vaults.add_three()
    with running_host(vaults) as host:
        host.search("west", "ferry")
        (vaults.path / "west").rename(vaults.folder / "elsewhere")
        assert until(lambda: host.ask("west", "/v1/search", query="ferry").status_code == 401)
        assert host.search("north", "ferry")


def test_turns_in_the_drop_folder_of_a_closed_vault_are_recorded(vaults: Vaults) -> None:
    vaults.add_three()
    settings = vaults.folder / "host.toml"
    settings.write_text("[host]\nidle_seconds = 0.5\n")
    with running_host(vaults, "--config", str(settings)) as host:
        assert until(lambda: set(states(vaults).values()) == {"closed"})
        drop = vaults.config_file("south").parent / "drop"
        turn = {
            "session": "s1",
            "role": "user",
            "user": "mira",
            "source": "talk",
            "text": "The tide turns at noon",
        }
        new = drop / "new"
        new.write_text(json.dumps(turn) + "\n")
        new.rename(drop / "bot.jsonl")
        transcripts = vaults.path / "south"

        def is_recorded() -> bool:
            files = transcripts.rglob("*")
            return any("tide" in file.read_text() for file in files if file.is_file())

        assert until(is_recorded)
        assert host.process.poll() is None
