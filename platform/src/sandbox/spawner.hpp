// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace platform::sandbox {

/// The body of the spawner process: small, single-threaded and without secrets, so that forking it is
/// cheap and safe. `socket` is a SOCK_SEQPACKET: the first message in configures it (run directory,
/// code directory, cgroups), it answers with its abilities; then come start requests. Returns when the
/// server is gone.
int run_spawner(int socket);

}  // namespace platform::sandbox
