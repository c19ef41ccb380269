"""Pure functions on text: splitting turns into chunks, chat templates, stop strings and server-sent events.

`languages` contains everything that depends on the language of a text.
"""

from halo_weave.text.chat_template import ChatTemplate, chatml, from_jinja
from halo_weave.text.chunking import Chunker, chunks_of
from halo_weave.text.stop_strings import StopFinder

__all__ = [
    "ChatTemplate",
    "Chunker",
    "StopFinder",
    "chatml",
    "chunks_of",
    "from_jinja",
]
