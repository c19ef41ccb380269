"""One window: its state and saved form, its events and journal, and changes made by others."""
