"""A made-up half year of conversations, for `halo-weave demo`: the script, and how a memory is filled with it."""
