#include "producer/submit/judge_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace kq::producer {
namespace {

Expected<InputOptions> applied(const std::map<std::string, std::string>& words) {
  JudgeOptionTexts texts;
  for (JudgeOptionTexts::Given& given : texts.all()) {
    const auto word = words.find(given.option.flag);
    if (word == words.end()) continue;
    given.text = word->second;
    given.is_set = given.option.value == nullptr;
  }
  InputOptions options;
  KQ_TRY(texts.apply(options));
  return options;
}

TEST(JudgeOptions, without_any_nothing_is_overridden) {
  const auto options = applied({});
  ASSERT_TRUE(options);
  EXPECT_FALSE(options->rtol || options->baseline || options->workloads || options->truth_rms || options->no_truth);
}

TEST(JudgeOptions, each_word_that_help_lists_is_valid) {
  for (const JudgeOption& option : judge_options()) {
    const std::string list = option.value == nullptr ? "" : option.value;
    if (list.find('|') == std::string::npos) continue;
    for (std::size_t begin = 0; begin <= list.size();) {
      const std::size_t end = std::min(list.find('|', begin), list.size());
      const std::string word = list.substr(begin, end - begin);
      EXPECT_TRUE(applied({{option.flag, word}})) << option.flag << ' ' << word;
      begin = end + 1;
    }
  }
}

TEST(JudgeOptions, each_option_is_set) {
  const auto options = applied({{"--precision", "bf16"},
                                {"--baseline", "compile"},
                                {"--profile", "ncu"},
                                {"--streams", "joined"},
                                {"--graphs", "allow"},
                                {"--workloads", "a,b*"},
                                {"--need-extensions", ""},
                                {"--rtol", "0.25"},
                                {"--atol", "0"},
                                {"--truth-rms", "3"},
                                {"--truth-max", "5"},
                                {"--no-truth", ""},
                                {"--allow-precision", "tf32"},
                                {"--suite", "torchbench"},
                                {"--trace", "ops.txt"},
                                {"--ops", "add,relu.default"},
                                {"--topn-inputs", "5"},
                                {"--backendbench-tolerance", ""},
                                {"--first-version", ""}});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->precision, Precision::bf16);
  EXPECT_EQ(options->baseline, Baseline::compile);
  EXPECT_EQ(options->profile, Profiler::ncu);
  EXPECT_EQ(options->streams, Streams::joined);
  EXPECT_EQ(options->graphs, Graphs::allow);
  EXPECT_EQ(options->workloads->size(), 2u);
  EXPECT_TRUE(options->need_extensions);
  EXPECT_EQ(options->rtol, 0.25);
  EXPECT_EQ(options->atol, 0);
  EXPECT_EQ(options->truth_rms, 3);
  EXPECT_EQ(options->truth_max, 5);
  EXPECT_TRUE(options->no_truth);
  EXPECT_EQ(options->allow_precision, AllowedPrecision::tf32);
  EXPECT_EQ(options->suite.suite, Suite::torchbench);
  EXPECT_EQ(options->suite.trace, "ops.txt");
  EXPECT_EQ(options->suite.ops, (std::vector<std::string>{"add", "relu.default"}));
  EXPECT_EQ(options->suite.largest, 5u);
  EXPECT_TRUE(options->suite.strict);
  EXPECT_TRUE(options->suite.first_version);
}

TEST(JudgeOptions, a_mistake_is_one_sentence) {
  EXPECT_EQ(applied({{"--suite", "all"}}).error().message,
            "--suite must be one of smoke, torchbench, opinfo, facto, got 'all'");
  EXPECT_EQ(applied({{"--ops", ","}}).error().message, "--ops must be names of operators joined by commas, got ','");
  EXPECT_EQ(applied({{"--topn-inputs", "0"}}).error().message, "--topn-inputs must be a number from 1 on, got '0'");
  EXPECT_EQ(applied({{"--rtol", "2"}}).error().message, "--rtol must be a number from 0 to 1, got '2'");
  EXPECT_EQ(applied({{"--atol", "-0.5"}}).error().message, "--atol must be a number from 0 to 1, got '-0.5'");
  EXPECT_EQ(applied({{"--baseline", "fast"}}).error().message, "--baseline must be one of eager, compile, got 'fast'");
}

}  // namespace
}  // namespace kq::producer
