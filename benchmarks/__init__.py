"""What `airshed bench` measures, and counts: the speed of a run, chemistry, input and output, ranks, redistribution."""
