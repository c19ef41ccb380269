"""The program in a terminal: the chat, one command per task, and what they share for input and output."""
