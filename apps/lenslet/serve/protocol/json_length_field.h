// A field of HTTP that the protocol's extension for binary data defines.
#pragma once

namespace lenslet::serve {

/// The field with the length of the JSON in a body: after it is binary data.
inline constexpr const char* kJsonLengthField = "Inference-Header-Content-Length";

}  // namespace lenslet::serve
