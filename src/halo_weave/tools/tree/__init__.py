"""The memory tree: content that someone chose to keep, stored under paths, with the chunks it relates to."""
