#include "tools/cli/label_filter.h"

#include <fnmatch.h>

namespace kq::tools {

bool LabelFilter::takes(const std::string& label) {
  bool is_wanted = words_.empty();
  for (const std::string& word : words_) {
    if (word != label && ::fnmatch(word.c_str(), label.c_str(), 0) != 0) continue;
    unmatched_.erase(word);
    is_wanted = true;
  }
  return is_wanted;
}

}  // namespace kq::tools
