"""The compiled tier: hot loops as Numba kernels, arrays in, integers out, no str and no files."""
