"""Nearest-vector search: exact while the memory is small, through an approximate index file once it is large."""
