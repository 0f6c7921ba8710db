"""Real WebDAV servers, each started for the tests on a free port with a folder of its own, and ended with them.

Run as a program it prints the Debian packages that are missing here.
"""

import contextlib
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.remote.servers import configurations, guard

USER = "mira"
PASSWORD = "lantern-and-petrel"


@dataclass(frozen=True)
class Server:
    """A running server."""

    name: str
    url: str
    """With a slash at its end; what is below it is `root_dir`."""
    root_dir: Path
    user: str
    password: str
    stop: Callable[[], None] = field(repr=False)

    def make_folder(self, name: str) -> str:
        """A new folder below the root, which the server may write to, and its URL with a slash at its end."""
        folder = self.root_dir / name
        folder.mkdir()
        owner = self.root_dir.stat()
        os.chown(folder, owner.st_uid, owner.st_gid)
        return f"{self.url}{name}/"


@dataclass(frozen=True)
class Kind:
    """A server that can be started where its packages are installed."""

    name: str
    packages: tuple[str, ...]
    needs: tuple[str, ...]
    """Programs and files without which it cannot run."""
    command: Callable[[Path, int], list[str]]
    """Writes the configuration below a folder, for a port, and says how to start."""
    template: str = ""

    @property
    def missing(self) -> str | None:
        """Why it cannot be used here, naming the Debian packages."""
        if all(Path(need).exists() if "/" in need else _program(need) for need in self.needs):
            return None
        return f"{self.name} is not installed (Debian: {' '.join(self.packages)})"

    def start(self) -> Server:
        """Running and answering."""
        base = Path(tempfile.mkdtemp(prefix=f"vault-dav-{self.name}-"))
        files, run = base / "files", base / "run"
        for folder in (base, files, run):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)
        (run / "passwords").write_text(f"{USER}:{_sha1()}\n")
        port = _free_port()
        command = self.command(base, port)
        if os.getuid() == 0:  # Servers started by root go on as www-data.
            for folder in (base, files, run):
                shutil.chown(folder, "www-data", "www-data")
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__, str(base), *command], stdin=subprocess.PIPE
        )
        server = Server(
            self.name, f"http://127.0.0.1:{port}/", files, USER, PASSWORD, lambda: _stop(process)
        )
        try:
            _wait_for(port, base)
        except BaseException:
            server.stop()
            raise
        return server


def _program(name: str) -> str | None:
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def _sha1() -> str:
    return "{SHA}" + b64encode(hashlib.sha1(PASSWORD.encode()).digest()).decode()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _stop(process: "subprocess.Popen[bytes]") -> None:
    if process.stdin and not process.stdin.closed:
        process.stdin.close()
    process.wait(120)


def _wait_for(port: int, base: Path, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not (base / guard.ENDED).exists():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.01)
    raise AssertionError(
        f"the server did not start: {(base / 'output').read_text(errors='replace')}"
    )


def _configured(base: Path, port: int, template: str, name: str, **more: str) -> str:
    values = {"BASE": str(base), "PORT": str(port), "USER": USER, "PASSWORD": PASSWORD, **more}
    path = base / name
    path.write_text(configurations.filled(template, values))
    return str(path)


def _apache(fileetag: str, infinity: str = "Off") -> Callable[[Path, int], list[str]]:
    def command(base: Path, port: int) -> list[str]:
        types = Path("/etc/mime.types")
        own = {
            "FILEETAG": fileetag,
            "INFINITY": infinity,
            "MIMETYPES": f"TypesConfig {types}" if types.exists() else "AddType text/markdown .md",
        }
        return [
            _program("apache2") or "",
            "-f",
            _configured(base, port, configurations.APACHE, "httpd.conf", **own),
            "-DFOREGROUND",
        ]

    return command


def _lighttpd(base: Path, port: int) -> list[str]:
    owner = (
        'server.username = "www-data"\nserver.groupname = "www-data"\n' if os.getuid() == 0 else ""
    )
    template = configurations.LIGHTTPD + owner
    return [
        _program("lighttpd") or "",
        "-D",
        "-f",
        _configured(base, port, template, "lighttpd.conf"),
    ]


def _nginx(base: Path, port: int) -> list[str]:
    owner = "user www-data;\n" if os.getuid() == 0 else ""
    conf = _configured(base, port, owner + configurations.NGINX, "nginx.conf")
    return [_program("nginx") or "", "-c", conf, "-e", str(base / "run" / "error.log")]


