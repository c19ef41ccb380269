"""A model file loaded by llama.cpp, and its properties."""

import ctypes as ct
import os
from pathlib import Path

from halo_weave.engine.llamacpp import layout
from halo_weave.engine.llamacpp.library import Library
from halo_weave.engine.llamacpp.vocabulary import ModelVocabulary
from halo_weave.errors import EngineUnavailable
from halo_weave.text.chat_template import ChatTemplate, from_jinja

NO_TOKEN_BY_TOKEN = "it does not generate text token by token"

_GGUF_MAGIC = b"GGUF"


class Model:
    def __init__(self, library: Library, path: Path, *, gpu_layers: int = -1, vocabulary_only: bool = False) -> None:
        require_gguf(path)
        self.library = library
        self.path = path
        self.is_on_host = gpu_layers == 0 or not library.c.llama_supports_gpu_offload()
        params = library.c.llama_model_default_params()
        params.n_gpu_layers = gpu_layers
        params.vocab_only = vocabulary_only
        library.forget_complaints()
        self.address = library.c.llama_model_load_from_file(os.fsencode(path), params)
        if not self.address:
            reason = library.last_complaint() or "the library gave no reason"
            raise EngineUnavailable(f"The model {path} could not be loaded: {reason}.")
        self.vocabulary = ModelVocabulary(library, library.c.llama_model_get_vocab(self.address))

    @property
    def name(self) -> str:
        """The file's name, by which people know a model. The name inside the file is often that of a training run."""
        return self.path.stem

    @property
    def trained_context(self) -> int:
        return int(self.library.c.llama_model_n_ctx_train(self.address))

    @property
    def layers(self) -> int:
        return int(self.library.c.llama_model_n_layer(self.address))

    @property
    def heads(self) -> int:
        return int(self.library.c.llama_model_n_head(self.address))

    @property
    def kv_heads(self) -> int:
        return int(self.library.c.llama_model_n_head_kv(self.address))

    @property
    def head_size(self) -> int:
        """The number of values of a key or query of one head; 0 without attention."""
        declared = self.metadata(f"{self.metadata('general.architecture')}.attention.key_length")
        if declared.isdigit():
            return int(declared)
        return self.embedding_size // self.heads if self.heads else 0

    @property
    def embedding_size(self) -> int:
        return int(self.library.c.llama_model_n_embd(self.address))

    @property
    def is_recurrent(self) -> bool:
        c = self.library.c
        return bool(c.llama_model_is_recurrent(self.address) or c.llama_model_is_hybrid(self.address))

    def metadata(self, key: str) -> str:
        """Return a value of the file's metadata as text; empty if it is missing."""
        buffer = ct.create_string_buffer(4096)
        length = self.library.c.llama_model_meta_val_str(self.address, key.encode(), buffer, len(buffer))
        return buffer.value.decode(errors="replace") if length >= 0 else ""

    def chat_template(self) -> ChatTemplate:
        template = self.library.c.llama_model_chat_template(self.address, None)
        special = self.vocabulary.special_tokens
        return from_jinja(
            template.decode(errors="replace") if template else None,
            bos="" if special.bos is None else self.vocabulary.detokenize([special.bos]),
            eos="" if special.eos is None else self.vocabulary.detokenize([special.eos]),
            adds_bos=self.vocabulary.adds_bos,
        )

    def why_not_editable(self) -> str:
        """Return why the middle of a context cannot be edited with this model; empty if it can."""
        c, address = self.library.c, self.address
        if c.llama_model_is_recurrent(address) or c.llama_model_is_hybrid(address):
            return "the model has recurrent layers, whose state cannot be split"
        if c.llama_model_rope_type(address) in layout.ROPE_TYPES_WITH_SEVERAL_POSITIONS:
            return "the model assigns several positions to each token (M-RoPE)"
        if c.llama_model_n_swa(address) > 0:
            return "the model has sliding-window layers"
        if c.llama_model_has_encoder(address):
            return "the model has an encoder"
        return ""

    def why_no_chat(self) -> str:
        """Return why the model cannot chat; empty if it can."""
        c, address = self.library.c, self.address
        if not c.llama_model_has_decoder(address) or c.llama_model_is_diffusion(address):
            return NO_TOKEN_BY_TOKEN
        if c.llama_model_has_encoder(address):
            return "models with an encoder are not supported"
        return ""

    def close(self) -> None:
        if self.address:
            self.library.c.llama_model_free(self.address)
            self.address = None


def require_gguf(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise EngineUnavailable(f"The model {path} cannot be read: {error.strerror}.") from error
    if magic != _GGUF_MAGIC:
        raise EngineUnavailable(f"The model {path} is not a GGUF file.")
