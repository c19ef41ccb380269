"""Listening to the model while it computes: which cells it looks at, and which cells new tokens went to.

Two kinds of nodes of its graph matter: the softmax of each layer's attention, whose values must be copied at the moment
they are there (their buffers are reused), and the node that writes new keys into the cache, which tells the cell of
each new token. Columns of attention are cells of the cache, not positions.
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
"""To the new tokens' cells only; also to the last token's attention; to the attention of all tokens of the batch."""

_SOFTMAX_NAME = b"kq_soft_max-"
_FIRST_SOFTMAX_NAME = _SOFTMAX_NAME + b"0"
_CELLS_NAME = b"cache_k_l0 (view)"
_CELLS_PER_BLOCK = 256


class AttentionTap:
    """One per context; `callback` and `user_data` go into the context's parameters, and the tap must outlive it."""

    def __init__(self, model: Model, choice: AttentionChoice, *, cells: int) -> None:
        """`cells`: how many cells the cache of the context has at the most."""
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
        """Begin to listen to one call of decode."""
        self._listen = listen
        # The attention of many tokens is too large to be written down; it is reduced layer by layer as it comes.
        self._recorder.start(wants_attention=listen != "cells", hand_on=listen == "all")
        self._cells = []
        self._rows = []
        self._last_row = None
        self._visible = None
        self._failure = None

    def finish(self) -> None:
        """End listening: the decode is over."""
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
        """Where the tokens of the batch went, in their order."""
        return np.concatenate(self._cells) if self._cells else np.empty(0, dtype=np.int64)

    def visible(self) -> Cells | None:
        """The cells that the last token could look at, in ascending order; None if the model did not tell."""
        return self._visible

    def rows(self) -> Attention | None:
        """Attention by cell: [tokens, cells], or [tokens, layers, heads, cells] if nothing is reduced."""
        if self._last_row is not None:
            return self._last_row[None]
        if not self._rows or not all(rows.is_complete for rows in self._rows):
            return None
        parts = [rows.finish() for rows in self._rows]
        width = max(part.shape[-1] for part in parts)
        return np.concatenate([widened(part, width) for part in parts]) if len(parts) > 1 else parts[0]

    def _on_node(self, address: int, ask: bool, _user_data: object) -> bool:
        # An exception must not leave a C callback, and False as second answer would abort the computation.
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
        """The last token's row, from the records of all layers at once."""
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
            return  # the first layer has no attention, and so there is no row over all layers
        index = self._layers.get(layer)
        if index is not None and tensor.type == TYPE_F32:
            values = data.view(np.float32).reshape(heads, tokens, cells)
            self._rows[-1].add(index, values if self._listen == "all" else values[:, -1:])

    def _take_mask(self, mask: Tensor, data: NDArray[np.uint8]) -> None:
        """The mask has a row for each token of the batch, and a 0 for each cell that the token can look at."""
        width = {TYPE_F32: 4, TYPE_F16: 2}.get(mask.type)
        if width is not None and self._listen == "last":
            self._visible = np.flatnonzero(data.view(f"u{width}")[: mask.ne[0]] == 0)

    def _bytes(self, tensor: Tensor) -> NDArray[np.uint8]:
        """The tensor's bytes, as a view where they are in main memory; valid only inside the callback."""
        size = tensor.ne[3] * tensor.nb[3]
        if tensor.buffer and not self._c.ggml_backend_buffer_is_host(tensor.buffer):
            copied = np.empty(size, dtype=np.uint8)
            self._c.ggml_backend_tensor_get(ct.addressof(tensor), copied.ctypes.data, 0, size)
            return copied
        return np.frombuffer(memoryview((ct.c_uint8 * size).from_address(tensor.data)), dtype=np.uint8)


def widened(rows: Attention, width: int) -> Attention:
    """Rows with zeros behind them up to `width` cells: cells that were not there were not looked at."""
    missing = width - rows.shape[-1]
    return np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, missing)]) if missing > 0 else rows


class _Rows:
    """Rows of one sub-batch's tokens, reduced layer by layer: those of all layers would be too large to hold."""

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
    """Bytes for what one token's step writes down; the cache is looked at in blocks of cells."""
    blocks = -(-cells // _CELLS_PER_BLOCK) * _CELLS_PER_BLOCK
    mask_and_cells = 1_000_000
    return model.layers * (model.heads * blocks * 4 + ct.sizeof(Tensor)) + mask_and_cells + 64 * blocks * 4


def _normalised(rows: Attention) -> Attention:
    sums: Attention = np.maximum(rows.sum(axis=-1, keepdims=True), np.finfo(np.float32).tiny)
    return rows / sums
