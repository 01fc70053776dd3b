# Airshed for a cluster or a workstation: docker build -t airshed .   docker run -v "$PWD/runs:/home/airshed/runs" airshed run west-europe
# Kernels are compiled at first use, for the processor that runs them: the compiler belongs to the image.
FROM debian:bookworm-slim AS build

RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
COPY . /source
WORKDIR /source
RUN python3 -m venv /opt/airshed \
    && /opt/airshed/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements.lock \
    && /opt/airshed/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM debian:bookworm-slim

# OpenMPI, PnetCDF and parallel netCDF-4 are the second choice of MPI and of files; leave their line away to do without.
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 g++ \
        openmpi-bin libpnetcdf0d libnetcdf-mpi-19 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home airshed
COPY --from=build /opt/airshed /opt/airshed
ENV PATH=/opt/airshed/bin:$PATH
USER airshed
WORKDIR /home/airshed
ENTRYPOINT ["airshed"]
CMD ["doctor"]
