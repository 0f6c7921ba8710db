"""Faults fall where a script says, in process and on a port, and look to a client as real ones do."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import requests

from tests.remote.servers import faults
from tests.remote.servers.direct import DirectAdapter
from tests.remote.servers.exchange import Response, response_head
from tests.remote.servers.faults import (
    CutRequest,
    CutResponse,
    Delay,
    Duplicate,
    Faulty,
    LoseAnswer,
    LoseRequest,
    Meanwhile,
    Script,
)
from tests.remote.servers.front import Front
from tests.remote.servers.nextcloud import Clock, FakeNextcloud
from tests.remote.servers.proxy import FaultProxy
from tests.remote.servers.real import Server

ORIGIN = "http://cloud.example"


@dataclass
class Line:
    """A client, a script of faults, and the server behind it."""

    cloud: FakeNextcloud
    script: Script
    session: requests.Session
    base: str

    def send(
        self, method: str, name: str = "", body: bytes = b"", **headers: str
    ) -> requests.Response:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        return self.session.request(
            method, self.base + name, data=body, headers=named, timeout=0.5, allow_redirects=False
        )


@pytest.fixture(params=["in process", "on a port"])
def line(request: pytest.FixtureRequest, clock: Clock) -> Iterator[Line]:
    cloud, script = FakeNextcloud(clock=clock), Script()
    with requests.Session() as session:
        session.trust_env = False
        session.auth = (cloud.user, cloud.app_password)
        if request.param == "in process":
            session.mount("http://", DirectAdapter(Faulty(cloud, script, sleep=lambda _: None)))
            yield Line(cloud, script, session, ORIGIN + cloud.dav_path)
        else:
            with Front(cloud) as front, FaultProxy(front.url + cloud.dav_path, script) as proxy:
                yield Line(cloud, script, session, proxy.url)


def test_without_faults_every_request_succeeds(line: Line) -> None:
    assert line.send("PUT", "a.md", b"text\n").status_code == 201
    assert line.send("GET", "a.md").content == b"text\n"
    assert line.send("MOVE", "a.md", Destination=f"{line.base}b.md").status_code == 201
    head = line.send("HEAD", "b.md")
    assert (head.headers["Content-Length"], head.content) == ("5", b"")
    assert line.send("DELETE", "b.md").status_code == 204
    assert line.cloud.files() == {}


def test_a_condition_on_the_target_works_with_the_servers_own_address(
    line: Line, clock: Clock
) -> None:
    tag = line.send("PUT", "a.md", b"old").headers["OC-ETag"]
    line.send("PUT", "b.md", b"new")

    wrong = line.send(
        "MOVE", "b.md", Destination=f"{line.base}a.md", If=f'<{line.base}a.md> (["wrong"])'
    )
    right = line.send(
        "MOVE", "b.md", Destination=f"{line.base}a.md", If=f"<{line.base}a.md> ([{tag}])"
    )

    assert (wrong.status_code, right.status_code) == (412, 204)


def test_a_request_cut_in_its_head_never_arrives(line: Line) -> None:
    line.script.add(CutRequest(20))

    with pytest.raises(requests.ConnectionError):
        line.send("PUT", "a.md", b"text\n")

    assert line.cloud.log == []


def test_a_request_cut_in_its_body_truncates_the_overwritten_file(line: Line, clock: Clock) -> None:
    line.send("PUT", "a.md", b"old text\n")
    line.script.add(CutRequest(-3), "PUT")

    with pytest.raises(requests.ConnectionError):
        line.send("PUT", "a.md", b"new text, longer\n")

    wait_until(lambda: line.cloud.log[-1].status == 0)
    assert line.cloud.files() == {"a.md": b"new text, long"}


def test_a_lost_response_leaves_the_work_done(line: Line) -> None:
    line.script.add(LoseAnswer(), "PUT")
    line.script.add(LoseAnswer(silent=True), "DELETE")

    with pytest.raises(requests.ConnectionError):
        line.send("PUT", "a.md", b"text\n")
    assert line.cloud.files() == {"a.md": b"text\n"}

    with pytest.raises(requests.ReadTimeout):
        line.send("DELETE", "a.md")
    assert line.cloud.files() == {}


def test_a_lost_request_leaves_the_work_undone(line: Line) -> None:
    line.script.add(LoseRequest(), "PUT")
    line.script.add(LoseRequest(silent=True), "PUT")

    with pytest.raises(requests.ConnectionError):
        line.send("PUT", "a.md", b"text\n")
    with pytest.raises(requests.ReadTimeout):
        line.send("PUT", "a.md", b"text\n")

    assert line.cloud.log == []


@pytest.mark.parametrize("at", [0, 1, 11, -30, -1])
def test_a_response_cut_anywhere_is_an_error_with_the_work_done(line: Line, at: int) -> None:
    line.send("PUT", "a.md", b"text, of some length, so that most cuts fall into it\n")
    line.script.add(CutResponse(at), "GET")

    with pytest.raises(requests.RequestException):
        line.send("GET", "a.md")

    assert [seen.method for seen in line.cloud.log] == ["PUT", "GET"]


def test_a_response_cut_in_its_head_looks_like_an_empty_file(line: Line) -> None:
    line.send("PUT", "a.md", b"text\n")
    line.script.add(CutResponse(40), "GET")

    answer = line.send("GET", "a.md")

    assert (answer.status_code, answer.content, "Content-Length" in answer.headers) == (
        200,
        b"",
        False,
    )


def test_a_duplicated_request_gets_the_second_response(line: Line) -> None:
    line.script.add(Duplicate(), "PUT")

    answer = line.send("PUT", "a.md", b"text\n", If_None_Match="*")

    assert (answer.status_code, line.cloud.files()) == (412, {"a.md": b"text\n"})


@pytest.mark.parametrize(
    ("fault", "status", "header"),
    [
        (faults.LOGIN_WITH_200, 200, ("Content-Type", "text/html; charset=utf-8")),
        (faults.LOGIN_WITH_302, 302, ("Location", "/login")),
        (faults.NOT_FOUND, 404, ("Content-Type", "text/html")),
        (faults.EMPTY_200, 200, ("Content-Length", "0")),
        (faults.UNAVAILABLE, 503, ("Content-Type", "text/html")),
        (faults.after(503, 9), 503, ("Retry-After", "9")),
        (faults.TOO_MANY, 429, ("Retry-After", "7")),
    ],
)
def test_an_intermediary_can_answer_instead_of_the_server(
    line: Line, fault: faults.Answer, status: int, header: tuple[str, str]
) -> None:
    line.script.add(fault)

    answer = line.send("PUT", "a.md", b"text\n")

    assert (answer.status_code, answer.headers[header[0]], answer.content) == (
        status,
        header[1],
        fault.body,
    )
    assert line.cloud.log == []


def test_a_response_can_be_rewritten_in_transit(line: Line) -> None:
    tag = line.send("PUT", "a.md", b"text\n").headers["ETag"]
    line.script.add(faults.shortened(3), "GET")
    line.script.add(faults.replaced(tag.encode(), b"W/" + tag.encode()), "GET")

    short, weak = line.send("GET", "a.md"), line.send("GET", "a.md")

    assert (short.content, short.headers["Content-Length"]) == (b"tex", "3")
    assert (weak.content, weak.headers["ETag"]) == (b"text\n", f"W/{tag}")


def test_another_client_can_write_before_or_after_a_request(line: Line, clock: Clock) -> None:
    base = line.send("PUT", "a.md", b"old\n").headers["ETag"]
    clock.pass_(5)
    line.script.add(Meanwhile(lambda: line.cloud.other_client_put("a.md", b"theirs\n")), "PUT")
    line.script.add(Meanwhile(lambda: line.cloud.other_client_delete("a.md"), after=True), "GET")

    assert line.send("PUT", "a.md", b"ours\n", If_Match=base).status_code == 412
    assert line.send("GET", "a.md").content == b"theirs\n"
    assert line.cloud.files() == {}


def test_a_rule_skips_and_hits_as_many_requests_as_configured(line: Line) -> None:
    line.script.add(faults.NOT_FOUND, "GET", "a.md", times=2, skip=1)
    line.send("PUT", "a.md", b"1")
    line.send("PUT", "b.md", b"1")

    statuses = [
        line.send("GET", name).status_code for name in ("a.md", "b.md", "a.md", "a.md", "a.md")
    ]

    assert statuses == [200, 200, 404, 404, 200]
    assert len(line.script.happened) == 2


def test_a_delayed_response_arrives_late(line: Line) -> None:
    waited: list[float] = []
    faulty = Faulty(line.cloud, Script([faults.Rule(Delay(9))]), sleep=waited.append)

    assert faulty.handle("GET", "/status.php", {}).status == 200
    assert waited == [9]


def test_the_same_seed_produces_the_same_faults() -> None:
    def run(seed: int) -> list[object]:
        script = Script.seeded(seed, 0.3)
        return [script.next("GET", f"/{number}") for number in range(300)]

    assert run(4) == run(4) != run(5)
    hit = [fault for fault in run(4) if fault is not None]
    assert 60 < len(hit) < 120
    assert len({type(fault) for fault in hit}) == 6


def test_the_socketless_transport_never_reports_a_cut_response_as_complete() -> None:
    class One:
        def handle(self, *_: object, **__: object) -> Response:
            return answer

    answer = Response(200, {"Content-Type": "text/plain"}, b"0123456789" * 20)
    length = len(response_head(answer)) + len(answer.body)
    script = Script()
    with requests.Session() as session:
        session.mount("http://", DirectAdapter(Faulty(One(), script)))
        for cut in range(length + 2):
            script.add(CutResponse(cut))
            try:
                got = session.get(ORIGIN)
            except requests.RequestException:
                assert cut < length
            else:
                assert (
                    (got.content == answer.body)
                    == (cut >= length)
                    == bool(got.headers.get("Content-Length"))
                )


def test_the_session_keeps_cookies_of_the_fake_server(
    nextcloud: FakeNextcloud, nextcloud_session: requests.Session
) -> None:
    url = ORIGIN + nextcloud.dav_path
    assert nextcloud_session.request("PROPFIND", url, headers={"Depth": "0"}).status_code == 207
    nextcloud.door.app_passwords.clear()

    assert nextcloud_session.request("PROPFIND", url, headers={"Depth": "0"}).status_code == 207
    assert "cookie" in nextcloud.log[-1].headers


def test_a_file_is_locked_for_others_during_its_upload(
    nextcloud: FakeNextcloud, nextcloud_url: str
) -> None:
    nextcloud.other_client_put("a.md", b"old\n")
    script = Script()
    with FaultProxy(nextcloud_url, script) as proxy, requests.Session() as session:
        session.auth = (nextcloud.user, nextcloud.app_password)

        def slowly() -> Iterator[bytes]:
            yield b"new "
            wait_until(lambda: session.get(f"{nextcloud_url}a.md", timeout=120).status_code == 423)
            yield b"text\n"

        with requests.Session() as writer:
            writer.auth = session.auth
            assert writer.put(f"{nextcloud_url}a.md", data=slowly(), timeout=120).status_code == 204
        assert session.get(f"{proxy.url}a.md", timeout=120).content == b"new text\n"


def test_the_proxy_works_in_front_of_a_real_server(server_named: Callable[[str], Server]) -> None:
    server = server_named("apache-digest")
    folder = server.make_folder("proxied")
    script = Script()
    with FaultProxy(folder, script) as proxy, requests.Session() as session:
        session.auth = (server.user, server.password)
        assert session.put(f"{proxy.url}a.md", data=b"old text\n").status_code == 201
        script.add(CutRequest(-3), "PUT")
        with pytest.raises(requests.ConnectionError):
            session.put(f"{proxy.url}a.md", data=b"new text, longer\n")

        assert session.get(f"{proxy.url}a.md").content == b"old text\n"
        moved = session.request(
            "MOVE", f"{proxy.url}a.md", headers={"Destination": f"{proxy.url}b.md"}
        )
        assert moved.status_code == 201
        assert [seen.method for seen in proxy.log] == ["PUT", "PUT", "GET", "MOVE"]


def test_a_crashing_app_is_not_mistaken_for_a_broken_connection() -> None:
    class Broken:
        def handle(self, *_: object, **__: object) -> Response:
            raise KeyError("a bug")

    with (
        pytest.raises(KeyError, match="a bug"),
        Front(Broken()) as front,
        pytest.raises(requests.ConnectionError),
    ):
        requests.get(front.url, timeout=120)


def wait_until(true: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)
