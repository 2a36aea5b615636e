"""Ids to text: whole, in a stream, and with the characters of each id."""
