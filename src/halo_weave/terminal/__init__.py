"""The terminal interface: the chat, the other commands, and the input and output code that they share."""
