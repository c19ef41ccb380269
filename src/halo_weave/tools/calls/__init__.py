"""Calls of tools in a reply: finding them in a text that comes in pieces, and reading their arguments."""
