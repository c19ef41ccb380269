"""Engines: local models whose attention can be read and whose context can be edited."""

from halo_weave.engine.cancellation import Cancellation
from halo_weave.engine.protocol import (
    Abilities,
    Ability,
    Attention,
    AttentionChoice,
    Engine,
    EngineContext,
    FinishReason,
    GenerationSettings,
    ModelFacts,
    Placed,
    SpecialTokens,
    Step,
    SyncReport,
)
from halo_weave.records.tokens import Token

__all__ = [
    "Abilities",
    "Ability",
    "Attention",
    "AttentionChoice",
    "Cancellation",
    "Engine",
    "EngineContext",
    "FinishReason",
    "GenerationSettings",
    "ModelFacts",
    "Placed",
    "SpecialTokens",
    "Step",
    "SyncReport",
    "Token",
]
