"""A real browser for benchmarks and tests of the page: Debian's Chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from halo_weave.errors import InputError

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium_path() -> str:
    for name in _NAMES:
        if found := shutil.which(name):
            return found
    raise InputError("Chromium is not installed; on Debian or Ubuntu, run `apt-get install chromium`.")


@contextmanager
def chromium() -> Iterator["Browser"]:
    """Run a headless browser with an empty profile until the block ends."""
    executable = chromium_path()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise InputError(
            "The package playwright is not installed; run `uv sync` to install the development packages."
        ) from None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, headless=True, args=list(_FLAGS))
        try:
            yield browser
        finally:
            browser.close()
