#!/bin/sh
# A run on several nodes: . .venv/bin/activate && sbatch examples/slurm.sh CASE [FOLDER]
# The run resumes where it stopped: in the same job after the time limit or the loss of a node, or in another job with the same folder.
#SBATCH --job-name=airshed
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --cpus-per-task=4
#SBATCH --time=02:00:00
#SBATCH --signal=TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log
set -eu

CASE=${1:?name a case: sbatch examples/slurm.sh CASE}
FOLDER=${2:-runs/$(basename "$CASE" .toml)-$SLURM_JOB_ID}
command -v airshed >/dev/null || {
    echo "airshed is not installed on this node: before sbatch, activate an environment that all nodes share" >&2
    exit 1
}
STOPPED=130 # exit code of a run that was interrupted

# Each node compiles the kernels once onto its own disk: processors may differ between nodes, and all ranks would read a
# shared folder at the same time.
AIRSHED_CACHE="${TMPDIR:-/tmp}/airshed-kernels-$(id -u)"
export AIRSHED_CACHE

# Slurm binds each rank to its cores, and a rank uses as many threads as it has cores. --mpi=pmi2 is for the MPICH of the
# package mpich; for a cluster's OpenMPI load its module and set AIRSHED_PMI=pmix.
# Slurm sends SIGTERM to the ranks two minutes before the end of the job's time (or up to a minute earlier): they stop
# after the step and write a restart, from which the job continues. Without a new restart it would make no progress.
restarts() { ls "$FOLDER/restart" 2>/dev/null || true; }
before=$(restarts)
code=0
srun --mpi="${AIRSHED_PMI:-pmi2}" --cpus-per-task="${SLURM_CPUS_PER_TASK:-1}" --cpu-bind=cores --kill-on-bad-exit=1 \
    airshed run "$CASE" --output "$FOLDER" --resume || code=$?

if [ "$code" -eq "$STOPPED" ]; then
    if [ "$(restarts)" = "$before" ]; then
        echo "no step was completed within the time limit; increase it" >&2
    else
        echo "requeued, to continue from $FOLDER"
        scontrol requeue "$SLURM_JOB_ID"
    fi
fi
exit "$code"
