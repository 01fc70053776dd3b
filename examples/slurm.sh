#!/bin/sh
# A run on several nodes: sbatch examples/slurm.sh west-europe
#SBATCH --job-name=airshed
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --cpus-per-task=4
#SBATCH --time=02:00:00
#SBATCH --signal=TERM@120
#SBATCH --output=%x-%j.log
set -eu

CASE=${1:?name a case: sbatch examples/slurm.sh CASE}
OUTPUT=${2:-runs/$(basename "$CASE")-$SLURM_JOB_ID}

# Each node compiles the kernels once into its own disk: processors may differ between nodes, and a shared folder would be
# asked by all ranks at once.
export AIRSHED_CACHE="${TMPDIR:-/tmp}/airshed-kernels-$USER"

# Slurm gives each rank its cores; a rank takes as many threads as it has cores. --mpi=pmi2 speaks to the MPICH of the
# package mpich; with a cluster's OpenMPI, load its module, set MPI4PY_MPIABI=openmpi and take --mpi=pmix.
# Slurm sends SIGTERM two minutes before the end of the job's time: the run stops at a step boundary, and the same command
# with the same folder goes on.
exec srun --mpi="${AIRSHED_PMI:-pmi2}" --cpus-per-task="$SLURM_CPUS_PER_TASK" --cpu-bind=cores --kill-on-bad-exit=1 \
    airshed run "$CASE" --output "$OUTPUT" --resume
