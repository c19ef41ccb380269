"""Converts a BERT sentence embedder as published (safetensors, word pieces) to a GGUF file for llama.cpp."""

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf.utility import SafetensorsLocal
from numpy.typing import NDArray

_UNUSED_TENSORS = ("embeddings.position_ids", "pooler.")
_CONTROL_WORDS = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")
_UNKNOWN_WORD = "[UNK]"
# These tables are added, not multiplied. llama.cpp expects them in full precision.
_FULL_PRECISION = ("position_embd.weight", "token_types.weight")


def convert(source: Path, target: Path, *, name: str) -> None:
    """Convert the published files in the folder `source` to one GGUF file with 16-bit weights."""
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    writer = gguf.GGUFWriter(target, "bert")
    try:
        _add_architecture(writer, config, name)
        _add_vocabulary(writer, (source / "vocab.txt").read_text(encoding="utf-8").rstrip("\n").split("\n"))
        _add_tensors(writer, source / "model.safetensors", config["num_hidden_layers"])
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
    finally:
        writer.close()


def _add_architecture(writer: Any, config: dict[str, Any], name: str) -> None:
    writer.add_name(name)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_token_type_count(config["type_vocab_size"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)


def _add_vocabulary(writer: Any, words: list[str]) -> None:
    writer.add_tokenizer_model("bert")
    writer.add_token_list([_piece(word) for word in words])
    writer.add_token_types([_piece_type(word) for word in words])
    writer.add_bos_token_id(words.index("[CLS]"))
    writer.add_eos_token_id(words.index("[SEP]"))
    writer.add_sep_token_id(words.index("[SEP]"))
    writer.add_pad_token_id(words.index("[PAD]"))
    writer.add_unk_token_id(words.index(_UNKNOWN_WORD))
    writer.add_mask_token_id(words.index("[MASK]"))


def _piece(word: str) -> str:
    """Convert a word piece: BERT marks pieces that continue a word, llama.cpp marks pieces that begin one."""
    if word in _CONTROL_WORDS or word == _UNKNOWN_WORD:
        return word
    return word.removeprefix("##") if word.startswith("##") else f"▁{word}"


def _piece_type(word: str) -> int:
    if word == _UNKNOWN_WORD:
        return int(gguf.TokenType.UNKNOWN)
    return int(gguf.TokenType.CONTROL if word in _CONTROL_WORDS else gguf.TokenType.NORMAL)


def _add_tensors(writer: Any, weights: Path, layers: int) -> None:
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, layers)
    for published_name, tensor in SafetensorsLocal(weights).tensors.items():
        if published_name.startswith(_UNUSED_TENSORS):
            continue
        name = names.get_name(published_name, try_suffixes=(".weight", ".bias"))
        if name is None or tensor.dtype != "F32":
            raise ValueError(f"{weights} holds {published_name} as {tensor.dtype}, which is not supported")
        values: NDArray[np.float32] = tensor.mmap_bytes().view(np.float32).reshape(tensor.shape)
        is_factor = values.ndim == 2 and name not in _FULL_PRECISION
        writer.add_tensor(name, values.astype(np.float16) if is_factor else np.array(values))
