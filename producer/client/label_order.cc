#include "producer/client/label_order.h"

namespace kq::producer {

std::string before_label(const std::string& label) {
  std::string before = label;
  before.back() = static_cast<char>(static_cast<unsigned char>(before.back()) - 1);
  return before + '\xFF';  // no label has this byte, because labels are UTF-8
}

}  // namespace kq::producer
