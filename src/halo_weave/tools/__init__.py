"""What the AI can do by itself: keep notes, keep a tree of memories, and search everything ever said."""
