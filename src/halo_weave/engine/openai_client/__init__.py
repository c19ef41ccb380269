"""A client for OpenAI-compatible servers, such as llama.cpp's own, vLLM and Ollama. Text only."""

from halo_weave.engine.openai_client.client import OpenAIEngine
from halo_weave.engine.openai_client.context import OpenAIContext

__all__ = ["OpenAIContext", "OpenAIEngine"]
