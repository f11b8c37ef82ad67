#include "broker/requests/share.h"

#include <gtest/gtest.h>

#include "broker/script/script.h"
#include "core/limits.h"
#include "store/memory_store.h"

namespace kq::broker {
namespace {

TEST(Share, a_run_is_shared_with_a_bounded_number_of_names) {
  store::MemoryStore store;
  Script script(store);
  script.run("submit user=ada jobs=a");
  std::string names;
  for (std::size_t i = 0; i < kShareNamesMax; ++i) names += (i == 0 ? "n" : ",n") + std::to_string(i);
  EXPECT_NE(script.run("share user=ada with=" + names).find("send c done"), std::string::npos);
  EXPECT_NE(script.run("share user=ada with=" + names).find("send c done"), std::string::npos);
  EXPECT_NE(script.run("share user=ada with=more").find("at most 64 names"), std::string::npos);
}

TEST(Share, names_are_checked) {
  store::MemoryStore store;
  Script script(store);
  EXPECT_NE(script.run("share user=ada run= with=bob").find("run is empty"), std::string::npos);
  EXPECT_NE(script.run("share user=ada with=b\x01").find("control character"), std::string::npos);
  EXPECT_NE(script.run("file user=ada run=r label=").find("label is empty"), std::string::npos);
}

}  // namespace
}  // namespace kq::broker
