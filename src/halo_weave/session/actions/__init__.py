"""The actions of a person other than sending a message: pin, resurrect, delete, edit, capture, ask to reflect."""
