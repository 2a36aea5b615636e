"""Byte-pair encoding: model, training and encoding."""
