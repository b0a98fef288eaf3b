// HostIdentity: a text that two processes share exactly where they can share memory: the same running kernel,
// the same network and process namespaces (memory is shared through /proc/PID/fd) and the same /dev/shm. Host
// names are not enough: containers of one machine may have one name, and a test's hosts are network
// namespaces of one kernel.
#pragma once

#include <string>

namespace shoal {

std::string HostIdentity();
std::string HostName();

}  // namespace shoal
