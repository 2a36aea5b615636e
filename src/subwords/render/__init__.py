"""Tokens for the eye: colors in terminals, HTML in notebooks and pages. Pure functions of str, without files."""
