#!/bin/sh
# A run on several nodes: . .venv/bin/activate && sbatch examples/slurm.sh CASE [FOLDER]
# It goes on where it stopped, in the same job when the time is over or a node is lost, or by another job with the same folder.
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
    echo "there is no program airshed on this node: activate its environment, which all nodes see, before sbatch" >&2
    exit 1
}
STOPPED=130 # what a run that was asked to stop ends with

# Each node compiles the kernels once into its own disk: processors may differ between nodes, and a shared folder would be
# asked by all ranks at once.
AIRSHED_CACHE="${TMPDIR:-/tmp}/airshed-kernels-$(id -u)"
export AIRSHED_CACHE

# Slurm gives each rank its cores; a rank takes as many threads as it has cores. --mpi=pmi2 speaks to the MPICH of the
# package mpich; for a cluster's OpenMPI load its module and set AIRSHED_PMI=pmix.
# Slurm sends SIGTERM to the ranks two minutes before the end of the job's time (or up to a minute earlier): they stop
# after the step with a restart, from which the job goes on. Without a new one it would never come further.
restarts() { ls "$FOLDER/restart" 2>/dev/null || true; }
before=$(restarts)
code=0
srun --mpi="${AIRSHED_PMI:-pmi2}" --cpus-per-task="${SLURM_CPUS_PER_TASK:-1}" --cpu-bind=cores --kill-on-bad-exit=1 \
    airshed run "$CASE" --output "$FOLDER" --resume || code=$?

if [ "$code" -eq "$STOPPED" ]; then
    if [ "$(restarts)" = "$before" ]; then
        echo "no step was finished in this time; give the job more" >&2
    else
        echo "back into the queue, to go on from $FOLDER"
        scontrol requeue "$SLURM_JOB_ID"
    fi
fi
exit "$code"
