"""Pure functions on text: characters out of bytes, stop strings, chat templates."""
