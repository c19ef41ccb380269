"""Arguments of `halo-weave mcp` and `halo-weave engine`, which serve other programs."""

import argparse
from typing import TYPE_CHECKING, Any

from halo_weave.terminal.arguments import add_command, add_db_flag, whole_number, with_settings

if TYPE_CHECKING:
    from halo_weave.config import Settings


def add_mcp_command(commands: Any, flags: argparse.ArgumentParser) -> None:
    mcp = add_command(
        commands, "mcp", with_settings(_mcp), "share this memory with another assistant over MCP", [flags]
    )
    add_db_flag(mcp)


def _mcp(settings: "Settings", _: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import mcp

    return mcp.run(settings)


def add_engine_commands(commands: Any, flags: argparse.ArgumentParser) -> None:
    engine = add_command(commands, "engine", None, "run the model as a server")
    serve = add_command(
        engine.add_subparsers(title="commands", metavar="COMMAND"),
        "serve",
        with_settings(_serve_engine),
        "serve the model, including its attention, to other programs and machines",
        [flags],
    )
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    serve.add_argument(
        "--port", type=whole_number(0, 65_535), default=5001, help="port to listen on (default: %(default)s)"
    )


def _serve_engine(settings: "Settings", arguments: argparse.Namespace) -> int:
    from contextlib import closing

    from halo_weave.engine.factory import open_engine
    from halo_weave.server.kobold.server import serve

    with closing(open_engine(settings.engine)) as engine:
        serve(engine, arguments.host, arguments.port)
    return 0
