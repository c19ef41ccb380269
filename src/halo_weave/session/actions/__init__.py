"""What a person can do beside sending a message: pin, resurrect, delete, edit, capture, have the model reflect."""
