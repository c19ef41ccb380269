"""What a page is told while it is open: a window's events, and news of the whole program, over WebSockets."""
