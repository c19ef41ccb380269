"""Presets: named settings for sampling and prompts that any window can choose, and those of other programs."""
