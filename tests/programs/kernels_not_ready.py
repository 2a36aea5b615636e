"""Print the names of the kernels that `warmup` leaves to compile."""

import subwords
from subwords.kernels.jit import every_kernel

subwords.warmup()
kernels = every_kernel()
assert len(kernels) > 10
print(sorted(kernel.name for kernel in kernels if kernel._bound is None))
