#include "launcher/rendezvous/host_identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"

namespace shoal {
namespace {

std::string FirstLine(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::string HostName() {
  char name[256] = "";
  if (gethostname(name, sizeof(name) - 1) != 0 || *name == '\0') return "localhost";
  return name;
}

std::string HostIdentity() {
  struct stat network = {};
  struct stat processes = {};
  struct stat memory = {};
  stat("/proc/self/ns/net", &network);
  stat("/proc/self/ns/pid", &processes);
  stat("/dev/shm", &memory);
  std::string boot = FirstLine("/proc/sys/kernel/random/boot_id");
  // Without a readable boot id the name has to do.
  if (boot.empty()) boot = HostName();
  return absl::StrCat(boot, "/", network.st_ino, "/", processes.st_ino, "/", memory.st_dev);
}

}  // namespace shoal
