// The C interface of libshoal_ucx.so, the only part of Shoal that is linked with UCX. It is built against the
// UCX that is there and loaded by ucx_wire.cc when needed.
//
// A worker is used by one thread at a time. No call blocks, but that close waits up to a second for what was
// sent. Calls return 0 for "not yet" or "none", 1 for "done", and -1 for an error, which last_error() then
// describes for the calling thread.
#pragma once

extern "C" {

enum { kShoalUcxVersion = 1 };

// Tells that the connection to `peer` is broken, from within progress or send.
typedef void (*ShoalUcxBroken)(void* context, int peer, const char* why);

struct ShoalUcxTable {
  int version;
  int (*open)(ShoalUcxBroken broken, void* context, void** worker);
  void (*close)(void* worker);
  // The bytes by which others connect; valid until close.
  int (*address)(void* worker, const void** bytes, long* size);
  int (*connect)(void* worker, int peer, const void* address);
  // `request` is set where the call returns 0, for test and cancel.
  int (*send)(void* worker, int peer, unsigned long tag, const void* data, long bytes, void** request);
  int (*receive)(void* worker, unsigned long tag, void* data, long bytes, void** request);
  // 1: a message whose tag has the bits of `tag` where `mask` has; take must follow.
  int (*probe)(void* worker, unsigned long tag, unsigned long mask, unsigned long* found, long* bytes,
               void** message);
  int (*take)(void* worker, void* message, void* data, long bytes, void** request);
  int (*progress)(void* worker);
  int (*test)(void** request);                   // 1: ended and freed
  void (*cancel)(void* worker, void** request);  // the memory is not used any more
  const char* (*last_error)();
};

// The one symbol of the module.
__attribute__((visibility("default"))) const ShoalUcxTable* ShoalUcxModule();
}
