"""First measurement on a GPU: which layout of the state and which mapping to threads the CUDA backend should take."""
