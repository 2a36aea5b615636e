"""One module per engine, each run in a process of its own: `python -m benchmarks.engines.<name>`."""
