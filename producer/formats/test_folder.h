// A temporary folder for a test, and example texts.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace kq::producer {

// A temporary folder that the destructor removes.
class TestFolder {
 public:
  TestFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "kq-test.XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  ~TestFolder() { std::filesystem::remove_all(root_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::filesystem::path operator/(std::string_view name) const { return root_ / name; }

  std::filesystem::path write(std::string_view name, std::string_view text) const {
    const std::filesystem::path path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

 private:
  std::filesystem::path root_;
};

inline constexpr std::string_view kTestProblem =
    "import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x\n\n"
    "def get_inputs():\n    return [torch.rand(4)]\n\ndef get_init_inputs():\n    return []\n";
inline constexpr std::string_view kTestKernel =
    "import torch\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x\n";
inline constexpr std::string_view kTestContract =
    R"({"args": [{"name": "x", "type": "tensor", "role": "inout"}], "launch": {"grid": {"x": 1}, "block": {"x": 1}}})";

}  // namespace kq::producer
