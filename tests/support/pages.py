"""The page in a real browser against a real server. A visitor records every error and every foreign request."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request, WebSocket, expect

from support.servers.processes import Process

PATIENCE_MS = 120_000
expect.set_options(timeout=PATIENCE_MS)

# Chromium has a dozen names for a server that went away, depending on how far the request had come.
SERVER_IS_AWAY = r"net::ERR_|WebSocket connection to|status of 503"


class Visitor:
    """A person with a browser profile of their own; `faults` must stay empty."""

    def __init__(self, browser: Browser, address: str, **context: Any) -> None:
        self._address = address
        self.faults: list[str] = []
        self._forgiven: list[str] = []
        self.context: BrowserContext = browser.new_context(base_url=address, **context)
        self.context.set_default_timeout(PATIENCE_MS)
        self.context.on("console", self._hear)
        self.context.on("weberror", lambda error: self.faults.append(f"page error: {error.error}"))
        self.context.on("request", self._check)

    def open(self, window: str | None = None) -> "Tab":
        """Open a tab, on this window if one is named, and wait until it is ready for input."""
        page = self.context.new_page()
        page.on("websocket", self._check_socket)
        if window is not None:
            # Only on the first load: a reload must show what the page itself remembers.
            remember = f"sessionStorage.begun ??= (localStorage.setItem('halo-window', '{window}'), 'yes')"
            page.add_init_script(remember)
        page.goto(self._address)
        tab = Tab(page)
        tab.ready()
        return tab

    def forgive(self, pattern: str) -> None:
        """Ignore console errors that match: the browser also reports errors that a test causes on purpose."""
        self._forgiven.append(pattern)

    def close(self) -> None:
        self.context.close()
        faults = [fault for fault in self.faults if not any(re.search(one, fault) for one in self._forgiven)]
        assert not faults, faults

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"{message.type}: {message.text}")

    def _check(self, request: Request) -> None:
        self._check_address(request.url)

    def _check_socket(self, socket: WebSocket) -> None:
        self._check_address(socket.url)

    def _check_address(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("blob", "data") and parts.netloc != urlsplit(self._address).netloc:
            self.faults.append(f"asked another host: {url}")


class Tab:
    def __init__(self, page: Page) -> None:
        self.page = page
        self.meter = page.locator("halo-meter .bar")
        self.box = page.get_by_label("Message", exact=True)
        self.turns = page.locator("article.turn")
        self.writing = page.locator("halo-writing")
        self.toasts = page.locator("#toasts .toast")
        self.chunks = page.locator(".chunk")
        self.graves = page.locator(".grave")
        self.dialog = page.get_by_role("dialog")
        self.hits = page.locator("#search-hits > *")

    def ready(self) -> None:
        """Wait until the window's state has arrived."""
        expect(self.page.locator("#window-name")).not_to_be_empty()

    def send(self, text: str) -> None:
        self.page.bring_to_front()  # Chromium rarely paints a background tab
        self.box.fill(text)
        self.box.press("Enter")

    def say(self, text: str) -> None:
        """Send a message and wait for the end of the reply."""
        self.send(text)
        expect(self.box).to_have_value("")
        self.idle()

    def idle(self) -> None:
        expect(self.page.get_by_role("button", name="Send", exact=True)).to_be_visible()
        expect(self.writing).to_be_hidden()

    def turn(self, place: int) -> Locator:
        return self.turns.nth(place)

    def control(self, within: Locator, label: str) -> Locator:
        """Return a button that appears when the mouse is over its place."""
        return within.get_by_role("button", name=re.compile(f"^{label}:"))

    def do(self, within: Locator, label: str) -> None:
        self.page.bring_to_front()
        within.hover()
        self.control(within, label).first.click()

    def words(self) -> list[str]:
        """Return the text on the page, turn by turn, as the memory has it."""
        texts: list[str] = self.page.eval_on_selector_all(
            "article.turn",
            "turns => turns.map(t => [...t.querySelectorAll('.words')].map(w => w.textContent).join(''))",
        )
        return texts

    def out_of_context(self) -> list[str]:
        """Return the texts that the page marks as out of the model's context."""
        return self.page.locator(".chunk.out > .words").all_text_contents()

    def set_view(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def open_dialog(self, item: str) -> None:
        self.page.locator(f"#open-{item}").click()
        expect(self.dialog).to_be_visible()


@contextmanager
def visiting(browser: Browser, address: str, **context: Any) -> Iterator[Visitor]:
    visitor = Visitor(browser, address, **context)
    try:
        yield visitor
    except BaseException:
        visitor.context.close()
        raise
    visitor.close()


def new_window(process: Process, name: str, **overrides: object) -> str:
    window: str = process.call("POST", "/api/windows", {"name": name})["id"]
    if overrides:
        process.call("PATCH", f"/api/windows/{window}", {"overrides": overrides})
    return window
