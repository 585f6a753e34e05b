# Tests of the Slurm shim and backend.
