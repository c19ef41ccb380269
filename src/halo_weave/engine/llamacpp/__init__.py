"""The engine that runs a GGUF model in this process, through llama.cpp's C interface.

`engine` opens a model, `context` is one conversation in it, `editing` changes what a context holds, `attention` reads
what the model looks at, `kept_rows` keeps the state of what left. `library` and `layout` know the C side.
"""
