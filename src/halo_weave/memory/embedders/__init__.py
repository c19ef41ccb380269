"""Embedders: what turns texts into vectors. One protocol, and one module for each way to run a model."""
