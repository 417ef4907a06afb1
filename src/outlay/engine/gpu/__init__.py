"""The loop on a GPU: the kernel, its compilation, its random numbers."""
