"""The memory for other assistants, over the Model Context Protocol."""
