// Keeps pages of other origins from driving a server on this machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/lenslet/serve/http/http.h"

namespace lenslet::serve {

/// The name in a Host field, in lower case and without port: "127.0.0.1", "::1", "example.org"; empty if it is invalid.
std::string host_name(std::string_view host);

/// Throws UsageError unless each of `names`, the value of --allow-host, can stand in a Host field: without a port.
void check_host_names(const std::vector<std::string>& names);

/// Why a request must not be served; empty if it may. A page of another origin sends its own name in Origin, or, once
/// its name was pointed to this machine (DNS rebinding), in Host. So Host must be an IP address, localhost or one of
/// `names`, and Origin, where it is sent, the same authority as Host.
std::string foreign(const HttpHead& head, const std::vector<std::string>& names);

}  // namespace lenslet::serve
