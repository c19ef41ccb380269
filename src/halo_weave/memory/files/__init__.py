"""Files beside the memory: locks released when their holder dies, temporary files, and verified caches."""
