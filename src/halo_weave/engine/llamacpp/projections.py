"""Reads the keys and queries of one attention head while a model computes, before positions are encoded into them.

A key without a position can be stored once and compared with any later query. The graph has two nodes with the name of
a layer's keys: the matrix product has them without positions, the rotation with.
"""

import ctypes as ct
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.llamacpp.layout import TYPE_F32, EvalCallback, Tensor
from halo_weave.engine.llamacpp.model import Model
from halo_weave.errors import EngineError

Projection = Literal["keys", "queries"]
Projected = NDArray[np.float32]
_NAMES: dict[Projection, bytes] = {"keys": b"Kcur-", "queries": b"Qcur-"}


class ProjectionTap:
    """One per context. `callback` and `user_data` go into the context's parameters, and the tap must outlive it.

    `layers` lists the layers to read. `wanted` says which projection the next decode call records.
    """

    user_data = None

    def __init__(self, model: Model, layers: tuple[int, ...]) -> None:
        self._library = model.library
        self._is_on_host = model.is_on_host
        self._product = model.library.operation_number(b"MUL_MAT")
        self._layers = layers
        self._found: dict[int, Projected] = {}
        self._failure: BaseException | None = None
        self.wanted: Projection = "keys"
        self.callback = EvalCallback(self._on_node)

    def start(self, _listen: object = None) -> None:
        self._found = {}
        self._failure = None

    def finish(self) -> None:
        if self._failure is not None:
            raise self._failure
        if missing := [layer for layer in self._layers if layer not in self._found]:
            raise EngineError(f"The model has no {self.wanted} in layer {missing[0]} that can be read.")

    def layer(self, number: int) -> Projected:
        """The wanted projection of the batch's tokens: [tokens, heads × size]."""
        return self._found[number]

    def _on_node(self, address: int, ask: bool, _user_data: object) -> bool:
        # An exception must not escape from a C callback, and False for a computed node would abort the computation.
        try:
            tensor = Tensor.from_address(address)
            if ask:
                return tensor.op == self._product and self._layer_of(tensor) is not None
            layer = self._layer_of(tensor)
            if layer is not None and tensor.type == TYPE_F32:
                self._found[layer] = self._copied(tensor)
        except BaseException as failure:
            self._failure = failure
        return not ask

    def _layer_of(self, tensor: Tensor) -> int | None:
        prefix, name = _NAMES[self.wanted], bytes(tensor.name)
        if not name.startswith(prefix) or not name[len(prefix) :].isdigit():
            return None
        layer = int(name[len(prefix) :])
        return layer if layer in self._layers else None

    def _copied(self, tensor: Tensor) -> Projected:
        size = tensor.ne[0] * tensor.ne[1] * 4
        data = np.empty((tensor.ne[1], tensor.ne[0]), dtype=np.float32)
        if self._is_on_host:
            ct.memmove(data.ctypes.data, tensor.data, size)
        else:
            self._library.c.ggml_backend_tensor_get(ct.addressof(tensor), data.ctypes.data, 0, size)
        return data
