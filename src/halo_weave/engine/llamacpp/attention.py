"""Listening to the model while it computes: which cells it looks at, and which cells new tokens went to.

llama.cpp asks a callback about every node of its graph. We look at two kinds: the softmax of each layer's attention,
whose values are copied at the moment they are there (their buffers are reused), and the node that writes new keys into
the cache, which tells the cell of each new token. Columns of attention are cells of the cache, not positions.
"""

import ctypes as ct
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.llamacpp.layout import TYPE_F16, TYPE_F32, TYPE_I64, EvalCallback, Tensor
from halo_weave.engine.llamacpp.library import Library
from halo_weave.engine.llamacpp.node_filter import NodeFilter
from halo_weave.engine.protocol import Attention, AttentionChoice

Cells = NDArray[np.int64]
Listen = Literal["cells", "last", "all"]
"""To the new tokens' cells only; also to the last token's attention; to the attention of all tokens of the batch."""

_SOFTMAX_NAME = b"kq_soft_max-"
_CELLS_NAME = b"cache_k_l0 (view)"


class AttentionTap:
    """One per context; `callback` and `user_data` go into the context's parameters, and the tap must outlive it."""

    def __init__(self, library: Library, choice: AttentionChoice, layers: int) -> None:
        self._c = library.c
        self._choice = choice
        self._layers = {layer: index for index, layer in enumerate(choice.layers or range(layers))}
        self._softmax = library.operation_number(b"SOFT_MAX")
        self._set_rows = library.operation_number(b"SET_ROWS")
        self._listen: Listen = "cells"
        self._wants_attention = ct.c_int32(0)
        self._cells: list[Cells] = []
        self._gathered: list[_Gathered] = []
        self._last_row: _LastRow | None = None
        self._visible: Cells | None = None
        self._failure: BaseException | None = None
        self._python_callback = EvalCallback(self._on_node)
        self._filter = NodeFilter(self._python_callback, softmax=self._softmax, set_rows=self._set_rows)
        self.callback = self._filter.callback
        self.user_data = ct.addressof(self._wants_attention)

    def start(self, listen: Listen) -> None:
        """Begin to listen to one call of decode."""
        self._listen = listen
        self._wants_attention.value = listen != "cells"
        self._cells = []
        self._gathered = []
        self._visible = None
        self._failure = None

    def cells(self) -> Cells:
        """Where the tokens of the batch went, in their order."""
        self._raise_failure()
        return np.concatenate(self._cells) if self._cells else np.empty(0, dtype=np.int64)

    def visible(self) -> Cells | None:
        """The cells that the last token could look at, in ascending order; None if the model did not tell."""
        return self._visible

    def rows(self) -> Attention | None:
        """Attention by cell: [tokens, cells], or [tokens, layers, heads, cells] if nothing is reduced."""
        self._raise_failure()
        if not self._gathered or not all(gathered.is_complete for gathered in self._gathered):
            return None
        parts = [gathered.finish() for gathered in self._gathered]
        width = max(part.shape[-1] for part in parts)
        return np.concatenate([widened(part, width) for part in parts]) if len(parts) > 1 else parts[0]

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _on_node(self, address: int, ask: bool, _user_data: object) -> bool:
        # An exception must not leave a C callback, and False as second answer would abort the computation.
        try:
            tensor = Tensor.from_address(address)
            if not ask:
                self._take_layer(tensor)
                return True
            if tensor.op == self._softmax:
                return self._listen != "cells" and tensor.name.startswith(_SOFTMAX_NAME)
            if tensor.op == self._set_rows and tensor.name == _CELLS_NAME:
                self._take_cells(tensor)
        except BaseException as failure:
            self._failure = failure
            return not ask
        return False

    def _take_layer(self, tensor: Tensor) -> None:
        layer = int(tensor.name[len(_SOFTMAX_NAME) :])
        if layer == 0:
            self._begin_batch(tensor)
        index = self._layers.get(layer)
        if index is not None and tensor.type == TYPE_F32:
            cells, tokens, heads, _ = tensor.ne
            values = self._bytes(tensor, 0, cells * tokens * heads * 4).view(np.float32)
            self._gathered[-1].add(index, values.reshape(heads, tokens, cells))

    def _begin_batch(self, tensor: Tensor) -> None:
        """The first layer: make room for the rows of all layers, and see from the mask what can be looked at."""
        cells, tokens, heads, _ = tensor.ne
        layers = len(self._layers)
        if self._listen == "all":
            self._gathered.append(_AllRows(self._choice, layers, tokens, heads, cells))
        else:
            self._gathered.append(self._row_of_shape((layers, heads, cells)))
        mask = Tensor.from_address(tensor.src[1]) if tensor.src[1] else None
        if mask is not None and mask.ne[0] == cells and mask.type in (TYPE_F32, TYPE_F16):
            width = 4 if mask.type == TYPE_F32 else 2
            row = self._bytes(mask, (tokens - 1) * cells * width, cells * width)
            self._visible = np.flatnonzero(row.view(f"u{width}") == 0)

    def _row_of_shape(self, shape: tuple[int, int, int]) -> "_LastRow":
        """The memory of the last step's row is used again: fresh memory costs as much as filling it."""
        if self._last_row is None or self._last_row.shape != shape:
            self._last_row = _LastRow(self._choice, shape)
        self._last_row.begin()
        return self._last_row

    def _take_cells(self, tensor: Tensor) -> None:
        indices = Tensor.from_address(tensor.src[1])
        if indices.type == TYPE_I64:
            self._cells.append(self._bytes(indices, 0, indices.ne[0] * 8).view(np.int64).copy())

    def _bytes(self, tensor: Tensor, offset: int, size: int) -> NDArray[np.uint8]:
        """The tensor's bytes, as a view where they are in main memory; valid only inside the callback."""
        if tensor.buffer and not self._c.ggml_backend_buffer_is_host(tensor.buffer):
            copied = np.empty(size, dtype=np.uint8)
            self._c.ggml_backend_tensor_get(ct.addressof(tensor), copied.ctypes.data, offset, size)
            return copied
        return np.frombuffer(memoryview((ct.c_uint8 * size).from_address(tensor.data + offset)), dtype=np.uint8)


