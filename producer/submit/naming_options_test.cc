#include "producer/submit/naming_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/formats/formats.h"
#include "producer/formats/test_folder.h"

namespace kq::producer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string mistake(const NamingTexts& texts) {
  InputOptions options;
  const auto applied = texts.apply(options);
  return applied ? "" : applied.error().message;
}

TEST(NamingOptions, apply_to_every_candidate_and_win_over_lines) {
  const TestFolder folder;
  folder.write("problem.py", kTestProblem);
  folder.write("kernel.py", kTestKernel);
  const auto lines =
      folder.write("run.jsonl", R"({"id": "a", "problem": "problem.py", "path": "kernel.py", "author": "ada",)"
                                R"( "tags": {"model": "m0", "turn": 3}})"
                                "\n"
                                R"({"id": "b", "problem": "problem.py", "path": "kernel.py"})"
                                "\n");
  InputOptions options;
  ASSERT_TRUE((NamingTexts{.author = "bob", .tags = {"model=m1", "sweep=a=b"}}.apply(options)));
  const Found found =
      collect([&](const CandidateSink& sink) { ASSERT_TRUE(find_candidates(lines, "", options, sink)); });
  ASSERT_EQ(found.candidates.size(), 2u);
  EXPECT_EQ(found.candidates[0].author, "bob");
  EXPECT_THAT(found.candidates[0].tags, ElementsAre(Pair("model", "m1"), Pair("sweep", "a=b"), Pair("turn", "3")));
  EXPECT_EQ(found.candidates[1].author, "bob");
  EXPECT_THAT(found.candidates[1].tags, ElementsAre(Pair("model", "m1"), Pair("sweep", "a=b")));
}

TEST(NamingOptions, a_dash_empties_the_author_and_the_tags) {
  const TestFolder folder;
  folder.write("problem.py", kTestProblem);
  folder.write("kernel.py", kTestKernel);
  const auto lines = folder.write("run.jsonl", R"({"problem": "problem.py", "path": "kernel.py", "tags": {"turn": 3}})"
                                               "\n");
  const auto tags_after = [&](const std::vector<std::string>& tags) {
    InputOptions options;
    EXPECT_TRUE((NamingTexts{.author = "-", .tags = tags}.apply(options)));
    const Found found =
        collect([&](const CandidateSink& sink) { EXPECT_TRUE(find_candidates(lines, "", options, sink)); });
    EXPECT_EQ(found.candidates.at(0).author, "-");  // the broker empties the row's
    return found.candidates.at(0).tags;
  };
  EXPECT_THAT(tags_after({"-"}), ElementsAre(Pair("-", "")));
  EXPECT_THAT(tags_after({"-", "model=m1"}), ElementsAre(Pair("model", "m1")));
}

TEST(NamingOptions, mistakes_are_sentences) {
  EXPECT_EQ(mistake({.author = "", .tags = {"a=1", "a=1"}}), "");
  EXPECT_EQ(mistake({.author = "", .tags = {"a=1", "a=2"}}), "--tag gives 'a' two values, '1' and '2'");
  EXPECT_EQ(mistake({.author = "", .tags = {"model"}}),
            "--tag must be NAME=VALUE, such as model=m1, "
            "or - to empty the tags, got 'model'");
  EXPECT_THAT(mistake({.author = "", .tags = {"=m1"}}), HasSubstr("--tag '=m1': the name "));
  EXPECT_THAT(mistake({.author = "", .tags = {"model="}}), HasSubstr("--tag 'model=': the value "));
  EXPECT_THAT(mistake({.author = "a\nb", .tags = {}}), HasSubstr("--author 'a"));
}

}  // namespace
}  // namespace kq::producer
