"""Tokenizer files of other libraries: conversion, and comparison with the library itself."""
