#include "gpu_worker/compile/build_slots.h"

#include <gtest/gtest.h>

#include "gpu_worker/compile/builder.h"
#include "sys/cores.h"

namespace kq::worker {
namespace {

constexpr std::uint64_t kGiB = 1ull << 30;

std::uint32_t slots(std::uint64_t cores, std::uint64_t lanes, std::uint64_t memory_gib, std::uint64_t gpu_lanes = 0) {
  return build_slots({.cores = cores,
                      .lanes = lanes,
                      .gpu_lanes = gpu_lanes,
                      .memory_bytes = memory_gib * kGiB,
                      .build_bytes_max = bytes_of_build(BuilderOptions().host_bytes)});
}

TEST(build_slots, a_build_may_take_five_and_a_quarter_gibibytes) {
  EXPECT_EQ(bytes_of_build(BuilderOptions().host_bytes), 21 * kGiB / 4);
}

TEST(build_slots, are_the_cores_that_no_lane_needs) {
  EXPECT_EQ(slots(16, 1, 256), 14u);
  EXPECT_EQ(slots(16, 0, 256), 16u);
  EXPECT_EQ(slots(2, 1, 256), 1u) << "one build runs even where the lanes need all cores";
  EXPECT_EQ(slots(256, 8, 2048), kBuildSlotsMax);
}

TEST(build_slots, leave_cores_to_children_that_warm_up_on_a_gpu) {
  EXPECT_EQ(slots(16, 1, 256, 1), 8u);
  EXPECT_EQ(slots(8, 1, 256, 1), 3u);
  EXPECT_EQ(slots(2, 1, 256, 1), 1u);
  EXPECT_EQ(slots(64, 8, 2048, 8), 24u);
}

TEST(build_slots_without_jobs, have_the_cores_of_children_that_warm_up) {
  const auto free_slots = [](std::uint64_t cores, std::uint64_t lanes) {
    return build_slots_without_jobs({.cores = cores,
                                     .lanes = lanes,
                                     .gpu_lanes = lanes,
                                     .memory_bytes = 2048 * kGiB,
                                     .build_bytes_max = bytes_of_build(BuilderOptions().host_bytes)});
  };
  EXPECT_EQ(free_slots(16, 1), 14u);
  EXPECT_EQ(free_slots(8, 1), 6u);
  EXPECT_EQ(free_slots(2, 1), 1u);
}

TEST(cores_kept_by_lane, leave_the_others_to_builds) {
  const auto kept = [](std::uint64_t cores, std::uint64_t lanes, std::uint64_t gpu_lanes) {
    return cores_kept_by_lane({.cores = cores, .lanes = lanes, .gpu_lanes = gpu_lanes});
  };
  EXPECT_EQ(kept(16, 1, 1), 8u);
  EXPECT_EQ(kept(16, 1, 0), 2u);
  EXPECT_EQ(kept(64, 8, 8), 5u);
  EXPECT_EQ(kept(16, 2, 1), 5u) << "all lanes keep equally many";
  EXPECT_EQ(kept(32, 8, 8), 3u);
  EXPECT_EQ(kept(2, 1, 1), 2u);
  EXPECT_EQ(kept(16, 0, 0), 0u);
}

TEST(cores_kept_by_lane, leave_as_many_processors_as_builds_run_at_once) {
  for (std::uint64_t cores = 1; cores <= 128; ++cores) {
    for (std::uint64_t lanes = 1; lanes <= 8; ++lanes) {
      for (const std::uint64_t gpu_lanes : {std::uint64_t{0}, std::uint64_t{1}, lanes}) {
        const BuildResources resources{.cores = cores, .lanes = lanes, .gpu_lanes = gpu_lanes};
        std::vector<int> all(cores);
        const auto left = sys::rest_of(all, lanes, cores_kept_by_lane(resources), "/nowhere").size();
        EXPECT_TRUE(left == 0 || slots(cores, lanes, 4096, gpu_lanes) <= left)
            << cores << " cores, " << lanes << " lanes";
      }
    }
  }
}

TEST(cores_of_builds, are_all_where_there_is_no_lane_or_more_builds_are_wanted) {
  const auto cores = static_cast<std::uint64_t>(sys::usable_cores());
  EXPECT_TRUE(cores_of_builds({.cores = cores}, 0).empty());
  const BuildResources one_lane{.cores = cores, .lanes = 1};
  EXPECT_EQ(cores_of_builds(one_lane, 0).size(), cores >= 6 ? cores - 2 : 0);
  EXPECT_TRUE(cores_of_builds(one_lane, static_cast<std::uint32_t>(cores)).empty());
}

TEST(build_slots, fit_into_memory_even_if_each_build_takes_all_that_it_may) {
  EXPECT_EQ(slots(16, 1, 128), 14u);
  EXPECT_EQ(slots(16, 1, 64), 8u);
  EXPECT_EQ(slots(16, 1, 24), 2u);
  EXPECT_EQ(slots(16, 1, 4), 1u);
}

TEST(header_host_bytes, holds_all_parts_of_the_archive_where_there_is_much_memory) {
  EXPECT_EQ(header_host_bytes(128 * kGiB), 16 * kGiB);
  EXPECT_EQ(header_host_bytes(24 * kGiB), 0u);
}

TEST(headers_at_once, follow_cores_and_memory) {
  EXPECT_EQ(headers_at_once(16, 128 * kGiB), kHeadersAtOnceMax);
  EXPECT_EQ(headers_at_once(2, 128 * kGiB), 2u);
  EXPECT_EQ(headers_at_once(16, 24 * kGiB), 2u);
  EXPECT_EQ(headers_at_once(16, 8 * kGiB), 1u);
}

}  // namespace
}  // namespace kq::worker
