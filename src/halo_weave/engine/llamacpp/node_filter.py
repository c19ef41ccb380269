"""A filter in machine code between llama.cpp and the callback that listens to it.

llama.cpp asks about each of the thousand nodes of every step's graph, and a Python callback must get hold of the
interpreter each time: a tenth of the step of a small model, and far more while other threads are busy. Some thirty
nodes matter. So the question first goes to a few instructions that look at the node's operation and name, answer it
themselves, and hand on to the callback only what it has to do: to take a layer's attention that has just been computed,
and to note where new keys go. Where the processor is another or memory cannot be made executable, the callback is asked
directly; it decides the same by itself.
"""

import ctypes as ct
import mmap
import platform
import struct
from typing import Any

from halo_weave.engine.llamacpp.layout import EvalCallback, Tensor

_READ_EXECUTE = 1 | 4
_ATTENTION_NAME = b"kq_soft_"  # the first eight bytes of kq_soft_max-<layer>
_CELLS_NAME = b"l0 (view"  # bytes 8 to 15 of cache_k_l0 (view)


class NodeFilter:
    """Holds the executable memory; `callback` is valid as long as the filter and the callback behind it live.

    The user data of the callback must point to a 32-bit number: 1 if attention is wanted, 0 if not.
    """

    def __init__(self, behind: Any, *, softmax: int, set_rows: int) -> None:
        self._behind = behind
        self._memory: mmap.mmap | None = None
        self.callback = behind
        if platform.machine() in ("x86_64", "AMD64") and platform.system() in ("Linux", "Darwin"):
            self._install(_x86_64_code(ct.cast(behind, ct.c_void_p).value or 0, softmax, set_rows))

    @property
    def is_native(self) -> bool:
        return self._memory is not None

    def _install(self, code: bytes) -> None:
        memory = mmap.mmap(-1, mmap.PAGESIZE)
        memory.write(code)
        address = ct.addressof(ct.c_char.from_buffer(memory))
        protect = ct.CDLL(None).mprotect
        protect.argtypes = [ct.c_void_p, ct.c_size_t, ct.c_int]
        if protect(address, mmap.PAGESIZE, _READ_EXECUTE) == 0:
            self._memory = memory
            self.callback = ct.cast(address, EvalCallback)


def _x86_64_code(target: int, softmax: int, set_rows: int) -> bytes:
    """The node's address comes in rdi, the question in sil, the user data in rdx; all of it is handed on as it came."""
    return _assembled(
        b"\x8b\x87" + struct.pack("<i", Tensor.op.offset),  # mov eax, [rdi + op]
        b"\x3d" + struct.pack("<i", softmax),  # cmp eax, softmax
        (b"\x74", "attention"),  # je attention
        b"\x3d" + struct.pack("<i", set_rows),  # cmp eax, set_rows
        (b"\x75", "refuse"),  # jne refuse
        b"\x48\xb8" + _CELLS_NAME,  # mov rax, the name
        b"\x48\x39\x87" + struct.pack("<i", Tensor.name.offset + 8),  # cmp [rdi + name + 8], rax
        (b"\x75", "refuse"),  # jne refuse
        "hand on",
        b"\x48\xb8" + struct.pack("<Q", target),  # mov rax, target
        b"\xff\xe0",  # jmp rax
        "attention",
        b"\x40\x84\xf6",  # test sil, sil
        (b"\x74", "hand on"),  # je hand on: it has been computed
        b"\x48\xb8" + _ATTENTION_NAME,  # mov rax, the name
        b"\x48\x39\x87" + struct.pack("<i", Tensor.name.offset),  # cmp [rdi + name], rax
        (b"\x75", "refuse"),  # jne refuse
        b"\x8b\x02\xc3",  # mov eax, [rdx]; ret
        "refuse",
        b"\x31\xc0\xc3",  # xor eax, eax; ret
    )


def _assembled(*parts: bytes | str | tuple[bytes, str]) -> bytes:
    """Instructions, labels, and short jumps to labels, put together."""
    labels: dict[str, int] = {}
    size = 0
    for part in parts:
        if isinstance(part, str):
            labels[part] = size
        else:
            size += len(part) if isinstance(part, bytes) else 2
    code = b""
    for part in parts:
        if isinstance(part, bytes):
            code += part
        elif isinstance(part, tuple):
            jump, label = part
            code += jump + struct.pack("<b", labels[label] - len(code) - 2)
    return code
