"""Export and backup are downloaded through a single-use link and leave nothing behind."""

import socket
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.server.http_errors import NotFound
from halo_weave.server.runtime.downloads import Downloads
from halo_weave.transfer import Progress, export_memory
from support.servers.served import served, until

KINDS = ("export", "backup")
TOKEN = "a token that nobody else has, of 32 and more characters"


def open_files_without_name(folder: Path) -> list[str]:
    found = []
    for handle in Path("/proc/self/fd").iterdir():
        try:
            target = str(handle.readlink())
        except OSError:
            continue  # closed in the meantime
        if target.startswith(str(folder)) and target.endswith(" (deleted)"):
            found.append(target)
    return found


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.startswith("halo.db")}


@pytest.mark.parametrize("kind", KINDS)
def test_a_link_works_once(tmp_path: Path, kind: str) -> None:
    with served(tmp_path) as one:
        one.say(one.new_window(), "Something to be kept")
        offered = one.post(f"/api/{kind}")
        answer = one.get(offered["link"])
        assert len(answer.content) == offered["bytes"] == int(answer.headers["content-length"])
        assert answer.headers["content-disposition"] == f'attachment; filename="{offered["name"]}"'
        again = one.get(offered["link"], status=404)
        assert "has been used" in again["error"]


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_has_not_the_token_or_not_the_link_gets_nothing(tmp_path: Path, kind: str) -> None:
    with served(tmp_path, host="0.0.0.0", token=TOKEN) as one:
        one.say(one.new_window(), "Something to be kept")
        stranger = {"Authorization": "Bearer another"}
        one.post(f"/api/{kind}", status=401, headers=stranger)
        one.post(f"/api/{kind}", status=403, headers={"X-Halo": "0"})
        link = one.post(f"/api/{kind}")["link"]
        one.get(link, status=401, headers=stranger)
        one.get(link[:-1] + ("a" if link[-1] != "a" else "b"), status=404)
        one.get(link, status=403, headers={"Sec-Fetch-Site": "cross-site"})
        assert b"Something to be kept" in one.get(link).content  # none of the refused requests used it up


@pytest.mark.skipif(sys.platform != "linux", reason="looks at the open files of the process")
@pytest.mark.parametrize("kind", KINDS)
def test_a_prepared_file_has_no_name_and_is_closed_once_it_is_sent(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    elsewhere = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    with served(tmp_path) as one:
        before = names_in(tmp_path)
        link = one.post(f"/api/{kind}")["link"]
        assert len(open_files_without_name(tmp_path)) == 1
        assert names_in(tmp_path) == before
        assert list(elsewhere.iterdir()) == []
        one.get(link)
        until(lambda: not open_files_without_name(tmp_path))


@pytest.mark.skipif(sys.platform != "linux", reason="looks at the open files of the process")
def test_nothing_is_left_of_a_download_that_breaks_off(tmp_path: Path) -> None:
    def write_much(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(256 * 1024 * 1024)

    with served(tmp_path) as one:
        downloads = one.program.downloads
        secret = downloads.offer(downloads.make(write_much, "large", "application/octet-stream"))
        parts = urlsplit(one.address)
        with socket.create_connection((parts.hostname, parts.port)) as connection:
            connection.sendall(f"GET /api/downloads/{secret} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
            assert connection.recv(1000).startswith(b"HTTP/1.1 200")
            assert open_files_without_name(tmp_path)
        until(lambda: not open_files_without_name(tmp_path))


def test_a_link_that_nobody_follows_ends_by_itself(tmp_path: Path) -> None:
    downloads = Downloads(tmp_path, link_valid_s=0.01)
    download = downloads.make(lambda path: path.write_bytes(b"content"), "name", "text/plain")
    secret = downloads.offer(download)
    until(lambda: download.file.closed)
    with pytest.raises(NotFound):
        downloads.take(secret)


def test_only_a_few_files_wait_at_once(tmp_path: Path) -> None:
    downloads = Downloads(tmp_path)
    made = [downloads.make(lambda path: path.write_bytes(b"content"), "name", "text/plain") for _ in range(20)]
    secrets = [downloads.offer(one) for one in made]
    assert [one.file.closed for one in made] == [True] * 16 + [False] * 4
    with downloads.take(secrets[-1]).file as file:
        assert file.read() == b"content"
    downloads.close()
    assert all(one.file.closed for one in made)
    assert list(tmp_path.iterdir()) == []


def test_a_program_killed_while_it_makes_an_export_leaves_only_what_is_swept_away(tmp_path: Path) -> None:
    seen: list[set[Path]] = []

    def look(_: Progress) -> None:
        seen.append({path for path in tmp_path.iterdir() if path.suffix == ".part"})

    with closing(SqliteStore(tmp_path / "halo.db")) as store:
        downloads = Downloads(tmp_path)
        with downloads.make(lambda path: export_memory(store, path, progress=look), "name", "text/plain").file:
            assert seen
            for names in seen:
                assert names
                assert all(path.match(".halo-weave-*.part") for path in names)


def test_what_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Downloads(tmp_path).make(fail, "name", "text/plain")
    assert list(tmp_path.iterdir()) == []
