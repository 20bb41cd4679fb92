// ClauseList: the faults, or other clauses, of one message, up to a readable number.
#pragma once

#include <cstddef>
#include <string>

#include "framework/base/error.h"
#include "framework/base/text.h"

namespace lenslet {

/// Keeps the first clauses and counts the others.
class ClauseList {
 public:
  /// `max`: the number of clauses that text() has.
  explicit ClauseList(size_t max) : max_(max) {}
  /// Appends one. An empty clause changes nothing.
  void add(const std::string& clause) {
    if (clause.empty()) return;
    if (++count_ <= max_) add_clause(first_, clause);
  }
  /// Clauses that text() only counts.
  size_t left_out() const noexcept { return count_ > max_ ? count_ - max_ : 0; }
  /// "a; b; and 3 more"; empty for no clauses.
  std::string text() const {
    return left_out() == 0 ? first_ : concat(first_, "; and ", left_out(), " more");
  }

 private:
  size_t max_, count_ = 0;
  std::string first_;
};

}  // namespace lenslet
