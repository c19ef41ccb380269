"""What the page can colour the context by, over HTTP."""

from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from halo_weave.session.window.heat import order_of_leaving
from support.servers.served import Served, served

SAID = ("My cat Miso sleeps on the warm router.", "The ferry was late.", "Where does Miso sleep?")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, replies=["I see."] * 9, overrides={"weave.resurrection": "false"}) as server:
        yield server


def test_the_order_of_leaving_is_the_windows_own(server: Served) -> None:
    window = server.new_window()
    for text in SAID:
        server.say(window, text)
    heat = server.get(f"/api/windows/{window}/heat?by=keeping")
    expected = [str(key.turn) for key in order_of_leaving(server.program.window(window))]
    assert [chunk["key"]["turn"] for chunk in heat["chunks"]] == expected
    assert [chunk["place"] for chunk in heat["chunks"]] == list(range(len(expected)))
    assert expected


def test_without_a_reader_nothing_is_known_of_looks_and_it_says_so(server: Served) -> None:
    window = server.new_window()
    server.say(window, SAID[0])
    assert server.get(f"/api/windows/{window}/heat") == {"has_reader": False, "chunks": []}


def test_looks_come_as_roots_of_shares_with_one_for_each_token(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    window = server.new_window()
    state = [server.say(window, text) for text in SAID][-1]
    opened = server.program.window(window)
    first = next(iter(opened.life.context))
    shares = np.full(len(first.text), 1 / len(first.text), dtype=np.float32)
    monkeypatch.setattr(opened.memory, "shares_of_attention", lambda *_: {first.key: shares})
    (chunk,) = server.get(f"/api/windows/{window}/heat?by=message")["chunks"]
    assert chunk["key"] == state["chunks"][0]["key"]
    roots = np.frombuffer(b64decode(chunk["attention"]), dtype="<u2") / 65_535
    assert roots**2 == pytest.approx([len(piece) / len(first.text) for piece in state["chunks"][0]["pieces"]], abs=1e-4)


def test_another_kind_of_colour_is_refused(server: Served) -> None:
    assert "by" in server.get(f"/api/windows/{server.new_window()}/heat?by=mood", status=400)["error"]
