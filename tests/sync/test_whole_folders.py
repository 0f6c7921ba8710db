"""A folder that is renamed or deleted here is renamed or deleted on the server as a whole."""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.remote.servers import real
from tests.remote.servers.direct import DirectAdapter
from tests.remote.servers.exchange import Response
from tests.remote.servers.nextcloud import FakeNextcloud
from tests.remote.servers.nextcloud.tree import walk
from tests.sync.clouded import connected
from tests.sync.devices import Clock, Device
from tests.sync.test_requests import settle
from vault_memory.remote.http_transport import Account
from vault_memory.remote.webdav import WebDav
from vault_memory.service.sync_turns import pass_counts

INSIDE = {
    **{f"project/note {number}.md": f"- note {number}\n" for number in range(30)},
    "project/deep/er/idea.md": "- an idea\n",
    "project/deep/log.jsonl": '{"id": "1"}\n',
    "project/plan.png": "picture",
}
OUTSIDE = {
    "USER.md": "- likes tea\n",
    "archive/old.md": "- old\n",
    **{f"diary/{number}.md": f"- day {number}\n" for number in range(300)},
}


@dataclass
class Meanwhile:
    """A server on which somebody acts right before the first request that fits."""

    fake: FakeNextcloud
    method: str
    path: str
    act: Callable[[FakeNextcloud], None] | None = None

    def handle(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        address: str = "127.0.0.1",
    ) -> Response:
        if method == self.method and self.path in path and self.act:
            act, self.act = self.act, None
            act(self.fake)
        return self.fake.handle(method, path, headers, body, address=address)


class Cloud:
    """A laptop in step with a Nextcloud."""

    def __init__(self, base: Path) -> None:
        self.clock = Clock()
        self.fake = FakeNextcloud(clock=self.clock.seconds)
        self.laptop = Device(base, "laptop", connected(self.fake), self.clock)
        for path, text in {**INSIDE, **OUTSIDE}.items():
            self.laptop.save(path, text)
        settle(self.laptop)
        self.fake.log.clear()

    def __truediv__(self, path: str) -> Path:
        return self.laptop.vault / path

    def passes(self, count: int = 4) -> list[int]:
        """The requests of each of the next passes."""
        requests = []
        for _ in range(count):
            self.clock.pass_by(15)
            requests.append(self.laptop.run_pass().requests)
        return requests

    def meanwhile(self, method: str, path: str, act: Callable[[FakeNextcloud], None]) -> None:
        """Let somebody act on the server right before a request of the laptop."""
        adapter = self.laptop.remote._transport._adapter  # type: ignore[attr-defined]
        assert isinstance(adapter, DirectAdapter)
        adapter.app = Meanwhile(self.fake, method, path, act)

    def sent(self, *methods: str) -> list[str]:
        """The requests of these methods, each with the name at its end."""
        return [
            f"{seen.method} {seen.path.rstrip('/').rpartition('/')[2]}"
            for seen in self.fake.log
            if seen.method in methods
        ]

    def in_step(self) -> bool:
        return self.laptop.files() == self.fake.files()


@pytest.fixture
def cloud(base: Path) -> Cloud:
    return Cloud(base)


# --- Renames ----------------------------------------------------------------------------------


def into_a_new_folder(cloud: Cloud) -> None:
    (cloud / "areas/work").mkdir(parents=True)
    (cloud / "project").rename(cloud / "areas/work/project")


def with_an_edit(cloud: Cloud) -> None:
    (cloud / "project").rename(cloud / "work")
    cloud.laptop.save("work/note 3.md", "- note 3\n- and more\n")


def with_a_new_note(cloud: Cloud) -> None:
    (cloud / "project").rename(cloud / "work")
    cloud.laptop.save("work/new.md", "- new\n")


def with_a_note_less(cloud: Cloud) -> None:
    (cloud / "project").rename(cloud / "work")
    (cloud / "work/note 3.md").unlink()


def with_a_note_that_goes_elsewhere(cloud: Cloud) -> None:
    (cloud / "project/note 3.md").rename(cloud / "note 3.md")
    (cloud / "project").rename(cloud / "work")


