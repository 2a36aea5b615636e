"""WordLevel: model, training and encoding."""
