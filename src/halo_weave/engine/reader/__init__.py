"""The reader: a small language model that reads along, and whose attention indexes the memory.

One of its heads, the looking head, looks from a question to the words that the question is about. The reader returns
the head's keys for text and its queries for questions. It is the same model whatever the chat model is.
"""
