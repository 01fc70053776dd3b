// shim_launch.hpp: the kernel as a function of the host.
extern "C" {
void airshed_launch(const Step* step, int64_t blocks, int64_t threads, int64_t seed) { shim::launch(airshed_step, step, blocks, threads, uint64_t(seed)); }
}
