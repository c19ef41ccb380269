"""Parses a notes command as a model writes it: `jq 'FILTER' notes.json`, followed by `> output` to change the notes."""

import re
from typing import NamedTuple

from halo_weave.errors import InputError

_FORM = "write jq 'FILTER' notes.json to read the notes, and add > output to change them"
_COMMAND = re.compile(r"jq(?:\s(?P<rest>.*))?", re.DOTALL)
_OPTION = re.compile(r"(-\w|--[\w-]+)\s+")
_HARMLESS_OPTIONS = ("-r", "-c", "-M", "--raw-output", "--compact-output", "--monochrome-output")
_PLAIN = re.compile(r"[^\s'\"\\;&|<>$`()]+")
_QUOTE = re.compile(r"['\"]")
_NOTES, _OUTPUT = "notes.json", "output"


class NotesCommand(NamedTuple):
    filter: str
    is_write: bool


def is_notes_command(text: str) -> bool:
    """Whether the text is meant as a notes command. It may still be invalid."""
    return _COMMAND.fullmatch(text.strip()) is not None


def parse_notes_command(text: str) -> NotesCommand:
    """Raises InputError with the correct form if the command is invalid."""
    matched = _COMMAND.fullmatch(text.strip())
    if matched is None:
        raise InputError(f"This is not a command for the notes; {_FORM}.")
    rest, is_write = _without_output(_without_options((matched["rest"] or "").strip()))
    words = rest.rsplit(maxsplit=1)
    if len(words) != 2 or words[1].removeprefix("./") != _NOTES:
        raise InputError(f"The command has no {_NOTES} after its filter; {_FORM}.")
    return NotesCommand(_unquoted(words[0]), is_write)


def _without_options(rest: str) -> str:
    """Drop options that only affect formatting, because results are always compact."""
    end = 0
    while (option := _OPTION.match(rest, end)) is not None:
        if option[1] not in _HARMLESS_OPTIONS:
            raise InputError(f"The jq option {option[1][:40]} is not supported here; {_FORM}.")
        end = option.end()
    return rest[end:]


def _without_output(rest: str) -> tuple[str, bool]:
    """Split off `> output`. Only text after the file name counts, because > in a filter is a comparison."""
    head, _, target = rest.rpartition(">")
    head = head.rstrip()
    if not head.rstrip(">").rstrip().endswith(_NOTES) or _QUOTE.search(target):
        return rest, False
    if head.endswith(">") or target.strip() != _OUTPUT:
        raise InputError(f"Only > {_OUTPUT} can follow the file name; {_FORM}.")
    return head, True


def _unquoted(word: str) -> str:
    """Return the filter without its quotes. Apostrophes inside are kept, because jq itself has no single quotes."""
    if len(word) >= 2 and word[0] == word[-1] == "'":
        return word[1:-1].replace("'\\''", "'").replace("'\"'\"'", "'")
    if len(word) >= 2 and word[0] == word[-1] == '"':
        return re.sub(r'\\([\\"$`])', r"\1", word[1:-1])
    if _PLAIN.fullmatch(word):
        return word
    raise InputError(f"The filter must be in quotes; {_FORM}.")
