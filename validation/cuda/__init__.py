"""First measurement on a GPU: the layout of the state and the mapping to threads for a CUDA backend."""
