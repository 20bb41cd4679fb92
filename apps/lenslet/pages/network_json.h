// A network as JSON: what a page needs to draw its layers and to repeat their sums.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "framework/graph/graph.h"

namespace lenslet {

/// Values that a page of at most 1 MB holds, in all its layers and in all its weights; 4 bytes each before base64.
inline constexpr int64_t kPageValues = 150'000;

/// Channels of each node's output that the page shows: all, or in a large network as many as fit. Throws DataError if
/// not even one of each fits.
std::vector<int64_t> shown_channels(const Graph& graph);

/// Values of one channel, and channels of one sample of that shape [N, ...]: [C, H, W] has C of H * W; any other shape
/// is one channel.
int64_t channel_values(const Shape& shape);
int64_t channel_count(const Shape& shape);

/// One object for each node, the input first: name, type, description, inputs, shape, geometry, and weights as base64
/// of little-endian fp32; null if they do not fit.
nlohmann::ordered_json nodes_json(const Graph& graph);

/// JSON as text. Bytes that are no UTF-8, which names in files may have, are replaced.
std::string page_text(const nlohmann::ordered_json& json);

}  // namespace lenslet