def widened(rows: Attention, width: int) -> Attention:
    """Rows with zeros behind them up to `width` cells: cells that were not there were not looked at."""
    missing = width - rows.shape[-1]
    return np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, missing)]) if missing > 0 else rows


class _Gathered(Protocol):
    """Attention of one sub-batch, gathered layer by layer as [heads, tokens, cells]."""

    @property
    def is_complete(self) -> bool: ...

    def add(self, layer: int, values: Attention) -> None: ...

    def finish(self) -> Attention: ...


class _LastRow:
    """The last token's row alone: all heads of all layers are copied, and reduced at the end at once."""

    def __init__(self, choice: AttentionChoice, shape: tuple[int, int, int]) -> None:
        self._choice = choice
        self._values = np.zeros(shape, dtype=np.float32)
        self._missing = shape[0]
        self.shape = shape

    @property
    def is_complete(self) -> bool:
        return self._missing == 0

    def begin(self) -> None:
        self._missing = self.shape[0]

    def add(self, layer: int, values: Attention) -> None:
        self._values[layer] = values[:, -1]
        self._missing -= 1

    def finish(self) -> Attention:
        values = self._values if self._choice.heads is None else self._values[:, self._choice.heads]
        if self._choice.reduce == "none":
            return values[None].copy()
        if self._choice.reduce == "max":
            return _normalised(values.max(axis=(0, 1)))[None]
        mean: Attention = values.mean(axis=(0, 1), dtype=np.float32)[None]
        return mean


class _AllRows:
    """Rows of many tokens, which would be too large to hold for all layers: reduced layer by layer."""

    def __init__(self, choice: AttentionChoice, layers: int, tokens: int, heads: int, cells: int) -> None:
        self._choice = choice
        self._parts = layers * (heads if choice.heads is None else len(choice.heads))
        shape = (tokens, layers, self._parts // layers, cells) if choice.reduce == "none" else (tokens, cells)
        self._values = np.zeros(shape, dtype=np.float32)
        self._missing = layers

    @property
    def is_complete(self) -> bool:
        return self._missing == 0

    def add(self, layer: int, values: Attention) -> None:
        self._missing -= 1
        if self._choice.heads is not None:
            values = values[list(self._choice.heads)]
        if self._choice.reduce == "none":
            self._values[:, layer] = values.transpose(1, 0, 2)
        elif self._choice.reduce == "max":
            np.maximum(self._values, values.max(axis=0), out=self._values)
        else:
            self._values += np.add.reduce(values, axis=0)

    def finish(self) -> Attention:
        if self._choice.reduce == "none":
            return self._values
        if self._choice.reduce == "max":
            return _normalised(self._values)
        return self._values / np.float32(self._parts)


def _normalised(rows: Attention) -> Attention:
    sums: Attention = np.maximum(rows.sum(axis=-1, keepdims=True), np.finfo(np.float32).tiny)
    return rows / sums
