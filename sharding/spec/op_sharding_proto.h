// OpSharding as bytes of XLA's proto (xla_data.proto), which PJRT's shardings extension hands to JAX.
#pragma once

#include <string>

#include "sharding/spec/gspmd.h"

namespace shoal {

std::string SerializeOpSharding(const OpSharding& sharding);

}  // namespace shoal
