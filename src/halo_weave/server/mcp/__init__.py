"""Offers the memory to other assistants over the Model Context Protocol."""
