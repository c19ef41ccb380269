"""`halo-weave study`: draws a captured conversation as one self-contained page."""

from pathlib import Path

from halo_weave.errors import InputError
from halo_weave.terminal import output
from halo_weave.terminal.study.collecting import collect
from halo_weave.terminal.study.drawing import draw
from halo_weave.weave.captured import Captured


def run(capture: Path, out: Path | None) -> int:
    """Draw a capture into a file; by default it is placed beside the capture."""
    target = out or capture.with_name(f"{capture.resolve().name}.html")
    studied = collect(Captured(capture))
    try:
        target.write_text(draw(studied), encoding="utf-8")
    except OSError as error:
        raise InputError(f"Cannot write the study to {target}: {error.strerror}.") from error
    output.write_line(
        f"{target}: {len(studied.chunks)} chunks over {len(studied.replies)} replies. Open it in any browser."
    )
    return 0
