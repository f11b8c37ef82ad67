// Runs every script in broker/testdata. KQ_REWRITE=1 writes the actual output into the files instead: read the
// difference before you commit it.
#include "broker/script/script.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "store/memory_store.h"

namespace kq::broker {
namespace {

std::vector<std::string> names_of_scripts() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(KQ_SCRIPTS)) names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

class ScriptTest : public testing::TestWithParam<std::string> {};

TEST_P(ScriptTest, has_the_expected_output) {
  const std::string path = std::string(KQ_SCRIPTS) + "/" + GetParam() + ".txt";
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  store::MemoryStore store;
  const std::string actual = run_script(text.str(), store);
  if (std::getenv("KQ_REWRITE") != nullptr) {
    std::ofstream(path) << actual;
  } else {
    EXPECT_EQ(actual, text.str());
  }
}

INSTANTIATE_TEST_SUITE_P(Testdata, ScriptTest, testing::ValuesIn(names_of_scripts()),
                         [](const auto& script) { return script.param; });

TEST(ParseCommand, reads_names_values_and_quoted_values) {
  const Command command = parse_command("error leases=1/1 message=\"no disk\"");
  EXPECT_EQ(command.name, "error");
  EXPECT_EQ(command.text("leases"), "1/1");
  EXPECT_EQ(command.text("message"), "no disk");
  EXPECT_EQ(command.number("epoch", 7), 7u);
}

}  // namespace
}  // namespace kq::broker
