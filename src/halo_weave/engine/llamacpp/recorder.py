"""Records the graph nodes of a computation with a callback in machine code.

llama.cpp calls a callback for each of the thousand nodes of every step's graph, and again when a requested node has
been computed. A Python callback must acquire the GIL each time. That takes a tenth of a small model's step, and far
more while other threads are busy. A few machine instructions therefore check each node's operation and name. They
record the nodes that matter (the cells of new keys, a layer's attention and its mask) in a buffer that is read after
the computation. A record is the tensor's struct followed by its data.
"""

import ctypes as ct
import mmap
import platform
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.llamacpp.layout import EvalCallback, Tensor

_READ_EXECUTE = 1 | 4
_HEADER_BYTES = ct.sizeof(Tensor)


class GraphRecord(NamedTuple):
    tensor: Tensor
    data: NDArray[np.uint8]
    offset: int
    """Offset of the record in the buffer."""


class _State(ct.Structure):
    """The state of the machine code; the callback's user data points to it."""

    _fields_ = (
        ("wants_attention", ct.c_int32),
        ("has_overflowed", ct.c_int32),
        ("next", ct.c_uint64),
        ("end", ct.c_uint64),
        ("hands_on_attention", ct.c_int32),
    )


class GraphRecorder:
    """Filters the calls to `behind`, the Python callback, which gets computed attention only on request.

    On another processor, if memory cannot be made executable, or if tensors may be on a GPU, `is_native` is false. Then
    every call goes to `behind` and nothing is recorded here.
    """

    def __init__(self, behind: Any, *, softmax: int, set_rows: int, capacity: int, is_host: bool) -> None:
        """`capacity` is the size in bytes of one computation's records. Memory is only used as it is written."""
        self._behind = behind
        self._state = _State()
        self._memory: mmap.mmap | None = None
        self.callback = behind
        self.user_data = ct.addressof(self._state)
        if is_host and platform.machine() in ("x86_64", "AMD64") and platform.system() in ("Linux", "Darwin"):
            self._install(_x86_64_code(ct.cast(behind, ct.c_void_p).value or 0, softmax, set_rows))
        self._buffer = np.empty(capacity if self.is_native else 0, dtype=np.uint8)

    @property
    def is_native(self) -> bool:
        return self._memory is not None

    def start(self, *, wants_attention: bool, hand_on: bool) -> None:
        """Begin to record one computation. `hand_on` passes attention to the Python callback and does not record it."""
        self._state.wants_attention = wants_attention
        self._state.hands_on_attention = hand_on
        self._state.has_overflowed = 0
        self._state.next = self._buffer.ctypes.data
        self._state.end = self._state.next + len(self._buffer)

    @property
    def is_incomplete(self) -> bool:
        """Whether the buffer was too small for this computation."""
        return bool(self._state.has_overflowed)

    def records(self) -> Iterator[GraphRecord]:
        """Yield the records. Their data is valid until the next start."""
        offset, end = 0, self._end_of_records
        while offset < end:
            tensor = Tensor.from_buffer(self._buffer.data, offset)
            start = offset + _HEADER_BYTES
            following = start + tensor.ne[3] * tensor.nb[3]
            yield GraphRecord(tensor, self._buffer[start:following], offset)
            offset = following

    def stacked(self, first: GraphRecord) -> NDArray[np.uint8] | None:
        """Return the data of this record and all after it as one array, or None if their sizes differ."""
        size = _HEADER_BYTES + len(first.data)
        count, rest = divmod(self._end_of_records - first.offset, size)
        if rest:
            return None
        start = first.offset + _HEADER_BYTES
        return np.lib.stride_tricks.as_strided(self._buffer[start:], (count, len(first.data)), (size, 1))

    @property
    def _end_of_records(self) -> int:
        return int(self._state.next) - self._buffer.ctypes.data

    def _install(self, code: bytes) -> None:
        memory = mmap.mmap(-1, mmap.PAGESIZE)
        memory.write(code)
        address = ct.addressof(ct.c_char.from_buffer(memory))
        protect = ct.CDLL(None).mprotect
        protect.argtypes = [ct.c_void_p, ct.c_size_t, ct.c_int]
        if protect(address, mmap.PAGESIZE, _READ_EXECUTE) == 0:
            self._memory = memory
            self.callback = ct.cast(address, EvalCallback)


