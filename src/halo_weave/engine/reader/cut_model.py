"""Writes the lower layers of a GGUF language model to a file of their own.

A looking head in layer 9 needs nothing above layer 9, so the reader reads with a third of the bundled model. Weights
become 8-bit, which llama.cpp multiplies faster than the bundled model's 4-bit ones.
"""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf import quants

_ARCHITECTURE, _SPLIT = "general.architecture", "split.count"
_NOT_COPIED = ("general.file_type", "general.alignment", "tokenizer.chat_template")
_BLOCK = "blk."
_EIGHT_BIT = gguf.GGMLQuantizationType.Q8_0
_EIGHT_BIT_BLOCK, _EIGHT_BIT_BLOCK_BYTES = gguf.GGML_QUANT_SIZES[_EIGHT_BIT]


def layer_count(source: Path) -> int:
    """Raises ValueError if the file is not a whole model."""
    reader = gguf.GGUFReader(source)
    architecture = _architecture(reader)
    count = reader.fields.get(f"{architecture}.block_count")
    if count is None:
        raise ValueError(f"{source.name} does not tell the number of its layers")
    if _SPLIT in reader.fields and int(reader.fields[_SPLIT].contents()) > 1:
        raise ValueError(f"{source.name} is one of several parts of a model; join them first")
    return int(count.contents())


def write_lower_layers(source: Path, target: Path, layers: int) -> None:
    """Copy the first `layers` layers of a model, with its vocabulary. Holds one tensor in memory at a time."""
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, _architecture(reader))
    try:
        for key, field in reader.fields.items():
            if key.startswith("GGUF.") or key == _ARCHITECTURE or key in _NOT_COPIED:
                continue
            kind = field.types[0]
            value = _value_for(layers, key, field, reader)
            writer.add_key_value(key, value, kind, field.types[1] if kind == gguf.GGUFValueType.ARRAY else None)
        kept = [
            tensor
            for tensor in reader.tensors
            if not tensor.name.startswith(_BLOCK) or int(tensor.name.split(".")[1]) < layers
        ]
        for tensor in kept:
            writer.add_tensor_info(tensor.name, *_form(tensor))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for tensor in kept:
            writer.write_tensor_data(_data(tensor))
    finally:
        writer.close()


def _value_for(layers: int, key: str, field: Any, reader: Any) -> Any:
    """Return a value of the metadata, as it is for a model with fewer layers."""
    value, architecture = field.contents(), _architecture(reader)
    all_layers = int(reader.fields[f"{architecture}.block_count"].contents())
    if key == f"{architecture}.block_count":
        return layers
    is_per_layer = key.startswith(f"{architecture}.") and isinstance(value, list) and len(value) == all_layers
    return value[:layers] if is_per_layer else value


def _architecture(reader: Any) -> str:
    return str(reader.fields[_ARCHITECTURE].contents())


def _becomes_eight_bit(tensor: Any) -> bool:
    is_factor = (
        tensor.name.startswith(_BLOCK) and len(tensor.shape) == 2 and int(tensor.shape[0]) % _EIGHT_BIT_BLOCK == 0
    )
    return is_factor and tensor.tensor_type != _EIGHT_BIT


def _form(tensor: Any) -> tuple[tuple[int, ...], np.dtype[Any], int, Any]:
    """Return shape, type and bytes of a tensor's data as it is written, and its type in the file."""
    if not _becomes_eight_bit(tensor):
        return tensor.data.shape, tensor.data.dtype, tensor.data.nbytes, tensor.tensor_type
    columns, rows = map(int, tensor.shape)
    row_bytes = columns // _EIGHT_BIT_BLOCK * _EIGHT_BIT_BLOCK_BYTES
    return (rows, row_bytes), np.dtype(np.uint8), rows * row_bytes, _EIGHT_BIT


def _data(tensor: Any) -> Any:
    if not _becomes_eight_bit(tensor):
        return tensor.data
    return quants.quantize(quants.dequantize(tensor.data, tensor.tensor_type), _EIGHT_BIT)
