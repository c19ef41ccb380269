"""Keeping vectors in step with chunks: what text stands for a chunk, the queue in the background, embedding again."""
