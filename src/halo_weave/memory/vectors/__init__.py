"""Nearest vectors: exactly while the memory is small, through an approximate index file once it is large."""
