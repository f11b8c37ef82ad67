#include "gpu_worker/judge/check/input_copies.h"

#include <algorithm>

namespace kq::judge {

std::vector<InputCopies::Piece> InputCopies::pieces(const Region& part) const {
  std::vector<Piece> found;
  const auto add = [&](std::uint64_t begin, std::uint64_t end, const Location& base, std::uint64_t base_begin) {
    begin = std::max(begin, part.begin);
    end = std::min(end, part.end);
    if (begin < end) found.push_back({{begin, end}, {base.memory, base.offset + begin - base_begin}});
  };
  const Location rest{memory_, 0};
  if (!elsewhere_) {
    add(part.begin, part.end, rest, region_.begin);
    return found;
  }
  add(part.begin, tensor_.begin, rest, region_.begin);
  add(tensor_.begin, tensor_.end, *elsewhere_, tensor_.begin);
  add(tensor_.end, part.end, rest, region_.begin);
  return found;
}

}  // namespace kq::judge
