#include "sys/cores.h"

#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

namespace kq::sys {
namespace {

namespace fs = std::filesystem;

cpu_set_t all_cores() {
  cpu_set_t all;
  EXPECT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  return all;
}

int first_of(const cpu_set_t& set) {
  int first = 0;
  while (!CPU_ISSET(first, &set)) ++first;
  return first;
}

TEST(usable_cores, counts_the_processors_that_the_affinity_allows) {
  const cpu_set_t all = all_cores();
  EXPECT_EQ(usable_cores(), static_cast<std::uint32_t>(CPU_COUNT(&all)));
  std::thread([&] {
    pin_to_cores({first_of(all)});
    EXPECT_EQ(usable_cores(), 1u);
    EXPECT_TRUE(cores_of_lane(0, 2).empty()) << "one processor cannot be divided";
    pin_to_cores({});
    EXPECT_EQ(usable_cores(), 1u);
  }).join();
  EXPECT_EQ(usable_cores(), static_cast<std::uint32_t>(CPU_COUNT(&all)));
}

class ShareOf : public testing::Test {
 protected:
  // Writes the topology of four cores with two hardware threads each: 0 and 4, 1 and 5, and so on.
  void SetUp() override {
    for (int core = 0; core < 8; ++core) {
      const fs::path of_core = topology_ / ("cpu" + std::to_string(core)) / "topology";
      fs::create_directories(of_core);
      std::ofstream(of_core / "physical_package_id") << 0;
      std::ofstream(of_core / "core_id") << core % 4;
    }
  }
  void TearDown() override { fs::remove_all(topology_); }
  std::vector<int> share(std::size_t lane, std::size_t lanes) const {
    return share_of({0, 1, 2, 3, 4, 5, 6, 7}, lane, lanes, topology_.string());
  }

  std::vector<int> rest(std::size_t lanes, std::size_t kept) const {
    return rest_of({0, 1, 2, 3, 4, 5, 6, 7}, lanes, kept, topology_.string());
  }

  const fs::path topology_ = fs::temp_directory_path() / ("kq_cores." + std::to_string(::getpid()));
};

TEST_F(ShareOf, both_threads_of_a_core_go_to_one_lane) {
  EXPECT_EQ(share(0, 2), (std::vector<int>{0, 4, 1, 5}));
  EXPECT_EQ(share(1, 2), (std::vector<int>{2, 6, 3, 7}));
  EXPECT_EQ(share(2, 4), (std::vector<int>{2, 6}));
}

TEST_F(ShareOf, a_remainder_goes_to_no_lane) {
  EXPECT_EQ(share(2, 3), (std::vector<int>{2, 6}));
}

TEST_F(ShareOf, a_single_lane_and_lanes_with_fewer_than_two_processors_get_all) {
  EXPECT_TRUE(share(0, 1).empty());
  EXPECT_TRUE(share(0, 5).empty());
}

TEST_F(ShareOf, without_a_topology_processors_are_divided_by_number) {
  EXPECT_EQ(share_of({0, 1, 2, 3}, 1, 2, "/nowhere"), (std::vector<int>{2, 3}));
}

TEST_F(ShareOf, the_rest_is_what_each_lane_does_not_keep) {
  EXPECT_EQ(rest(1, 2), (std::vector<int>{1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(rest(2, 2), (std::vector<int>{1, 5, 3, 7}));
  EXPECT_EQ(rest(3, 1), (std::vector<int>{4, 5, 6, 3, 7})) << "processors of no lane are left, too";
  EXPECT_EQ(rest(0, 2).size(), 8u);
  EXPECT_TRUE(rest(1, 8).empty());
  EXPECT_TRUE(rest(2, 4).empty());
  EXPECT_TRUE(rest(9, 1).empty()) << "more lanes than processors";
  EXPECT_TRUE(rest(3, 3).empty()) << "a lane has two of them only";
}

TEST(core_list, is_read_as_it_is_written) {
  EXPECT_EQ(core_list({0, 1, 18}), "0,1,18");
  EXPECT_EQ(parse_core_list("0,1,18"), (std::vector<int>{0, 1, 18}));
  EXPECT_EQ(core_list({}), "");
  for (const char* wrong : {"", ",", "1,", ",1", "a", "1,,2", "-1", "1-3", "99999999999"})
    EXPECT_TRUE(parse_core_list(wrong).empty()) << wrong;
}

}  // namespace
}  // namespace kq::sys
