# Airshed for a cluster or a workstation:
#   docker build -t airshed .
#   docker run --rm --shm-size=1g --user "$(id -u):$(id -g)" -v "$PWD:/work" airshed run west-europe -n 4
#   docker run --rm -it --shm-size=1g --network host --user "$(id -u):$(id -g)" -v "$PWD:/work" airshed serve --no-browser
# Kernels are compiled at first use, for the processor that runs them: the compiler belongs to the image.
FROM debian:bookworm-slim AS build

RUN apt-get update \
    && apt-get install -y --no-install-recommends make python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
COPY . /source
WORKDIR /source
RUN make web VENV=/opt/airshed \
    && /opt/airshed/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM debian:bookworm-slim

# OpenMPI, PnetCDF and parallel netCDF-4 are the second choice of MPI and of files; leave their line away to do without.
# Whoever the container runs as may compile: a volume on the folder of kernels keeps them from one container to the next.
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 g++ \
        openmpi-bin libpnetcdf0d libnetcdf-mpi-19 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home airshed \
    && install -d -m 1777 /var/cache/airshed \
    && install -d -o airshed -g airshed /work
COPY --from=build /opt/airshed /opt/airshed
ENV PATH=/opt/airshed/bin:$PATH AIRSHED_CACHE=/var/cache/airshed MPLCONFIGDIR=/tmp/matplotlib
USER airshed
WORKDIR /work
ENTRYPOINT ["airshed"]
CMD ["doctor"]
