"""What every engine can do, and the values that travel to and from it.

An engine has one loaded model and any number of contexts. A context is a list of tokens, each at an absolute position
that it keeps for life; `EngineContext.sync` makes the engine's context equal to a wanted one and pays only for the
difference. Engines block; they may be called from any thread, one call at a time per context. A call ends early if its
cancellation is cancelled, before the call or during it, or if its context is closed.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.cancellation import Cancellation
from halo_weave.records.tokens import Token
from halo_weave.text.chat_template import ChatTemplate

Attention = NDArray[np.float32]
FinishReason = Literal["end", "length", "stop_string", "stopped"]
"""The model ended its turn; max_tokens or the context's end was reached; a stop string came; it was cancelled."""


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
    """Which attention is reported and how it is brought to one number per token.

    `mean` and `max` go over the chosen layers and heads (None: all) and give a row that sums to 1. `none` gives the
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
    # 1.1: without it small models, the bundled one among them, write the same sentence again and again.
    repeat_penalty: Annotated[
        float,
        msgspec.Meta(
            gt=0,
            le=10,
            description="Penalty on tokens that occur in the last 64; 1 for none. Raise it if the model repeats "
            "itself.",
        ),
    ] = 1.1
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

    `attention` is what the model looked at when it chose this token: one entry per token of the context as it was then,
    that is the synced tokens and those generated since, in order; None if the engine could not tell. `text` holds whole
    characters only and may be empty. Only the last step has a finish reason; it has no token when the generation ended
    without one (stopped, or the stop string's own tokens, which are no part of the reply). Whether the last token is in
    the context already is the engine's business: the next sync makes it so or not.
    """

    token_id: int | None
    text: str
    attention: Attention | None
    finish_reason: FinishReason | None = None


class SyncReport(NamedTuple):
    """What it took to make the context equal to the wanted one.

    kept + restored + decoded = the wanted tokens. `reading` has, if asked for, one row of attention over the wanted
    tokens for each token that was decoded; `read` are the places of these tokens in the wanted context.
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
        """What the engine's context holds now."""
        ...

    def sync(
        self,
        tokens: Sequence[Placed],
        *,
        clean: bool = False,
        observe: bool = False,
        cancellation: Cancellation | None = None,
    ) -> SyncReport:
        """Make the context equal to `tokens`, which are in ascending order of position; EngineStopped if cancelled.

        `clean` reads everything again and forgets the kept rows of what was removed earlier, so that nothing removed
        can influence what follows. `observe` also reports the attention of the tokens that are read.
        """
        ...

    def generate(
        self,
        settings: GenerationSettings,
        positions: Iterator[int] | None = None,
        *,
        cancellation: Cancellation | None = None,
    ) -> Iterator[Step]:
        """Continue the context. New tokens stand at `positions`, or directly behind the last one.

        A cancelled generation ends within one token, with the finish reason `stopped`.
        """
        ...

    def preview(self, token_ids: Sequence[int], count: int, *, cancellation: Cancellation | None = None) -> list[Token]:
        """The likeliest `count` tokens, fewer if the model ends, after the context and `token_ids`; changes nothing.

        EngineStopped if cancelled.
        """
        ...

    def close(self) -> None:
        """Ends the call under way in another thread as a cancellation does."""
        ...


class Engine(Protocol):
    @property
    def facts(self) -> ModelFacts: ...

    def tokenize(self, text: str, *, special: bool = False) -> list[Token]:
        """Tokens of a text. Signs of control such as <|im_start|> become control tokens only if `special`."""
        ...

    def detokenize(self, token_ids: Sequence[int]) -> str:
        """The text of tokens, control tokens included."""
        ...

    def open_context(self, *, attention: AttentionChoice | None = AttentionChoice()) -> EngineContext:  # noqa: B008
        """A new empty context on the same model; `attention` None switches the reporting off."""
        ...

    def close(self) -> None: ...