def _x86_64_code(behind: int, softmax: int, set_rows: int) -> bytes:
    """The callback gets the node's address in rdi, `ask` in sil, and the address of the state in rdx."""

    def at(offset: int) -> bytes:
        return struct.pack("<i", offset)

    name, source = Tensor.name.offset, Tensor.src.offset + 8
    size_in_bytes = (Tensor.ne.offset + 24, Tensor.nb.offset + 24)
    return _assembled(
        b"\x8b\x87" + at(Tensor.op.offset),  # mov eax, [rdi + op]
        b"\x3d" + at(softmax),  # cmp eax, softmax
        (b"\x74", "attention"),  # je
        b"\x3d" + at(set_rows),  # cmp eax, set_rows
        (b"\x75", "refuse"),  # jne
        b"\x48\xb8cache_k_" + b"\x48\x39\x87" + at(name),  # mov rax, "cache_k_"; cmp [rdi + name], rax
        (b"\x75", "refuse"),  # jne
        b"\x48\xb8l0 (view" + b"\x48\x39\x87" + at(name + 8),  # mov rax, "l0 (view"; cmp [rdi + name + 8], rax
        (b"\x75", "refuse"),  # jne
        b"\x48\x8b\xb7" + at(source),  # mov rsi, [rdi + src[1]]
        (b"\xe8", "write"),  # call
        "refuse",
        b"\x31\xc0\xc3",  # xor eax, eax; ret
        "attention",
        b"\x40\x84\xf6",  # test sil, sil
        (b"\x74", "computed"),  # je
        b"\x48\xb8kq_soft_" + b"\x48\x39\x87" + at(name),  # mov rax, "kq_soft_"; cmp [rdi + name], rax
        (b"\x75", "refuse"),  # jne
        b"\x8b\x02\xc3",  # mov eax, [rdx + wants_attention]; ret
        "computed",
        b"\x83\x7a"
        + struct.pack("<bB", _State.hands_on_attention.offset, 0),  # cmp dword [rdx + hands_on_attention], 0
        (b"\x74", "record"),  # je
        b"\x48\xb8" + struct.pack("<Q", behind) + b"\xff\xe0",  # mov rax, behind; jmp rax
        "record",
        b"\x49\x89\xf9",  # mov r9, rdi
        b"\x81\xbf" + at(name + 8) + b"max-",  # cmp dword [rdi + name + 8], "max-"
        (b"\x75", "accept"),  # jne
        b"\x66\x81\xbf" + at(name + 12) + b"0\0",  # cmp word [rdi + name + 12], "0" and its end
        (b"\x75", "layer"),  # jne
        b"\x48\x8b\xb7" + at(source),  # mov rsi, [rdi + src[1]], the mask
        b"\x48\x85\xf6",  # test rsi, rsi
        (b"\x74", "layer"),  # je
        (b"\xe8", "write"),  # call
        "layer",
        b"\x4c\x89\xce",  # mov rsi, r9
        (b"\xe8", "write"),  # call
        "accept",
        b"\xb8\x01\x00\x00\x00\xc3",  # mov eax, 1; ret
        "write",  # the tensor at rsi
        b"\x4c\x8b\x96" + at(size_in_bytes[0]),  # mov r10, [rsi + ne[3]]
        b"\x4c\x0f\xaf\x96" + at(size_in_bytes[1]),  # imul r10, [rsi + nb[3]]
        b"\x49\x8d\x82" + at(_HEADER_BYTES),  # lea rax, [r10 + the struct's size]
        b"\x48\x03\x42" + struct.pack("<b", _State.next.offset),  # add rax, [rdx + next]
        b"\x48\x3b\x42" + struct.pack("<b", _State.end.offset),  # cmp rax, [rdx + end]
        (b"\x77", "overflow"),  # ja
        b"\x48\x8b\x7a" + struct.pack("<b", _State.next.offset),  # mov rdi, [rdx + next]
        b"\x49\x89\xf3",  # mov r11, rsi
        b"\xb9" + at(_HEADER_BYTES) + b"\xf3\xa4",  # mov ecx, the struct's size; rep movsb
        b"\x49\x8b\xb3" + at(Tensor.data.offset),  # mov rsi, [r11 + data]
        b"\x4c\x89\xd1\xf3\xa4",  # mov rcx, r10; rep movsb
        b"\x48\x89\x7a" + struct.pack("<b", _State.next.offset) + b"\xc3",  # mov [rdx + next], rdi; ret
        "overflow",
        b"\xc7\x42" + struct.pack("<bi", _State.has_overflowed.offset, 1) + b"\xc3",  # mov dword [rdx + …], 1; ret
    )


def _assembled(*parts: bytes | str | tuple[bytes, str]) -> bytes:
    """Assemble instructions, labels, and short jumps and calls to labels."""
    labels: dict[str, int] = {}
    size = 0
    for part in parts:
        if isinstance(part, str):
            labels[part] = size
        else:
            size += len(part) if isinstance(part, bytes) else _jump_size(part[0])
    code = b""
    for part in parts:
        if isinstance(part, bytes):
            code += part
        elif isinstance(part, tuple):
            jump, label = part
            end = len(code) + _jump_size(jump)
            code += jump + struct.pack("<i" if jump == b"\xe8" else "<b", labels[label] - end)
    return code


def _jump_size(jump: bytes) -> int:
    return 5 if jump == b"\xe8" else 2
