// A picture with the misclassified digits of a data set.
#pragma once

#include <string>
#include <vector>

#include "apps/lenslet/pictures/eval_report.h"
#include "models/digit/image_dataset.h"

namespace lenslet {

/// Draws each digit at twice its size, with "label>predicted" and its index below. `path` ends in .png or .pgm. Throws
/// OutputError.
void write_contact_sheet(const std::string& path, const ImageDataset& data, const std::vector<Miss>& misses);

}  // namespace lenslet
