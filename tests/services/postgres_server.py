"""A PostgreSQL server of the tests: in a temporary folder, reached by a socket, and stopped."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from patience import PATIENCE

PASSWORD = "tell@no/one?"


@dataclass(frozen=True)
class Server:
    """A running server. folder: of its socket. binaries: of its programs. account: whose it is.

    port: at which it listens at 127.0.0.1, too; None for its socket alone.
    """

    folder: Path
    binaries: Path
    account: str | None
    port: int | None = None

    def address(self, database: str = "shop", user: str = "owner", **more: str) -> str:
        """Return the address of a database, without a password."""
        parameters = {"host": str(self.folder), "user": user, **more}
        if self.port is not None:
            parameters["port"] = str(self.port)
        return f"postgresql:///{database}?" + "&".join(map("=".join, parameters.items()))

    def run(self, script: str, database: str = "shop") -> None:
        """Run SQL as the owner."""
        port = "" if self.port is None else f"-p {self.port}"
        words = f"-q -v ON_ERROR_STOP=1 -h {self.folder} {port} -U owner {database}"
        self.program("psql", *words.split(), text=script)

    def start(self) -> None:
        """Start it."""
        listen = "''" if self.port is None else f"127.0.0.1 -c port={self.port}"
        options = f"-c listen_addresses={listen} -c unix_socket_directories={self.folder}"
        words = f"-D {self.folder / 'data'} -w -l {self.folder / 'log'} -o"
        self.program("pg_ctl", *words.split(), f"{options} -c fsync=off", "start")

    def stop(self) -> None:
        """End it as a crash does: what it had begun is undone when it starts again."""
        self.program("pg_ctl", "-D", str(self.folder / "data"), "-w", "-m", "immediate", "stop")

    def program(self, name: str, *words: str, text: str | None = None) -> None:
        """Run one of PostgreSQL's programs. It refuses to be run by root."""
        done = subprocess.run(
            [str(self.binaries / name), *words],
            input=text,
            capture_output=name != "pg_ctl",  # the server would keep the pipe
            stdout=subprocess.DEVNULL if name == "pg_ctl" else None,
            text=True,
            user=self.account,
            cwd=self.folder,
            env={**os.environ, "PGPASSWORD": PASSWORD},
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"{name}: {done.stderr}"


def binaries() -> Path:
    """Return the folder of the newest PostgreSQL there is; fails the test where there is none."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    if (named := shutil.which("initdb")) is not None:
        found.append(Path(named).resolve().parent)
    if not found:
        pytest.fail("this test starts a PostgreSQL server: install one (Debian: postgresql)")
    return max(found, key=lambda path: [int(n) for n in path.parent.name.split(".") if n.isdigit()])


def account() -> str | None:
    """Return the account to run the server as; None for the present one, if that is not root."""
    if os.geteuid() != 0:
        return None
    names = {one.pw_name for one in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


@contextmanager
def running_server(port: int | None = None) -> Iterator[Server]:
    """Start a server with an empty database shop, and stop it in the end: a context manager."""
    # A socket's path may have a hundred letters or so.
    folder = Path(tempfile.mkdtemp(prefix="fim-"))
    server = Server(folder, binaries(), account(), port)
    secret, data = folder / "password", folder / "data"
    secret.write_text(PASSWORD + "\n", encoding="utf-8")
    if server.account is not None:
        shutil.chown(folder, server.account)
        shutil.chown(secret, server.account)
    try:
        words = f"-D {data} -U owner -A scram-sha-256 --pwfile={secret} -E UTF8 -N"
        server.program("initdb", *words.split())
        server.start()
        try:
            server.run("create database shop", "postgres")
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)
