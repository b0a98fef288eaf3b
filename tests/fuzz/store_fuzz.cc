// libFuzzer target: what comes over the network to the job's store, to its clients, and to a process that
// joins. Any bytes give an answer or an error with a message, soon, and the server goes on serving the
// others.
#include <fuzzer/FuzzedDataProvider.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "launcher/rendezvous/introduction.h"
#include "launcher/store/memory_store.h"
#include "launcher/store/tcp_server.h"
#include "launcher/store/tcp_store.h"

namespace shoal {
namespace {

void Check(bool good) {
  if (!good) std::abort();
}

void CheckStatus(const absl::Status& status) { Check(status.ok() || !status.message().empty()); }

void ReadAsEverything(const std::string& bytes) {
  const absl::StatusOr<StoreRequest> request = DecodeRequest(bytes);
  CheckStatus(request.status());
  if (request.ok()) {
    Check(EncodeRequest(request->op, request->timeout_ms, request->key, request->value) == bytes);
  }
  CheckStatus(DecodeReply(bytes).status());
  const auto list = DecodeList(bytes);
  CheckStatus(list.status());
  if (list.ok()) Check(EncodeList(*list) == bytes);
}

// A client whose server sends this.
void Receive(const std::string& bytes) {
  int ends[2];
  Check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
  Socket socket(ends[0], "server");
  (void)!write(ends[1], bytes.data(), bytes.size());
  close(ends[1]);
  const absl::Time soon = absl::Now() + absl::Seconds(5);
  for (int i = 0; i < 100; ++i) {
    const absl::StatusOr<std::string> frame = socket.ReceiveFrame(soon);
    if (!frame.ok()) {
      Check(absl::IsUnavailable(frame.status()));
      break;
    }
    ReadAsEverything(*frame);
  }
}

// Strangers and processes of the job that send this; the server is another one now and then, for it keeps
// what is set.
void Serve(const std::string& bytes, bool greets) {
  static std::unique_ptr<TcpServer> server;
  static std::unique_ptr<TcpStore> healthy;
  static int served = 0;
  if (served++ % 500 == 0) {
    healthy.reset();
    server = *TcpServer::Start("job", 0, absl::ZeroDuration());
    healthy = *TcpStore::Connect({absl::StrCat("127.0.0.1:", server->port())}, "job", absl::Seconds(10));
  }
  const absl::Time soon = absl::Now() + absl::Seconds(5);
  Socket socket = *Socket::Connect(absl::StrCat("127.0.0.1:", server->port()), soon);
  std::string all;
  if (greets) AppendFrame(EncodeRequest(StoreOp::kHello, 0, "job", ""), &all);
  all += bytes;
  (void)!send(socket.file(), all.data(), all.size(), MSG_NOSIGNAL);
  shutdown(socket.file(), SHUT_WR);
  while (socket.ReceiveFrame(soon).ok()) continue;
  const std::string key = absl::StrCat("healthy/", served);
  Check(absl::Now() < soon);
  const absl::Status set = healthy->Set(key, "value");
  Check(set.ok() || (greets && absl::IsAlreadyExists(set)));
  if (set.ok()) Check(*healthy->TryGet(key) == "value");
}

// One that joins, where another says this of itself or process 0 of all.
void Join(const std::string& bytes, bool leads) {
  MemoryStore store;
  Check(store.Set(leads ? "process/1" : "topology", bytes).ok());
  const Introduction mine = Introduction::OfThisProcess(1, 2);
  const auto topology = Introduce(store, ProcessId(leads ? 0 : 1), mine, absl::ZeroDuration());
  CheckStatus(topology.status());
  if (!topology.ok()) return;
  Check(topology->process_count() == 2);
  for (const ProcessInfo& process : topology->processes) Check(process.num_devices > 0);
}

}  // namespace
}  // namespace shoal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider input(data, size);
  const int way = input.ConsumeIntegralInRange(0, 5);
  std::string bytes;
  // Frames, so that the fuzzer need not find out how long they are, and what is no frame.
  if (way < 3) {
    while (input.remaining_bytes() > 0 && input.ConsumeBool()) {
      shoal::AppendFrame(input.ConsumeRandomLengthString(200), &bytes);
    }
  }
  bytes += input.ConsumeRemainingBytesAsString();
  if (way < 2) {
    shoal::Serve(bytes, /*greets=*/way == 1);
  } else if (way == 2) {
    shoal::Receive(bytes);
  } else if (way == 3) {
    shoal::ReadAsEverything(bytes);
  } else {
    shoal::Join(bytes, /*leads=*/way == 4);
  }
  return 0;
}
