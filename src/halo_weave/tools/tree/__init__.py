"""The memory tree: what somebody decided to keep, under paths, with the chunks that it was about."""
