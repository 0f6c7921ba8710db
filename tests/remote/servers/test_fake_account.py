"""Who is let into the fake Nextcloud, and what its listings show and leave out."""

import json
from xml.etree import ElementTree

import pytest

from tests.remote.servers.asking import FILES, ORIGIN, ask, basic, names, prop
from tests.remote.servers.exchange import Response
from tests.remote.servers.nextcloud import Clock, FakeNextcloud


@pytest.fixture
def cloud(nextcloud: FakeNextcloud) -> FakeNextcloud:
    return nextcloud


class TestListings:
    def test_the_trash_records_the_original_places(self, cloud: FakeNextcloud) -> None:
        cloud.other_client_put("x/a.md", b"1")
        cloud.other_client_delete("x/a.md")

        listing = ElementTree.fromstring(
            ask(cloud, "PROPFIND", "/remote.php/dav/trashbin/mira/trash", Depth="1").body
        )

        assert (
            listing.findtext(".//{http://nextcloud.org/ns}trashbin-original-location") == "x/a.md"
        )

    def test_a_file_can_be_omitted_from_a_listing_once(self, cloud: FakeNextcloud) -> None:
        for name in ("a.md", "b.md"):
            cloud.other_client_put(name, b"1")
        cloud.list_omits_once("b.md")

        assert names(cloud) == ["", "a.md"]
        assert names(cloud) == ["", "a.md", "b.md"]

    def test_another_users_home_looks_like_an_empty_folder(self, cloud: FakeNextcloud) -> None:
        cloud.add_user("tomas", "secret")

        answer = ask(cloud, "PROPFIND", "/remote.php/dav/files/tomas/", Depth="1")

        assert (answer.status, answer.body.count(b"<d:response>"), b"getetag" in answer.body) == (
            207,
            1,
            False,
        )

    def test_an_unavailable_storage_answers_503_and_is_empty_in_a_deep_listing(
        self, cloud: FakeNextcloud
    ) -> None:
        cloud.other_client_put("far/a.md", b"1")
        cloud.mount("far")
        cloud.storage_gone("far")

        assert names(cloud, depth="infinity") == ["", "far"]
        assert ask(cloud, "PROPFIND", "far", Depth="1").status == 503
        assert ask(cloud, "GET", "far/a.md").status == 503
        assert prop(cloud, "", "permissions") == "RGDNVCK"

    def test_a_revoked_share_is_gone_and_not_in_the_trash(self, cloud: FakeNextcloud) -> None:
        cloud.other_client_put("ours/a.md", b"1")
        cloud.share("ours")
        assert (prop(cloud, "ours", "permissions") or "").startswith("S")

        cloud.revoke_share("ours")

        assert (names(cloud), cloud.tree.trash) == ([""], {})

    def test_a_restored_backup_has_the_old_tags_and_another_fingerprint(
        self, cloud: FakeNextcloud, clock: Clock
    ) -> None:
        cloud.other_client_put("a.md", b"1")
        cloud.back_up()
        tag, known = cloud.tree.at("a.md").etag, prop(cloud, "", "data-fingerprint")
        clock.pass_(100)
        cloud.other_client_put("a.md", b"2")
        cloud.other_client_put("b.md", b"2")

        cloud.restore_from_backup()

        assert cloud.files() == {"a.md": b"1"}
        assert cloud.tree.at("a.md").etag == tag
        assert prop(cloud, "", "data-fingerprint") != known
        clock.pass_(100)
        assert ask(cloud, "PUT", "a.md", b"3", If_Match=f'"{tag}"').headers["ETag"] != f'"{tag}"'

    def test_names_are_stored_composed_and_an_encoded_slash_answers_404(
        self, cloud: FakeNextcloud
    ) -> None:
        assert ask(cloud, "PUT", "cafe%CC%81.md", b"1").status == 201
        assert set(cloud.files()) == {"café.md"}
        assert ask(cloud, "PUT", "a%2Fb.md", b"1").status == 404
        assert ask(cloud, "PUT", "a%00b.md", b"1").status == 404
        assert ask(cloud, "PUT", "n" * 247 + ".md", b"1").status == 201


