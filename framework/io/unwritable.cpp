#include "framework/io/unwritable.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "framework/base/error.h"
#include "framework/base/text.h"

namespace lenslet {
namespace {

std::string what_to_do(const std::string& path, int error) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
  struct stat status {};
  switch (error) {
    case ENOENT:
      if (path.empty()) return "expected the name of a file, found an empty text";
      if (::stat(folder.c_str(), &status) != 0)
        return concat("found no folder ", printable_excerpt(folder), ": create it, or give another name");
      return concat("files cannot be created in ", printable_excerpt(folder), ": give another folder");
    case EISDIR:
      return "expected a file: give a name within this folder";
    case ENOTDIR:
      return "a part of its path is a file: give a path of folders";
    case EACCES:
    case EPERM:
    case EROFS:
      return "give a file in a folder that this user may write to";
    case ENOSPC:
    case EDQUOT:
      return "free some space, or give a file on another disk";
    case ENAMETOOLONG:
      return "give a shorter name";
    default:
      return {};
  }
}

}  // namespace

std::string unwritable(const std::string& path, int error) {
  std::string text = concat(printable_excerpt(path), ": cannot be written: ", std::strerror(error));
  add_clause(text, what_to_do(path, error));
  return text;
}

}  // namespace lenslet
