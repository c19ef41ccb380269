"""`bench scale`: measures the memory with up to a million made-up chunks, in separate processes."""
