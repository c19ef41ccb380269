"""Keeping vectors in step with chunks: the text to embed, the background queue and re-embedding."""
