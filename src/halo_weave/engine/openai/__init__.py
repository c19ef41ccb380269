"""A client for OpenAI-compatible servers: llama.cpp's own, vLLM, Ollama and others. Text only."""

from halo_weave.engine.openai.client import OpenAIEngine
from halo_weave.engine.openai.context import OpenAIContext

__all__ = ["OpenAIContext", "OpenAIEngine"]
