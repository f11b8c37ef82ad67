#include "tools/doctor/cuda_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tools/stack/fake_programs.h"

namespace kq::tools {
namespace {

using ::testing::HasSubstr;

Environment environment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? "" : found->second;
  };
}

std::vector<std::string> names(const std::vector<std::filesystem::path>& paths, const TestFolder& folder) {
  std::vector<std::string> found;
  for (const auto& path : paths) {
    if (path.string().starts_with(folder.path())) found.push_back(path.string().substr(folder.path().size() + 1));
  }
  return found;
}

TEST(cuda_finder, only_kq_cuda_is_searched_when_it_is_set) {
  const TestFolder folder;
  folder.write("mine/lib64/libnvrtc.so.13", "");
  folder.write("mine/lib64/libnvrtc-builtins.so.13.0", "");
  folder.write("home/lib64/libnvrtc.so.12", "");
  EXPECT_EQ(names(nvrtc_candidates(environment({{"KQ_CUDA", folder.file("mine")}, {"CUDA_HOME", folder.file("home")}})),
                  folder),
            (std::vector<std::string>{"mine/lib64/libnvrtc.so.13"}));
}

TEST(cuda_finder, the_toolkit_comes_before_the_wheels) {
  const TestFolder folder;
  folder.write("home/targets/x86_64-linux/lib/libnvrtc.so.12", "");
  folder.write("venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13", "");
  folder.write("venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12", "");
  const std::vector<std::string> found =
      names(nvrtc_candidates(
                environment({{"CUDA_HOME", folder.file("home")}, {"KQ_PYTHON", folder.file("venv/bin/python")}})),
            folder);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0], "home/targets/x86_64-linux/lib/libnvrtc.so.12");
  EXPECT_THAT(found, ::testing::Contains("venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13"));
}

TEST(cuda_finder, the_error_names_the_reason) {
  const TestFolder folder;
  EXPECT_EQ(find_nvrtc(environment({{"KQ_CUDA", folder.path()}})).error().message,
            "there is no libnvrtc.so under KQ_CUDA=" + folder.path());
  folder.write("lib64/libnvrtc.so.13", "not a library");
  const auto broken = find_nvrtc(environment({{"KQ_CUDA", folder.path()}}));
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message,
              HasSubstr("no NVRTC library can be loaded: " + folder.file("lib64/libnvrtc.so.13")));
}

}  // namespace
}  // namespace kq::tools
