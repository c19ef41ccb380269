"""The structs of llama.cpp's C interface that we use, as laid out in the pinned releases.

Layouts change between releases, and a wrong one crashes the process or, worse, reads nonsense. `differences` therefore
compares values reported by the library with those read through our structs, before anything else happens.
"""

import ctypes as ct
from collections.abc import Iterator, Mapping
from typing import Any

EvalCallback = ct.CFUNCTYPE(ct.c_bool, ct.c_void_p, ct.c_bool, ct.c_void_p)
LogCallback = ct.CFUNCTYPE(None, ct.c_int, ct.c_char_p, ct.c_void_p)
LoadCallback = ct.CFUNCTYPE(ct.c_bool, ct.c_float, ct.c_void_p)

FLASH_ATTENTION_AUTO = -1
FLASH_ATTENTION_OFF = 0
POOLING_UNSPECIFIED = -1
POOLING_MEAN = 1
ROPE_TYPES_WITH_SEVERAL_POSITIONS = (8, 24, 40)  # M-RoPE, vision, interleaved M-RoPE
TYPE_F32 = 0
TYPE_F16 = 1
TYPE_I64 = 27
OPERATIONS = 101
LAST_OPERATION = b"GLU"


class ModelParams(ct.Structure):
    _fields_ = (
        ("devices", ct.c_void_p),
        ("tensor_buft_overrides", ct.c_void_p),
        ("n_gpu_layers", ct.c_int32),
        ("split_mode", ct.c_int),
        ("load_mode", ct.c_int),
        ("lazy_mode", ct.c_int),
        ("main_gpu", ct.c_int32),
        ("tensor_split", ct.c_void_p),
        ("progress_callback", ct.c_void_p),
        ("progress_callback_user_data", ct.c_void_p),
        ("kv_overrides", ct.c_void_p),
        ("vocab_only", ct.c_bool),
        ("check_tensors", ct.c_bool),
        ("use_extra_bufts", ct.c_bool),
        ("no_host", ct.c_bool),
        ("no_alloc", ct.c_bool),
        ("load_mtp", ct.c_bool),
    )


class ContextParams(ct.Structure):
    _fields_ = (
        ("n_ctx", ct.c_uint32),
        ("n_batch", ct.c_uint32),
        ("n_ubatch", ct.c_uint32),
        ("n_seq_max", ct.c_uint32),
        ("n_rs_seq", ct.c_uint32),
        ("n_outputs_max", ct.c_uint32),
        ("n_outputs_max_per_seq", ct.c_uint32),
        ("n_threads", ct.c_int32),
        ("n_threads_batch", ct.c_int32),
        ("ctx_type", ct.c_int),
        ("rope_scaling_type", ct.c_int),
        ("pooling_type", ct.c_int),
        ("attention_type", ct.c_int),
        ("flash_attn_type", ct.c_int),
        ("rope_freq_base", ct.c_float),
        ("rope_freq_scale", ct.c_float),
        ("yarn_ext_factor", ct.c_float),
        ("yarn_attn_factor", ct.c_float),
        ("yarn_beta_fast", ct.c_float),
        ("yarn_beta_slow", ct.c_float),
        ("yarn_orig_ctx", ct.c_uint32),
        ("defrag_thold", ct.c_float),
        ("cb_eval", EvalCallback),
        ("cb_eval_user_data", ct.c_void_p),
        ("type_k", ct.c_int),
        ("type_v", ct.c_int),
        ("abort_callback", ct.c_void_p),
        ("abort_callback_data", ct.c_void_p),
        ("embeddings", ct.c_bool),
        ("offload_kqv", ct.c_bool),
        ("no_perf", ct.c_bool),
        ("op_offload", ct.c_bool),
        ("swa_full", ct.c_bool),
        ("kv_unified", ct.c_bool),
        ("samplers", ct.c_void_p),
        ("n_samplers", ct.c_size_t),
        ("ctx_other", ct.c_void_p),
    )


class Batch(ct.Structure):
    _fields_ = (
        ("n_tokens", ct.c_int32),
        ("token", ct.POINTER(ct.c_int32)),
        ("embd", ct.POINTER(ct.c_float)),
        ("pos", ct.POINTER(ct.c_int32)),
        ("n_seq_id", ct.POINTER(ct.c_int32)),
        ("seq_id", ct.POINTER(ct.POINTER(ct.c_int32))),
        ("logits", ct.POINTER(ct.c_int8)),
    )


