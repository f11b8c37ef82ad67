// Chooses jobs by the labels and patterns of a command line.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace kq::tools {

// A word that equals a label means that job alone; other words with *, ? or [ are patterns, in which * also stands for
// slashes: "gelu/*". Without words every label is taken.
class LabelFilter {
 public:
  explicit LabelFilter(const std::vector<std::string>& words) : words_(words), unmatched_(words.begin(), words.end()) {}

  // Returns whether the label is wanted, and remembers which words it matches.
  bool takes(const std::string& label);
  bool takes_all() const { return words_.empty(); }
  // The words that no label has matched so far.
  const std::set<std::string>& unmatched() const { return unmatched_; }

 private:
  std::vector<std::string> words_;
  std::set<std::string> unmatched_;
};

}  // namespace kq::tools
