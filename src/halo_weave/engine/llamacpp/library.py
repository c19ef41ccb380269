"""Finds, loads and checks the C library of llama.cpp.

It comes prebuilt in the wheel of `xllamacpp`, whose extension module exports the whole C interface, or from
`llama-cpp-python`, which compiles it (for a GPU, say) and is preferred if installed. Neither package is imported.
"""

import ctypes as ct
import functools
import importlib.metadata
import importlib.util
import os
from collections import deque
from pathlib import Path
from typing import Any

from halo_weave.engine.llamacpp import layout
from halo_weave.engine.llamacpp.layout import Batch, ContextParams, ModelParams, SamplerChainParams, TokenDataArray
from halo_weave.errors import EngineUnavailable

_WARNING = 3
_ONLY_THAT_IT_FAILED = "failed to load model"
"""The library's last message when a model cannot be loaded; the line before it gives the reason."""

_POINTER = ct.c_void_p
_INTS = ct.POINTER(ct.c_int32)
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "llama_version": (ct.c_char_p, []),
    "llama_log_set": (None, [layout.LogCallback, _POINTER]),
    "llama_backend_init": (None, []),
    "llama_supports_gpu_offload": (ct.c_bool, []),
    "llama_model_default_params": (ModelParams, []),
    "llama_context_default_params": (ContextParams, []),
    "llama_model_load_from_file": (_POINTER, [ct.c_char_p, ModelParams]),
    "llama_model_free": (None, [_POINTER]),
    "llama_init_from_model": (_POINTER, [_POINTER, ContextParams]),
    "llama_free": (None, [_POINTER]),
    "llama_n_ctx": (ct.c_uint32, [_POINTER]),
    "llama_get_memory": (_POINTER, [_POINTER]),
    "llama_pooling_type": (ct.c_int, [_POINTER]),
    "llama_model_get_vocab": (_POINTER, [_POINTER]),
    "llama_model_rope_type": (ct.c_int, [_POINTER]),
    "llama_model_n_ctx_train": (ct.c_int32, [_POINTER]),
    "llama_model_n_embd": (ct.c_int32, [_POINTER]),
    "llama_model_n_embd_out": (ct.c_int32, [_POINTER]),
    "llama_model_n_layer": (ct.c_int32, [_POINTER]),
    "llama_model_n_head": (ct.c_int32, [_POINTER]),
    "llama_model_n_head_kv": (ct.c_int32, [_POINTER]),
    "llama_model_n_swa": (ct.c_int32, [_POINTER]),
    "llama_model_meta_val_str": (ct.c_int32, [_POINTER, ct.c_char_p, ct.c_char_p, ct.c_size_t]),
    "llama_model_chat_template": (ct.c_char_p, [_POINTER, ct.c_char_p]),
    "llama_model_has_encoder": (ct.c_bool, [_POINTER]),
    "llama_model_has_decoder": (ct.c_bool, [_POINTER]),
    "llama_model_is_recurrent": (ct.c_bool, [_POINTER]),
    "llama_model_is_hybrid": (ct.c_bool, [_POINTER]),
    "llama_model_is_diffusion": (ct.c_bool, [_POINTER]),
    "llama_vocab_n_tokens": (ct.c_int32, [_POINTER]),
    "llama_vocab_is_eog": (ct.c_bool, [_POINTER, ct.c_int32]),
    "llama_vocab_bos": (ct.c_int32, [_POINTER]),
    "llama_vocab_eos": (ct.c_int32, [_POINTER]),
    "llama_vocab_eot": (ct.c_int32, [_POINTER]),
    "llama_vocab_get_add_bos": (ct.c_bool, [_POINTER]),
    "llama_tokenize": (ct.c_int32, [_POINTER, ct.c_char_p, ct.c_int32, _INTS, ct.c_int32, ct.c_bool, ct.c_bool]),
    "llama_token_to_piece": (ct.c_int32, [_POINTER, ct.c_int32, ct.c_char_p, ct.c_int32, ct.c_int32, ct.c_bool]),
    "llama_memory_clear": (None, [_POINTER, ct.c_bool]),
    "llama_memory_seq_rm": (ct.c_bool, [_POINTER, ct.c_int32, ct.c_int32, ct.c_int32]),
    "llama_memory_seq_cp": (None, [_POINTER, ct.c_int32, ct.c_int32, ct.c_int32, ct.c_int32]),
    "llama_memory_seq_add": (None, [_POINTER, ct.c_int32, ct.c_int32, ct.c_int32, ct.c_int32]),
    "llama_memory_can_shift": (ct.c_bool, [_POINTER]),
    "llama_state_seq_get_size": (ct.c_size_t, [_POINTER, ct.c_int32]),
    "llama_state_seq_get_data": (ct.c_size_t, [_POINTER, _POINTER, ct.c_size_t, ct.c_int32]),
    "llama_state_seq_set_data": (ct.c_size_t, [_POINTER, _POINTER, ct.c_size_t, ct.c_int32]),
    "llama_batch_init": (Batch, [ct.c_int32, ct.c_int32, ct.c_int32]),
    "llama_batch_free": (None, [Batch]),
    "llama_encode": (ct.c_int32, [_POINTER, Batch]),
    "llama_decode": (ct.c_int32, [_POINTER, Batch]),
    "llama_get_logits_ith": (ct.POINTER(ct.c_float), [_POINTER, ct.c_int32]),
    "llama_get_embeddings_seq": (ct.POINTER(ct.c_float), [_POINTER, ct.c_int32]),
    "llama_sampler_chain_default_params": (SamplerChainParams, []),
    "llama_sampler_chain_init": (_POINTER, [SamplerChainParams]),
    "llama_sampler_chain_add": (None, [_POINTER, _POINTER]),
    "llama_sampler_init_greedy": (_POINTER, []),
    "llama_sampler_init_dist": (_POINTER, [ct.c_uint32]),
    "llama_sampler_init_top_k": (_POINTER, [ct.c_int32]),
    "llama_sampler_init_top_p": (_POINTER, [ct.c_float, ct.c_size_t]),
    "llama_sampler_init_min_p": (_POINTER, [ct.c_float, ct.c_size_t]),
    "llama_sampler_init_temp": (_POINTER, [ct.c_float]),
    "llama_sampler_init_penalties": (_POINTER, [ct.c_int32, ct.c_int32, ct.c_float, ct.c_float, ct.c_float]),
    "llama_sampler_apply": (None, [_POINTER, ct.POINTER(TokenDataArray)]),
    "llama_sampler_accept": (None, [_POINTER, ct.c_int32]),
    "llama_sampler_free": (None, [_POINTER]),
    "ggml_op_name": (ct.c_char_p, [ct.c_int]),
    "ggml_init": (_POINTER, [layout.TensorPoolParams]),
    "ggml_free": (None, [_POINTER]),
    "ggml_new_tensor_4d": (_POINTER, [_POINTER, ct.c_int, ct.c_int64, ct.c_int64, ct.c_int64, ct.c_int64]),
    "ggml_add": (_POINTER, [_POINTER, _POINTER, _POINTER]),
    "ggml_set_name": (_POINTER, [_POINTER, ct.c_char_p]),
    "ggml_get_data": (_POINTER, [_POINTER]),
    "ggml_backend_buffer_is_host": (ct.c_bool, [_POINTER]),
    "ggml_backend_tensor_get": (None, [_POINTER, _POINTER, ct.c_size_t, ct.c_size_t]),
}


