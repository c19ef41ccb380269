"""One window: its state and what is saved of it, its events and journal, and changes that come from elsewhere."""