def with_a_note_renamed_inside(cloud: Cloud) -> None:
    (cloud / "project/note 3.md").rename(cloud / "project/third.md")
    (cloud / "project").rename(cloud / "work")


def with_atomic_saves_of_all_but_one(cloud: Cloud) -> None:
    (cloud / "project").rename(cloud / "work")
    for number in range(29):
        new = cloud / f"work/.{number}.tmp"
        new.write_text(f"- another text {number}\n")
        os.replace(new, cloud / f"work/note {number}.md")


def with_a_new_folder_of_the_old_name(cloud: Cloud) -> None:
    (cloud / "project").rename(cloud / "work")
    cloud.laptop.save("project/note 3.md", "- begun anew\n")


RENAMES: dict[str, tuple[Callable[[Cloud], object], int, int]] = {
    # what is done, MOVEs, all requests of four passes
    "to another name": (lambda cloud: (cloud / "project").rename(cloud / "work"), 1, 5),
    "in case only": (lambda cloud: (cloud / "project").rename(cloud / "Project"), 1, 5),
    "in other letters": (lambda cloud: (cloud / "project").rename(cloud / "дела ü"), 1, 5),
    "into another folder": (
        lambda cloud: (cloud / "project").rename(cloud / "archive/project"),
        1,
        5,
    ),
    "into a new folder": (into_a_new_folder, 1, 7),
    "out of a folder": (lambda cloud: (cloud / "project/deep").rename(cloud / "deep"), 1, 5),
    "with an edit": (with_an_edit, 1, 8),
    "with a new note": (with_a_new_note, 1, 8),
    "with a note less": (with_a_note_less, 1, 9),
    "with a note that goes elsewhere": (with_a_note_that_goes_elsewhere, 2, 7),
    "with a note renamed inside": (with_a_note_renamed_inside, 2, 8),
    "with a new folder of the old name": (with_a_new_folder_of_the_old_name, 1, 9),
    "with atomic saves of all but one": (with_atomic_saves_of_all_but_one, 1, 100),
}


@pytest.mark.sampled
@pytest.mark.parametrize("how", RENAMES)
def test_a_folder_renamed_here_is_one_move(cloud: Cloud, how: str) -> None:
    rename, moves, most = RENAMES[how]
    ids = {path: cloud.fake.tree.at(path).id for path in ("project", "project/deep")}
    rename(cloud)

    requests = sum(cloud.passes())
    cloud.laptop.settle()

    assert len(cloud.sent("MOVE")) == moves
    assert requests <= most
    assert cloud.in_step()
    kept = {node.id for _, node in walk(cloud.fake.tree.root)}
    assert set(ids.values()) <= kept, "its shares and tags go with its id"


@pytest.mark.sampled
def test_two_folders_that_change_places_keep_their_ids(cloud: Cloud) -> None:
    ids = [cloud.fake.tree.at(path).id for path in ("project", "archive")]
    (cloud / "project").rename(cloud / "between")
    (cloud / "archive").rename(cloud / "project")
    (cloud / "between").rename(cloud / "archive")

    requests = sum(cloud.passes())

    assert [cloud.fake.tree.at(path).id for path in ("archive", "project")] == ids
    assert requests <= 7
    assert cloud.in_step()


@pytest.mark.sampled
def test_a_folder_renamed_twice_between_two_passes_is_one_move(cloud: Cloud) -> None:
    (cloud / "project").rename(cloud / "a")
    (cloud / "a").rename(cloud / "b")
    (cloud / "archive").rename(cloud / "project")

    cloud.passes()

    assert cloud.sent("MOVE", "DELETE") == ["MOVE project", "MOVE archive"]
    assert cloud.in_step()


@pytest.mark.sampled
def test_a_folder_renamed_right_after_it_was_made_is_one_move(cloud: Cloud) -> None:
    for number in range(5):
        cloud.laptop.save(f"fresh/{number}.md", f"- {number}\n")
    cloud.clock.pass_by(15)
    cloud.laptop.run_pass()
    (cloud / "fresh").rename(cloud / "ripe")

    cloud.laptop.settle()

    assert cloud.sent("MOVE", "DELETE") == ["MOVE fresh"]
    assert cloud.in_step()


