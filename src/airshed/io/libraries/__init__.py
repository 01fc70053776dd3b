"""Libraries of C that write one netCDF file from many ranks, where they are installed; both are used alike.

pnetcdf            PnetCDF: CDF-5 files, writes of many fields gathered into one
netcdf4_parallel   netCDF-4 over a parallel HDF5

Each has ``available()``, which returns None or why it cannot be used, and ``ParallelFile``, see ``file``.
"""
