"""The documentation and the program name the same things: commands, flags, settings, endpoints, tools, files.

A page names something by writing it between backticks or in a code block. The names come from the code: the argparse
parsers, the settings' structs, the servers' routes and the toolboxes. CHANGELOG.md speaks of the past, so only its
links are checked.
"""

import argparse
import json
import re
import runpy
import shlex
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest
from starlette.routing import Route, WebSocketRoute

from halo_weave import cli, paths
from halo_weave.config import ENVIRONMENT_PREFIX, checked_value, describe_settings
from halo_weave.engine.echo import EchoEngine
from halo_weave.memory.memory import open_memory
from halo_weave.memory.settings import MemorySettings
from halo_weave.server.app import create_app
from halo_weave.server.kobold.server import create_app as kobold_app
from halo_weave.session.window.events import Kind
from halo_weave.terminal.chat.commands import help_lines
from halo_weave.tools.factory import opened_toolboxes
from support.folders import PROJECT
from support.servers.served import served
from support.windows import WORDS_ALONE

DOCS = PROJECT / "docs"
PAGES = [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
LINKED = [*PAGES, PROJECT / "CHANGELOG.md"]
REFERENCE: dict[str, Any] = runpy.run_path(str(PROJECT / "scripts" / "reference"))
COMMANDS: dict[str, argparse.ArgumentParser] = {one.name: one.parser for one in REFERENCE["commands"]()}
FLAGS = {flag: parser for parser in COMMANDS.values() for flag in parser._option_string_actions} | {"--version": None}
SETTINGS = {one.name: one for one in describe_settings()}
SECTIONS = {name.partition(".")[0] for name in SETTINGS}

_FENCE = re.compile(r"^(`{3,}|~{3,})[^\S\n]*(\w*)[^\n]*\n(.*?)^\1[^\S\n]*$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_SETTING = re.compile(rf"(?<![\w./-])({'|'.join(sorted(SECTIONS))})\.([a-z][a-z0-9_]*)(?![\w/(])")
_VARIABLE = re.compile(rf"\b{ENVIRONMENT_PREFIX}[A-Z][A-Z_]*\b")
_REQUEST = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE|WebSocket) (/[^\s`?]*)")
_SOURCE = re.compile(r"[\w./-]+\.(?:py|js|css|html)")
_CALL = re.compile(r"([a-z]+_[a-z_]+|remember)\(([a-z_, ]*)\)")
_PLACEHOLDER = re.compile(r"[A-Z_]+|…|\.\.\.")


class Block(NamedTuple):
    language: str
    text: str


def blocks_of(text: str) -> list[Block]:
    return [Block(found[2], found[3]) for found in _FENCE.finditer(text)]


def spans_of(text: str) -> list[str]:
    """Return the text of each code span outside code blocks, each on one line."""
    return [" ".join(found[2].split()) for found in _SPAN.finditer(_FENCE.sub("", text))]


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def each_page() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def all_spans() -> set[str]:
    return {span for page in PAGES for span in spans_of(read(page))}


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Return the requests that the two servers answer, such as `GET /api/status`."""
    with served(tmp_path_factory.mktemp("served"), waits=False) as one:
        page = set(_requests(vars(create_app(one.program))["_app"].routes))
    with closing(EchoEngine([])) as engine:
        kobold = set(_requests(kobold_app(engine).routes))
    return {"page": page, "kobold": kobold}


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the arguments of every tool, for the model in a chat and for other assistants."""
    file = tmp_path_factory.mktemp("tools") / "halo.db"
    with closing(open_memory(file, WORDS_ALONE)) as memory, opened_toolboxes(memory, MemorySettings()) as boxes:
        named = {"tools.md": boxes.chat, "mcp.md": boxes.assistants}
        return {page: {tool.name: tool.argument_names for tool in box.tools} for page, box in named.items()}


def _requests(routes: list[Any]) -> Iterator[str]:
    for route in routes:
        if isinstance(route, WebSocketRoute):
            yield f"WebSocket {route.path}"
        elif isinstance(route, Route) and not route.path.startswith("/static/"):
            yield from (f"{method} {route.path}" for method in (route.methods or {"POST"}) - {"HEAD"})


def test_the_reference_pages_are_what_the_code_gives() -> None:
    """After a change to a command, a flag, a setting or its help, run `uv run scripts/reference`."""
    for path, text in REFERENCE["pages"]().items():
        assert read(path) == text, f"{path.name} is outdated: run `uv run scripts/reference`"


def test_every_command_and_flag_is_documented() -> None:
    page = read(DOCS / "commands.md")
    spans = {span.partition(" ")[0] for span in spans_of(page)}
    for name, parser in COMMANDS.items():
        assert f"# halo-weave {name}\n" in page
        flags = {flag for flag in parser._option_string_actions if flag not in ("-h", "--help")}
        assert flags <= spans, name


def test_every_setting_is_documented() -> None:
    assert set(SETTINGS) <= set(spans_of(read(DOCS / "settings.md")))


def test_every_slash_command_is_documented() -> None:
    spans = {span.partition(" ")[0] for span in spans_of(read(DOCS / "chat.md"))}
    assert slash_commands() <= spans


def test_every_endpoint_is_documented(requests: dict[str, set[str]]) -> None:
    for server, page in (("page", "api.md"), ("kobold", "wire-protocol.md")):
        named = {span.split("?")[0].split(" {")[0] for span in spans_of(read(DOCS / page))}
        assert requests[server] <= named | {"GET /", "GET /favicon.ico"}


def test_every_kind_of_event_is_documented() -> None:
    assert set(get_args(Kind)) <= set(spans_of(read(DOCS / "api.md")))


def test_every_tool_is_documented_with_its_arguments(tools: dict[str, dict[str, tuple[str, ...]]]) -> None:
    for page, named in tools.items():
        spans = spans_of(read(DOCS / page))
        for name, arguments in named.items():
            assert f"{name}({', '.join(arguments)})" in spans, page


def test_every_page_is_linked_from_the_readme() -> None:
    linked = {(PROJECT / target.partition("#")[0]).resolve() for target in _LINK.findall(read(PROJECT / "README.md"))}
    assert {page for page in LINKED if page.name != "README.md"} <= linked


@each_page()
def test_a_page_names_only_commands_and_flags_that_exist(page: Path) -> None:
    for words in commands_in_spans(read(page)):
        require_command(words)


@each_page()
def test_commands_to_paste_are_accepted_as_they_stand(page: Path) -> None:
    for block in blocks_of(read(page)):
        if block.language == "sh":
            for words in commands_in_shell(block.text):
                require_command(words)
                cli._parser().parse_args(cli._with_command(words))


@each_page()
def test_a_page_names_only_settings_that_exist(page: Path) -> None:
    text = read(page)
    for span in spans_of(text):
        if not _SOURCE.fullmatch(span) and not span.endswith(".md"):
            for section, name in _SETTING.findall(span):
                assert f"{section}.{name}" in SETTINGS, span
    for block in blocks_of(text):
        if block.language == "toml":
            for section, values in tomllib.loads(block.text).items():
                for name, value in values.items():
                    checked_value(f"{section}.{name}", value, page.name)


@each_page()
def test_a_page_names_only_environment_variables_that_exist(page: Path) -> None:
    known = {ENVIRONMENT_PREFIX + name.replace(".", "_").upper() for name in SETTINGS} | {paths.HOME_VARIABLE}
    known |= {found for file in (PROJECT / "tests").rglob("conftest.py") for found in _VARIABLE.findall(read(file))}
    assert set(_VARIABLE.findall(read(page))) <= known


@each_page()
def test_a_page_names_only_endpoints_that_exist(page: Path, requests: dict[str, set[str]]) -> None:
    for span in spans_of(read(page)):
        for method, path in _REQUEST.findall(span):
            assert f"{method} {path}" in requests["page"] | requests["kobold"], span


@each_page()
def test_a_page_names_only_slash_commands_and_paths_that_exist(page: Path, requests: dict[str, set[str]]) -> None:
    served_paths = {request.partition(" ")[2] for request in requests["page"] | requests["kobold"]}
    for span in spans_of(read(page)):
        if re.fullmatch(r"/[a-z][\w/.-]*( .*)?", span) and not span.startswith("/v1/"):  # paths of other servers
            assert span.partition(" ")[0] in slash_commands() | served_paths, span


@each_page()
def test_a_page_names_only_tools_that_exist(page: Path, tools: dict[str, dict[str, tuple[str, ...]]]) -> None:
    """Tools are written in the form `name(argument, argument)`."""
    for span in spans_of(read(page)) if page.name in tools else []:
        if called := _CALL.fullmatch(span):
            assert tools[page.name].get(called[1]) == tuple(called[2].split(", ")), span


@each_page()
def test_source_files_that_a_page_names_exist(page: Path) -> None:
    """Paths are relative to src/halo_weave or to the project."""
    for span in spans_of(read(page)):
        if _SOURCE.fullmatch(span):
            places = (PROJECT / "src" / "halo_weave" / span, PROJECT / span)
            assert any(place.is_file() for place in places), span


@each_page()
def test_json_in_a_page_is_json(page: Path) -> None:
    for block in blocks_of(read(page)):
        if block.language == "json":
            json.loads(block.text)


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    for target in _LINK.findall(_FENCE.sub("", read(page))):
        if "://" in target:
            continue
        name, _, heading = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), target
        if heading:
            assert heading in headings_of(read(file)), target


def test_names_that_do_not_exist_are_noticed() -> None:
    for words in ("memory serch", "memory search X --lmit 3", "--prot 80", "bench nothing"):
        with pytest.raises(AssertionError):
            require_command(words.split())
    for words in ("", "memory show TURN[:CHUNK]", "bench NAME --save docs/results", "tree delete PATH [--recursive]"):
        require_command(words.split())
    assert list(commands_in_shell("pip install uv && uv run halo-weave --port 80\n")) == [["--port", "80"]]
    assert list(commands_in_spans("`halo-weave  memory\nstats` `bench keep` `memory` `notes.json`")) == [
        ["memory", "stats"],
        ["bench", "keep"],
    ]
    assert _SETTING.findall("weave.budget_share = 0.5 memory/memory.py") == [("weave", "budget_share")]
    assert headings_of("# A b\n## What is `x`, and why?\n") == {"a-b", "what-is-x-and-why"}


def slash_commands() -> set[str]:
    return {line.split()[0] for line in help_lines() if line.startswith("/")}


def commands_in_spans(text: str) -> Iterator[list[str]]:
    """Yield the words after `halo-weave`; a command of two words may omit it, and so may a flag."""
    for span in spans_of(text):
        words = span.split()
        if words[0] == "halo-weave":
            yield words[1:]
        elif (len(words) > 1 and words[0] in COMMANDS) or words[0].startswith("--"):
            yield words


def commands_in_shell(text: str) -> Iterator[list[str]]:
    """Yield the words after `halo-weave` in each command of a script."""
    script = re.sub(r"(^|\s)#.*$", "", text.replace("\\\n", " "), flags=re.MULTILINE)
    lexer = shlex.shlex(script, posix=True, punctuation_chars="|&;<>\n")
    lexer.whitespace = " \t"
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, "\n"]:
        if word.strip("|&;<>\n"):
            words.append(word)
            continue
        if "halo-weave" in words:
            yield words[words.index("halo-weave") + 1 :]
        words = []


def require_command(words: list[str]) -> None:
    """Commands and flags must exist; values may be placeholders, and optional parts may be in brackets."""
    left, name = list(words), ""
    while left and f"{name} {left[0]}".strip() in COMMANDS:
        name = f"{name} {left.pop(0)}".strip()
    flags = {flag for word in left for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]*", word)}
    if not name:
        is_served = not left or left[0].startswith("-") or _PLACEHOLDER.fullmatch(left[0])
        assert is_served, f"There is no command {' '.join(words)}."
        assert flags <= set(FLAGS), words
    elif _has_commands(COMMANDS[name]):
        assert not left or left[0].startswith("-") or _PLACEHOLDER.fullmatch(left[0]), f"There is no command {words}."
        assert flags <= set(FLAGS), words
    else:
        assert flags <= set(COMMANDS[name]._option_string_actions), f"{name} has no such flag: {words}."


def _has_commands(parser: argparse.ArgumentParser) -> bool:
    return any(isinstance(action, argparse._SubParsersAction) for action in parser._actions)


def headings_of(text: str) -> set[str]:
    """Return the anchors that GitHub gives the headings."""
    titles = re.findall(r"^#+ (.+)$", _FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower().replace("`", "")).strip().replace(" ", "-") for title in titles}
