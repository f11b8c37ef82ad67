// Migrates stores that older versions of kq wrote. testdata holds one per older schema: a directory such as schema_1 is
// the store, and schema_1.txt is what that version read in it, one line per key: family, key, and the value in
// hexadecimal or its SHA-256. The stores of schemas 2 and 3 come from the last commits before the next schema (68aff03,
// ebd79a8), whose broker core accepted jobs, leased them and accepted results.
#include "store/migration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "core/codec/codec.h"
#include "core/records.h"
#include "store/keys.h"
#include "store/reader.h"
#include "store/rocks/rocks_store.h"
#include "store/temporary_directory.h"
#include "store/verify.h"

namespace kq::store {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

std::string from_hex(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
  return bytes;
}

struct Line {
  Family family;
  std::string key;
  std::string value;  // the value as the file states it
};
std::vector<Line> lines_of(const std::string& schema) {
  std::ifstream file(std::string(KQ_STORES) + "/" + schema + ".txt");
  std::vector<Line> lines;
  for (std::string family, key, value; file >> family >> key >> value;) {
    lines.push_back({*parse_enum<Family>(family), from_hex(key), value});
  }
  return lines;
}

class MigrationTest : public testing::Test {
 protected:
  void SetUp() override { fs::copy(std::string(KQ_STORES) + "/schema_1", dir); }

  Expected<std::unique_ptr<Store>> open(OpenMode mode) {
    return open_rocks_store(
        dir, mode, {.space = {.reserve_bytes = 0}, .note = [this](const std::string& note) { notes.push_back(note); }});
  }