@pytest.mark.sampled
def test_a_folder_that_came_from_another_device_is_renamed_with_one_move(cloud: Cloud) -> None:
    for number in range(5):
        cloud.fake.other_client_put(f"theirs/{number}.md", b"- text\n")
    cloud.laptop.settle()
    (cloud / "theirs").rename(cloud / "ours")

    cloud.laptop.settle()

    assert cloud.sent("MOVE", "DELETE") == ["MOVE theirs"]
    assert cloud.in_step()


@pytest.mark.sampled
@pytest.mark.parametrize("before", ["the listing", "the move"])
def test_what_others_do_in_a_folder_arrives_under_its_new_name(cloud: Cloud, before: str) -> None:
    def others(fake: FakeNextcloud) -> None:
        fake.other_client_put("project/note 1.md", b"- note 1\n- from the phone\n")
        fake.other_client_put("project/theirs.md", b"- new on the phone\n")
        fake.other_client_delete("project/note 2.md")

    (cloud / "project").rename(cloud / "work")
    if before == "the listing":
        others(cloud.fake)
    else:
        cloud.meanwhile("MOVE", "project", others)

    cloud.laptop.settle()

    assert cloud.laptop.text("work/note 1.md") == "- note 1\n- from the phone\n"
    assert cloud.laptop.text("work/theirs.md") == "- new on the phone\n"
    assert not (cloud / "work/note 2.md").exists()
    assert not (cloud / "project").exists()
    assert cloud.in_step()


@pytest.mark.sampled
def test_files_that_are_not_synced_go_with_their_folder(cloud: Cloud) -> None:
    cloud.fake.other_client_put("project/.obsidian/app.json", b"{}")
    cloud.fake.other_client_put("project/film.tmp", b"not synced")
    cloud.laptop.settle()
    (cloud / "project").rename(cloud / "work")

    cloud.laptop.settle()

    assert cloud.fake.files()["work/.obsidian/app.json"] == b"{}"
    assert not any(path.startswith("project/") for path in cloud.fake.files())


@pytest.mark.sampled
def test_a_new_folder_with_the_inode_of_a_deleted_one_gets_none_of_its_shares(cloud: Cloud) -> None:
    cloud.laptop.save("shared/ours.md", "- for all eyes\n")
    settle(cloud.laptop)
    id = cloud.fake.tree.at("shared").id
    # Most file systems give the number of the deleted folder to the next one.
    (cloud / "shared").rename(cloud / "private")
    (cloud / "private/ours.md").unlink()
    cloud.laptop.save("private/mine.md", "- for nobody\n")

    cloud.laptop.settle()

    assert cloud.fake.tree.at("private").id != id
    assert cloud.in_step()


@pytest.mark.sampled
def test_renames_and_moves_are_counted_in_the_report(cloud: Cloud) -> None:
    phone = Device(cloud.laptop.vault.parent.parent, "phone", connected(cloud.fake), cloud.clock)
    settle(phone)
    (cloud / "project").rename(cloud / "work")
    (cloud / "archive/old.md").rename(cloud / "older.md")
    (cloud / "USER.md").rename(cloud / "Mira.md")

    there, here = cloud.laptop.settle(), phone.settle()

    assert [sum(report.renamed_remote for report in each) for each in (there, here)] == [
        len(INSIDE) + 2,
        0,
    ]
    assert [sum(report.renamed_local for report in each) for each in (there, here)] == [
        0,
        len(INSIDE) + 2,
    ]
    assert pass_counts(here[0]).startswith(f"{here[0].renamed_local} renamed local")
    assert "True" not in "".join(map(pass_counts, (*there, *here)))
    assert cloud.laptop.files() == phone.files() == cloud.fake.files()


