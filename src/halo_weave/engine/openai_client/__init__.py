"""A client for OpenAI-compatible servers: llama.cpp's own, vLLM, Ollama and others. Text only."""

from halo_weave.engine.openai_client.client import OpenAIEngine
from halo_weave.engine.openai_client.context import OpenAIContext

__all__ = ["OpenAIContext", "OpenAIEngine"]
