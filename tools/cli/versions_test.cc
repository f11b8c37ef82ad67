#include "tools/cli/versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::tools {
namespace {

using ::testing::HasSubstr;

std::string nothing(const char*) {
  return "";
}
std::string no_cuda(const char* name) {
  return name == std::string("KQ_CUDA") ? "/nowhere" : "";
}

TEST(versions, every_package_has_one) {
  for (const VersionRow& row : versions(nothing)) {
    if (row.name == "cuda_toolkit") continue;
    EXPECT_THAT(row.version, ::testing::MatchesRegex(".*[0-9].*")) << row.name;
  }
}

TEST(versions, an_absent_toolkit_says_why) {
  const auto rows = versions(no_cuda);
  EXPECT_THAT(versions_text(rows), HasSubstr("there is no libnvrtc.so under KQ_CUDA=/nowhere"));
  EXPECT_THAT(versions_json(rows), HasSubstr(R"("cuda_toolkit": {"version": null, "note": "there is no libnvrtc.so)"));
}

TEST(versions, json_is_one_line) {
  const std::string json = versions_json(versions(no_cuda));
  EXPECT_EQ(json.find('\n'), json.size() - 1);
  EXPECT_THAT(json, HasSubstr(R"("kq": {"version": ")"));
}

}  // namespace
}  // namespace kq::tools
