// shim_launch.hpp: the kernel as a function of the host.
extern "C" {
void airshed_launch(const void* argument, int64_t blocks, int64_t threads, int64_t seed) { shim::launch(KERNEL, argument, blocks, threads, uint64_t(seed)); }
}
