"""Byte-pair encoding: model, training, encoding."""
