#include "core/base/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstring>
#include <string>

#include "absl/strings/escaping.h"

namespace shoal {
namespace {

struct Search {
  uintptr_t address;  // somewhere in the module that is looked for
  std::string id;
};

bool Contains(const dl_phdr_info& module, uintptr_t address) {
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = module.dlpi_phdr[i];
    const uintptr_t begin = module.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && address >= begin && address < begin + header.p_memsz) return true;
  }
  return false;
}

// A note is a header, its owner's name and its contents, each padded to four bytes.
std::string IdInNotes(const char* notes, size_t size) {
  const auto padded = [](size_t bytes) { return (bytes + 3) / 4 * 4; };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes, sizeof(header));
    const size_t whole = sizeof(header) + padded(header.n_namesz) + padded(header.n_descsz);
    if (whole > size) return "";
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
        std::memcmp(notes + sizeof(header), "GNU", 4) == 0) {
      return absl::BytesToHexString(
          absl::string_view(notes + sizeof(header) + padded(header.n_namesz), header.n_descsz));
    }
    notes += whole;
    size -= whole;
  }
  return "";
}

int Visit(dl_phdr_info* module, size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  if (!Contains(*module, search.address)) return 0;
  for (int i = 0; i < module->dlpi_phnum && search.id.empty(); ++i) {
    const ElfW(Phdr)& header = module->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    search.id = IdInNotes(reinterpret_cast<const char*>(module->dlpi_addr + header.p_vaddr), header.p_memsz);
  }
  return 1;
}

}  // namespace

absl::string_view BuildId() {
  static const std::string* const id = [] {
    Search search{reinterpret_cast<uintptr_t>(&Visit), ""};
    dl_iterate_phdr(Visit, &search);
    return new std::string(search.id);
  }();
  return *id;
}

}  // namespace shoal
