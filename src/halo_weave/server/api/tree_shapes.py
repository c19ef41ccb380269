"""The data types of the memory tree that the page and the server exchange."""

from datetime import datetime
from typing import Annotated, Any

import msgspec

from halo_weave.records.roles import Role
from halo_weave.session.window.window_state import Key
from halo_weave.tools.tree.tree import CONTEXT_TOKENS, RECENCY_BIAS

PathText = Annotated[str, msgspec.Meta(max_length=2000)]
TreeVersionNumber = Annotated[int, msgspec.Meta(ge=1, le=2**62)]
ExpectedVersion = Annotated[int, msgspec.Meta(ge=0, le=2**62)]


class OutlineShape(msgspec.Struct):
    """An entry with only the beginning of its content, as JSON text."""

    version: int
    created: datetime
    modified: datetime
    accessed: datetime
    beginning: str
    characters: int


class NodeShape(msgspec.Struct):
    """A heading; `entry` is null if nothing is saved at it, only below it."""

    heading: str
    path: str
    entry: OutlineShape | None
    children: list["NodeShape"]


class SnapshotShape(msgspec.Struct):
    """A saved passage of the conversation, with its similarity to the saved content or to the query."""

    key: Key
    role: Role
    position: str
    time: datetime
    text: str
    tokens: int
    similarity: float


class EntryShape(msgspec.Struct):
    """`document` is the content as indented JSON, for readers whose numbers have lower precision."""

    path: str
    version: int
    created: datetime
    modified: datetime
    accessed: datetime
    content: Any
    document: str
    snapshot: list[SnapshotShape]


class ScoredShape(msgspec.Struct):
    """`similarity` is null without a query; the newest entries then come first."""

    path: str
    version: int
    created: datetime
    modified: datetime
    content: Any
    score: float
    similarity: float | None
    recency: float
    chunks: list[SnapshotShape]


class VersionShape(msgspec.Struct):
    version: int
    time: datetime
    origin: str
    is_deletion: bool
    characters: int
    chunks: int


class Paths(msgspec.Struct):
    paths: list[str]


class RootQuery(msgspec.Struct):
    root: PathText = ""


class EntryQuery(msgspec.Struct):
    """Without `version`, the current entry."""

    path: PathText
    version: TreeVersionNumber | None = None


class HeadingQuery(msgspec.Struct):
    q: Annotated[str, msgspec.Meta(max_length=20_000)] = ""
    path: PathText = ""
    recency_bias: Annotated[float, msgspec.Meta(ge=0, le=1)] = RECENCY_BIAS


class TreeHistoryQuery(msgspec.Struct):
    """Continues below the version `before`."""

    path: PathText
    before: TreeVersionNumber | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100


class NewContent(msgspec.Struct, forbid_unknown_fields=True):
    """Overwrites, unless `expected_version` is given and is not the current version; 0 means the entry must be new."""

    path: PathText
    content: Any
    context_tokens: int = CONTEXT_TOKENS
    expected_version: ExpectedVersion | None = None


class Restoring(msgspec.Struct, forbid_unknown_fields=True):
    path: PathText
    version: TreeVersionNumber
    expected_version: ExpectedVersion | None = None


class Deleting(msgspec.Struct, forbid_unknown_fields=True):
    path: PathText
    recursive: bool = False


class Undeleting(msgspec.Struct, forbid_unknown_fields=True):
    paths: Annotated[list[PathText], msgspec.Meta(min_length=1, max_length=100_000)]
