"""A rendered text comes in blocks that say where they begin, so that the page can place each at its passage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.server.rendering.blocks import Block
from halo_weave.server.rendering.markdown import blocks_of, rendered

LINE_KINDS = (
    """word||- item|  deeper|1. one|2) two|> said|# head|```|~~~|$$|x = 1|\\[|\\]|    code|---|- [ ] todo|***|<b>"""
)
LINES = st.lists(
    st.sampled_from([*LINE_KINDS.split("|"), "| a | b |", "|-|-|", "\t", "a\r", "[a]: https://e.example"]), max_size=30
).map("\n".join)


def places(text: str) -> list[tuple[int, bool]]:
    return [(block.line, block.continues) for block in blocks_of(text)]


def test_each_block_names_the_line_that_it_begins_in() -> None:
    text = "One\nline\n\n# Two\n\n| a |\n|---|\n| b |\n\n```\nx\n\ny\n```\n\n$$\nz\n$$\n\n> quoted\n\nlast"
    assert places(text) == [(0, False), (3, False), (5, False), (9, False), (15, False), (19, False), (21, False)]


def test_each_item_of_a_list_is_a_block_that_continues_the_list_and_its_numbers() -> None:
    text = "3. three\n\n   more\n\n4. four\n   - inner\n\n5. five\n\nafter"
    assert places(text) == [(0, False), (4, True), (7, True), (9, False)]
    starts = [block.html.split(">")[0] for block in blocks_of(text)]
    assert 'start="3"' in starts[0]
    assert 'start="4"' in starts[1]
    assert 'start="5"' in starts[2]
    assert ["continued" in start for start in starts] == [False, True, True, False]


def test_an_item_is_as_loose_as_its_list() -> None:
    loose, tight = blocks_of("- a\n\n- b\n- c"), blocks_of("- a\n- b\n- c")
    assert ["<p>" in block.html for block in loose] == [True] * 3
    assert ["<p>" in block.html for block in tight] == [False] * 3


def test_lines_are_counted_whatever_they_end_with() -> None:
    assert places("a\r\n\r\nb\r\rc\n\nd") == [(0, False), (2, False), (4, False), (6, False)]


@given(LINES)
def test_blocks_begin_one_after_the_other_inside_of_the_text(text: str) -> None:
    lines = [block.line for block in blocks_of(text)]
    count = len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    assert lines == sorted(set(lines))
    assert all(line < count for line in lines)


@given(LINES, LINES)
def test_lines_that_follow_change_no_block_but_the_last_whole_one(before: str, after: str) -> None:
    """So a reply under way is rendered from its last block on. A list counts as one block."""
    before = before.replace("[a]: https://e.example", "a") + "\n"
    after = after.replace("[a]: https://e.example", "a")
    blocks = blocks_of(before)
    while blocks and blocks[-1].continues:
        blocks.pop()
    settled = blocks[:-1]
    assert blocks_of(before + after)[: len(settled)] == settled


def test_a_text_of_very_many_blocks_is_one() -> None:
    assert len(blocks_of("a\n\n" * 6_000)) == 1


def test_a_text_without_content_has_no_blocks() -> None:
    assert blocks_of(" \n\n") == []


def test_a_long_text_is_one_plain_block() -> None:
    assert blocks_of("x" * 200_000) == [Block(0, f'<div class="unformatted">{"x" * 200_000}</div>')]


@pytest.mark.parametrize("text", ["# a", "a", "- a", "> a", "1. a", "| a |\n|-|"])
def test_each_block_takes_its_direction_from_its_text(text: str) -> None:
    (block,) = blocks_of(text)
    assert block.html.count('dir="auto"') == 1


def test_code_runs_from_left_to_right_and_names_its_language() -> None:
    html = rendered('```Python title\nx\n```\n\n    y\n\n```a"b\nz\n```')
    assert html.count('dir="ltr"') == 3
    assert [part.split('"')[0] for part in html.split('data-language="')[1:]] == ["python", "", ""]


def test_tasks_show_whether_they_are_done() -> None:
    html = rendered("- [ ] a\n- [x] b\n- [X] **c**\n- [y] d\n- [ ]\n\n[x] e")
    assert html.count('aria-label="Not done"') == 1
    assert html.count('aria-label="Done"') == 2
    assert html.count('class="task-item"') == 3
    assert "[y] d" in html
    assert "[x] e" in html


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("https://e.example/a_(b).", ["https://e.example/a_(b)"]),
        ("(http://e.example)", ["http://e.example"]),
        ("www.example.org/x?y=1, or", ["http://www.example.org/x?y=1"]),
        ("write to me@example.org", ["mailto:me@example.org"]),
        ("main.py and example.org and ftp://e.example and //e.example", []),
        ("`https://e.example` and [x](https://f.example)", ["https://f.example"]),
    ],
)
def test_addresses_become_links_as_on_github(text: str, links: list[str]) -> None:
    assert [part.split('"')[0] for part in rendered(text).split('href="')[1:]] == links


def test_embedded_pictures_are_named_but_not_shown() -> None:
    data = "data:image/png;base64," + "A" * 200_000
    html = rendered(
        f"Before ![a <cat>]({data}) ![]({data}) [text]({data}) **after**\n\n![b][1]\n\n[1]: data:image/gif,x"
    )
    assert html.startswith('<p dir="auto">Before <span class="no-picture">[Picture: a &lt;cat&gt;, not shown]</span>')
    assert "[Picture, not shown]" in html
    assert "text <strong>after</strong>" in html
    assert "[Picture: b, not shown]" in html
    assert "data:" not in html
    assert len(html) < 500