def test_a_pass_that_renames_a_folder_fetches_no_doubtful_file_below_its_old_name(
    base: Path,
) -> None:
    clock = Clock()
    fake = FakeNextcloud(clock=clock.seconds)
    laptop = Device(base, "laptop", connected(fake), clock)
    notes = [f"project/{number}.md" for number in range(30)]
    for path in notes:
        fake.other_client_put(path, b"- from the phone\n")
    settle(laptop)
    with laptop.sync.state.transaction():
        laptop.sync.state.mark_racy(notes)
    (laptop.vault / "project").rename(laptop.vault / "work")
    fake.log.clear()
    clock.pass_by(15)

    laptop.run_pass()

    assert [seen.path for seen in fake.log if seen.method == "GET"] == []
    assert [seen.method for seen in fake.log].count("MOVE") == 1
    settle(laptop)
    read = {seen.path for seen in fake.log if seen.method == "GET"}
    assert len(read) == len(notes)
    assert laptop.files() == fake.files()


# --- Deletions --------------------------------------------------------------------------------


def folders_of(cloud: Cloud, count: int, above: str) -> list[str]:
    folders = [f"{above}f{number}" for number in range(count)]
    for folder in folders:
        for number in range(7):
            cloud.laptop.save(f"{folder}/{number}.md", f"- {folder} {number}\n")
    if above:
        cloud.laptop.save(f"{above}stays.md", "- stays\n")
    settle(cloud.laptop)
    cloud.fake.log.clear()
    return folders


@pytest.mark.sampled
@pytest.mark.parametrize("above", ["", "top/", "top/deep/"])
def test_eight_deleted_folders_of_56_notes_take_14_requests(cloud: Cloud, above: str) -> None:
    folders = folders_of(cloud, 8, above)
    for folder in folders:
        shutil.rmtree(cloud / folder)
    cloud.clock.pass_by(15)
    requests = [cloud.laptop.run_pass(approve_deletes=True).requests]

    for _ in range(3):
        cloud.clock.pass_by(15)
        requests.append(cloud.laptop.run_pass(approve_deletes=True).requests)

    assert len(cloud.sent("DELETE")) == 8
    assert sum(requests) <= 14
    assert requests[-1] == 1
    assert cloud.in_step()


@pytest.mark.sampled
def test_a_deleted_folder_with_folders_in_it_is_one_request(cloud: Cloud) -> None:
    shutil.rmtree(cloud / "project")
    reports = []
    for _ in range(4):
        cloud.clock.pass_by(15)
        reports.append(cloud.laptop.run_pass(approve_deletes=True))

    assert cloud.sent("DELETE") == ["DELETE project"]
    assert sum(report.requests for report in reports) <= 6
    assert sum(report.deleted_remote for report in reports) == len(INSIDE)
    assert cloud.in_step()
    assert [binned.origin for binned in cloud.fake.tree.trash.values()] == ["project"]


@pytest.mark.sampled
def test_no_folder_goes_whole_before_a_person_approves_the_deletion(cloud: Cloud) -> None:
    shutil.rmtree(cloud / "project")

    cloud.passes()

    assert cloud.sent("DELETE") == []
    assert "project/plan.png" in cloud.fake.files()


