"""Reads the keys and queries of attention heads while a model computes, before positions are encoded into them.

A key without a position can be stored once and compared with any later query. The graph has several nodes with the name
of a layer's keys: the matrix product has them without positions and without the layer's constant bias, which does not
change what a query looks at most. Models that normalise keys and queries have a node of their own for that.
"""

import ctypes as ct
from collections.abc import Collection
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.llamacpp.layout import TYPE_F32, EvalCallback, Tensor
from halo_weave.engine.llamacpp.model import Model
from halo_weave.errors import EngineError

Projection = Literal["keys", "queries"]
Projected = NDArray[np.float32]
_PRODUCTS: dict[Projection, bytes] = {"keys": b"Kcur-", "queries": b"Qcur-"}
_NORMALISED: dict[Projection, bytes] = {"keys": b"Kcur_normed-", "queries": b"Qcur_normed-"}


class ProjectionTap:
    """One per context. `callback` and `user_data` go into the context's parameters, and the tap must outlive it.

    `layers` lists the layers to read. `wanted` says which projection the next decode call records. With `skips_missing`
    a layer without such a projection is left out instead of failing.
    """

    user_data = None

    def __init__(self, model: Model, layers: Collection[int], *, skips_missing: bool = False) -> None:
        self._library = model.library
        self._is_on_host = model.is_on_host
        self._product = model.library.operation_number(b"MUL_MAT")
        self._layers = layers
        self._skips_missing = skips_missing
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
        missing = [layer for layer in self._layers if layer not in self._found]
        if missing and not self._skips_missing:
            raise EngineError(f"The model has no {self.wanted} in layer {missing[0]} that can be read.")

    @property
    def found(self) -> dict[int, Projected]:
        """The wanted projection of the batch's tokens by layer: [tokens, heads × size]."""
        return self._found

    def _on_node(self, address: int, ask: bool, _user_data: object) -> bool:
        # An exception must not escape from a C callback, and False for a computed node would abort the computation.
        try:
            tensor = Tensor.from_address(address)
            layer = self._layer_of(tensor)
            if ask:
                return layer is not None
            if layer is not None:
                self._found[layer] = self._copied(tensor)
        except BaseException as failure:
            self._failure = failure
        return not ask

    def _layer_of(self, tensor: Tensor) -> int | None:
        """Return the layer whose projection this node holds, if it is wanted. A normalised one comes after the
        product."""
        name = bytes(tensor.name)
        is_product = tensor.op == self._product and name.startswith(_PRODUCTS[self.wanted])
        if not is_product and not name.startswith(_NORMALISED[self.wanted]):
            return None
        number = name.rpartition(b"-")[2]
        is_wanted = tensor.type == TYPE_F32 and number.isdigit() and int(number) in self._layers
        return int(number) if is_wanted else None

    def _copied(self, tensor: Tensor) -> Projected:
        is_product = tensor.op == self._product
        columns = tensor.ne[0] if is_product else tensor.ne[0] * tensor.ne[1]
        tokens = tensor.ne[1] if is_product else tensor.ne[2]
        size = columns * tokens * 4
        if tensor.ne[3] * tensor.nb[3] != size:
            raise EngineError(f"The model's {self.wanted} are not contiguous in memory.")
        data = np.empty((tokens, columns), dtype=np.float32)
        if self._is_on_host:
            ct.memmove(data.ctypes.data, tensor.data, size)
        else:
            self._library.c.ggml_backend_tensor_get(ct.addressof(tensor), data.ctypes.data, 0, size)
        return data
