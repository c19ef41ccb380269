"""The living context of a window: what shines, what fades, and what comes back; all of it pure."""
