"""The engine that runs a GGUF model in this process, through llama.cpp's C interface.

`engine` opens a model, `context` is one conversation with it, `editing` changes the tokens in a context, `attention`
reads the model's attention, and `kept_rows` keeps the state of removed text. `library` and `layout` wrap the C side.
"""
