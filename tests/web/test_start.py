"""A page that cannot start says why, and visibly tries again."""

import re

from playwright.sync_api import Browser, Route, expect

from support.pages import Tab, new_window, visiting
from support.servers.processes import Process


def test_a_page_that_cannot_start_says_why_and_tries_again_later_and_at_once(
    echo_server: Process, browser: Browser
) -> None:
    new_window(echo_server, "started")
    is_failing = True

    def answer(route: Route) -> None:
        if is_failing:
            route.fulfill(status=503, json={"error": "The memory is being read by another program."})
        else:
            route.continue_()

    with visiting(browser, echo_server.address) as visitor:
        visitor.forgive("status of 503")
        visitor.context.route("**/api/windows", answer)
        page = visitor.context.new_page()
        page.clock.install()
        page.goto(echo_server.address)
        page.clock.pause_at(page.evaluate("Date.now() + 100_000"))
        problem = page.locator(".start-problem")
        expect(problem.get_by_role("alert")).to_have_text(
            "The page could not start: The memory is being read by another program."
        )
        expect(problem).to_contain_text(re.compile(r"Trying again in \d+ s\."))
        before = pause_s(problem.inner_text())
        page.clock.run_for(1000 * before + 500)
        expect(problem).to_contain_text(f"Trying again in {2 * before} s.")
        is_failing = False
        problem.get_by_role("button", name="Try now").click()
        Tab(page).ready()
        expect(problem).to_have_count(0)


def pause_s(text: str) -> int:
    found = re.search(r"in (\d+) s", text)
    assert found
    return int(found[1])