class TokenData(ct.Structure):
    _fields_ = (("id", ct.c_int32), ("logit", ct.c_float), ("p", ct.c_float))


class TokenDataArray(ct.Structure):
    _fields_ = (
        ("data", ct.c_void_p),
        ("size", ct.c_size_t),
        ("selected", ct.c_int64),
        ("sorted", ct.c_bool),
    )


class SamplerChainParams(ct.Structure):
    _fields_ = (("no_perf", ct.c_bool),)


class Tensor(ct.Structure):
    _fields_ = (
        ("type", ct.c_int),
        ("buffer", ct.c_void_p),
        ("ne", ct.c_int64 * 4),
        ("nb", ct.c_size_t * 4),
        ("op", ct.c_int),
        ("op_params", ct.c_int32 * 16),
        ("flags", ct.c_int32),
        ("src", ct.c_void_p * 10),
        ("view_src", ct.c_void_p),
        ("view_offs", ct.c_size_t),
        ("data", ct.c_void_p),
        ("name", ct.c_char * 64),
        ("extra", ct.c_void_p),
        ("padding", ct.c_char * 8),
    )


class TensorPoolParams(ct.Structure):
    _fields_ = (("mem_size", ct.c_size_t), ("mem_buffer", ct.c_void_p), ("no_alloc", ct.c_bool))


_MODEL_DEFAULTS = {
    "n_gpu_layers": -1,
    "split_mode": 1,
    "main_gpu": 0,
    "vocab_only": False,
    "use_extra_bufts": True,
    "no_alloc": False,
    "load_mtp": False,
}
_CONTEXT_DEFAULTS = {
    "n_ctx": 512,
    "n_batch": 2048,
    "n_ubatch": 512,
    "n_seq_max": 1,
    "n_outputs_max_per_seq": 1,
    "ctx_type": 0,
    "rope_scaling_type": -1,
    "pooling_type": POOLING_UNSPECIFIED,
    "attention_type": -1,
    "flash_attn_type": FLASH_ATTENTION_AUTO,
    "yarn_ext_factor": -1.0,
    "yarn_orig_ctx": 0,
    "defrag_thold": -1.0,
    "type_k": TYPE_F16,
    "type_v": TYPE_F16,
    "embeddings": False,
    "offload_kqv": True,
    "no_perf": True,
    "op_offload": True,
    "swa_full": True,
    "kv_unified": False,
    "samplers": None,
    "n_samplers": 0,
    "ctx_other": None,
}


def differences(library: Any) -> list[str]:
    """List where the library's values differ from those read through our structs; empty if the layout matches."""
    return [
        *_wrong_values("model parameters", library.llama_model_default_params(), _MODEL_DEFAULTS),
        *_wrong_values("context parameters", library.llama_context_default_params(), _CONTEXT_DEFAULTS),
        *_wrong_batch(library),
        *_wrong_tensor(library),
    ]


def _wrong_values(title: str, struct: ct.Structure, expected: Mapping[str, object]) -> Iterator[str]:
    for field, value in expected.items():
        if (found := getattr(struct, field)) != value:
            yield f"{title}: {field} is {found!r}, expected {value!r}"


def _wrong_batch(library: Any) -> Iterator[str]:
    batch = library.llama_batch_init(8, 0, 1)
    has_arrays = all(bool(getattr(batch, name)) for name in ("token", "pos", "n_seq_id", "seq_id", "logits"))
    if batch.n_tokens != 0 or batch.embd or not has_arrays:
        yield "batch: its arrays are not where they are expected"
        return
    library.llama_batch_free(batch)


def _wrong_tensor(library: Any) -> Iterator[str]:
    pool = library.ggml_init(TensorPoolParams(64 * 1024, None, False))
    try:
        address = library.ggml_new_tensor_4d(pool, TYPE_F32, 7, 5, 3, 2)
        library.ggml_set_name(address, b"layout check")
        tensor = Tensor.from_address(address)
        found = (tensor.type, tuple(tensor.ne), tuple(tensor.nb), tensor.name, tensor.data)
        expected = (
            TYPE_F32,
            (7, 5, 3, 2),
            (4, 28, 140, 420),
            b"layout check",
            library.ggml_get_data(address),
        )
        if found != expected:
            yield f"tensor: read {found}, expected {expected}"
        doubled = Tensor.from_address(library.ggml_add(pool, address, address))
        if library.ggml_op_name(doubled.op) != b"ADD" or doubled.src[1] != address:
            yield "tensor: operation and sources are not where they are expected"
    finally:
        library.ggml_free(pool)
