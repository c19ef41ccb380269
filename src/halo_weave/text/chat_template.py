"""Chat templates: the text that opens and closes each role's turn in a model's format.

Models come with a Jinja template for whole conversations. We need its parts, because turns come and go individually and
each needs its own opening and closing. To find them, we render conversations with markers and cut the result at the
markers. If a template cannot be cut this way, or there is none, ChatML replaces it.
"""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NoReturn

import msgspec
from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from halo_weave.records.roles import Role

_MARKS: Mapping[str, str] = {name: f"HALO{name}WEAVE" for name in ("S", "U", "A", "V", "B")}
_Message = dict[str, str]


class TurnMarks(msgspec.Struct, frozen=True):
    opening: str
    closing: str


class ChatTemplate(msgspec.Struct, frozen=True):
    """The parts of a chat format.

    `start` comes once before the first turn (a BOS token or nothing). `writes_tool_calls` says that the model was
    trained to call tools as JSON between <tool_call> and </tool_call>.
    """

    source: Literal["model", "chatml"]
    start: str
    system: TurnMarks
    user: TurnMarks
    assistant: TurnMarks
    writes_tool_calls: bool = False

    def marks(self, role: Role) -> TurnMarks:
        marks: TurnMarks = getattr(self, role)
        return marks


def chatml(start: str = "") -> ChatTemplate:
    def marks(role: Role) -> TurnMarks:
        return TurnMarks(f"<|im_start|>{role}\n", "<|im_end|>\n")

    return ChatTemplate("chatml", start, marks("system"), marks("user"), marks("assistant"))


def from_jinja(template: str | None, *, bos: str = "", eos: str = "", adds_bos: bool = False) -> ChatTemplate:
    """Extract the parts of a model's template; `bos` comes first if the template or the vocabulary (`adds_bos`) adds
    it."""
    fallback = chatml(bos if adds_bos else "")
    if not template:
        return fallback
    try:
        cut = _cut(_Renderer(template, bos, eos), bos, adds_bos)
        return msgspec.structs.replace(cut, writes_tool_calls="<tool_call>" in template)
    except Exception:  # a template is third-party code and may raise anything
        return fallback


class _CannotCut(Exception):
    pass


class _Renderer:
    def __init__(self, template: str, bos: str, eos: str) -> None:
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = _raise
        environment.globals["strftime_now"] = lambda form: datetime.datetime.now().astimezone().strftime(form)
        self._template = environment.from_string(template)
        self._variables: dict[str, Any] = {"bos_token": bos, "eos_token": eos, "enable_thinking": False}

    def __call__(self, roles: Sequence[tuple[Role, str]], *, reply: bool = False) -> str:
        messages: list[_Message] = [{"role": role, "content": _MARKS[mark]} for role, mark in roles]
        return self._template.render(messages=messages, add_generation_prompt=reply, **self._variables)


def _raise(message: str) -> NoReturn:
    raise TemplateError(message)


def _cut(render: _Renderer, bos: str, adds_bos: bool) -> ChatTemplate:
    try:
        start, system = _system_marks(render)
    except (TemplateError, _CannotCut):
        start, system = "", None  # the template has no system role: system text uses the user's marks
    lead: list[tuple[Role, str]] = [("system", "S")] if system is not None else []
    question: list[tuple[Role, str]] = [*lead, ("user", "U")]
    answered: list[tuple[Role, str]] = [*question, ("assistant", "A")]
    user_closing = _after(render(question), "U")
    assistant_opening = _without_prefix(_after(render(question, reply=True), "U"), user_closing)
    assistant_closing = _after(render(answered), "A")
    between = _between(render([*answered, ("user", "V"), ("assistant", "B")]), "A", "V")
    # Some templates write the end token only between turns, not after the last one.
    assistant_closing = assistant_closing if between.startswith(assistant_closing) else ""
    user = TurnMarks(_without_prefix(between, assistant_closing), user_closing)
    if system is None:
        start = _without_suffix(_before(render([("user", "U")]), "U"), user.opening)
        system = user
    else:
        closing = _without_suffix(_between(render(question), "S", "U"), user.opening)
        system = TurnMarks(system.opening, closing)
    # If every turn begins with the BOS token (<|im_start|> in some models), it belongs to the turns.
    if bos and not start and system.opening.startswith(bos) and not user.opening.startswith(bos):
        start, system = bos, TurnMarks(system.opening.removeprefix(bos), system.closing)
    if adds_bos and bos and not start.startswith(bos):
        start = bos + start
    if not assistant_opening:
        raise _CannotCut("nothing opens a reply")
    return ChatTemplate("model", start, system, user, TurnMarks(assistant_opening, assistant_closing))


def _system_marks(render: _Renderer) -> tuple[str, TurnMarks]:
    rendered = render([("system", "S"), ("user", "U")])
    opening, between = _before(rendered, "S"), _between(rendered, "S", "U")
    if not opening or not between:
        raise _CannotCut("the system text stands inside the user's turn")
    return "", TurnMarks(opening, between)


def _before(rendered: str, mark: str) -> str:
    return _split(rendered, mark)[0]


def _after(rendered: str, mark: str) -> str:
    return _split(rendered, mark)[1]


def _between(rendered: str, first: str, second: str) -> str:
    return _before(_after(rendered, first), second)


def _split(rendered: str, mark: str) -> tuple[str, str]:
    before, found, after = rendered.partition(_MARKS[mark])
    if not found:
        raise _CannotCut(f"{mark} is not in the rendered text")
    return before, after


def _without_prefix(text: str, prefix: str) -> str:
    if not text.startswith(prefix):
        raise _CannotCut(f"{text!r} does not begin with {prefix!r}")
    return text[len(prefix) :]


def _without_suffix(text: str, suffix: str) -> str:
    if not text.endswith(suffix):
        raise _CannotCut(f"{text!r} does not end with {suffix!r}")
    return text[: len(text) - len(suffix)]
