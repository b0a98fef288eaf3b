// One line a flag: F(name, type, default, help). Sorted. Everything else about flags is derived.
#pragma once

#define SHOAL_FLAG_LIST(F)                                                                                  \
  F(SHOAL_ALGORITHMS, kString, "", "algorithms of collectives between processes: all-reduce=ring,...")      \
  F(SHOAL_AS_CPU, kBool, "0", "take the place of JAX's own cpu backend even where only cpu is asked for")   \
  F(SHOAL_COORDINATOR, kString, "",                                                                         \
    "HOST:PORT where process 0 listens; needed without mpirun or srun on many hosts")                       \
  F(SHOAL_DETERMINISTIC, kBool, "0", "fix the reduction order, so that results do not depend on processes") \
  F(SHOAL_DUMP, kString, "",                                                                                \
    "write each program at every stage of compilation, and failed collectives, into this directory")        \
  F(SHOAL_JOB, kString, "", "tells jobs apart that are started by SHOAL_NUM_PROCESSES on one host")         \
  F(SHOAL_LOG, kInt, "0", "log level: 0 warnings, 1 decisions of weight, 2 every choice")                   \
  F(SHOAL_MEMORY_LIMIT, kInt, "0", "bytes that one device may hold; 0 is the machine's memory")             \
  F(SHOAL_NUM_DEVICES, kInt, "1", "local devices of this process")                                          \
  F(SHOAL_NUM_PROCESSES, kInt, "1", "processes of the job, where no launcher tells")                        \
  F(SHOAL_PROCESS_ID, kInt, "0", "which process this is, from 0, where no launcher tells")                  \
  F(SHOAL_SHM, kBool, "1", "use shared memory between processes of one host")                               \
  F(SHOAL_THREADS, kInt, "0", "worker threads of this process; 0 is the cores it may use")                  \
  F(SHOAL_TIMELINE, kString, "", "write what every device did when into this file, a trace for Perfetto")   \
  F(SHOAL_TIMEOUT_S, kInt, "300", "seconds that a process may be missing from a collective")                \
  F(SHOAL_TRACE, kBool, "0", "print a line for every PJRT call with its arguments and time")                \
  F(SHOAL_TRANSPORT, kString, "auto", "transport between hosts: auto, mpi or ucx")                          \
  F(SHOAL_TUNING, kString, "", "file with a table of algorithms of collectives, written by shoal-tune")
