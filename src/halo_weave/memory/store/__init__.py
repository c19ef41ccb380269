"""Protocols that a store implements: chunks and vectors, windows, notes, and the memory tree."""
