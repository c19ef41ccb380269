"""Arguments of `halo-weave serve` and `halo-weave chat`, the two places to chat, and of `halo-weave demo`."""

import argparse
from typing import TYPE_CHECKING, Any, Literal

from halo_weave.errors import InputError
from halo_weave.terminal.arguments import (
    add_command,
    add_db_flag,
    add_setting_flag,
    load_settings,
    overrides_of,
    whole_number,
    with_settings,
)

if TYPE_CHECKING:
    from halo_weave.config import Settings


def add_serve_command(commands: Any, flags: argparse.ArgumentParser) -> None:
    serve = add_command(commands, "serve", _serve, "open the page in the browser (the default command)", [flags])
    serve.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: %(default)s, this machine only)"
    )
    _add_page_flags(serve)
    add_db_flag(serve)


def _add_page_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--port", type=whole_number(0, 65_535), help="port to listen on (default: the first free port from 8642)"
    )
    command.add_argument("--no-browser", action="store_true", help="do not open the browser")


def _serve(arguments: argparse.Namespace) -> int:
    load_settings(arguments)
    from halo_weave.server import running

    return running.run(
        overrides_of(arguments),
        host=arguments.host,
        port=arguments.port,
        opens_browser=not arguments.no_browser,
    )


def add_demo_command(commands: Any, flags: argparse.ArgumentParser) -> None:
    demo = add_command(
        commands,
        "demo",
        _demo,
        "open the page with half a year of made-up conversations, which are deleted at the end",
        [flags],
    )
    _add_page_flags(demo)


def _demo(arguments: argparse.Namespace) -> int:
    load_settings(arguments)
    from halo_weave.terminal.commands import demo

    return demo.run(overrides_of(arguments), port=arguments.port, opens_browser=not arguments.no_browser)


def add_chat_command(commands: Any, flags: argparse.ArgumentParser) -> None:
    chat = add_command(commands, "chat", with_settings(_chat), "chat with the model in the terminal", [flags])
    chat.add_argument(
        "--window",
        metavar="NAME",
        help="conversation to continue or start (default: main)",
    )
    kind = chat.add_mutually_exclusive_group()
    kind.add_argument(
        "--fresh", action="store_true", help="start a new conversation without recall; /recall on turns it on"
    )
    kind.add_argument(
        "--private",
        action="store_true",
        help="start a conversation that reads the memory and of which nothing is ever written to the disk",
    )
    add_db_flag(chat)
    group = chat.add_argument_group("reply")
    add_setting_flag(
        group,
        "--temperature",
        "generation.temperature",
        "NUMBER",
        "randomness of the reply; 0 always picks the most likely token",
    )
    add_setting_flag(group, "--seed", "generation.seed", "N", "seed for sampling, for reproducible replies")
    add_setting_flag(group, "--max-tokens", "generation.max_tokens", "N", "maximum length of a reply in tokens")
    add_setting_flag(group, "--system", "chat.system_prompt", "TEXT", "system prompt for the conversation")


def _chat(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.chat import chat

    kind: Literal["ordinary", "fresh", "private"] = (
        "fresh" if arguments.fresh else "private" if arguments.private else "ordinary"
    )
    if kind != "ordinary" and arguments.window is not None:
        raise InputError(f"--{kind} starts a new conversation; leave out --window.")
    return chat.run(settings, arguments.window or "main", kind)
