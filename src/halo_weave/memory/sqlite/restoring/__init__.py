"""Records of another memory on their way into this one: prepared beside it, then copied in by one transaction."""
