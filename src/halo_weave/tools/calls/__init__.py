"""Finds tool calls in streamed text and parses their arguments."""
