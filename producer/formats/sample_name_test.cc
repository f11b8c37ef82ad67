#include "producer/formats/sample_name.h"

#include <gtest/gtest.h>

namespace kq::producer {
namespace {

TEST(sample_name, names_are_read_exactly) {
  EXPECT_EQ(parse_sample_name("level_1_problem_19_sample_0_kernel.py"), (SampleName{1, 19, 0}));
  for (const char* name : {"level_1_problem_19_sample_0_prompt.txt", "level_1_problem_x_sample_0_kernel.py",
                           "level_1_problem_1_sample_0_kernel.pyc", "level_-1_problem_1_sample_0_kernel.py",
                           "level_1_problem_1_sample__kernel.py", "level_1_problem_99999999999_sample_0_kernel.py"}) {
    EXPECT_EQ(parse_sample_name(name), std::nullopt) << name;
  }
}

TEST(sample_name, a_label_is_the_name_without_its_ending) {
  EXPECT_EQ(sample_label({1, 19, 0}), "level_1_problem_19_sample_0");
}

TEST(level_of_result, is_in_the_metadata) {
  EXPECT_EQ(level_of_result(*parse_json(R"({"metadata": {"kq_level": 2}})")), 2u);
  EXPECT_EQ(level_of_result(*parse_json(R"({"metadata": {}})")), std::nullopt);
  EXPECT_EQ(level_of_result(*parse_json("{}")), std::nullopt);
}

}  // namespace
}  // namespace kq::producer
