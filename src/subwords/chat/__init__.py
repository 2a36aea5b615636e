"""Conversations to ids by a chat template, with the origin of every character."""
