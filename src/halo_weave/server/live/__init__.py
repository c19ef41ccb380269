"""Live updates for open pages over WebSockets: a window's events, and news about the whole program."""