CHANGES: dict[str, Callable[[FakeNextcloud], object]] = {
    "a new note": lambda fake: fake.other_client_put("project/theirs.md", b"- new\n"),
    "a note deep inside": lambda fake: fake.other_client_put("project/deep/er/x.md", b"- new\n"),
    "an edit": lambda fake: fake.other_client_put("project/note 1.md", b"- note 1\n- new\n"),
    "an edit with the time of the text before": lambda fake: fake.other_client_put(
        "project/note 1.md", b"- new!!\n", mtime=fake.tree.at("project/note 1.md").mtime
    ),
    "a hidden file": lambda fake: fake.other_client_put("project/.hidden", b"- new\n"),
    "a file of a kind that is not synced": lambda fake: fake.other_client_put(
        "project/deep/film.tmp", b"- new\n"
    ),
    "a new folder": lambda fake: fake.other_client_mkcol("project/deep/empty"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("before", ["the listing", "the look"])
def test_what_others_did_unseen_in_a_deleted_folder_stays(
    cloud: Cloud, what: str, before: str
) -> None:
    shutil.rmtree(cloud / "project")
    cloud.clock.pass_by(15)
    cloud.laptop.run_pass(approve_deletes=True)
    if before == "the listing":
        CHANGES[what](cloud.fake)
    else:
        cloud.meanwhile("PROPFIND", "/project", lambda fake: CHANGES[what](fake))

    for _ in range(6):
        cloud.clock.pass_by(15)
        cloud.laptop.run_pass(approve_deletes=True)

    left = {path: raw for path, raw in cloud.fake.files().items() if "project/" in path}
    if what == "a new folder":
        assert left == {}
        assert cloud.fake.tree.find("project/deep/empty") is not None
    else:
        assert len(left) == 1
        assert b"new" in next(iter(left.values()))


@pytest.mark.sampled
def test_ignored_files_in_a_deleted_folder_keep_it_and_cost_nothing_later(cloud: Cloud) -> None:
    cloud.fake.other_client_put("project/.obsidian/app.json", b"{}")
    cloud.laptop.settle()
    shutil.rmtree(cloud / "project")

    for _ in range(4):
        cloud.clock.pass_by(15)
        last = cloud.laptop.run_pass(approve_deletes=True)

    left = [path for path in cloud.fake.files() if path.startswith("project/")]
    assert left == ["project/.obsidian/app.json"]
    assert last.requests == 1


@pytest.mark.sampled
def test_a_locked_note_keeps_only_itself(cloud: Cloud) -> None:
    cloud.fake.lock("project/note 1.md", 60)
    shutil.rmtree(cloud / "project")
    for _ in range(3):
        cloud.clock.pass_by(5)
        cloud.laptop.run_pass(approve_deletes=True)
    left = [path for path in cloud.fake.files() if path.startswith("project/")]
    cloud.clock.pass_by(61)
    cloud.laptop.run_pass(approve_deletes=True)
    cloud.laptop.settle()

    assert left == ["project/note 1.md"]
    assert cloud.in_step()


@pytest.mark.sampled
def test_a_server_without_trash_loses_a_folder_file_by_file(base: Path) -> None:
    clock = Clock()
    fake = FakeNextcloud(clock=clock.seconds)
    fake.keeps_trash = False
    laptop = Device(base, "laptop", connected(fake), clock)
    for path, text in {**OUTSIDE, "d/a.md": "- a\n", "d/b.md": "- b\n"}.items():
        laptop.save(path, text)
    settle(laptop)
    fake.log.clear()
    shutil.rmtree(laptop.vault / "d")

    laptop.settle()

    gone = [seen.path for seen in fake.log if seen.method == "DELETE"]
    assert [path.rstrip("/").rpartition("/")[2] for path in gone] == ["a.md", "b.md", "d"]
    assert laptop.files() == fake.files()


# --- Real servers -----------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("kind", real.HONEST)
def test_real_servers_rename_a_folder_with_one_move_and_delete_it_safely(
    kind: str, base: Path, request: pytest.FixtureRequest
) -> None:
    server: real.Server = request.getfixturevalue("server_named")(kind)
    remote = WebDav(server.make_folder(f"whole-{base.name}"), Account(server.user, server.password))
    laptop = Device(base, "laptop", remote, Clock())
    phone = Device(base, "phone", remote, laptop.clock)
    for path, text in {**INSIDE, "USER.md": "- tea\n"}.items():
        laptop.save(path, text)
    laptop.settle((phone,))
    (laptop.vault / "project").rename(laptop.vault / "work")
    phone.save("project/note 1.md", "- note 1\n- from the phone\n")
    before = remote.traffic.requests
    laptop.run_pass()
    rename = remote.traffic.requests - before

    for _ in range(8):
        laptop.clock.pass_by(15)
        laptop.run_pass(approve_deletes=True)
        phone.run_pass(approve_deletes=True)

    assert rename <= 8
    assert laptop.files() == phone.files()
    texts = laptop.files().values()
    assert b"- note 1\n- from the phone\n" in texts
    shutil.rmtree(laptop.vault / "work")
    for _ in range(8):
        laptop.clock.pass_by(15)
        laptop.run_pass(approve_deletes=True)
        phone.run_pass(approve_deletes=True)
    assert laptop.files() == phone.files()
    assert not any(path.startswith("work/") for path in laptop.files())
    remote.close()
