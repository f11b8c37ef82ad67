#include "core/codec/msgpack_writer.h"

#include <gtest/gtest.h>

#include <limits>
#include <msgpack.hpp>
#include <vector>

namespace kq {
namespace {

std::string written(const auto& write) {
  std::string bytes;
  {
    MsgpackWriter writer(bytes);
    write(writer);
  }
  MsgpackSizer sizer;
  write(sizer);
  EXPECT_GE(sizer.byte_count(), bytes.size());
  return bytes;
}

std::string by_library(const auto& pack) {
  msgpack::sbuffer buffer;
  msgpack::packer packer(buffer);
  pack(packer);
  return {buffer.data(), buffer.size()};
}

// Returns every size at which one form of the format ends and the next begins, with its neighbours.
std::vector<std::uint64_t> corners() {
  std::vector<std::uint64_t> corners;
  for (const int bits : {0, 4, 5, 7, 8, 15, 16, 31, 32, 63}) {
    const std::uint64_t corner = std::uint64_t{1} << bits;
    corners.insert(corners.end(), {corner - 1, corner, corner + 1});
  }
  corners.push_back(UINT64_MAX);
  return corners;
}

TEST(MsgpackWriter, a_name_is_a_text) {
  EXPECT_EQ(written([](auto& out) { out.name("run"); }), by_library([](auto& out) { out.pack("run"); }));
  EXPECT_EQ(written([](auto& out) { out.name("thirty-one-letters-are-the-most"); }),
            by_library([](auto& out) { out.pack("thirty-one-letters-are-the-most"); }));
}

TEST(MsgpackWriter, writes_integers_as_the_library_does) {
  for (const std::uint64_t corner : corners()) {
    EXPECT_EQ(written([&](auto& out) { out.unsigned_integer(corner); }),
              by_library([&](auto& out) { out.pack(corner); }));
    for (const auto value : {static_cast<std::int64_t>(corner), static_cast<std::int64_t>(0 - corner)}) {
      EXPECT_EQ(written([&](auto& out) { out.signed_integer(value); }), by_library([&](auto& out) { out.pack(value); }))
          << value;
    }
  }
}

TEST(MsgpackWriter, writes_lengths_as_the_library_does) {
  for (const std::uint32_t n :
       {0u, 1u, 15u, 16u, 31u, 32u, 255u, 256u, 511u, 512u, 513u, 1023u, 1024u, 1025u, 65'535u, 65'536u, 70'000u}) {
    const std::string bytes(n, 'x');
    EXPECT_EQ(written([&](auto& out) { out.text(bytes); }),
              by_library([&](auto& out) { out.pack_str(n).pack_str_body(bytes.data(), n); }));
    EXPECT_EQ(written([&](auto& out) { out.binary(bytes); }),
              by_library([&](auto& out) { out.pack_bin(n).pack_bin_body(bytes.data(), n); }));
    EXPECT_EQ(written([&](auto& out) { out.array(n); }), by_library([&](auto& out) { out.pack_array(n); }));
    EXPECT_EQ(written([&](auto& out) { out.map(n); }), by_library([&](auto& out) { out.pack_map(n); }));
  }
}

TEST(MsgpackWriter, writes_the_rest_as_the_library_does) {
  const auto write = [](auto& out) {
    out.nil();
    out.boolean(true);
    out.boolean(false);
    out.float64(0.1);
  };
  EXPECT_EQ(written(write), by_library([](auto& out) { out.pack_nil().pack(true).pack(false).pack(0.1); }));
}

TEST(MsgpackWriter, a_whole_double_stays_a_double) {
  EXPECT_EQ(written([](auto& out) { out.float64(1.0); }), std::string("\xCB\x3F\xF0\0\0\0\0\0\0", 9));
  EXPECT_EQ(written([](auto& out) { out.float64(-0.0); }), std::string("\xCB\x80\0\0\0\0\0\0\0", 9));
}

TEST(MsgpackWriter, many_values_in_a_row_stay_in_order) {
  const auto write = [](auto& out) {
    for (std::uint64_t i = 0; i < 3'000; ++i) {
      out.unsigned_integer(i * i);
      out.text(std::string(i, 'y'));
    }
  };
  EXPECT_EQ(written(write), by_library([](auto& out) {
              for (std::uint64_t i = 0; i < 3'000; ++i) out.pack(i * i).pack(std::string(i, 'y'));
            }));
}

TEST(MsgpackWriter, appends_to_the_string) {
  std::string bytes = "before";
  { MsgpackWriter(bytes).nil(); }
  EXPECT_EQ(bytes, "before\xC0");
}

}  // namespace
}  // namespace kq
