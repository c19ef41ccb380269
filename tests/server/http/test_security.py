"""Access to the server: other sites, other host names and clients without the token get nothing."""

import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.exceptions import InvalidStatus

from halo_weave.engine.protocol import Engine
from halo_weave.engine.settings import EngineSettings
from halo_weave.errors import EngineUnavailable
from halo_weave.server.http.security import COOKIE, TOKEN_FILE, stored_token
from support.servers.served import Served, served, until

TOKEN = "a-token-that-is-long-enough-for-everybody"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("loopback")) as one:
        yield one


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server configured as if it listened on every address."""
    with served(tmp_path_factory.mktemp("open"), host="0.0.0.0", token=TOKEN) as one:
        yield one


def plain(one: Served) -> httpx2.Client:
    return httpx2.Client(base_url=one.address, trust_env=False)


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "192.168.1.5:80", "", "a@localhost", "[::1", "localhost:99999"]
)
def test_a_name_that_is_not_ours_is_refused(server: Served, host: str) -> None:
    for path in ("/", "/api/status", "/healthz", "/static/x/main.js"):
        assert server.http.get(path, headers={"Host": host}).status_code in (400, 403)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]:80", "LOCALHOST:8642"])
def test_this_machine_has_several_names(server: Served, host: str) -> None:
    assert server.http.get("/api/status", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://localhost:1",
        "file://",
        "https://127.0.0.1",
        "http://[",
        "http://[::1",
        "",
    ],
)
def test_another_origin_is_refused(server: Served, origin: str) -> None:
    assert server.http.get("/api/status", headers={"Origin": origin}).status_code == 403
    with pytest.raises(InvalidStatus), server.socket("/api/events", {"Origin": origin}):
        pass


def test_the_own_origin_is_let_in(server: Served) -> None:
    assert server.http.get("/api/status", headers={"Origin": server.address}).status_code == 200


def test_a_request_from_another_site_is_refused(server: Served) -> None:
    assert server.http.get("/api/export", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert server.http.get("/", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200


def test_what_changes_something_needs_a_header_that_only_the_page_sets(server: Served) -> None:
    with plain(server) as client:
        assert client.post("/api/windows", content=b'{"name": "x"}').status_code == 403
        assert client.get("/api/windows").json() == []
        preflight = client.options("/api/windows", headers={"Origin": "http://evil.example"})
        assert "access-control-allow-origin" not in preflight.headers


def test_every_answer_has_the_headers_that_keep_the_page_to_itself(server: Served) -> None:
    for path in ("/", "/api/status", "/nothing", "/openapi.json", "/static/x/y"):
        headers = server.http.get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_a_body_that_is_too_large_is_refused(server: Served) -> None:
    response = server.http.post("/api/render", content=b'{"texts": ["' + b"x" * 9_000_000 + b'"]}')
    assert response.status_code == 413
    assert "MB" in response.json()["error"]
    assert server.post("/api/render", {"texts": ["x" * 2_100_000]}, status=413)


def test_nothing_but_signs_of_life_without_the_token(guarded: Served) -> None:
    with plain(guarded) as client:
        for path in ("/", "/api/status", "/metrics", "/openapi.json", "/static/x/main.js", "/?token=wrong"):
            assert client.get(path).status_code == 401
        for path in ("/healthz", "/readyz"):
            assert client.get(path).status_code == 200
        for header in (f"Bearer {TOKEN}x", "Bearer", f"Basic {TOKEN}", TOKEN):
            assert client.get("/api/status", headers={"Authorization": header}).status_code == 401
    with pytest.raises(InvalidStatus), guarded.socket("/api/events", {"Cookie": f"{COOKIE}=wrong"}):
        pass


@pytest.mark.parametrize(
    "cookies",
    [
        'theme="dark; {ours}',
        "bad[name]=1; {ours}",
        "a=b=c; =; ;; {ours}",
        '{ours}; json={{"a": [1, 2]}}',
        f"{{ours}}; {COOKIE}=of-another-server",
    ],
)
def test_cookies_of_others_do_not_hide_ours(guarded: Served, cookies: str) -> None:
    with plain(guarded) as client:
        sent = {"Cookie": cookies.format(ours=f"{COOKIE}={TOKEN}")}
        assert client.get("/api/status", headers=sent).status_code == 200
        assert client.get("/api/status", headers={"Cookie": cookies.format(ours=f"{COOKIE}=x")}).status_code == 401


def test_strangers_learn_only_whether_the_model_can_be_used(tmp_path: Path) -> None:
    def away(_: EngineSettings) -> Engine:
        raise EngineUnavailable("There is no model at /home/somebody/secret.gguf.")

    with served(tmp_path, host="0.0.0.0", token=TOKEN, open_engine=away, waits=False) as one, plain(one) as client:
        until(lambda: one.program.keeper.status.state == "away")
        answer = client.get("/readyz")
        assert answer.status_code == 503
        assert answer.text == "The model is not available; see /api/status.\n"
        assert "secret.gguf" in one.get("/api/status")["engine"]["text"]


def test_the_link_with_the_token_lets_a_browser_in(guarded: Served) -> None:
    with plain(guarded) as client:
        opened = client.get(f"/?token={TOKEN}")
        assert opened.status_code == 303
        assert opened.headers["location"] == "/"
        cookie = opened.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert client.get("/").status_code == 200  # the client keeps the cookie
        assert client.get("/api/status").status_code == 200
    with guarded.socket("/api/events"):
        assert guarded.get("/api/status")


def test_from_elsewhere_addresses_and_the_machines_name_are_let_in_but_no_other_name(guarded: Served) -> None:
    for host in ("192.168.1.5:8642", socket.gethostname(), "localhost"):
        assert guarded.http.get("/api/status", headers={"Host": host}).status_code == 200
    assert guarded.http.get("/api/status", headers={"Host": "evil.example"}).status_code == 403


def test_the_token_is_made_once_and_private(tmp_path: Path) -> None:
    token, is_new = stored_token(tmp_path / "data")
    assert is_new
    assert stored_token(tmp_path / "data") == (token, False)
    assert stat.S_IMODE((tmp_path / "data" / TOKEN_FILE).stat().st_mode) == 0o600


def test_a_damaged_token_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / TOKEN_FILE).write_text("short")
    token, is_new = stored_token(tmp_path)
    assert is_new
    assert len(token) >= 32


@given(path=st.text(st.sampled_from("./\\%2e5c0aZ~\0"), max_size=40))
def test_no_path_leads_out_of_the_pages_files(server: Served, path: str) -> None:
    for wanted in (path, f"../{path}", "../" * 8 + "etc/passwd", "%2e%2e/%2e%2e/pyproject.toml"):
        with socket.create_connection(("127.0.0.1", int(server.address.rpartition(":")[2]))) as connection:
            name = wanted.encode("ascii").replace(b"\0", b"%00")
            connection.sendall(b"GET /static/x/" + name + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            status = connection.recv(64)
        assert status.split()[1] in (b"404", b"400")
