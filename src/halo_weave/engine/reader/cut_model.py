"""Writes the lower layers of a GGUF language model to a file of their own.

A looking head in layer 9 needs nothing above layer 9, so the reader reads with a third of the bundled model. Weights
become 8-bit, which llama.cpp multiplies faster than the bundled model's 4-bit ones.
"""

from pathlib import Path
from typing import Any

import gguf
from gguf import quants

_NOT_COPIED = ("general.file_type", "tokenizer.chat_template")
_BLOCK = "blk."


def write_lower_layers(source: Path, target: Path, layers: int) -> None:
    """Copy the first `layers` layers of a model, with its vocabulary."""
    reader = gguf.GGUFReader(source)
    architecture = str(reader.fields["general.architecture"].contents())
    writer = gguf.GGUFWriter(target, architecture)
    try:
        for key, field in reader.fields.items():
            if key.startswith("GGUF.") or key == "general.architecture" or key in _NOT_COPIED:
                continue
            kind = field.types[0]
            value = layers if key == f"{architecture}.block_count" else field.contents()
            writer.add_key_value(key, value, kind, field.types[1] if kind == gguf.GGUFValueType.ARRAY else None)
        for tensor in reader.tensors:
            if not tensor.name.startswith(_BLOCK) or int(tensor.name.split(".")[1]) < layers:
                _add(writer, tensor)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
    finally:
        writer.close()


def _add(writer: Any, tensor: Any) -> None:
    eight_bit = gguf.GGMLQuantizationType.Q8_0
    block, _ = gguf.GGML_QUANT_SIZES[eight_bit]
    is_factor = tensor.name.startswith(_BLOCK) and len(tensor.shape) == 2 and int(tensor.shape[0]) % block == 0
    if not is_factor or tensor.tensor_type == eight_bit:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
        return
    values = quants.dequantize(tensor.data, tensor.tensor_type)
    writer.add_tensor(tensor.name, quants.quantize(values, eight_bit), raw_dtype=eight_bit)
