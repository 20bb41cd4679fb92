// How much memory a picture may take to decode, told from the beginning of its file.
#pragma once

#include <string>

namespace lenslet {

/// Whether the file is short and its own header says that the picture is small: any number of threads may then decode one
/// each, and the process stays within the memory of one large picture. False wherever that is not sure.
bool surely_small_picture(const std::string& path);

}  // namespace lenslet
