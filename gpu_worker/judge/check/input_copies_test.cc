#include "gpu_worker/judge/check/input_copies.h"

#include <tuple>

#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/fake_device.h"

namespace kq::judge {
namespace {

using Found =
    std::vector<std::tuple<std::uint64_t, std::uint64_t, const Memory*, std::uint64_t>>;  // begin, end, memory, offset

class InputCopiesTest : public testing::Test {
 protected:
  static Found found(const InputCopies& input_copies, const Region& part) {
    Found all;
    for (const auto& piece : input_copies.pieces(part))
      all.emplace_back(piece.region.begin, piece.region.end, &piece.at.memory, piece.at.offset);
    return all;
  }
  FakeDevice device_;
  std::unique_ptr<Memory> rest_ = std::move(*device_.make_private(1024));
  std::unique_ptr<Memory> other_ = std::move(*device_.make_private(1024));
};

TEST_F(InputCopiesTest, a_contiguous_copy_is_one_piece) {
  const InputCopies input_copies(*rest_, {256, 1280});
  EXPECT_EQ(found(input_copies, {256, 1280}), (Found{{256, 1280, rest_.get(), 0}}));
  EXPECT_EQ(found(input_copies, {512, 600}), (Found{{512, 600, rest_.get(), 256}}));
  EXPECT_EQ(found(input_copies, {512, 512}), Found());
}

TEST_F(InputCopiesTest, a_tensor_elsewhere_is_a_piece_without_its_neighbours) {
  const InputCopies input_copies(*rest_, {256, 1280}, {512, 612}, {*other_, 40});
  EXPECT_EQ(found(input_copies, {256, 1280}),
            (Found{{256, 512, rest_.get(), 0}, {512, 612, other_.get(), 40}, {612, 1280, rest_.get(), 356}}));
  EXPECT_EQ(found(input_copies, {512, 612}), (Found{{512, 612, other_.get(), 40}}));
  EXPECT_EQ(found(input_copies, {520, 620}), (Found{{520, 612, other_.get(), 48}, {612, 620, rest_.get(), 356}}));
  EXPECT_EQ(found(input_copies, {256, 512}), (Found{{256, 512, rest_.get(), 0}}));
  EXPECT_EQ(found(input_copies, {612, 1280}), (Found{{612, 1280, rest_.get(), 356}}));
}

}  // namespace
}  // namespace kq::judge
