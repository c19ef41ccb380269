"""Every other command: what can be asked of it (`…_arguments`), and what it does."""
