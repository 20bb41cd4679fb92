// Refuses requests that a page of another origin sends through a browser on this machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/lenslet/serve/http/http.h"

namespace lenslet::serve {

/// The name in a Host field, in lower case and without port: "127.0.0.1", "::1", "example.org"; empty if it is invalid.
std::string host_name(std::string_view host);

/// Throws UsageError unless each of `names`, the value of --allow-host, can stand in a Host field: without a port.
void check_host_names(const std::vector<std::string>& names);

/// The reason to refuse a request; empty if there is none. A page of another origin sends its own name in Origin, or in
/// Host if the name resolves to this machine (DNS rebinding). So Host must be an IP address, localhost or one of
/// `names`, and Origin, if it is sent, must have the authority of Host.
std::string foreign(const HttpHead& head, const std::vector<std::string>& names);

}  // namespace lenslet::serve
