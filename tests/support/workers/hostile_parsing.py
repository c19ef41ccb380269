"""A process in which every parser reads hostile text; it writes each parser's name before running it.

Its argument is a limit on CPU time in seconds, after which the system kills it.
"""

import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.kobold_client.vocabulary import spread_text
from halo_weave.engine.openai_client.messages import split_marks
from halo_weave.errors import InputError
from halo_weave.memory.embedding.text import embedding_text
from halo_weave.memory.words.tokenizer import WordTokenizer
from halo_weave.records.numbers import number_of_text
from halo_weave.records.tokens import Token
from halo_weave.records.tree_paths import path_of_text
from halo_weave.server.http.endpoints import key_of_text
from halo_weave.server.rendering.plain_text import readable
from halo_weave.terminal.address import address_of_text
from halo_weave.terminal.output import harmless
from halo_weave.text.chunking import chunks_of
from halo_weave.text.languages.dates import named_times
from halo_weave.text.languages.speakers import speaker_of
from halo_weave.text.languages.stems import STEMMED
from halo_weave.text.languages.wishes import is_wish
from halo_weave.text.languages.words import indexed_text, phrases_of, terms_of
from halo_weave.text.server_sent_events import all_events
from halo_weave.text.stop_strings import StopFinder
from halo_weave.tools.calls.calls import parse_call
from halo_weave.tools.calls.function_form import parse_function_form
from halo_weave.tools.calls.tags import TagParser
from halo_weave.tools.notes.command import parse_notes_command
from halo_weave.transfer.browser.export import with_whole_characters
from halo_weave.weave.worth import WorthInput, worths

_SCANNED, _SEARCHED, _WALKED = 64 * 1024, 16 * 1024, 4 * 1024
"""Text lengths for fast scanners, for patterns with many branches, and for loops in Python over single characters.

If the time grew with the square of the length, each would take many minutes in all.
"""
_UNITS = (
    "\n", " ", "\t", "\r\n", " \n", "\n\n", "`", "```\n", "~", "<", ">", "*", "_", ".", ". ", "!\n", ":", "-", "|",
    "\\", "'", '"', "(", "[", "{", ",", "1", "1 ", "1.", "0", "a", "A", "aA", "é", "日", "a ", "A ", "a: ", "a\n",
    "\u2028", "\x00", "\ud800", "always ", "always\n", "please, ", "i ", "i ally ", "ly", "ing", "May ", "may\n",
    "1 of ", "last ", "2024-", "<tool>", "</tool>", "<tool>a</tool>", "<tool_call>{", "<|im_start|>a\n", "<|im_end|>",
    "世", "世界。", "1月", "十", "昨日", "い", "도", "어제 ", "ไ", "น้ำ", "и", "ма", "1 ма", "вчера ", "ال", "قبل ",
    "हि", "कल ", "im mai ", "vor 1 ", "de la ", "e\u0301", "\u0301", "\u0301\u0323", "\u0e33", "\u200d", "🇩",
    "antworte ", "nunca ", "いつも", "항상", "हमेशा ", "请", "…", "½", "x=1,", "-r ", "\\'", "\\ud83d", "\\\\", "data:",
    "True,", "await ", "''", "> ",
)  # fmt: skip
_OPENINGS = (
    "", "f(", "f(1)", "f('", 'f("', "f(x=", "await f(1);", "jq ", "jq '", "jq . notes.json >", "jq '.' notes.json",
    "```\n", "```json\n", "~~~", '{"name": "f", "arguments": "', "[", "x",
)  # fmt: skip


class Parser(NamedTuple):
    name: str
    parse: Callable[[str], object]
    size: int = _SCANNED
    openings: Sequence[str] = ("",)
    ending: str = "x"


def main(seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    for parser in PARSERS:
        sys.stdout.write(f"{parser.name}\n")
        sys.stdout.flush()
        for text in _hostile(parser):
            try:
                parser.parse(text)
            except InputError:
                continue


def _hostile(parser: Parser) -> Iterator[str]:
    for opening in parser.openings:
        for unit in _UNITS:
            yield opening + unit * ((parser.size - len(opening)) // len(unit) - 1) + parser.ending


def _speak(text: str) -> object:
    return worths([WorthInput("user", (text,), 1.0), WorthInput("assistant", tuple(text[:1000]), 2.0)])


def _chunk(text: str) -> object:
    whole = chunks_of([Token(0, text)])
    return whole, chunks_of([Token(0, sign) for sign in text[: _WALKED // 4]], min_tokens=1, max_tokens=16)


def _find_stops(text: str) -> None:
    finder = StopFinder(("aaaaab", "\n\n\n\nx", text[:100]))
    for start in range(0, len(text), 3):
        if finder.push(text[start : start + 3]).stopped:
            return


def _shorten(text: str) -> object:
    return embedding_text(text, role="user", own_anchor=text, other_anchor=text, count_tokens=len, limit=256)


def _spread(text: str) -> object:
    return spread_text(text, ["\ufffd", *(f"{sign}{sign}!" for sign in text)])


def _echo(text: str) -> object:
    engine = EchoEngine()
    return engine.next_reply([token.id for token in engine.tokenize(text, special=True)])


_words = WordTokenizer()
_NOW = datetime(2026, 3, 1, tzinfo=UTC)
PARSERS = [
    Parser("is_wish", is_wish, _SEARCHED, openings=("", "Ada:", "always", "please", "i")),
    Parser("named_times", lambda text: named_times(text, _NOW), _SEARCHED, openings=("", "1", "may")),
    Parser("speaker_of", speaker_of, openings=("", "Ada")),
    Parser("chunks_of", _chunk, _SEARCHED, openings=("", "```\n")),
    Parser("StopFinder", _find_stops, _WALKED),
    Parser("all_events", lambda text: list(all_events([text.encode(errors="replace")])), openings=("", "data:")),
    Parser("TagParser", lambda text: TagParser().push(text), _WALKED, ("", "<tool>")),
    Parser("parse_call", lambda text: parse_call(text, {"f": ("x",)}), _WALKED, _OPENINGS),
    Parser("parse_function_form", parse_function_form, _SCANNED, ("f(", "f(1)", "f('", "await ")),
    Parser("parse_notes_command", parse_notes_command, _SCANNED, ("jq ", "jq '", "jq . notes.json >")),
    Parser("path_of_text", path_of_text),
    Parser("worths", _speak, _SEARCHED),
    Parser("terms_of", terms_of, _WALKED),
    Parser("indexed_text", indexed_text, _WALKED, openings=("", "ich habe das ")),
    Parser("phrases_of", lambda text: phrases_of(text, STEMMED), _WALKED),
    Parser("words_of", lambda text: _words.words_of([text.encode(errors="replace").decode()]), _WALKED),
    Parser("embedding_text", _shorten),
    Parser("number_of_text", number_of_text, ending=""),
    Parser("key_of_text", key_of_text, openings=("", "1.")),
    Parser("address_of_text", address_of_text, openings=("", "1:"), ending=""),
    Parser("readable", readable),
    Parser("harmless", harmless),
    Parser("split_marks", lambda text: list(split_marks(text))),
    Parser("spread_text", _spread, _WALKED),
    Parser("with_whole_characters", lambda text: with_whole_characters(text.encode(errors="replace"))),
    Parser("EchoEngine", _echo, _WALKED),
]

if __name__ == "__main__":
    main(int(sys.argv[1]))
