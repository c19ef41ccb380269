"""Tiny GGUF models with random weights, one for each kind of memory in llama.cpp.

Their output makes no sense, but it depends on the whole context, even far back: the weights are scaled so that every
layer adds about as much as the token's own embedding. The seeds are chosen so that the likeliest token leads by far
more than rounding could change.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

EMBEDDING = 64
HEADS = 4
KV_HEADS = 2
HEAD_SIZE = EMBEDDING // HEADS
FEED_FORWARD = 96
LAYERS = 4
TRAINED_CONTEXT = 1024
SLIDING_WINDOW = 16

HEADERS_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' "
    "+ message['content'] | trim + '<|eot_id|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
CHATML_SIGNS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
HEADERS_SIGNS = ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
_PAIRS = ("th", "he", "in", "er", "an", "re", "on", "at", "en", "nd")
_SSM = {"state": 8, "rank": 4, "kernel": 4, "inner": 2 * EMBEDDING}
_CONVOLUTION = 3


def write_llama(path: Path) -> Path:
    """Plain attention, without a chat template."""
    model = _TinyModel("llama", seed=49)
    model.add_attention_facts()
    model.add_vocabulary(CHATML_SIGNS)
    model.add_ends()
    for layer in range(LAYERS):
        model.add_attention(layer)
        model.add_feed_forward(layer)
    return model.write(path)


def write_llama_with_template(path: Path) -> Path:
    """Plain attention, with its own chat template and a token that begins every text."""
    model = _TinyModel("llama", seed=2)
    model.add_attention_facts()
    model.add_vocabulary(HEADERS_SIGNS, template=HEADERS_TEMPLATE, adds_bos=True)
    model.add_ends()
    for layer in range(LAYERS):
        model.add_attention(layer)
        model.add_feed_forward(layer)
    return model.write(path)


def write_mamba(path: Path) -> Path:
    """Only recurrent layers."""
    model = _TinyModel("mamba", seed=3)
    model.writer.add_head_count(0)
    model.writer.add_feed_forward_length(0)
    model.writer.add_ssm_conv_kernel(_SSM["kernel"])
    model.writer.add_ssm_inner_size(_SSM["inner"])
    model.writer.add_ssm_state_size(_SSM["state"])
    model.writer.add_ssm_time_step_rank(_SSM["rank"])
    model.add_vocabulary(CHATML_SIGNS)
    model.add_ends()
    for layer in range(LAYERS):
        model.add_recurrence(layer)
    return model.write(path)


def write_gemma2(path: Path) -> Path:
    """Attention in which every other layer sees only the last few tokens."""
    model = _TinyModel("gemma2", seed=4)
    model.add_attention_facts()
    model.writer.add_sliding_window(SLIDING_WINDOW)
    model.writer.add_attn_logit_softcapping(50.0)
    model.writer.add_final_logit_softcapping(30.0)
    model.add_vocabulary(CHATML_SIGNS)
    model.add_ends(is_tied=True)
    for layer in range(LAYERS):
        model.add_attention(layer)
        model.add_feed_forward(layer)
        # Large enough to matter beside the embedding, which this architecture scales up.
        for name in ("post_attention_norm", "post_ffw_norm"):
            model.add(f"blk.{layer}.{name}.weight", np.full(EMBEDDING, 4.0))
    return model.write(path)


def write_qwen2vl(path: Path) -> Path:
    """Attention with several positions for each token (M-RoPE)."""
    model = _TinyModel("qwen2vl", seed=57)
    model.add_attention_facts()
    model.writer.add_rope_dimension_sections([2, 3, 3, 0])
    model.add_vocabulary(CHATML_SIGNS)
    model.add_ends()
    for layer in range(LAYERS):
        model.add_attention(layer, has_bias=True)
        model.add_feed_forward(layer)
    return model.write(path)


def write_qwen3(path: Path) -> Path:
    """Attention whose keys and queries are normalised."""
    model = _TinyModel("qwen3", seed=5)
    model.add_attention_facts()
    model.writer.add_key_length(HEAD_SIZE)
    model.writer.add_value_length(HEAD_SIZE)
    model.add_vocabulary(CHATML_SIGNS)
    model.add_ends()
    for layer in range(LAYERS):
        model.add_attention(layer)
        model.add_norm(f"blk.{layer}.attn_q_norm", HEAD_SIZE)
        model.add_norm(f"blk.{layer}.attn_k_norm", HEAD_SIZE)
        model.add_feed_forward(layer)
    return model.write(path)


def write_lfm2(path: Path) -> Path:
    """Convolutions with a state, and attention in every other layer."""
    kv_heads = [0, KV_HEADS] * (LAYERS // 2)
    model = _TinyModel("lfm2", seed=54)
    model.add_attention_facts(kv_heads)
    model.writer.add_shortconv_l_cache(_CONVOLUTION)
    model.add_vocabulary(CHATML_SIGNS)
    model.add_ends(norm="token_embd_norm")
    for layer in range(LAYERS):
        if kv_heads[layer]:
            model.add_attention(layer)
            model.add_norm(f"blk.{layer}.attn_q_norm", HEAD_SIZE)
            model.add_norm(f"blk.{layer}.attn_k_norm", HEAD_SIZE)
        else:
            model.add_norm(f"blk.{layer}.attn_norm")
            model.add_matrix(f"blk.{layer}.shortconv.conv", EMBEDDING, _CONVOLUTION)
            model.add_matrix(f"blk.{layer}.shortconv.in_proj", 3 * EMBEDDING, EMBEDDING)
            model.add_matrix(f"blk.{layer}.shortconv.out_proj", EMBEDDING, EMBEDDING)
        model.add_feed_forward(layer)
    return model.write(path)


def write_falcon_h1(path: Path) -> Path:
    """Attention and recurrence in parallel in every layer."""
    groups = 1
    convolved = _SSM["inner"] + 2 * groups * _SSM["state"]
    model = _TinyModel("falcon-h1", seed=4)
    model.add_attention_facts()
    model.writer.add_ssm_conv_kernel(_SSM["kernel"])
    model.writer.add_ssm_inner_size(_SSM["inner"])
    model.writer.add_ssm_state_size(_SSM["state"])
    model.writer.add_ssm_time_step_rank(_SSM["rank"])
    model.writer.add_ssm_group_count(groups)
    model.add_vocabulary(CHATML_SIGNS)
    model.add_ends()
    for layer in range(LAYERS):
        model.add_attention(layer)
        model.add_feed_forward(layer, norm="ffn_norm")
        model.add_matrix(f"blk.{layer}.ssm_in", _SSM["inner"] + convolved + _SSM["rank"], EMBEDDING)
        model.add_matrix(f"blk.{layer}.ssm_conv1d", convolved, _SSM["kernel"])
        model.add(f"blk.{layer}.ssm_conv1d.bias", np.zeros(convolved))
        model.add(f"blk.{layer}.ssm_dt.bias", np.full(_SSM["rank"], -1.0))
        model.add(f"blk.{layer}.ssm_a", np.full((_SSM["rank"], 1), -0.05))
        model.add(f"blk.{layer}.ssm_d", np.full((_SSM["rank"], 1), 0.5))
        model.add_matrix(f"blk.{layer}.ssm_out", EMBEDDING, _SSM["inner"])
    return model.write(path)


class _TinyModel:
    """A model under construction; `writer` takes metadata that only some architectures have."""

    def __init__(self, architecture: str, *, seed: int) -> None:
        self.writer: Any = gguf.GGUFWriter(None, architecture)
        self._random = np.random.default_rng(seed)
        self._vocabulary_size = 0
        self._sign_count = 0
        self.writer.add_context_length(TRAINED_CONTEXT)
        self.writer.add_embedding_length(EMBEDDING)
        self.writer.add_block_count(LAYERS)
        self.writer.add_layer_norm_rms_eps(1e-5)

    def add_attention_facts(self, kv_heads: int | list[int] = KV_HEADS) -> None:
        self.writer.add_feed_forward_length(FEED_FORWARD)
        self.writer.add_head_count(HEADS)
        self.writer.add_head_count_kv(kv_heads)
        self.writer.add_rope_dimension_count(HEAD_SIZE)

    def add_vocabulary(self, signs: Sequence[str], *, template: str | None = None, adds_bos: bool = False) -> None:
        """Add all bytes, some pairs of letters, and control tokens: the first begins texts, the last ends turns."""
        words = [*_byte_letters().values(), *_PAIRS, *signs]
        types = [gguf.TokenType.NORMAL] * (len(words) - len(signs)) + [gguf.TokenType.CONTROL] * len(signs)
        self._vocabulary_size, self._sign_count = len(words), len(signs)
        self.writer.add_tokenizer_model("gpt2")
        self.writer.add_tokenizer_pre("gpt-2")
        self.writer.add_token_list(words)
        self.writer.add_token_types([int(kind) for kind in types])
        self.writer.add_token_merges([f"{first} {second}" for first, second in map(tuple, _PAIRS)])
        self.writer.add_bos_token_id(len(words) - len(signs))
        self.writer.add_eos_token_id(len(words) - 1)
        self.writer.add_eot_token_id(len(words) - 1)
        self.writer.add_add_bos_token(adds_bos)
        if template is not None:
            self.writer.add_chat_template(template)

    def add_ends(self, *, is_tied: bool = False, norm: str = "output_norm") -> None:
        """Add the weights before the first layer and after the last."""
        self.add("token_embd.weight", self._per_token())
        self.add_norm(norm)
        if not is_tied:
            self.add("output.weight", self._per_token())

    def add_attention(self, layer: int, *, has_bias: bool = False) -> None:
        self.add_norm(f"blk.{layer}.attn_norm")
        for name, width in (("attn_q", EMBEDDING), ("attn_k", KV_HEADS * HEAD_SIZE), ("attn_v", KV_HEADS * HEAD_SIZE)):
            self.add_matrix(f"blk.{layer}.{name}", width, EMBEDDING)
            if has_bias:
                self.add(f"blk.{layer}.{name}.bias", self._random.normal(0, 0.1, width))
        self.add_matrix(f"blk.{layer}.attn_output", EMBEDDING, EMBEDDING)

    def add_feed_forward(self, layer: int, *, norm: str = "ffn_norm.weight") -> None:
        self.add(f"blk.{layer}.{norm}", np.ones(EMBEDDING))
        self.add_matrix(f"blk.{layer}.ffn_gate", FEED_FORWARD, EMBEDDING)
        self.add_matrix(f"blk.{layer}.ffn_up", FEED_FORWARD, EMBEDDING)
        self.add_matrix(f"blk.{layer}.ffn_down", EMBEDDING, FEED_FORWARD)

    def add_recurrence(self, layer: int) -> None:
        """Add a slowly decaying state that still holds something of the first of a hundred tokens."""
        self.add_norm(f"blk.{layer}.attn_norm")
        self.add_matrix(f"blk.{layer}.ssm_in", 2 * _SSM["inner"], EMBEDDING)
        self.add_matrix(f"blk.{layer}.ssm_conv1d", _SSM["inner"], _SSM["kernel"])
        self.add(f"blk.{layer}.ssm_conv1d.bias", np.zeros(_SSM["inner"]))
        self.add_matrix(f"blk.{layer}.ssm_x", _SSM["rank"] + 2 * _SSM["state"], _SSM["inner"])
        self.add_matrix(f"blk.{layer}.ssm_dt", _SSM["inner"], _SSM["rank"])
        self.add(f"blk.{layer}.ssm_dt.bias", np.full(_SSM["inner"], -1.0))
        self.add(f"blk.{layer}.ssm_a", np.full((_SSM["inner"], _SSM["state"]), -0.05))
        self.add(f"blk.{layer}.ssm_d", np.full(_SSM["inner"], 0.5))
        self.add_matrix(f"blk.{layer}.ssm_out", EMBEDDING, _SSM["inner"])

    def add_norm(self, name: str, size: int = EMBEDDING) -> None:
        self.add(f"{name}.weight", np.ones(size))

    def add_matrix(self, name: str, rows: int, columns: int) -> None:
        """Add a matrix whose outputs are about as large as its inputs, or somewhat larger."""
        self.add(f"{name}.weight", self._random.normal(0, 1.5 / np.sqrt(columns), (rows, columns)))

    def add(self, name: str, values: NDArray[np.floating[Any]]) -> None:
        self.writer.add_tensor(name, values.astype(np.float32))

    def write(self, path: Path) -> Path:
        try:
            self.writer.write_header_to_file(path)
            self.writer.write_kv_data_to_file()
            self.writer.write_tensors_to_file()
        finally:
            self.writer.close()
        return path

    def _per_token(self) -> NDArray[np.floating[Any]]:
        """Return a row per token; rows of control tokens are so small that the model does not choose them."""
        rows = self._random.normal(0, 0.3, (self._vocabulary_size, EMBEDDING))
        rows[-self._sign_count :] *= 0.1
        return rows


def _byte_letters() -> Mapping[int, str]:
    """Map each byte to its letter in byte-level vocabularies: itself, or one beyond the first 256."""
    visible = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {
        **{byte: chr(byte) for byte in visible},
        **{byte: chr(256 + index) for index, byte in enumerate(hidden)},
    }
