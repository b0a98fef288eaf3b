#include "collectives/transport/mpi_module/mpi_module.h"

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

namespace {

// Guards everything below, and MPI itself against our own threads while it is being finalised.
std::mutex mutex;
bool open = false;
MPI_Comm frames = MPI_COMM_NULL, bulk = MPI_COMM_NULL;
MPI_Message probed = MPI_MESSAGE_NULL;
thread_local std::string error;

int Fail(const std::string& text) {
  error = text;
  return -1;
}

// 1 if `code` is success.
int Check(int code, const char* call) {
  if (code == MPI_SUCCESS) return 1;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return Fail(std::string(call) + ": " + std::string(text, length));
}

// MPI_Finalize deletes the attributes of MPI_COMM_SELF before anything else, whoever calls it: we close here.
int OnFinalize(MPI_Comm, int, void*, void*) {
  std::lock_guard<std::mutex> lock(mutex);
  open = false;
  return MPI_SUCCESS;
}

int Join(int* rank, int* size) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_MULTIPLE) {
    return Fail("MPI was started without MPI_THREAD_MULTIPLE, which Shoal needs beside other users of MPI");
  }
  for (MPI_Comm* comm : {&frames, &bulk}) {
    if (Check(MPI_Comm_dup(MPI_COMM_WORLD, comm), "MPI_Comm_dup") < 0) return -1;
    MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
  }
  MPI_Comm_rank(frames, rank);
  MPI_Comm_size(frames, size);
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, OnFinalize, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
  std::lock_guard<std::mutex> lock(mutex);
  open = true;
  return 1;
}

int Init(int* rank, int* size, int* started_here) {
  int initialized = 0, finalized = 0, level = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (finalized) return Fail("MPI has been finalised already");
  *started_here = !initialized;
  if (!initialized &&
      Check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread") < 0) {
    return -1;
  }
  return Join(rank, size);
}

int AllGather(const void* mine, void* all, int bytes) {
  return Check(MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, bulk), "MPI_Allgather");
}

// Runs `call` unless MPI is closed.
template <typename Call>
int Guarded(const Call& call) {
  std::lock_guard<std::mutex> lock(mutex);
  return open ? call() : Fail("MPI has been finalised");
}

int Send(const void* data, long bytes, int to, int tag, void** request) {
  return Guarded([&] {
    auto* handle = new MPI_Request;
    *request = handle;
    return Check(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, bulk, handle), "MPI_Isend");
  });
}

int Receive(void* data, long bytes, int from, int tag, void** request) {
  return Guarded([&] {
    auto* handle = new MPI_Request;
    *request = handle;
    return Check(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag, bulk, handle), "MPI_Irecv");
  });
}

int SendFrame(const void* data, long bytes, int to, void** request) {
  return Guarded([&] {
    auto* handle = new MPI_Request;
    *request = handle;
    return Check(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, 0, frames, handle), "MPI_Isend");
  });
}

int ProbeFrame(int* from, long* bytes) {
  return Guarded([&] {
    int found = 0, count = 0;
    MPI_Status status;
    if (Check(MPI_Improbe(MPI_ANY_SOURCE, 0, frames, &found, &probed, &status), "MPI_Improbe") < 0) return -1;
    if (!found) return 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    *from = status.MPI_SOURCE;
    *bytes = count;
    return 1;
  });
}

int TakeFrame(void* data, long bytes, void** request) {
  return Guarded([&] {
    MPI_Request handle = MPI_REQUEST_NULL;
    int done = 0;
    if (Check(MPI_Imrecv(data, static_cast<int>(bytes), MPI_BYTE, &probed, &handle), "MPI_Imrecv") < 0 ||
        Check(MPI_Test(&handle, &done, MPI_STATUS_IGNORE), "MPI_Test") < 0) {
      return -1;
    }
    *request = done ? nullptr : new MPI_Request(handle);
    return done ? 1 : 0;
  });
}

int Test(void** request) {
  return Guarded([&] {
    auto* handle = static_cast<MPI_Request*>(*request);
    int done = 0;
    const int code = Check(MPI_Test(handle, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (code > 0 && !done) return 0;
    delete handle;
    *request = nullptr;
    return code;
  });
}

int TestSome(void** const* requests, int count, int* states) {
  return Guarded([&] {
    std::vector<MPI_Request> handles;
    for (int i = 0; i < count; ++i) handles.push_back(*static_cast<MPI_Request*>(*requests[i]));
    std::vector<int> indices(count);
    std::vector<MPI_Status> statuses(count);
    int ended = 0;
    const int code = MPI_Testsome(count, handles.data(), &ended, indices.data(), statuses.data());
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) return Check(code, "MPI_Testsome");
    for (int k = 0; k < (ended == MPI_UNDEFINED ? 0 : ended); ++k) {
      const int i = indices[k];
      states[i] = code == MPI_SUCCESS ? 1 : Check(statuses[k].MPI_ERROR, "MPI_Testsome");
      delete static_cast<MPI_Request*>(*requests[i]);
      *requests[i] = nullptr;
    }
    return 1;
  });
}

// A receive that has begun cannot be cancelled and ends when its data is here; a send has no cancel in
// practice. We wait for both a little, since the memory is about to be given away, and give up if the peer is
// gone.
void Cancel(void** request) {
  Guarded([&] {
    auto* handle = static_cast<MPI_Request*>(*request);
    MPI_Cancel(handle);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    int done = 0;
    while (!done && std::chrono::steady_clock::now() < limit) {
      if (MPI_Test(handle, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
    }
    if (done) delete handle;
    *request = nullptr;
    return 1;
  });
}

void Finalize() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!finalized) MPI_Finalize();
}

const char* LastError() { return error.c_str(); }

#ifdef OPEN_MPI
constexpr char kFamily[] = "Open MPI";
#else
constexpr char kFamily[] = "MPICH";  // and what descends from it: Intel MPI, MVAPICH
#endif

constexpr ShoalMpiTable kTable = {kShoalMpiVersion, kFamily,   Init, AllGather, Send,   Receive,  SendFrame,
                                  ProbeFrame,       TakeFrame, Test, TestSome,  Cancel, Finalize, LastError};

}  // namespace

const ShoalMpiTable* ShoalMpiModule() { return &kTable; }
