#include "collectives/transport/ucx_module/ucx_module.h"

#include <ucp/api/ucp.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

thread_local std::string error;

struct Worker;

// What the error handler of a connection needs.
struct Connection {
  Worker* worker;
  int peer;
  ucp_ep_h endpoint = nullptr;
};

struct Worker {
  ShoalUcxBroken broken;
  void* context;
  ucp_context_h ucp = nullptr;
  ucp_worker_h worker = nullptr;
  ucp_address_t* address = nullptr;
  size_t address_size = 0;
  std::map<int, std::unique_ptr<Connection>> connections;
};

int Fail(const std::string& text) {
  error = text;
  return -1;
}

int Check(ucs_status_t status, const char* call) {
  return status == UCS_OK ? 1 : Fail(std::string(call) + ": " + ucs_status_string(status));
}

// Of a request that may be under way.
int Started(ucs_status_ptr_t pointer, const char* call, void** request) {
  if (UCS_PTR_IS_ERR(pointer)) return Check(UCS_PTR_STATUS(pointer), call);
  if (pointer == nullptr) return 1;
  *request = pointer;
  return 0;
}

// Waits until a request has ended, at most for a second.
void Finish(ucp_worker_h worker, void* request) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (ucp_request_check_status(request) == UCS_INPROGRESS && std::chrono::steady_clock::now() < limit) {
    ucp_worker_progress(worker);
  }
  ucp_request_free(request);
}

void OnError(void* argument, ucp_ep_h, ucs_status_t status) {
  const auto* connection = static_cast<const Connection*>(argument);
  const Worker* worker = connection->worker;
  if (worker->broken != nullptr) worker->broken(worker->context, connection->peer, ucs_status_string(status));
}

void Close(void* handle) {
  std::unique_ptr<Worker> worker(static_cast<Worker*>(handle));
  worker->broken = nullptr;
  // What was sent leaves; then the connections are dropped without a word, for a peer may be too busy to
  // answer.
  ucp_request_param_t parameters = {};
  std::vector<void*> flushing;
  for (auto& [peer, connection] : worker->connections) {
    const ucs_status_ptr_t flush = ucp_ep_flush_nbx(connection->endpoint, &parameters);
    if (UCS_PTR_IS_PTR(flush)) flushing.push_back(flush);
  }
  for (void* flush : flushing) Finish(worker->worker, flush);
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  parameters.flags = UCP_EP_CLOSE_FLAG_FORCE;
  for (auto& [peer, connection] : worker->connections) {
    const ucs_status_ptr_t closing = ucp_ep_close_nbx(connection->endpoint, &parameters);
    if (UCS_PTR_IS_PTR(closing)) Finish(worker->worker, closing);
  }
  if (worker->address != nullptr) ucp_worker_release_address(worker->worker, worker->address);
  if (worker->worker != nullptr) ucp_worker_destroy(worker->worker);
  if (worker->ucp != nullptr) ucp_cleanup(worker->ucp);
}

int MakeWorker(Worker* worker) {
  ucp_config_t* config = nullptr;
  if (Check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read") < 0) return -1;
  ucp_params_t parameters = {};
  parameters.field_mask = UCP_PARAM_FIELD_FEATURES;
  parameters.features = UCP_FEATURE_TAG;
  const ucs_status_t status = ucp_init(&parameters, config, &worker->ucp);
  ucp_config_release(config);
  if (Check(status, "ucp_init") < 0) return -1;
  ucp_worker_params_t worker_parameters = {};
  worker_parameters.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker_parameters.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  if (Check(ucp_worker_create(worker->ucp, &worker_parameters, &worker->worker), "ucp_worker_create") < 0)
    return -1;
  return Check(ucp_worker_get_address(worker->worker, &worker->address, &worker->address_size),
               "ucp_worker_get_address");
}

int Open(ShoalUcxBroken broken, void* context, void** handle) {
  auto worker = std::make_unique<Worker>(Worker{broken, context});
  if (MakeWorker(worker.get()) < 0) {
    Close(worker.release());
    return -1;
  }
  *handle = worker.release();
  return 1;
}

int Address(void* handle, const void** bytes, long* size) {
  const auto* worker = static_cast<const Worker*>(handle);
  *bytes = worker->address;
  *size = static_cast<long>(worker->address_size);
  return 1;
}

int Connect(void* handle, int peer, const void* address) {
  auto* worker = static_cast<Worker*>(handle);
  auto connection = std::make_unique<Connection>(Connection{worker, peer});
  ucp_ep_params_t parameters = {};
  parameters.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                          UCP_EP_PARAM_FIELD_ERR_HANDLER;
  parameters.address = static_cast<const ucp_address_t*>(address);
  parameters.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  parameters.err_handler = {OnError, connection.get()};
  if (Check(ucp_ep_create(worker->worker, &parameters, &connection->endpoint), "ucp_ep_create") < 0)
    return -1;
  worker->connections[peer] = std::move(connection);
  return 1;
}

int Send(void* handle, int peer, unsigned long tag, const void* data, long bytes, void** request) {
  auto* worker = static_cast<Worker*>(handle);
  const ucp_request_param_t parameters = {};
  return Started(ucp_tag_send_nbx(worker->connections.at(peer)->endpoint, data, bytes, tag, &parameters),
                 "ucp_tag_send_nbx", request);
}

int Receive(void* handle, unsigned long tag, void* data, long bytes, void** request) {
  auto* worker = static_cast<Worker*>(handle);
  ucp_request_param_t parameters = {};
  parameters.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL;  // so that test() tells of errors in all cases
  return Started(ucp_tag_recv_nbx(worker->worker, data, bytes, tag, ~0ul, &parameters), "ucp_tag_recv_nbx",
                 request);
}

int Probe(void* handle, unsigned long tag, unsigned long mask, unsigned long* found, long* bytes,
          void** message) {
  ucp_tag_recv_info_t info;
  const ucp_tag_message_h probed =
      ucp_tag_probe_nb(static_cast<Worker*>(handle)->worker, tag, mask, /*remove=*/1, &info);
  if (probed == nullptr) return 0;
  *found = info.sender_tag;
  *bytes = static_cast<long>(info.length);
  *message = probed;
  return 1;
}

int Take(void* handle, void* message, void* data, long bytes, void** request) {
  ucp_request_param_t parameters = {};
  parameters.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  return Started(ucp_tag_msg_recv_nbx(static_cast<Worker*>(handle)->worker, data, bytes,
                                      static_cast<ucp_tag_message_h>(message), &parameters),
                 "ucp_tag_msg_recv_nbx", request);
}

int Progress(void* handle) { return ucp_worker_progress(static_cast<Worker*>(handle)->worker) != 0; }

int Test(void** request) {
  const ucs_status_t status = ucp_request_check_status(*request);
  if (status == UCS_INPROGRESS) return 0;
  ucp_request_free(*request);
  *request = nullptr;
  return Check(status, "a transfer");
}

void Cancel(void* handle, void** request) {
  ucp_worker_h worker = static_cast<Worker*>(handle)->worker;
  ucp_request_cancel(worker, *request);
  Finish(worker, *request);
  *request = nullptr;
}

const char* LastError() { return error.c_str(); }

constexpr ShoalUcxTable kTable = {kShoalUcxVersion, Open,  Close, Address,  Connect, Send,
                                  Receive,          Probe, Take,  Progress, Test,    Cancel,
                                  LastError};

}  // namespace

const ShoalUcxTable* ShoalUcxModule() { return &kTable; }
