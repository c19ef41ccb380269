"""The attention index: the keys of every chunk's tokens, as the reader's looking head computes them.

A question's queries are compared with the stored keys of the chunks that the search considers. That gives how strongly
the reader would look at each chunk if it read the question, and at which words of it.
"""
