#include "tools/exporters/dump_metadata.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "producer/client/json.h"

namespace kq::tools {
namespace {

namespace fs = std::filesystem;

TEST(dump_note, is_written_beside_the_file_with_the_options_of_the_dump) {
  std::string name = (fs::temp_directory_path() / "kq-note.XXXXXX").string();
  const fs::path folder = ::mkdtemp(name.data());
  const std::string file = (folder / "mine.csv").string();
  std::ofstream(file) << "label\na\n";
  const auto selection = Selection::make({.columns = "label", .where = {"verdict=passed"}}, 0);
  ASSERT_TRUE(selection);
  const DumpMetadata note{.file = file,
                          .run = "mine",
                          .source = "tcp://127.0.0.1:5570",
                          .format = "csv",
                          .words = {.columns = "label", .where = {"verdict=passed"}},
                          .columns = names_of(*selection),
                          .row_count = 1,
                          .made_at_ms = 1'700'000'000'007};
  EXPECT_TRUE(can_have_metadata(file));
  EXPECT_FALSE(can_have_metadata("-"));
  EXPECT_FALSE(can_have_metadata("/dev/null"));
  ASSERT_TRUE(write_dump_metadata(note));
  std::ostringstream text;
  text << std::ifstream(file + ".meta.json").rdbuf();
  const auto json = producer::parse_json(text.str());
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(*json->find("file")->text(), "mine.csv");
  EXPECT_EQ(*json->find("bytes")->integer(), 8);
  EXPECT_EQ(*json->find("rows")->integer(), 1);
  EXPECT_EQ(*json->find("made_at")->text(), "2023-11-14T22:13:20.007000Z");
  EXPECT_EQ(json->find("since"), nullptr);
  EXPECT_EQ(*json->find("where")->array()->front().text(), "verdict=passed");
  EXPECT_EQ(json->find("columns")->array()->size(), 1u);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace kq::tools
