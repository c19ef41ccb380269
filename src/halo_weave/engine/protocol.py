"""The interface of every engine, and the values passed to and from it.

An engine has one loaded model and any number of contexts. A context is a list of tokens, each at an absolute position
that never changes. `EngineContext.sync` makes the engine's context equal to a wanted one and costs only the difference.
Calls block. They may come from any thread, one call at a time per context. A call ends early if its cancellation is
cancelled, before the call or during it, or if its context is closed.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Literal, NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.cancellation import Cancellation
from halo_weave.records.tokens import Token
from halo_weave.text.chat_template import ChatTemplate

Attention = NDArray[np.float32]
OnRead = Callable[[int, int], None]
"""Receives how many tokens were read of those that have to be read."""
FinishReason = Literal["end", "length", "stop_string", "stopped"]
"""The model ended its turn; max_tokens or the end of the context was reached; a stop string matched; cancelled."""


PHRASE_PENALTY_FREE_TOKENS = 4
"""A repeated phrase that is shorter than this is not penalised."""
PHRASE_PENALTY_BASE = 1.75
"""The penalty grows by this factor with each further token."""


class Placed(NamedTuple):
    """A token of a context at its absolute position, which has no upper limit."""

    position: int
    token_id: int


class Ability(msgspec.Struct, frozen=True):
    available: bool
    why_not: str = ""


class Abilities(msgspec.Struct, frozen=True):
    attention: Ability
    editing: Ability


class SpecialTokens(msgspec.Struct, frozen=True):
    bos: int | None
    eos: int | None
    end_of_turn: int | None


class ModelFacts(msgspec.Struct, frozen=True):
    name: str
    trained_context: int
    usable_context: int
    layers: int
    heads: int
    kv_heads: int
    embedding_size: int
    vocabulary_size: int
    special_tokens: SpecialTokens
    chat_template: ChatTemplate
    abilities: Abilities


class AttentionChoice(msgspec.Struct, frozen=True):
    """Selects the attention to report and how to reduce it to one number per token.

    `mean` and `max` reduce over the chosen layers and heads (None: all) and give a row that sums to 1. `none` gives the
    raw rows as [layers, heads, tokens].
    """

    layers: tuple[int, ...] | None = None
    heads: tuple[int, ...] | None = None
    reduce: Literal["mean", "max", "none"] = "mean"


class GenerationSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    temperature: Annotated[
        float,
        msgspec.Meta(
            ge=0,
            le=5,
            description="Randomness of the replies; 0 always picks the most likely token. Raise it for variety, lower "
            "it for precision.",
        ),
    ] = 0.7
    top_p: Annotated[
        float,
        msgspec.Meta(
            gt=0,
            le=1,
            description="Choose from the most likely tokens whose probabilities add up to this share; 1 for all "
            "tokens.",
        ),
    ] = 0.9
    top_k: Annotated[
        int, msgspec.Meta(ge=0, le=1_000_000, description="Choose from this many of the most likely tokens; 0 for all.")
    ] = 40
    min_p: Annotated[
        float,
        msgspec.Meta(
            ge=0, le=1, description="Ignore tokens whose probability is below this share of the most likely token's."
        ),
    ] = 0.0
    # 1.1, because without it small models repeat the same words over and over.
    repeat_penalty: Annotated[
        float,
        msgspec.Meta(
            gt=0,
            le=10,
            description="Penalty on tokens that occur in the last 64; 1 for none. Raise it if the model repeats "
            "itself.",
        ),
    ] = 1.1
    phrase_penalty: Annotated[
        float,
        msgspec.Meta(
            ge=0,
            le=10,
            description="Penalty on repeating a phrase of the same reply (DRY); the longer the phrase, the higher. "
            "0 for none. Raise it to 0.8 if the model repeats whole sentences.",
        ),
    ] = 0.0
    seed: (
        Annotated[
            int,
            msgspec.Meta(
                ge=0,
                le=2**32 - 2,
                description="Seed for the choice of tokens. Set one to get the same reply to the same context.",
            ),
        ]
        | None
    ) = None
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=1_000_000, description="Maximum length of a reply in tokens.")] = (
        512
    )
    stop: Annotated[tuple[str, ...], msgspec.Meta(description="Strings that end the reply. They are not shown.")] = ()


class Step(NamedTuple):
    """One step of a generation.

    `attention` is the model's attention when it chose this token: one entry per token of the context at that time (the
    synced tokens, then those generated since, in order), or None if the engine cannot report it. `text` holds only
    whole characters and may be empty. Only the last step has a finish reason. It has no token if the generation ended
    without one: it was cancelled, the context was full, or a stop string matched, whose tokens are not part of the
    reply. The engine decides whether the last token is already in its context; the next sync settles it either way.
    """

    token_id: int | None
    text: str
    attention: Attention | None
    finish_reason: FinishReason | None = None


class SyncReport(NamedTuple):
    """The cost of making the context equal to the wanted one.

    kept + restored + decoded = number of wanted tokens. If observing was requested, `reading` has one row of attention
    over the wanted tokens for each decoded token, and `read` has the indices of these tokens in the wanted context.
    """

    kept: int
    removed: int
    restored: int
    decoded: int
    seconds: float
    read: NDArray[np.int64] | None = None
    reading: Attention | None = None


class EngineContext(Protocol):
    @property
    def tokens(self) -> list[Placed]:
        """The tokens that the engine's context holds now."""
        ...

    def sync(
        self,
        tokens: Sequence[Placed],
        *,
        clean: bool = False,
        observe: bool = False,
        cancellation: Cancellation | None = None,
        on_read: OnRead | None = None,
    ) -> SyncReport:
        """Make the context equal to `tokens`, in ascending order of position. Raises EngineStopped if cancelled.

        `clean` reads everything again and discards the kept rows of removed text, so removed text cannot influence the
        model. `observe` also reports the attention of the tokens that are decoded. `on_read` is called in this thread
        after each batch of tokens, by engines that know how far they are.
        """
        ...

    def keeps(self, token: Placed) -> bool:
        """Return whether the state of a token that left the context is kept, so that it can return without being
        decoded; False if the engine does not know."""
        ...

    def generate(
        self,
        settings: GenerationSettings,
        positions: Iterator[int] | None = None,
        *,
        cancellation: Cancellation | None = None,
    ) -> Iterator[Step]:
        """Continue the context. New tokens take `positions`, or the positions right after the last token.

        A cancelled generation ends within one token, with the finish reason `stopped`.
        """
        ...

    def preview(self, token_ids: Sequence[int], count: int, *, cancellation: Cancellation | None = None) -> list[Token]:
        """Return the `count` most likely tokens after the context and `token_ids`, without changing the context.

        There are fewer if the model ends its turn. Raises EngineStopped if cancelled.
        """
        ...

    def close(self) -> None:
        """Close the context. A call in progress in another thread ends as if it were cancelled."""
        ...


class Engine(Protocol):
    @property
    def facts(self) -> ModelFacts: ...

    def tokenize(self, text: str, *, special: bool = False) -> list[Token]:
        """Return the tokens of a text. Marks such as <|im_start|> become control tokens only if `special` is set."""
        ...

    def detokenize(self, token_ids: Sequence[int]) -> str:
        """Return the text of tokens, including control tokens."""
        ...

    def open_context(self, *, attention: AttentionChoice | None = AttentionChoice()) -> EngineContext:  # noqa: B008
        """Open a new, empty context on the same model. `attention=None` turns off attention reporting."""
        ...

    def close(self) -> None: ...
