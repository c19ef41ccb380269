"""Taps the model's graph while it computes, to find which cells it attends to and which cells new tokens went to.

Two kinds of graph nodes matter. The softmax of each layer's attention must be copied as soon as it is computed, because
its buffer is reused. The node that writes new keys into the cache gives the cell of each new token. Columns of
attention are cells of the cache, not positions.
"""

import ctypes as ct
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.llamacpp.layout import TYPE_F16, TYPE_F32, TYPE_I64, EvalCallback, Tensor
from halo_weave.engine.llamacpp.model import Model
from halo_weave.engine.llamacpp.recorder import GraphRecord, GraphRecorder
from halo_weave.engine.protocol import Attention, AttentionChoice

Cells = NDArray[np.int64]
Listen = Literal["cells", "last", "all"]
"""Record only the new tokens' cells; also the last token's attention; also the attention of all tokens of the batch."""

_SOFTMAX_NAME = b"kq_soft_max-"
_FIRST_SOFTMAX_NAME = _SOFTMAX_NAME + b"0"
_CELLS_NAME = b"cache_k_l0 (view)"
_CELLS_PER_BLOCK = 256


class AttentionTap:
    """One per context. `callback` and `user_data` go into the context's parameters, and the tap must outlive it."""

    def __init__(self, model: Model, choice: AttentionChoice, *, cells: int) -> None:
        """`cells` is the largest number of cells that the context's cache can have."""
        library = model.library
        self._c = library.c
        self._choice = choice
        self._layer_count = model.layers
        self._layers = {layer: index for index, layer in enumerate(choice.layers or range(model.layers))}
        self._softmax = library.operation_number(b"SOFT_MAX")
        self._set_rows = library.operation_number(b"SET_ROWS")
        self._listen: Listen = "cells"
        self._cells: list[Cells] = []
        self._rows: list[_Rows] = []
        self._last_row: Attention | None = None
        self._visible: Cells | None = None
        self._failure: BaseException | None = None
        self._python_callback = EvalCallback(self._on_node)
        self._recorder = GraphRecorder(
            self._python_callback,
            softmax=self._softmax,
            set_rows=self._set_rows,
            capacity=_capacity(model, cells),
            is_host=model.is_on_host,
        )
        self.callback = self._recorder.callback
        self.user_data = self._recorder.user_data

    def start(self, listen: Listen) -> None:
        """Begin to record one decode call."""
        self._listen = listen
        # The attention of many tokens is too large to record, so the callback reduces it layer by layer.
        self._recorder.start(wants_attention=listen != "cells", hand_on=listen == "all")
        self._cells = []
        self._rows = []
        self._last_row = None
        self._visible = None
        self._failure = None

    def finish(self) -> None:
        """Collect the records after the decode call."""
        for record in self._recorder.records():
            if record.tensor.name == _FIRST_SOFTMAX_NAME:
                self._take_all_layers(record)
                break
            if record.tensor.type == TYPE_I64:
                self._cells.append(record.data.view(np.int64).copy())
            else:
                self._take_mask(record.tensor, record.data)
        if self._failure is not None:
            raise self._failure

    def cells(self) -> Cells:
        """The cells of the batch's tokens, in order."""
        return np.concatenate(self._cells) if self._cells else np.empty(0, dtype=np.int64)

    def visible(self) -> Cells | None:
        """The cells visible to the last token, in ascending order; None if the model did not report them."""
        return self._visible

    def rows(self) -> Attention | None:
        """Attention by cell: [tokens, cells], or [tokens, layers, heads, cells] without reduction."""
        if self._last_row is not None:
            return self._last_row[None]
        if not self._rows or not all(rows.is_complete for rows in self._rows):
            return None
        parts = [rows.finish() for rows in self._rows]
        width = max(part.shape[-1] for part in parts)
        return np.concatenate([widened(part, width) for part in parts]) if len(parts) > 1 else parts[0]

    def _on_node(self, address: int, ask: bool, _user_data: object) -> bool:
        # An exception must not escape from a C callback, and False for a computed node would abort the computation.
        try:
            tensor = Tensor.from_address(address)
            if not ask:
                if tensor.name == _FIRST_SOFTMAX_NAME and tensor.src[1]:
                    mask = Tensor.from_address(tensor.src[1])
                    self._take_mask(mask, self._bytes(mask))
                self._take_layer(tensor, self._bytes(tensor))
                return True
            if tensor.op == self._softmax:
                return self._listen != "cells" and tensor.name.startswith(_SOFTMAX_NAME)
            if tensor.op == self._set_rows and tensor.name == _CELLS_NAME:
                self._cells.append(self._bytes(Tensor.from_address(tensor.src[1])).view(np.int64).copy())
        except BaseException as failure:
            self._failure = failure
            return not ask
        return False

    def _take_all_layers(self, first: GraphRecord) -> None:
        """Take the last token's row from the records of all layers at once."""
        stacked = self._recorder.stacked(first)
        if stacked is None or len(stacked) != self._layer_count or self._recorder.is_incomplete:
            return
        cells, tokens, heads, _ = first.tensor.ne
        values = stacked.view(np.float32).reshape(len(stacked), heads, tokens, cells)[:, :, -1]
        if self._choice.layers is not None:
            values = values[list(self._choice.layers)]
        if self._choice.heads is not None:
            values = values[:, list(self._choice.heads)]
        if self._choice.reduce == "none":
            self._last_row = values.copy()
        elif self._choice.reduce == "max":
            self._last_row = _normalised(values.max(axis=(0, 1)))
        else:
            self._last_row = np.add.reduce(values, axis=(0, 1)) / np.float32(values.shape[0] * values.shape[1])

    def _take_layer(self, tensor: Tensor, data: NDArray[np.uint8]) -> None:
        layer = int(tensor.name[len(_SOFTMAX_NAME) :])
        cells, tokens, heads, _ = tensor.ne
        if layer == 0:
            count = tokens if self._listen == "all" else 1
            self._rows.append(_Rows(self._choice, len(self._layers), count, heads, cells))
        elif not self._rows:
            return  # the first layer has no attention, so no row can cover all layers
        index = self._layers.get(layer)
        if index is not None and tensor.type == TYPE_F32:
            values = data.view(np.float32).reshape(heads, tokens, cells)
            self._rows[-1].add(index, values if self._listen == "all" else values[:, -1:])

    def _take_mask(self, mask: Tensor, data: NDArray[np.uint8]) -> None:
        """Read the mask, which has a row per token of the batch and a 0 for each cell that the token can attend to."""
        width = {TYPE_F32: 4, TYPE_F16: 2}.get(mask.type)
        if width is not None and self._listen == "last":
            self._visible = np.flatnonzero(data.view(f"u{width}")[: mask.ne[0]] == 0)

    def _bytes(self, tensor: Tensor) -> NDArray[np.uint8]:
        """The tensor's bytes, as a view if they are in main memory. Valid only inside the callback."""
        size = tensor.ne[3] * tensor.nb[3]
        if tensor.buffer and not self._c.ggml_backend_buffer_is_host(tensor.buffer):
            copied = np.empty(size, dtype=np.uint8)
            self._c.ggml_backend_tensor_get(ct.addressof(tensor), copied.ctypes.data, 0, size)
            return copied
        return np.frombuffer(memoryview((ct.c_uint8 * size).from_address(tensor.data)), dtype=np.uint8)


def widened(rows: Attention, width: int) -> Attention:
    """Pad rows with zeros up to `width` cells: a cell that did not exist yet got no attention."""
    missing = width - rows.shape[-1]
    return np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, missing)]) if missing > 0 else rows


class _Rows:
    """Rows of one sub-batch's tokens, reduced layer by layer because those of all layers would not fit in memory."""

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


def _capacity(model: Model, cells: int) -> int:
    """Return the bytes that the records of one token's step need. The cache is read in blocks of cells."""
    blocks = -(-cells // _CELLS_PER_BLOCK) * _CELLS_PER_BLOCK
    mask_and_cells = 1_000_000
    return model.layers * (model.heads * blocks * 4 + ct.sizeof(Tensor)) + mask_and_cells + 64 * blocks * 4


def _normalised(rows: Attention) -> Attention:
    sums: Attention = np.maximum(rows.sum(axis=-1, keepdims=True), np.finfo(np.float32).tiny)
    return rows / sums
