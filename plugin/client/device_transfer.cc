#include "plugin/client/device_transfer.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collectives/communicator/collective_world.h"
#include "core/base/status.h"
#include "plugin/client/client.h"
#include "plugin/client/strided_copy.h"

namespace shoal {
namespace {

// Above the launch ids of programs, which have 32 bits, and above the runs that a client counts from 2^40 on
// (client.cc): a transfer and a program of the same two devices share a communicator.
constexpr int64_t kFirstTransferRun = int64_t{1} << 41;
constexpr PartitionId kSender(0), kReceiver(1);

// A broadcast from one of two. Lives until its future is set.
struct Transfer {
  std::shared_ptr<Communicator> communicator;
  CollectiveOp op;
  RunId run{0};
  std::shared_ptr<DeviceMemory> memory;
  const void* input = nullptr;
  void* output = nullptr;
};

absl::StatusOr<std::shared_ptr<Transfer>> MakeTransfer(const PjRtClient& client, const Shape& shape,
                                                       DeviceId source, DeviceId target, int64_t key) {
  const std::string name = absl::StrCat("transfer ", key, " of ", shape.ToString(), " from device ",
                                        source.value(), " to ", target.value());
  if (client.world() == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(name, ": this client has no way to communicate"));
  }
  auto transfer = std::make_shared<Transfer>();
  SHOAL_ASSIGN_OR_RETURN(transfer->communicator, client.world()->GetCommunicator({source, target}));
  transfer->run = RunId(kFirstTransferRun + key);
  transfer->op.kind = CollectiveKind::kCollectiveBroadcast;
  transfer->op.arrays = {CollectiveArray{ElementType::kU8, shape.ByteSize()}};
  transfer->op.groups = {{kSender, kReceiver}};
  transfer->op.name = name;
  return transfer;
}

Future Start(const std::shared_ptr<Transfer>& transfer, PartitionId self) {
  transfer->input = transfer->output = transfer->memory->data();
  CollectiveCall call;
  call.run = transfer->run;
  call.self = self;
  call.inputs = absl::MakeConstSpan(&transfer->input, 1);
  call.outputs = absl::MakeConstSpan(&transfer->output, 1);
  Future done = transfer->communicator->Start(transfer->op, call);
  done.Then([transfer](const absl::Status&) {});
  return done;
}

// The receiver knows the shape alone, and what it makes is row-major.
absl::StatusOr<std::unique_ptr<PjRtBuffer>> RowMajorCopy(PjRtBuffer& buffer) {
  auto copied = std::make_shared<Promise>();
  SHOAL_ASSIGN_OR_RETURN(
      auto rows, PjRtBuffer::Allocate(buffer.shape(), buffer.memory_space(), copied->future(),
                                      absl::StrCat("rows of ", buffer.shape().ToString(), " to be sent")));
  SHOAL_ASSIGN_OR_RETURN(void* const target, rows->UnsafePointer());
  buffer.ToHost(target, RowMajorByteStrides(buffer.shape())).Then([copied](const absl::Status& status) {
    copied->Set(status);
  });
  return rows;
}

}  // namespace

absl::StatusOr<Future> SendToDevice(PjRtBuffer& buffer, DeviceId target, int64_t key) {
  if (!buffer.minor_to_major().empty()) {
    SHOAL_ASSIGN_OR_RETURN(const std::unique_ptr<PjRtBuffer> rows, RowMajorCopy(buffer));
    return SendToDevice(*rows, target, key);
  }
  SHOAL_ASSIGN_OR_RETURN(auto transfer,
                         MakeTransfer(*buffer.client(), buffer.shape(), buffer.device()->id(), target, key));
  SHOAL_ASSIGN_OR_RETURN(PjRtBuffer::Use use, buffer.AcquireUse(transfer->op.name));
  transfer->memory = std::move(use.memory);
  auto sent = std::make_shared<Promise>();
  Future done = sent->future();
  PjRtClient* const client = buffer.client();
  client->transfers().Start();
  use.definition.Then([transfer, sent](const absl::Status& status) {
    if (!status.ok()) {
      transfer->communicator->Abort(transfer->run, status);
      sent->Set(status);
      return;
    }
    Start(transfer, kSender).Then([sent](const absl::Status& status) { sent->Set(status); });
  });
  buffer.EndUse(done);
  done.Then([client](const absl::Status&) { client->transfers().End(); });
  return done;
}

absl::StatusOr<std::unique_ptr<PjRtBuffer>> ReceiveFromDevice(const Shape& shape, PjRtDevice* device,
                                                              DeviceId source, int64_t key) {
  SHOAL_ASSIGN_OR_RETURN(auto transfer, MakeTransfer(*device->client(), shape, source, device->id(), key));
  SHOAL_ASSIGN_OR_RETURN(transfer->memory,
                         DeviceMemory::Allocate(device->allocator(), shape.ByteSize(), transfer->op.name));
  Future done = Start(transfer, kReceiver);
  return std::make_unique<PjRtBuffer>(shape, device->default_memory_space(), transfer->memory,
                                      std::move(done));
}

}  // namespace shoal