class Library:
    """The loaded library. `c` has the C functions with their signatures set."""

    def __init__(self, package: str, path: Path) -> None:
        self.package = package
        self.path = path
        self.package_version = importlib.metadata.version(package)
        self.c = _load(path)
        self._complaints: deque[str] = deque(maxlen=20)
        self._log_callback = layout.LogCallback(self._log)
        self.c.llama_log_set(self._log_callback, None)
        self.c.llama_backend_init()
        if found := layout.differences(self.c):
            raise EngineUnavailable(
                f"{package} {self.package_version} has an unknown memory layout ({found[0]}); install the versions "
                "that Halo Weave requires."
            )

    @property
    def version(self) -> str:
        """The versions of llama.cpp and of the package that contains it."""
        own: bytes = self.c.llama_version()
        return f"llama.cpp {own.decode()} from {self.package} {self.package_version}"

    def operation_number(self, name: bytes) -> int:
        """Return the number of a graph operation, which changes between releases."""
        # Names beyond the last one are invalid memory, so the search must stop there.
        for number in range(layout.OPERATIONS):
            found = self.c.ggml_op_name(number)
            if found == name:
                return number
            if found == layout.LAST_OPERATION:
                break
        raise EngineUnavailable(f"{self.version} has no operation {name.decode()}.")

    def last_complaint(self) -> str:
        """Return the library's last warning, for an error message; empty if there is none."""
        return self._complaints[-1] if self._complaints else ""

    def forget_complaints(self) -> None:
        self._complaints.clear()

    def _log(self, level: int, text: bytes | None, _user_data: object) -> None:
        line = text.decode(errors="replace").strip() if text else ""
        if level >= _WARNING and line and _ONLY_THAT_IT_FAILED not in line:
            self._complaints.append(line)


@functools.cache
def load_library() -> Library:
    """Return the library, which is loaded once per process."""
    package, path = _find()
    return Library(package, path)


def default_threads() -> int:
    """All cores of a small machine; half the hardware threads of a larger one, since most cores have two."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return available if available <= 4 else available // 2


def _find() -> tuple[str, Path]:
    candidates = (
        ("llama-cpp-python", "llama_cpp", ("lib/libllama.so", "lib/libllama.dylib", "lib/llama.dll")),
        ("xllamacpp", "xllamacpp", ("xllamacpp*.so", "xllamacpp*.pyd")),
    )
    for package, module, patterns in candidates:
        spec = importlib.util.find_spec(module)
        if spec is None or spec.origin is None:
            continue
        folder = Path(spec.origin).parent
        for pattern in patterns:
            for path in sorted(folder.glob(pattern)):
                return package, path
    raise EngineUnavailable("No llama.cpp library is installed; install xllamacpp or llama-cpp-python.")


def _share_processors() -> None:
    """Make the library's threads spin only briefly before they sleep.

    By default they spin for about a millisecond. When something else needs the processors, the spinning threads then
    keep the thread that they wait for from running: two models on two cores became many times slower.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def _load(path: Path) -> Any:
    _share_processors()
    try:
        library = ct.CDLL(str(path))
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, name)
            function.restype = result
            function.argtypes = arguments
    except (OSError, AttributeError) as error:
        hint = "; install your system's package libgomp1" if "libgomp" in str(error) else ""
        raise EngineUnavailable(f"The llama.cpp library {path} cannot be loaded: {error}{hint}.") from error
    return library
