// The misclassified digits of a data set on one picture.
#pragma once

#include <string>
#include <vector>

#include "apps/lenslet/eval_report.h"
#include "framework/io/idx.h"

namespace lenslet {

/// Each digit at twice its size, under it "label>predicted" and its index. Ends in .png or .pgm; throws
/// UsageError for another ending.
void check_contact_sheet_name(const std::string& path);
/// Writes the picture. Throws OutputError.
void write_contact_sheet(const std::string& path, const ImageDataset& data, const std::vector<Miss>& misses);

}  // namespace lenslet
