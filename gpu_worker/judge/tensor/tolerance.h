// By how much a number may differ from the expected one.
#pragma once

namespace kq::judge {

// A number `got` is right where |got - expected| <= atol + rtol * |expected|.
struct Tolerance {
  double rtol = 0;
  double atol = 0;
};

}  // namespace kq::judge
