"""What all backends share of a step: what it is given and holds, and what its code is made from."""
