// Whether data goes to another host's memory without its processor.
#pragma once

namespace shoal {

// Whether this host has a network device that reads and writes memory by itself. Without one, an outside
// library's own handshake for large data is to be avoided: over TCP the answer queues behind all data that
// goes the other way, so that one direction waits for the end of the other. Our own handshake, made before
// any data goes, is enough. Two hosts of two processes over 1 Gbit/s, 32 MiB, with it and without: all-reduce
// 1.8 and 1.35 times what the wire needs.
bool HasRdmaDevice();

}  // namespace shoal
