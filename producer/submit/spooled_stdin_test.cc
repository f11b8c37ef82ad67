#include "producer/submit/spooled_stdin.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>

namespace kq::producer {
namespace {

Expected<SpooledStdin> answer_to(const std::string& text) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  EXPECT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::close(ends[1]);
  auto file = SpooledStdin::read(ends[0]);
  ::close(ends[0]);
  return file;
}
SpooledStdin of(const std::string& text) {
  return std::move(*answer_to(text));
}

TEST(SpooledStdin, has_the_text_and_is_removed_with_its_object) {
  std::filesystem::path path;
  {
    const SpooledStdin file = of("{\"a\": 1}\n");
    path = file.path();
    std::ifstream in(path);
    EXPECT_EQ(std::string((std::istreambuf_iterator<char>(in)), {}), "{\"a\": 1}\n");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SpooledStdin, has_an_ending_by_its_text) {
  EXPECT_EQ(of("\n {\"problem\": 1}").path().extension(), ".jsonl");
  EXPECT_EQ(of("import torch\nsource = '__global__ void f() {}'\n").path().extension(), ".py");
  EXPECT_EQ(of("__global__ void f() {}\n").path().extension(), ".cu");
  EXPECT_EQ(of("x").path().extension(), ".py");
}

TEST(SpooledStdin, empty_input_is_refused) {
  for (const char* text : {"", " \r\n\t\n"}) {
    const auto answer = answer_to(text);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, ErrorKind::bad_input);
    EXPECT_EQ(answer.error().message, "standard input is empty");
  }
}

}  // namespace
}  // namespace kq::producer