class TestTheDoor:
    def test_wrong_passwords_lock_out_the_address_except_an_existing_session(
        self, cloud: FakeNextcloud
    ) -> None:
        first = ask(cloud, "PROPFIND", "", Depth="0")
        cookie = first.headers["Set-Cookie"].partition(";")[0]

        statuses = [
            cloud.handle("PROPFIND", f"{FILES}/", basic("mira", f"guess {number}")).status
            for number in range(12)
        ]

        assert statuses == [401] * 11 + [429]
        good = ask(cloud, "PROPFIND", "", Depth="0")
        assert (good.status, "Retry-After" in good.headers) == (429, False)
        assert ask(cloud, "PROPFIND", "", Depth="0", Cookie=cookie).status == 207
        away = cloud.handle(
            "PROPFIND", f"{FILES}/", basic("mira", cloud.app_password), address="192.0.2.7"
        )
        assert away.status == 207

    def test_every_kind_of_credential_is_accepted_until_revoked(self, cloud: FakeNextcloud) -> None:
        def enters(headers: dict[str, str]) -> int:
            return cloud.handle("PROPFIND", f"{FILES}/", {**headers, "Depth": "0"}).status

        assert enters(basic("mira", cloud.password)) == 207
        assert enters(basic("mira", cloud.app_password)) == 207
        assert enters({"Authorization": f"Bearer {cloud.app_password}"}) == 207
        assert enters({}) == 401
        cloud.revoke(cloud.app_password)
        assert enters(basic("mira", cloud.app_password)) == 401

    def test_a_login_flow_returns_its_app_password_once_after_approval(
        self, cloud: FakeNextcloud
    ) -> None:
        begun = json.loads(
            cloud.handle("POST", "/index.php/login/v2", {"Host": "cloud.example"}).body
        )
        assert begun["poll"]["endpoint"] == f"{ORIGIN}/index.php/login/v2/poll"

        def poll() -> Response:
            return cloud.handle(
                "POST", "/index.php/login/v2/poll", {}, f"token={begun['poll']['token']}".encode()
            )

        assert poll().status == 404
        cloud.grant(begun["login"])
        granted = json.loads(poll().body)
        assert poll().status == 404
        assert granted["loginName"] == "mira"
        assert (
            cloud.handle("PROPFIND", f"{FILES}/", basic("mira", granted["appPassword"])).status
            == 207
        )
        own = {**basic("mira", granted["appPassword"]), "OCS-APIRequest": "true"}
        assert cloud.handle("DELETE", "/ocs/v2.php/core/apppassword", own).status == 200
        assert (
            cloud.handle("PROPFIND", f"{FILES}/", basic("mira", granted["appPassword"])).status
            == 401
        )

    def test_maintenance_gives_a_waiting_time_only_outside_webdav(
        self, cloud: FakeNextcloud
    ) -> None:
        cloud.maintenance()

        dav, page = ask(cloud, "PROPFIND", ""), cloud.handle("GET", "/index.php", {})
        known = json.loads(cloud.handle("GET", "/status.php", {}).body)

        assert (dav.status, "Retry-After" in dav.headers, b"ServerMaintenanceMode" in dav.body) == (
            503,
            False,
            True,
        )
        assert (page.status, page.headers["Retry-After"]) == (503, "120")
        assert page.headers["X-Nextcloud-Maintenance-Mode"] == "1"
        assert known["maintenance"] is True
        cloud.maintenance(False)
        assert ask(cloud, "PROPFIND", "").status == 207

    def test_capabilities_give_the_polling_interval(self, clock: Clock) -> None:
        cloud = FakeNextcloud(clock=clock, pollinterval=77)

        said = json.loads(
            cloud.handle("GET", "/ocs/v2.php/cloud/capabilities?format=json", {}).body
        )

        assert said["ocs"]["data"]["capabilities"]["core"]["pollinterval"] == 77
        assert said["ocs"]["data"]["capabilities"]["dav"]["bulkupload"] == "1.0"
