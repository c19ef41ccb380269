"""A rendered text as its blocks, so that the page can place each at the passage that it begins in."""

import msgspec


class Block(msgspec.Struct, frozen=True):
    """A paragraph, heading, table and the like; of a list, one item.

    `line` is the line of the text that the block begins in, from 0. A block that `continues` is the next item of the
    list before it.
    """

    line: int
    html: str
    continues: bool = False


def joined(blocks: list[Block]) -> str:
    return "".join(block.html for block in blocks)
