#include "producer/formats/flashinfer/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "producer/formats/test_folder.h"

namespace kq::producer::flashinfer {
namespace {

using testing::HasSubstr;

class SafetensorsTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& header, const std::string& data) {
    std::string bytes(8, '\0');
    const std::uint64_t size = header.size();
    std::memcpy(bytes.data(), &size, sizeof size);
    folder_.write(name, bytes + header + data);
  }
  Expected<Json> read(const std::string& path, const std::string& key = "x") {
    return tensors_of({*parse_json(R"({"inputs": {"a": {"type": "random"}, "x": {"type": "safetensors", "path": ")" +
                                   path + R"(", "tensor_key": ")" + key + R"("}}})")},
                      folder_ / "");
  }
  std::string why(const std::string& path, const std::string& key = "x") {
    const auto tensors = read(path, key);
    return tensors ? "nothing" : tensors.error().message;
  }

  TestFolder folder_;
};

TEST_F(SafetensorsTest, a_tensor_travels_packed) {
  write("blob/t.safetensors", R"({"x": {"dtype": "I32", "shape": [2], "data_offsets": [4, 12]}})", "....ABCDEFGH");
  const auto tensors = read("blob/t.safetensors");
  ASSERT_TRUE(tensors) << tensors.error().message;
  const Json& tensor = tensors->object()->front().value;
  EXPECT_EQ(tensors->object()->front().name, "blob/t.safetensors:x");
  EXPECT_EQ(*tensor.find("dtype")->text(), "I32");
  EXPECT_EQ(*tensor.find("data")->text(), "eNpzdHJ2cXVz9wAACYACJQ==") << "zlib.compress(b'ABCDEFGH', 9) of Python";
}

TEST_F(SafetensorsTest, leading_folders_that_lead_nowhere_are_left_out) {
  write("t.safetensors", R"({"x": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}})", "A");
  EXPECT_TRUE(read("some/where/t.safetensors"));
}

TEST_F(SafetensorsTest, what_is_wrong_is_one_sentence) {
  write("t.safetensors", R"({"x": {"dtype": "U8", "shape": [9], "data_offsets": [0, 9]}})", "A");
  folder_.write("short.safetensors", "abc");
  EXPECT_THAT(why("none.safetensors"), HasSubstr("there is no file none.safetensors below "));
  EXPECT_THAT(why("../t.safetensors"), HasSubstr("there is no file ../t.safetensors below "));
  EXPECT_THAT(why("t.safetensors", "y"), HasSubstr("has no tensor y"));
  EXPECT_THAT(why("t.safetensors"), HasSubstr("ends inside tensor x"));
  EXPECT_THAT(why("short.safetensors"), HasSubstr("is no file of safetensors"));
}

}  // namespace
}  // namespace kq::producer::flashinfer
