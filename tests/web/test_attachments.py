"""Text files as attachments: chosen, dropped or pasted, and read into the message as a marked block."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from support.pages import Tab, new_window, visiting
from support.servers.processes import Process

BY_SCRIPT = """([kind, name, text]) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([text], name, { type: "text/plain" }));
  const box = document.getElementById("composer-input");
  const event = kind === "paste"
    ? new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true })
    : new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true });
  box.dispatchEvent(event);
}"""


def choose(tab: Tab, *files: Path) -> None:
    tab.page.get_by_label("Files to attach").set_input_files(list(files))


def test_files_become_marked_blocks_of_the_message(echo_server: Process, browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text("# Plan\n```sh\nls\n```\n", encoding="utf-8")
    window = new_window(echo_server, "attachments")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        choose(tab, tmp_path / "plan.md")
        tab.page.evaluate(BY_SCRIPT, ["drop", "dropped.txt", "dropped words"])
        tab.page.evaluate(BY_SCRIPT, ["paste", "pasted.txt", "pasted words"])
        expect(tab.page.locator(".attached li")).to_have_count(3)
        tab.page.get_by_role("button", name="Remove pasted.txt").click()
        expect(tab.page.locator(".attached li")).to_have_count(2)
        tab.say("Summarise these.")
        expect(tab.page.locator(".attached li")).to_have_count(0)
        assert tab.words()[0] == (
            "Attached file: plan.md\n````md\n# Plan\n```sh\nls\n```\n````\n\n"
            "Attached file: dropped.txt\n```txt\ndropped words\n```\n\nSummarise these."
        )


def test_a_long_file_is_split_into_chunks(echo_server: Process, browser: Browser, tmp_path: Path) -> None:
    lines = "\n\n".join(f"Paragraph {number} tells of storks and herons and of the river." for number in range(20))
    (tmp_path / "long.txt").write_text(lines, encoding="utf-8")
    window = new_window(echo_server, "long attachment", **{"generation.max_tokens": 16})
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        choose(tab, tmp_path / "long.txt")
        tab.say("Which birds?")
        state = echo_server.call("GET", f"/api/windows/{window}")
        parts = [chunk for chunk in state["chunks"] if chunk["key"]["role"] == "user"]
        assert len(parts) > 1
        assert lines in "".join("".join(chunk["pieces"]) for chunk in parts)


def test_what_cannot_be_attached_is_refused_with_the_figures(
    echo_server: Process, browser: Browser, tmp_path: Path
) -> None:
    (tmp_path / "huge.txt").write_text("x" * 1_000_001, encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0\xff")
    (tmp_path / "fits-not.txt").write_text("many words in a row " * 4000, encoding="utf-8")
    window = new_window(echo_server, "refused attachments")
    with visiting(browser, echo_server.address) as visitor:
        visitor.forgive("status of 400")
        tab = visitor.open(window)
        choose(tab, tmp_path / "huge.txt", tmp_path / "picture.png")
        expect(tab.toasts.filter(has_text="huge.txt has 1,000,001 bytes; at most 1,000,000")).to_be_visible()
        expect(tab.toasts.filter(has_text="picture.png is not a text file")).to_be_visible()
        expect(tab.page.locator(".attached li")).to_have_count(0)
        choose(tab, tmp_path / "fits-not.txt")
        tab.send("Read this.")
        expect(tab.toasts.filter(has_text="does not fit in the context of 4096 tokens")).to_be_visible()
        expect(tab.box).to_have_value("Read this.")
        expect(tab.page.locator(".attached li")).to_have_count(1)
        expect(tab.turns).to_have_count(0)
