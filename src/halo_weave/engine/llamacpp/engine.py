"""The engine that runs a GGUF model in this process."""

from collections.abc import Sequence
from pathlib import Path

from halo_weave.engine.llamacpp.attention import AttentionTap
from halo_weave.engine.llamacpp.computation import MAIN, Computation
from halo_weave.engine.llamacpp.context import LlamaContext
from halo_weave.engine.llamacpp.kept_rows import KeptRows
from halo_weave.engine.llamacpp.library import default_threads, load_library
from halo_weave.engine.llamacpp.model import NO_TOKEN_BY_TOKEN, Model
from halo_weave.engine.protocol import Abilities, Ability, AttentionChoice, ModelFacts
from halo_weave.engine.settings import EngineSettings
from halo_weave.errors import EngineError, EngineUnavailable, InputError
from halo_weave.paths import bundled_model_path
from halo_weave.records.tokens import Token

SPARE_CELLS = 512
"""Cells beyond the usable context, for previews and for kept rows that return only in part."""

_PROBE_CELLS = 64


class LlamaEngine:
    def __init__(self, settings: EngineSettings) -> None:
        path = Path(settings.model).expanduser() if settings.model else bundled_model_path()
        self.model = Model(load_library(), path, gpu_layers=settings.gpu_layers)
        self._threads = settings.threads or default_threads()
        self._kept = KeptRows(settings.kept_rows_mb * 1_000_000)
        self._open_contexts: list[LlamaContext] = []
        try:
            self.facts = self._find_facts(settings.context_tokens)
        except BaseException:
            self.model.close()
            raise

    def tokenize(self, text: str, *, special: bool = False) -> list[Token]:
        return self.model.vocabulary.tokenize(text, special=special)

    def detokenize(self, token_ids: Sequence[int]) -> str:
        return self.model.vocabulary.detokenize(token_ids)

    def open_context(
        self,
        *,
        attention: AttentionChoice | None = AttentionChoice(),  # noqa: B008
        flash_attention: bool = True,
    ) -> LlamaContext:
        """As in the protocol. Flash attention computes no rows to report, so it is used only if none are wanted."""
        abilities = self.facts.abilities
        cells = self.facts.usable_context + SPARE_CELLS
        tap = self._tap(attention, cells) if attention is not None and abilities.attention.available else None
        context = LlamaContext(
            self.model,
            usable=self.facts.usable_context,
            cells=cells,
            threads=self._threads,
            tap=tap,
            flash_attention=flash_attention and tap is None,
            is_editable=abilities.editing.available,
            kept=self._kept,
        )
        self._open_contexts.append(context)
        return context

    def close(self) -> None:
        for context in self._open_contexts:
            context.close()
        self._open_contexts.clear()
        self.model.close()

    def _tap(self, choice: AttentionChoice, cells: int) -> AttentionTap:
        _require_within("layer", choice.layers, self.model.layers)
        _require_within("head", choice.heads, self.model.heads)
        return AttentionTap(self.model, choice, cells=cells)

    def _find_facts(self, context_tokens: int) -> ModelFacts:
        model = self.model
        if why_not := model.why_no_chat():
            raise EngineUnavailable(f"The model {model.path} cannot chat: {why_not}.")
        return ModelFacts(
            name=model.name,
            trained_context=model.trained_context,
            usable_context=min(context_tokens or model.trained_context, model.trained_context),
            layers=model.layers,
            heads=model.heads,
            kv_heads=model.kv_heads,
            embedding_size=model.embedding_size,
            vocabulary_size=model.vocabulary.size,
            special_tokens=model.vocabulary.special_tokens,
            chat_template=model.chat_template(),
            abilities=self._try_abilities(),
        )

    def _try_abilities(self) -> Abilities:
        """Decode two tokens to find out whether attention is readable and keys can be moved."""
        tap = self._tap(AttentionChoice(), _PROBE_CELLS)
        try:
            computation = Computation(self.model, cells=_PROBE_CELLS, threads=self._threads, tap=tap)
        except EngineError as error:
            return Abilities(attention=Ability(False, str(error)), editing=Ability(False, str(error)))
        try:
            if not computation.has_memory:
                raise EngineUnavailable(f"The model {self.model.path} cannot chat: {NO_TOKEN_BY_TOKEN}.")
            why_not_editing = self.model.why_not_editable()
            if not why_not_editing and not computation.can_shift:
                why_not_editing = "the library cannot move the keys of this model"
            computation.decode([0, 0], 0, MAIN, "last")
            rows = tap.rows()
            why_no_attention = "" if rows is not None and rows.sum() > 0 else "the model has no readable attention"
            return Abilities(
                attention=Ability(not why_no_attention, why_no_attention),
                editing=Ability(not why_not_editing, why_not_editing),
            )
        finally:
            computation.close()


def _require_within(what: str, chosen: Sequence[int] | None, count: int) -> None:
    for number in chosen or ():
        if not 0 <= number < count:
            raise InputError(f"There is no {what} {number}; the model has {what}s 0 to {count - 1}.")
