"""Restoring records of another memory: prepared in a file beside this memory, then copied in one transaction."""
