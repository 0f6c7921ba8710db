"""What a test can do to the fake Nextcloud: be somebody else, be the administrator, be bad luck."""

from collections.abc import Callable

from tests.remote.servers.exchange import Seen
from tests.remote.servers.nextcloud.account import Account, Door
from tests.remote.servers.nextcloud.login import LoginFlow
from tests.remote.servers.nextcloud.tree import Backup, File, Folder, Tree, walk


class Clock:
    """A time that passes only when told to."""

    def __init__(self, now: float = 1_760_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Seconds since 1970."""
        return self.now

    def pass_(self, seconds: float) -> None:
        """Later."""
        self.now += seconds


class Controls:
    """The levers. Paths are decoded and relative to the user's files."""

    accounts: dict[str, Account]
    door: Door
    flow: LoginFlow
    log: list[Seen]
    user: str
    is_in_maintenance: bool
    keeps_versions: bool
    _between: Callable[[], None] | None
    _cut_put: int | None
    _short_put: int
    _short_puts: int
    _cut_assembly: int | None
    _backups: dict[str, Backup]

    @property
    def account(self) -> Account:
        """The account that most tests use alone."""
        return self.accounts[self.user]

    @property
    def tree(self) -> Tree:
        """Its files."""
        return self.account.tree

    def refuse_names_with(self, text: str) -> None:
        """The administrator forbids files with this text in their names."""
        self.account.refused_in_names = text

    def files(self) -> dict[str, bytes]:
        """All files with their contents."""
        return {path: node.raw for path, node in walk(self.tree.root) if isinstance(node, File)}

    def folders(self) -> set[str]:
        """All folders."""
        return {path for path, node in walk(self.tree.root) if isinstance(node, Folder) and path}

    def requests(self, method: str | None = None) -> list[Seen]:
        """The log, of one method or all."""
        return [seen for seen in self.log if method in (None, seen.method)]

    # --- Somebody else ---------------------------------------------------------------------------------------------

    def other_client_put(
        self, path: str, raw: bytes, *, mtime: int | None = None, checksum: str = ""
    ) -> None:
        """Another client uploads; missing folders are made."""
        parts = path.split("/")[:-1]
        for end in range(1, len(parts) + 1):
            if self.tree.find(folder := "/".join(parts[:end])) is None:
                self.tree.mkdir(folder)
        self.tree.write(path, raw, mtime=mtime, checksum=checksum)

    def other_client_delete(self, path: str) -> None:
        """Another client deletes; it lies in the trash."""
        self.tree.remove(path)

    def other_client_move(self, source: str, target: str) -> None:
        """Another client renames."""
        self.tree.move(source, target)

    def other_client_mkcol(self, path: str) -> None:
        """Another client makes a folder."""
        self.tree.mkdir(path)

    def lock(self, path: str, seconds: float = 3588) -> None:
        """Somebody holds it, or a killed process of the server does."""
        self.tree.at(path).locked_until = self.account.clock() + seconds

    def unlock(self, path: str) -> None:
        """Let go."""
        self.tree.at(path).locked_until = 0.0

    def grant(self, login_url: str) -> None:
        """The person grants a login flow."""
        self.flow.grant(login_url, self.user)

    # --- The administrator -----------------------------------------------------------------------------------------

    def versions_off(self) -> None:
        """The app that keeps earlier versions is switched off."""
        self.keeps_versions = False

    def maintenance(self, on: bool = True) -> None:
        """Maintenance mode."""
        self.is_in_maintenance = on

    def quota(self, size: int | None) -> None:
        """Bytes the account may hold."""
        self.account.quota = size

    def back_up(self) -> None:
        """Remember everything as it is."""
        self._backups = {user: account.tree.backup() for user, account in self.accounts.items()}

    def restore_from_backup(self, *, tells: bool = True) -> None:
        """Everything is as it was when backed up; the data-fingerprint says so, unless that is forgotten."""
        for user, backup in self._backups.items():
            account = self.accounts[user]
            account.tree.put_back(backup)
            if tells:
                account.fingerprint = f"{int(account.clock())}-{len(self.log)}"

    def revoke(self, app_password: str) -> None:
        """An app password is no longer good, nor any session."""
        self.door.app_passwords.pop(app_password, None)
        self.door.end_sessions()

    def share(self, path: str) -> None:
        """A folder here is somebody else's, and shared."""
        for _, node in walk(self.tree.at(path)):
            node.permissions = "S" + node.permissions.removeprefix("S")

    def revoke_share(self, path: str) -> None:
        """The share is gone from the listing, and not in the trash either."""
        self.tree.remove(path)
        self.tree.trash.popitem()

    def mount(self, path: str) -> None:
        """A folder here lies on another storage."""
        for _, node in walk(self.tree.at(path)):
            node.permissions = "M" + node.permissions.removeprefix("M")

    def storage_gone(self, path: str, gone: bool = True) -> None:
        """The storage below a folder does not answer: 503 below, and nothing in a deep listing."""
        self.tree.folder(path).unavailable = gone

    # --- Bad luck --------------------------------------------------------------------------------------------------

    def race_next_put(self, act: Callable[[], None]) -> None:
        """Between judging the precondition of the next PUT and writing it, another request does this."""
        self._between = act

    def kill_next_put_at(self, byte: int) -> None:
        """The server's process dies when so much of the next PUT's body is written."""
        self._cut_put = byte

    def cut_next_put_short_at(self, byte: int, times: int = 1) -> None:
        """The server stores so much of the next PUTs that write over a file, and answers 204 all the same."""
        self._short_put, self._short_puts = byte, times

    def kill_next_assembly_at(self, byte: int) -> None:
        """The same for the next MOVE that puts chunks together."""
        self._cut_assembly = byte

    def list_omits_once(self, path: str, times: int = 1) -> None:
        """The next listing that should show it does not."""
        self.account.omitted[path] = times

    def new_tags(self) -> None:
        """An upgrade of the server: every tag is another, no content is."""
        for _, node in walk(self.tree.root):
            self.tree.retag(node)

    def write_behind(self, path: str, raw: bytes) -> None:
        """Somebody writes on the server's disk: invisible until a GET, then the tag moves."""
        file = self.tree.file(path)
        file.raw, file.disk_mtime = raw, int(self.account.clock())

    def other_content_same_tag(self, path: str, raw: bytes) -> None:
        """A bug of the server: new content under the old tag, for good."""
        file = self.tree.file(path)
        file.raw, file.size = raw, len(raw)
