"""What stands before a text and after a question when the reader reads them."""

import msgspec

from halo_weave.text.chat_template import ChatTemplate


class ReadingFrame(msgspec.Struct, frozen=True):
    opening: str
    ending: str


BUNDLED_FRAME = ReadingFrame("<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n")


def frame_of(template: ChatTemplate) -> ReadingFrame:
    """Return the marks of a user's message, or plain lines for a model without a chat template of its own."""
    if template.source != "model":
        return ReadingFrame(template.start or "\n", "\n")
    return ReadingFrame(template.start + template.user.opening, template.user.closing + template.assistant.opening)
