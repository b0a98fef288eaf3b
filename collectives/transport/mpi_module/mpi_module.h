// The C interface of libshoal_mpi.so, the only part of Shoal that is linked with MPI. It is built against the
// MPI that is there and loaded by mpi.cc when needed.
//
// Thread-safe. No call blocks but init, all_gather and finalize. Calls return 0 for "not yet" or "none", 1
// for "done", and -1 for an error, which last_error() then describes for the calling thread. After somebody,
// we or another library, has begun to finalise MPI, every call returns -1.
#pragma once

extern "C" {

enum { kShoalMpiVersion = 4 };

struct ShoalMpiTable {
  int version;
  const char* family;  // of MPIs that launch each other's programs: "Open MPI" or "MPICH"
  // Starts MPI if nobody has, and makes communicators of our own. Collective over MPI_COMM_WORLD.
  int (*init)(int* rank, int* size, int* started_here);
  int (*all_gather)(const void* mine, void* all, int bytes);
  // Bulk data; `request` is set for test and cancel.
  int (*send)(const void* data, long bytes, int to, int tag, void** request);
  int (*receive)(void* data, long bytes, int from, int tag, void** request);
  // Frames: small messages on a communicator of their own, in order.
  int (*send_frame)(const void* data, long bytes, int to, void** request);
  int (*probe_frame)(int* from, long* bytes);  // 1: the next frame; take_frame must follow
  // 0: it is under way still, `request` is set for test. One whose sender has died may never come.
  int (*take_frame)(void* data, long bytes, void** request);
  int (*test)(void** request);  // 1: ended and freed
  // The same for many at once: every call drives MPI's progress, and may give the core away, but once.
  // Requests are given by where they stand, `states` are what test would return of each.
  int (*test_some)(void** const* requests, int count, int* states);
  void (*cancel)(void** request);  // the memory is not used any more, as far as MPI lets us
  void (*finalize)();
  const char* (*last_error)();
};

// The one symbol of the module.
__attribute__((visibility("default"))) const ShoalMpiTable* ShoalMpiModule();
}
