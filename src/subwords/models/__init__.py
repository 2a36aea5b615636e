"""The four model families: model, segmenter and training of each, and what they share."""
