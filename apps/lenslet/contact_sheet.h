// The misclassified digits of a data set on one picture.
#pragma once

#include <string>
#include <vector>

#include "apps/lenslet/eval_report.h"
#include "framework/io/idx.h"

namespace lenslet {

/// Writes each digit at twice its size, under it "label>predicted" and its index. `path` ends in .png or .pgm. Throws
/// OutputError.
void write_contact_sheet(const std::string& path, const ImageDataset& data, const std::vector<Miss>& misses);

}  // namespace lenslet
