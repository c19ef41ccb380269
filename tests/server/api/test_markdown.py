"""Untrusted Markdown: rendered where it is harmless, shown as text where it is not."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.server.rendering.markdown import rendered

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt:alert(1))",
    "[click](java\nscript:alert(1))",
    "[click](&#106;avascript:alert(1))",
    "[click](data:text/html,<script>alert(1)</script>)",
    "[click](vbscript:x)",
    "[click](/api/export)",
    "<javascript:alert(1)>",
    "![x](https://elsewhere.example/pixel.png)",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "[x]: javascript:alert(1)\n\n[x]",
    '[a](https://e.example "onmouseover=alert(1) \\"><script>")',
    '```python" onclick="alert(1)\ncode\n```',
    "```<script>\nalert(1)\n```",
    "`<script>alert(1)</script>`",
    "<svg/onload=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "<style>*{display:none}</style>",
    "<iframe src=//evil.example></iframe>",
    "| a |\n|:-:|\n| <b onclick=x>y</b> |",
    "\x1b[31mred\x1b]0;title\x07",
    "\u202eabc\u202c \u2066x",
    "NUL \x00 and \x85",
    "half \ud800 of one",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#x202e;turned",
]


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(rendered(text))
    return reader


def assert_harmless(text: str) -> None:
    for tag, attributes in read(text).tags:
        assert tag not in {"script", "style", "img", "iframe", "svg", "object", "form", "link", "meta", "base"}
        assert not any(name.startswith("on") or name in ("style", "src", "id") for name in attributes)
        if "href" in attributes:
            assert re.match(r"(https?://|mailto:)", attributes["href"] or "", re.IGNORECASE)
            assert "noopener" in (attributes["rel"] or "")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_harmless(text: str) -> None:
    assert_harmless(text)


@given(
    st.lists(st.sampled_from([*HOSTILE, "*", "_", "`", "[", "](", ")", "\n", "> ", "- ", "|", "&#", ";", "a"])).map(
        "".join
    )
)
def test_hostile_text_is_harmless_in_any_mixture(text: str) -> None:
    assert_harmless(text)


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "[click](javascript:alert(1))", "<b>bold?</b>"])
def test_what_is_not_markdown_is_shown_as_text(text: str) -> None:
    assert read(text).text.strip() == text


def test_control_characters_are_shown_as_signs() -> None:
    assert read("a\x1b[31mb\x00c").text.strip() == "a␛[31mb␀c"


def test_what_turns_directions_is_kept_to_itself() -> None:
    assert rendered("ab \u202ecd") == '<p dir="auto"><bdi>ab \u202ecd</bdi></p>\n'
    assert "\u202e" not in rendered("```\nab \u202ecd\n```")
    assert "\u202e" not in rendered("`ab \u202ecd`")


def test_pictures_from_elsewhere_are_links() -> None:
    (link,) = [attributes for tag, attributes in read("![a cat](https://e.example/cat.png)").tags if tag == "a"]
    assert link["href"] == "https://e.example/cat.png"
    assert link["target"] == "_blank"


def test_markdown_is_rendered() -> None:
    tags = [tag for tag, _ in read("# A\n\n- b\n\n~~c~~ **d** *e*\n\n| f |\n|--:|\n| g |\n\n> h").tags]
    for tag in ("h1", "ul", "s", "strong", "em", "table", "blockquote"):
        assert tag in tags


def test_the_alignment_of_a_cell_is_a_class_that_nothing_else_on_the_page_has() -> None:
    html = rendered("| a | b | c |\n|:--|:-:|--:|\n| d | e | f |")
    for name in ("align-left", "align-center", "align-right"):
        assert html.count(f'class="{name}"') == 2
    assert html.count('class="align-') == 6


def test_code_is_coloured_by_classes() -> None:
    html = rendered("```python\ndef f():\n    return 'x'\n```")
    assert '<span class="k">def</span>' in html
    assert "style=" not in html
    assert "<span" not in rendered("```no-such-language\ndef\n```")


@given(st.text())
def test_any_text_can_be_rendered(text: str) -> None:
    assert_harmless(text)
