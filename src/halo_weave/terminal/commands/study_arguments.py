"""Arguments of `halo-weave study`."""

import argparse
from pathlib import Path
from typing import Any

from halo_weave.terminal.arguments import add_command


def add_study_command(commands: Any) -> None:
    study = add_command(commands, "study", _study, "plot a capture: attention, and which chunks left and returned")
    study.add_argument("capture", type=Path, metavar="CAPTURE", help="folder that the capture was written to")
    study.add_argument(
        "--out", type=Path, metavar="FILE", help="HTML file to write (default: next to the capture, with its name)"
    )


def _study(arguments: argparse.Namespace) -> int:
    from halo_weave.terminal import study

    return study.run(arguments.capture, arguments.out)
