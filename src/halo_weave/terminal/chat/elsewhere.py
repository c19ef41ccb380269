"""Shows what was said in the chat's window by another program, such as the page."""

from itertools import groupby

from halo_weave.session.window.window import Window
from halo_weave.terminal import output
from halo_weave.weave.context import LiveChunk


def show_said_elsewhere(_window: Window, chunks: list[LiveChunk]) -> None:
    """Called in another thread while the prompt waits, which keeps its line below what is written."""
    for turn, of_turn in groupby(chunks, key=lambda chunk: chunk.turn):
        text = "".join(chunk.text for chunk in of_turn).strip("\n")
        if turn.role == "user":
            output.notice(f"(in another program) > {text}")
        else:
            output.write_line(text)