  const TemporaryDirectory directory;
  const std::string dir = directory.path() + "/store";
  std::vector<std::string> notes;
};

std::size_t count(const Store& store, Family family) {
  std::size_t n = 0;
  EXPECT_TRUE(store.scan(family, "", "", [&](std::string_view, std::string_view) { return ++n > 0; }));
  return n;
}

TEST_F(MigrationTest, a_store_of_schema_1_opens_with_everything_it_held) {
  const auto lines = lines_of("schema_1");
  ASSERT_GT(lines.size(), 70u);
  const auto store = open(OpenMode::read_write);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_THAT(notes,
              ElementsAre(HasSubstr("schema 1"), HasSubstr("schema 2"), HasSubstr("schema 3"), HasSubstr("schema 4")));
  std::map<Family, std::size_t> key_count;
  for (const auto& [family, key, was] : lines) {
    if (family == Family::board) continue;  // boards are computed anew (migration_5_test.cc)
    ++key_count[family];
    if (key == kSchemaKey) continue;
    const auto is = (*store)->get(family, key).value();
    ASSERT_TRUE(is) << to_string(family) << ' ' << hex(key);
    if (family == Family::state) {
      const auto before = decode<JobRecord>(from_hex(was)).value();
      auto after = decode<JobRecord>(*is).value();
      for (const auto part : {&JobRecord::submitter, &JobRecord::run}) after.*part = before.*part;
      after.needs = before.needs;
      after.problem = before.problem;
      after.bytes = before.bytes;
      EXPECT_EQ(after, before);
    } else {
      EXPECT_EQ(family == Family::meta ? hex(*is) : "sha256:" + to_hex(sha256(*is)), was)
          << to_string(family) << ' ' << hex(key);
    }
  }
  for (const auto& [family, n] : key_count) {
    EXPECT_TRUE(family == Family::meta || count(**store, family) == n) << to_string(family);
  }
}

TEST_F(MigrationTest, its_jobs_get_the_fields_that_the_queue_needs) {
  const auto store = open(OpenMode::read_write);
  ASSERT_TRUE(store);
  for (Sequence seq = 1; seq <= 13; ++seq) {
    const JobRecord job = *read_job(**store, seq).value();
    const Submission submission = *read_body(**store, seq).value();
    EXPECT_EQ(job.needs, requirements_of(submission));
    EXPECT_EQ(job.problem, submission.problem.hash);
    EXPECT_EQ(job.run, seq <= 6 ? "nightly" : "second");
    EXPECT_EQ(job.priority, Priority::normal);
    EXPECT_EQ(job.bytes > 0, job.state != JobState::finished);
  }
  std::map<LaneId, std::vector<Sequence>> lanes;
  EXPECT_TRUE((*store)->scan(Family::queue, "", "", [&](std::string_view key, std::string_view value) {
    const auto place = queue_place_from(key).value();
    EXPECT_EQ(queue_entry_from(value)->leased, place.seq <= 6) << place.seq;
    lanes[place.lane].push_back(place.seq);
    return true;
  }));
  const auto lane = [](std::uint32_t needs) {
    return LaneId{.needs = needs, .priority = Priority::normal, .submitter = 0};
  };
  EXPECT_THAT(lanes, ElementsAre(std::pair{lane(0), std::vector<Sequence>{4, 6}},
                                 std::pair{lane(1), std::vector<Sequence>{7, 8}},
                                 std::pair{lane(2), std::vector<Sequence>{9, 10}},
                                 std::pair{lane(3), std::vector<Sequence>{11, 12, 13}}));
  const auto needs = decode<Requirements>((*store)->get(Family::meta, numbered_key(kClassPrefix, 1)).value().value());
  EXPECT_EQ(needs->gpu_model, "H200");
}

// Tests the migration of a schema whose records, except boards, did not change; only new kinds of records were added
// later.
class MarkedStore : public testing::TestWithParam<std::uint32_t> {};

TEST_P(MarkedStore, opens_with_everything_it_held) {
  const std::string schema = "schema_" + std::to_string(GetParam());
  const TemporaryDirectory directory;
  const std::string dir = directory.path() + "/store";
  fs::copy(std::string(KQ_STORES) + "/" + schema, dir);
  const auto lines = lines_of(schema);
  const auto store = open_rocks_store(dir, OpenMode::read_write, {.space = {.reserve_bytes = 0}});
  ASSERT_TRUE(store) << store.error().message;
  std::map<Family, std::size_t> key_count;
  for (const auto& [family, key, was] : lines) {
    if (family == Family::board) continue;  // boards are computed anew (migration_5_test.cc)
    ++key_count[family];
    const std::string now =
        key == kSchemaKey ? std::to_string(GetParam()) : (*store)->get(family, key).value().value_or("nothing");
    EXPECT_EQ(was.starts_with("sha256:") ? "sha256:" + to_hex(sha256(now)) : hex(now), was)
        << to_string(family) << ' ' << hex(key);
  }
  for (const auto& [family, n] : key_count) EXPECT_EQ(count(**store, family), n) << to_string(family);
  EXPECT_EQ((*store)->get(Family::meta, kSchemaKey).value(), std::to_string(kSchemaVersion));
  EXPECT_EQ(verify(**store, [](const std::string& problem) { ADD_FAILURE() << problem; })->finished_count, 5u);
}

// The store has at least one record of each kind that its schema defines.
TEST_P(MarkedStore, has_something_in_every_family) {
  std::set<Family> families;
  for (const Line& line : lines_of("schema_" + std::to_string(GetParam()))) families.insert(line.family);
  if (GetParam() < 3) families.insert(Family::object);
  if (GetParam() < 4) families.insert({Family::owner, Family::sender});
  families.insert(Family::kernel);
  EXPECT_EQ(families.size(), kEnumNames<Family>.size());
}

INSTANTIATE_TEST_SUITE_P(Schema, MarkedStore, testing::Range(2u, kSchemaVersion));

TEST_F(MigrationTest, is_done_once) {
  ASSERT_TRUE(open(OpenMode::read_write));
  notes.clear();
  const auto store = open(OpenMode::read_write);
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ((*store)->get(Family::meta, kSchemaKey).value(), std::to_string(kSchemaVersion));
  EXPECT_EQ((*store)->get(Family::meta, kMigrationKey).value(), std::nullopt);
}

TEST_F(MigrationTest, opening_an_older_schema_for_reading_says_what_to_do) {
  const auto store = open(OpenMode::read_only);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error(),
            (Error{ErrorKind::bad_input, "store at " + dir + " has schema 1, this program reads " +
                                             std::to_string(kSchemaVersion) +
                                             "; start kq-broker on it once, which brings it up to date"}));
  EXPECT_TRUE(open(OpenMode::read_write));
  EXPECT_TRUE(open(OpenMode::read_only));
}

}  // namespace
}  // namespace kq::store
