"""Embedders turn texts into vectors: one protocol, and one module for each way to run a model."""
