#include "tools/report/source_name.h"

#include <gtest/gtest.h>

namespace kq::tools {
namespace {

TEST(SourceName, a_store_has_no_path_and_a_broker_its_url) {
  EXPECT_EQ(source_name({.broker = "tcp://h:1", .store = ""}), "tcp://h:1");
  EXPECT_EQ(source_name({.broker = "tcp://h:1", .store = "/home/ann/runs/store/"}), "the store store");
  EXPECT_EQ(source_name({.broker = "tcp://h:1", .store = "runs"}), "the store runs");
}

}  // namespace
}  // namespace kq::tools
