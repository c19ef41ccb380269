"""Formulas become MathML; what only looks like one stays text, and none does harm."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.server.rendering.latex import ELEMENTS, LONGEST_FORMULA, LONGEST_MATHML, mathml
from halo_weave.server.rendering.markdown import rendered

PIECES = [
    *(
        "\\frac",
        "\\sqrt",
        "\\text",
        "\\href",
        "\\style",
        "\\class",
        "\\color",
        "\\unicode",
        "\\verb|",
        "\\left(",
        "\\right)",
    ),
    *(
        "\\begin{pmatrix}",
        "\\end{pmatrix}",
        "\\begin{align}",
        "\\end{align}",
        "\\\\",
        "&",
        "{",
        "}",
        "[",
        "]",
        "^",
        "_",
        "'",
    ),
    *(
        "\\newcommand",
        "\\def",
        "\\over",
        "\\not",
        "\\hspace",
        "\\rule",
        "\\Huge",
        "\\limits",
        "\\substack",
        "\\operatorname",
    ),
    *(
        "<script>alert(1)</script>",
        "onerror=alert(1)",
        '"',
        "javascript:alert(1)",
        "&lt;img src=x&gt;",
        "&#60;",
        "%",
        "$",
    ),
    *(
        "a",
        "1",
        " ",
        "\n",
        "\\",
        "é",
        "日",
        "ش",
        "\u202e",
        "\x00",
        "\ud800",
        "-999em",
        "`",
        "|",
        "\\)",
        "\\]",
        "$$",
        "#1",
    ),
]
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


class Reader(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("$x$", 1),
        ("The area $\\pi r^2$, or $A$.", 2),
        ("\\(x^2\\) and \\[y\\]", 2),
        ("$$x$$", 1),
        ("$$\na\n- b\n$$", 1),
        ("\\[\n\\frac{a}{b}\n\\]", 1),
        ("- item\n\n  $$\n  x\n  $$", 1),
        ("| $x$ |\n|---|\n| \\(y\\) |", 2),
        ("**$x$**", 1),
        ("$\\$5$", 1),
        ("$v_{\\text{final speed}}$", 1),
        ("$f(x) = \\begin{cases}1 & x > 0\\\\0 & \\text{otherwise}\\end{cases}$", 1),
        ("$$\\sum_{i=1}^n \\mathbb{E}[X_i]$$", 1),
    ],
)
def test_formulas_are_found(text: str, count: int) -> None:
    html = rendered(text)
    assert html.count("<math") == html.count("</math>") == count
    assert "$" not in re.sub(r"<[^>]*>", "", html.replace("<mi>$</mi>", ""))


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $6.",
        "US$5, CA$6 or 7$",
        "$5-$6",
        "between $1,000 and $2,000 a year",
        "I have $5, you have 10$.",
        "echo $HOME/$USER",
        "$ x $",
        "a $ b",
        "$$",
        "$$ and so on",
        "$$\nnever closed\n\n$$ x",
        "`$x$`",
    ],
)
def test_dollars_in_ordinary_text_stay(text: str) -> None:
    html = rendered(text)
    assert "<math" not in html
    assert re.sub(r"<[^>]*>", "", html).split() == text.replace("`", "").split()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one \\( two", "one ( two"),
        ("\\(see below\\)", "(see below)"),
        ("\\(optional\\)", "(optional)"),
        ("\\[not a link\\](x)", "[not a link](x)"),
        ("\\\\(x\\\\)", "\\(x\\)"),
        ("matches \\(\\d+\\)", "matches \\(\\d+\\)"),
        ("price \\$5 and \\$6", "price $5 and $6"),
        ("$\\nosuchcommand{x}$", "$\\nosuchcommand{x}$"),
        ("$x^2^3$ and ${$", "$x^2^3$ and ${$"),
    ],
)
def test_what_is_no_formula_keeps_its_text(text: str, shown: str) -> None:
    assert re.sub(r"<[^>]*>", "", rendered(text)).strip() == shown


def test_code_keeps_its_dollars_and_brackets() -> None:
    html = rendered("```\n$x$ \\(y\\)\n$$\nz\n$$\n```")
    assert "<math" not in html
    assert "$x$ \\(y\\)\n$$\nz\n$$\n" in html


def test_a_formula_can_be_read_aloud_and_copied_as_it_was_written() -> None:
    assert 'alttext="\\frac{a}{b} &lt; 1"' in rendered("$\\frac{a}{b} < 1$")


@pytest.mark.parametrize(
    "latex",
    [
        "\\text{<script>alert(1)</script>}",
        "\\href{javascript:alert(1)}{x}",
        "\\style{position:fixed}{x}",
        "\\class{turn}{x}",
        '\\color{red" onclick="alert(1)}x',
        "\\unicode{x3c}img",
        "\\text{&lt;img src=x onerror=alert(1)&gt;}",
    ],
)
def test_a_formula_can_neither_run_nor_style_anything(latex: str) -> None:
    reader = Reader(rendered(f"${latex}$"))
    assert set(reader.tags) <= {"p", *ELEMENTS}
    assert {name for name, _ in reader.attributes} <= {"alttext", "dir", "mathcolor"}


@pytest.mark.parametrize("length", ["999em", "-20em", "1e9px", "50%", "100vw"])
@pytest.mark.parametrize("command", ["\\hspace{%s}x", "\\rule{%s}{%s}", "\\kern%s x", "\\raisebox{%s}{x}"])
def test_a_formula_cannot_leave_its_place(command: str, length: str) -> None:
    reader = Reader(rendered(f"${command.replace('%s', length)}$"))
    lengths = [value for name, value in reader.attributes if name in ("width", "height", "depth", "lspace", "voffset")]
    assert all(abs(float(value.rstrip("exptm"))) < 10 for value in lengths)


@given(HOSTILE)
def test_hostile_formulas_never_raise_and_never_escape(text: str) -> None:
    for source in (text, f"${text}$", f"\\({text}\\)", f"$$\n{text}\n$$", f"\\[{text}\\]"):
        reader = Reader(rendered(source))
        assert not {"script", "style", "img", "iframe", "svg", "annotation-xml", "maction"} & set(reader.tags)
        for name, value in reader.attributes:
            assert not name.startswith("on")
            assert name not in ("style", "src", "id", "xlink:href")
            assert name != "href" or value.startswith(("http://", "https://", "mailto:"))


@given(HOSTILE)
def test_a_formula_is_bounded_in_size(latex: str) -> None:
    made = mathml(latex * 50, is_display=True)
    assert made is None or len(made) <= LONGEST_MATHML + 6 * LONGEST_FORMULA + 100


@pytest.mark.parametrize(
    "latex",
    [
        "\\newcommand{\\a}{xx}\\newcommand{\\b}{\\a\\a}\\b",
        "\\def\\a{\\a\\a}\\a",
        "{" * 1_500 + "}" * 1_500,
        "\\frac" * 600,
        "\\sqrt{" * 500 + "}" * 500,
        "x^" * 1_500,
        "\\left(" * 500,
        "x" * (LONGEST_FORMULA + 1),
    ],
    ids=["macros", "endless macro", "braces", "fractions", "roots", "powers", "brackets", "length"],
)
def test_a_formula_that_grows_or_nests_without_limit_is_shown_as_written(latex: str) -> None:
    assert mathml(latex, is_display=False) is None


def test_a_text_that_becomes_very_large_is_shown_plain() -> None:
    text = ("$\\LaTeX$ " * 1_000 + "\n") * 10
    assert rendered(text).startswith('<div class="unformatted">')
    assert rendered(text[:900]).count("<math") == 100