def _sabre(base: Path, port: int) -> list[str]:
    script = _configured(base, port, configurations.SABRE, "server.php")
    php = [
        _program("php") or "",
        "-d",
        "variables_order=EGPCS",
        "-S",
        f"127.0.0.1:{port}",
        "-t",
        str(base),
        script,
    ]
    return ["env", "PHP_CLI_SERVER_WORKERS=4", *php]


def _rclone(base: Path, port: int) -> list[str]:
    address = ["--addr", f"127.0.0.1:{port}", "--user", USER, "--pass", PASSWORD]
    cache = ["--cache-dir", str(base / "run" / "cache"), "--dir-cache-time", "0s"]
    return [
        _program("rclone") or "",
        "--config",
        "/dev/null",
        "serve",
        "webdav",
        str(base / "files"),
        *address,
        *cache,
    ]


_APACHE = ("apache2-bin",)
_APACHE_NEEDS = ("apache2", "/usr/lib/apache2/modules/mod_dav_fs.so")
_DAV_EXT = "/usr/lib/nginx/modules/ngx_http_dav_ext_module.so"

KINDS = {
    kind.name: kind
    for kind in (
        Kind("apache-digest", _APACHE, _APACHE_NEEDS, _apache("FileETag Digest")),
        Kind("apache-infinity", _APACHE, _APACHE_NEEDS, _apache("FileETag Digest", "On")),
        Kind("apache", _APACHE, _APACHE_NEEDS, _apache("")),
        Kind(
            "lighttpd",
            ("lighttpd", "lighttpd-mod-webdav"),
            ("lighttpd", "/usr/lib/lighttpd/mod_webdav.so"),
            _lighttpd,
        ),
        Kind(
            "sabre",
            ("php-cli", "php-sabre-dav"),
            ("php", "/usr/share/php/Sabre/autoload.php"),
            _sabre,
        ),
        Kind("nginx", ("nginx-light", "libnginx-mod-http-dav-ext"), ("nginx", _DAV_EXT), _nginx),
        Kind("rclone", ("rclone",), ("rclone",), _rclone),
    )
}
HONEST = ("apache-digest", "apache", "lighttpd", "sabre", "wsgidav")
"""Servers that look at preconditions."""
CARELESS = ("nginx", "rclone")
"""Servers that do not."""


def start(name: str) -> Server:
    """Any of the servers, by name."""
    return start_wsgidav() if name == "wsgidav" else KINDS[name].start()


def missing(name: str) -> str | None:
    """Why a server cannot be used here."""
    if name == "wsgidav":
        return None
    return KINDS[name].missing


PROGRAMS = {
    "nextcloudcmd": "nextcloud-desktop-cmd",
    "pgbouncer": "pgbouncer",
    "caddy": "caddy",
    "sshd": "openssh-server",
}
"""Other programs that the tests run: a client of the same folders, a pooler before PostgreSQL, a server with TLS and
a tunnel before `serve`; their Debian packages"""


def absent_packages() -> list[str]:
    """The Debian packages that would bring what is missing, one line for what belongs together."""
    servers = {" ".join(kind.packages) for kind in KINDS.values() if kind.missing}
    return sorted(
        servers | {package for program, package in PROGRAMS.items() if not _program(program)}
    )


def start_wsgidav() -> Server:
    """wsgidav, in this process: tags of one second without quotes, and writes that are not atomic."""
    import logging

    from cheroot.wsgi import Server as Cheroot
    from wsgidav.wsgidav_app import WsgiDAVApp  # type: ignore[import-untyped]

    base = Path(tempfile.mkdtemp(prefix="vault-dav-wsgidav-"))
    known = {"*": {USER: {"password": PASSWORD}}}
    settings: dict[str, Any] = {
        "provider_mapping": {"/": str(base)},
        "simple_dc": {"user_mapping": known},
        "http_authenticator": {
            "accept_basic": True,
            "accept_digest": False,
            "default_to_digest": False,
        },
        "verbose": 0,
        "logging": {"enable": False, "enable_loggers": []},
        "property_manager": True,
        "lock_storage": True,
    }
    logging.getLogger("wsgidav").setLevel(logging.CRITICAL)
    server = Cheroot(("127.0.0.1", 0), WsgiDAVApp(settings), numthreads=10)
    server.prepare()
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()

    def stop() -> None:
        server.stop()
        thread.join(10)
        shutil.rmtree(base, ignore_errors=True)

    return Server("wsgidav", f"http://127.0.0.1:{server.bind_addr[1]}/", base, USER, PASSWORD, stop)


if __name__ == "__main__":
    for line in absent_packages():
        print(line)
