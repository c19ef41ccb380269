"""Files beside the memory: locks that die with their holder, files being made, and caches that are sound or unused."""
