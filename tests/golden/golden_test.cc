// Compares the encoding of every record and message with golden bytes, so that kq keeps reading the stores and peers of
// earlier versions.
//
// The file bytes/NAME.vN.bin has the encoding of the value in core/testing/examples.h at format N of NAME. The newest
// file of each name must equal the present encoding byte for byte, and every older file must decode. A change of the
// format, such as a new field, needs a new file: this program writes it when it runs with KQ_GOLDEN_WRITE=1. It never
// changes an existing file. An old file that no longer decodes means that existing stores can no longer be read; such a
// change needs a higher kSchemaVersion and a migration.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "core/codec/codec.h"
#include "core/testing/examples.h"

namespace kq::golden {
namespace {

namespace fs = std::filesystem;

struct Golden {
  std::string name;
  std::string bytes;  // the present encoding
  // Decodes bytes and returns the encoding of the decoded value.
  std::function<Expected<std::string>(std::string_view)> again;
};
void PrintTo(const Golden& golden, std::ostream* out) {
  *out << golden.name;
}

template <class T>
Golden record(std::string name, const T& value) {
  return {std::move(name), encode(value), [](std::string_view bytes) {
            return decode<T>(bytes).map([](const T& decoded) { return encode(decoded); });
          }};
}

template <class Body>
void add_messages(std::vector<Golden>& all, const std::string& direction, const std::vector<Body>& bodies) {
  for (const Body& body : bodies) {
    const auto name = std::visit([]<class T>(const T&) { return AlternativeName<T>::value; }, body);
    all.push_back(
        {direction + "_" + std::string(name), encode_message(Message<Body>{77, body}), [](std::string_view bytes) {
           return decode_message<Body>(bytes).map([](const Message<Body>& message) { return encode_message(message); });
         }});
  }
}

std::vector<Golden> all_golden() {
  std::vector<Golden> all = {record("record_submission", examples::submission()),
                             record("record_job", examples::job()),
                             record("record_result_passed", examples::result(examples::passed())),
                             record("record_result_suspect", examples::result(examples::suspect())),
                             record("record_result_ended", examples::result(examples::wrong_answer())),
                             record("record_samples", examples::samples()),
                             record("record_requirements", examples::requirements()),
                             record("record_run_entry", examples::run_entry()),
                             record("record_run_row", examples::run_row()),
                             record("record_run_owner", examples::run_owner()),
                             record("record_leaderboard_row", examples::leaderboard_row()),
                             record("record_build_object", examples::build_object()),
                             record("record_problem_certificate", examples::certificate())};
  add_messages(all, "client_request", examples::client_requests());
  add_messages(all, "client_reply", examples::client_replies());
  add_messages(all, "worker_request", examples::worker_requests());
  add_messages(all, "worker_reply", examples::worker_replies());
  add_messages(all, "judge_request", examples::judge_requests());
  add_messages(all, "judge_reply", examples::judge_replies());
  return all;
}

fs::path file_of(const std::string& name, int version) {
  return fs::path(KQ_GOLDEN_DIR) / (name + ".v" + std::to_string(version) + ".bin");
}

// Returns the contents of the files v1, v2, ... of this name.
std::vector<std::string> versions_of(const std::string& name) {
  std::vector<std::string> versions;
  for (int version = 1; fs::exists(file_of(name, version)); ++version) {
    std::ostringstream bytes;
    bytes << std::ifstream(file_of(name, version), std::ios::binary).rdbuf();
    versions.push_back(bytes.str());
  }
  return versions;
}

class GoldenTest : public testing::TestWithParam<Golden> {};

TEST_P(GoldenTest, the_present_encoding_equals_the_newest_file) {
  const Golden& golden = GetParam();
  std::vector<std::string> versions = versions_of(golden.name);
  if (std::getenv("KQ_GOLDEN_WRITE") != nullptr && (versions.empty() || versions.back() != golden.bytes)) {
    versions.push_back(golden.bytes);
    std::ofstream(file_of(golden.name, static_cast<int>(versions.size())), std::ios::binary) << golden.bytes;
  }
  ASSERT_FALSE(versions.empty()) << "no file for " << golden.name << "; run with KQ_GOLDEN_WRITE=1";
  EXPECT_TRUE(versions.back() == golden.bytes)
      << golden.name << " is encoded differently from version " << versions.size();
}

TEST_P(GoldenTest, the_newest_file_decodes_to_the_example) {
  const Golden& golden = GetParam();
  const auto again = golden.again(versions_of(golden.name).back());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(*again == golden.bytes);
}

TEST_P(GoldenTest, every_older_file_still_decodes) {
  const Golden& golden = GetParam();
  for (const std::string& bytes : versions_of(golden.name)) {
    const auto again = golden.again(bytes);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(golden.again(*again) == again);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTest, testing::ValuesIn(all_golden()),
                         [](const auto& golden) { return golden.param.name; });

// A file without a record or message of its name would not be tested.
TEST(GoldenFiles, each_belongs_to_a_record_or_message) {
  std::size_t read_count = 0;
  for (const Golden& golden : all_golden()) read_count += versions_of(golden.name).size();
  const auto file_count = std::distance(fs::directory_iterator(KQ_GOLDEN_DIR), fs::directory_iterator());
  EXPECT_EQ(static_cast<std::size_t>(file_count), read_count);
}

}  // namespace
}  // namespace kq::golden
