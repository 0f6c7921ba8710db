"""Many new notes in few requests: what a request without preconditions must not lose."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.remote.servers.exchange import Response
from tests.remote.servers.faults import (
    Answer,
    CutRequest,
    CutResponse,
    Fault,
    LoseAnswer,
    LoseRequest,
    Meanwhile,
    Rewrite,
)
from tests.sync.clouded import bulk_upload
from tests.sync.test_scenarios_servers import Cloud
from vault_memory.remote.remote_errors import RemoteBusy

BULK = "/dav/bulk"
NOTES = {f"tea{number:02}.md": f"- tea {number}\n" for number in range(20)}
NOT_FOUND = Answer(404, {"Content-Type": "text/html"}, b"<html><body>404</body></html>")
FORBIDDEN = Answer(
    403,
    {"Content-Type": "application/xml; charset=utf-8"},
    b'<?xml version="1.0"?><d:error xmlns:d="DAV:"><s:message xmlns:s="http://sabredav.org/ns">No</s:message></d:error>',
)


@pytest.fixture
def cloud(base: Path) -> Cloud:
    cloud = Cloud(base)
    cloud.agreed()
    return cloud


def save_all(cloud: Cloud) -> None:
    for path, text in NOTES.items():
        cloud.laptop.save(path, text)


def add_bulk_fault(cloud: Cloud, fault: Fault) -> None:
    cloud.script.add(fault, method="POST", path=BULK)


def changed_results(change: Callable[[dict[str, dict[str, object]]], None]) -> Rewrite:
    """The answer tells something else about some parts."""

    def rewrite(answer: Response) -> Response:
        results = json.loads(answer.body)
        change(results)
        return Response(
            answer.status, {"Content-Type": "application/json"}, json.dumps(results).encode()
        )

    return Rewrite(rewrite)


def sent_in_bulk(cloud: Cloud) -> int:
    return len([seen for seen in cloud.fake.requests("POST") if seen.path.endswith(BULK)])


def assert_all_arrive_once(cloud: Cloud) -> None:
    files = cloud.together()
    assert {path: files[path].decode() for path in NOTES} == NOTES
    assert len(files) == len(NOTES) + 2


@pytest.mark.sampled
def test_uploading_250_new_notes_takes_twelve_requests_plus_folders(cloud: Cloud):
    for number in range(250):
        cloud.laptop.save(
            f"{number % 10}/{number}.md", f"# {number}\n\n- the lamp of night {number}\n"
        )

    report = cloud.laptop.run_pass()

    assert report.uploaded == 250
    assert not report.failed
    assert report.requests <= 12 + 10
    assert cloud.laptop.files() == cloud.fake.files()
    cloud.clock.pass_by(15)
    assert cloud.laptop.run_pass().requests <= 2
    cloud.clock.pass_by(15)
    assert cloud.laptop.run_pass().requests == 1


def test_bulk_uploaded_notes_have_their_tags_ids_and_times(cloud: Cloud):
    save_all(cloud)
    cloud.laptop.run_pass()

    base = cloud.laptop.sync.state.base()
    for path in NOTES:
        file = cloud.fake.tree.file(path)
        assert (base[path].tag, base[path].remote_id) == (f'"{file.etag}"', str(file.id))
        assert 0 < cloud.clock.seconds() - file.mtime < 120
    assert cloud.puts() == 0


def test_a_few_new_notes_are_uploaded_singly_with_a_precondition(cloud: Cloud):
    for path in sorted(NOTES)[:9]:
        cloud.laptop.save(path, NOTES[path])
    cloud.laptop.run_pass()

    assert (sent_in_bulk(cloud), cloud.puts()) == (0, 9)


@pytest.mark.sampled
def test_an_edited_note_is_never_uploaded_in_bulk(cloud: Cloud):
    save_all(cloud)
    cloud.laptop.settle((cloud.phone,))
    cloud.fake.log.clear()
    for path, text in NOTES.items():
        cloud.laptop.save(path, f"{text}- more\n")
    cloud.laptop.run_pass()

    assert (sent_in_bulk(cloud), cloud.puts()) == (0, 20)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "places", [["tea00.md"], ["tea00.md", "tea01.md"], ["tea07.md"], ["tea19.md"], list(NOTES)]
)
@pytest.mark.parametrize("age", [0, 90, 400_000])
def test_a_note_created_by_another_client_after_the_listing_loses_no_line(
    cloud: Cloud, places: list[str], age: int
):
    save_all(cloud)

    def make() -> None:
        for path in places:
            bulk_upload(
                cloud.fake, path, f"- its {path}\n".encode(), mtime=int(cloud.clock.seconds()) - age
            )

    add_bulk_fault(cloud, Meanwhile(make))
    cloud.laptop.run_pass()

    assert sent_in_bulk(cloud) >= 1
    files = cloud.together()
    for path, text in NOTES.items():
        its = [f"- its {path}"] if path in places else []
        assert sorted(files[path].decode().splitlines()) == sorted([text.strip(), *its])


def test_a_note_created_by_another_client_at_the_same_time_loses_no_line(cloud: Cloud):
    save_all(cloud)
    cloud.laptop.remote._lag = 20

    def make() -> None:
        bulk_upload(cloud.fake, "tea07.md", b"- its\n", mtime=int(cloud.clock.seconds()) - 22)

    add_bulk_fault(cloud, Meanwhile(make))
    cloud.laptop.run_pass()

    assert cloud.fake.tree.file("tea07.md").mtime == int(cloud.clock.seconds()) - 22
    assert sorted(cloud.together()["tea07.md"].decode().splitlines()) == ["- its", "- tea 7"]


def test_a_note_created_during_the_request_is_discovered_by_the_next_edit(cloud: Cloud):
    save_all(cloud)
    cloud.laptop.run_pass()
    file = cloud.fake.tree.file("tea05.md")
    file.versions[file.mtime - 5] = b"- its\n"
    cloud.clock.pass_by(60)
    cloud.laptop.save("tea05.md", "- tea 5\n- more\n")

    cloud.laptop.run_pass()

    assert sorted(cloud.together()["tea05.md"].decode().splitlines()) == [
        "- its",
        "- more",
        "- tea 5",
    ]


@pytest.mark.sampled
@pytest.mark.parametrize(
    "fault",
    [
        LoseAnswer(),
        LoseRequest(),
        CutRequest(700),
        CutRequest(-5),
        CutResponse(0),
        CutResponse(-20),
        CutResponse(300),
    ],
    ids=repr,
)
def test_a_connection_lost_during_the_request_loses_and_duplicates_nothing(
    cloud: Cloud, fault: Fault
):
    save_all(cloud)
    add_bulk_fault(cloud, fault)

    report = cloud.laptop.run_pass()

    assert len(report.failed) == len(NOTES)
    assert_all_arrive_once(cloud)
    assert not any(len(file.versions) for file in map(cloud.fake.tree.file, NOTES))


@pytest.mark.sampled
def test_a_lost_response_followed_by_another_clients_write_loses_no_line(cloud: Cloud):
    save_all(cloud)
    add_bulk_fault(cloud, LoseAnswer())
    cloud.laptop.run_pass()
    cloud.clock.pass_by(5)
    bulk_upload(cloud.fake, "tea03.md", b"- its\n")

    assert sorted(cloud.together()["tea03.md"].decode().splitlines()) == ["- its", "- tea 3"]


@pytest.mark.sampled
def test_a_note_created_after_the_listing_survives_a_lost_response(cloud: Cloud):
    save_all(cloud)

    def make() -> None:
        bulk_upload(cloud.fake, "tea03.md", b"- its\n", mtime=int(cloud.clock.seconds()) - 900)
        add_bulk_fault(cloud, LoseAnswer())

    cloud.script.add(Meanwhile(make), method="PROPFIND")
    report = cloud.laptop.run_pass()

    assert report.failed
    assert sorted(cloud.together()["tea03.md"].decode().splitlines()) == ["- its", "- tea 3"]


def test_after_a_damaged_part_the_remaining_notes_are_uploaded_singly(cloud: Cloud):
    save_all(cloud)

    def stop_at_tenth(answer: Response) -> Response:
        results = json.loads(answer.body)
        for path in sorted(NOTES)[10:]:
            del results[f"/{path}"]
            cloud.fake.tree.remove(path)
        return Response(400, {"Content-Type": "application/json"}, json.dumps(results).encode())

    add_bulk_fault(cloud, Rewrite(stop_at_tenth))
    report = cloud.laptop.run_pass()

    assert (report.uploaded, cloud.puts()) == (20, 10)
    assert_all_arrive_once(cloud)


@pytest.mark.sampled
@pytest.mark.parametrize("status", [403, 404, 405, 413, 501, 507])
def test_a_server_that_advertises_bulk_but_rejects_it_is_used_without_bulk(
    cloud: Cloud, status: int
):
    save_all(cloud)
    add_bulk_fault(cloud, {403: FORBIDDEN, 404: NOT_FOUND}.get(status, Answer(status)))

    report = cloud.laptop.run_pass()

    assert (report.uploaded, cloud.puts()) == (20, 20)
    for path in NOTES:
        cloud.laptop.save(f"again {path}", "- again\n")
    cloud.laptop.run_pass()
    assert (sent_in_bulk(cloud), cloud.puts()) == (0, 40)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, {"Content-Type": "text/html"}, b"<html>log in</html>"),
        Answer(200, {"Content-Type": "application/json"}, b"{}"),
        Answer(200, {"Content-Type": "application/json"}, b'"all is well"'),
        Answer(400, {"Content-Type": "text/html"}, b"<html>Bad Request</html>"),
        Answer(500),
        Answer(502),
    ],
    ids=lambda answer: str(answer.status) + answer.body.decode()[:10],
)
def test_after_an_unusable_response_the_contents_are_compared(cloud: Cloud, answer: Answer):
    save_all(cloud)
    add_bulk_fault(cloud, answer)

    report = cloud.laptop.run_pass()

    assert len(report.failed) == len(NOTES)
    assert_all_arrive_once(cloud)


@pytest.mark.sampled
def test_a_busy_server_gets_no_further_requests(cloud: Cloud):
    save_all(cloud)
    add_bulk_fault(cloud, Answer(429, {"Retry-After": "7"}))

    with pytest.raises(RemoteBusy):
        cloud.laptop.run_pass()

    assert cloud.puts() == 0
    assert_all_arrive_once(cloud)


@pytest.mark.sampled
def test_a_full_account_is_reported_for_each_note(cloud: Cloud):
    cloud.fake.quota(sum(map(len, cloud.fake.files().values())) + 25)
    save_all(cloud)

    report = cloud.laptop.run_pass()

    assert 0 < report.uploaded < 5
    assert "no space left" in dict(report.failed)["tea10.md"]
    cloud.fake.quota(None)
    assert_all_arrive_once(cloud)


@pytest.mark.sampled
def test_a_note_locked_by_another_client_is_merged_once_unlocked(cloud: Cloud):
    save_all(cloud)

    def make() -> None:
        bulk_upload(cloud.fake, "tea04.md", b"- its\n")
        cloud.fake.lock("tea04.md", 300)

    add_bulk_fault(cloud, Meanwhile(make))
    report = cloud.laptop.run_pass()
    cloud.fake.unlock("tea04.md")

    assert report.uploaded == 19
    assert sorted(cloud.together()["tea04.md"].decode().splitlines()) == ["- its", "- tea 4"]


@pytest.mark.sampled
def test_a_part_stored_despite_a_reported_error_is_reconciled(cloud: Cloud):
    save_all(cloud)

    def make() -> None:
        bulk_upload(cloud.fake, "tea04.md", b"- its\n", mtime=int(cloud.clock.seconds()) - 900)
        add_bulk_fault(
            cloud,
            changed_results(
                lambda results: results.update({"/tea04.md": {"error": True, "message": "no time"}})
            ),
        )

    cloud.script.add(Meanwhile(make), method="PROPFIND")
    cloud.laptop.run_pass()

    assert sorted(cloud.together()["tea04.md"].decode().splitlines()) == ["- its", "- tea 4"]


def test_names_that_a_header_would_alter_are_uploaded_singly(cloud: Cloud):
    odd = {
        "end.md ": "- space\n",
        "cafe\u0301.md": "- nfd\n",
        "tab\t.md": "- tab\n",
        "ümlaut €.md": "- plain\n",
    }
    save_all(cloud)
    for path, text in odd.items():
        cloud.laptop.save(path, text)

    cloud.laptop.run_pass()

    files = cloud.fake.files()
    assert files["ümlaut €.md"] == b"- plain\n"
    assert "end.md" not in files
    assert {path: files[path].decode() for path in NOTES} == NOTES


@pytest.mark.sampled
def test_notes_wait_when_their_folder_could_not_be_created(cloud: Cloud):
    for path, text in NOTES.items():
        cloud.laptop.save(f"new/{path}", text)
    cloud.script.add(Answer(423), method="MKCOL")

    cloud.laptop.run_pass()

    assert sent_in_bulk(cloud) == 0
    files = cloud.together()
    assert {
        path.removeprefix("new/"): raw.decode() for path, raw in files.items() if "/" in path
    } == NOTES


def test_a_large_upload_is_split_into_requests_of_one_mebibyte(cloud: Cloud):
    for path in NOTES:
        cloud.laptop.save(path, path * 30_000)

    report = cloud.laptop.run_pass()

    assert report.uploaded == 20
    sizes = [seen.size for seen in cloud.fake.requests("POST") if seen.path.endswith(BULK)]
    assert len(sizes) == 3
    assert max(sizes) < 2**20 + 2**14
    assert cloud.laptop.files() == cloud.fake.files()


def test_a_server_that_does_not_advertise_bulk_gets_no_bulk_request(base: Path):
    cloud = Cloud(base)
    cloud.script.add(
        Answer(200, {"Content-Type": "application/json"}, b'{"ocs": []}'),
        path="/cloud/capabilities",
    )
    cloud.agreed()
    save_all(cloud)
    cloud.laptop.run_pass()

    assert (sent_in_bulk(cloud), cloud.puts()) == (0, 20)
