#include "collectives/transport/rdma_device.h"

#include <filesystem>
#include <system_error>

namespace shoal {

bool HasRdmaDevice() {
  std::error_code error;
  const std::filesystem::directory_iterator devices("/sys/class/infiniband", error);
  return !error && devices != std::filesystem::directory_iterator();
}

}  // namespace shoal
