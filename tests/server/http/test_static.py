"""The page's files: found, cached for ever under a digest, and of the right type."""

import re
from collections.abc import Iterator

import pytest

from halo_weave.server.http.static import StaticFiles
from support.folders import PROJECT
from support.servers.served import Served, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("static")) as one:
        yield one


def test_the_page_is_asked_for_anew_and_names_files_that_are_there(server: Served) -> None:
    page = server.http.get("/")
    assert page.headers["cache-control"] == "no-cache"
    assert "{{" not in page.text
    files = re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text)
    assert files
    for file in files:
        response = server.http.get(file)
        assert response.status_code == 200, file
        assert "immutable" in response.headers["cache-control"]


def test_the_page_names_every_module_so_that_the_browser_need_not_find_them_one_by_one(server: Served) -> None:
    named = set(re.findall(r'<link rel="modulepreload" href="/static/[^/]+/([^"]+)">', server.http.get("/").text))
    web = PROJECT / "src" / "halo_weave" / "web"
    assert named == {path.relative_to(web).as_posix() for path in web.rglob("*.js")}


def test_files_have_the_type_that_a_browser_demands(server: Served) -> None:
    digest = StaticFiles().digest
    assert server.http.get(f"/static/{digest}/main.js").headers["content-type"].startswith("text/javascript")
    assert server.http.get(f"/static/{digest}/shared/theme.css").headers["content-type"].startswith("text/css")


def test_a_file_of_another_digest_is_not_kept(server: Served) -> None:
    assert server.http.get("/static/0000/main.js").headers["cache-control"] == "no-store"


def test_the_page_has_nothing_inline_that_the_policy_forbids(server: Served) -> None:
    page = server.http.get("/").text
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"<style|\sstyle=|\son\w+=", page)
