"""A long reading before a reply shows how far it is, and can be stopped."""

import re
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Browser, expect

from halo_weave.engine.cancellation import Cancellation
from halo_weave.engine.echo import EchoContext, EchoEngine, fading_attention
from halo_weave.engine.protocol import AttentionChoice, OnRead, Placed, SyncReport
from support.pages import visiting
from support.servers.served import PATIENCE_S, served


class EndlessReading(EchoEngine):
    """Reads the first tokens, and then nothing more until it is stopped."""

    def open_context(self, *, attention: AttentionChoice | None = AttentionChoice()) -> EchoContext:  # noqa: B008
        return EndlesslyReadContext(self, attention, fading_attention, 0.0)


class EndlesslyReadContext(EchoContext):
    def sync(
        self,
        tokens: Sequence[Placed],
        *,
        clean: bool = False,
        observe: bool = False,
        cancellation: Cancellation | None = None,
        on_read: OnRead | None = None,
    ) -> SyncReport:
        def wait(read: int, total: int) -> None:
            assert on_read is not None
            assert cancellation is not None
            on_read(read, total)
            assert cancellation.wait(PATIENCE_S), "The stop was lost."

        return super().sync(tokens, clean=clean, observe=observe, cancellation=cancellation, on_read=wait)


def test_the_page_shows_how_far_the_reading_is_and_stops_it(tmp_path: Path, browser: Browser) -> None:
    with (
        served(tmp_path, open_engine=lambda _: EndlessReading()) as server,
        visiting(browser, server.address) as visitor,
    ):
        tab = visitor.open()
        tab.send("word " * 300)
        status, bar = tab.page.locator("halo-composer .status"), tab.page.get_by_role("progressbar", name="Reading")
        expect(status).to_have_text(re.compile(r"reading: 64 of \d[\d,]* tokens, .* left"))
        expect(bar).to_be_visible()
        assert bar.evaluate("bar => bar.value / bar.max") < 1
        tab.page.get_by_role("button", name="Stop").click()
        tab.idle()
        expect(bar).to_be_hidden()
        expect(tab.turn(0)).to_contain_text("word word")
