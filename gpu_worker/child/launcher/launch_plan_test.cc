#include "gpu_worker/child/launcher/launch_plan.h"

#include <cmath>

#include <gtest/gtest.h>

namespace kq::launcher {
namespace {

constexpr std::string_view kWhole =
    "kernel\t_Z3addPf\n"
    "grid\t16\t2\t1\n"
    "block\t256\t1\t1\n"
    "shared\t1024\n"
    "arg\tx\ttensor\tinput\tfloat32\t64,3\t-\n"
    "arg\tout\ttensor\toutput\t-\t-\t-\n"
    "arg\tn\tint\tinput\tfloat32\t-\t-9223372036854775808\n"
    "arg\ta\tfloat\tinput\tfloat64\t-\t0x1.8p+1\n"
    "arg\tb\tbool\tinput\tfloat32\t-\t1\n"
    "arg\tm\tint\tinput\tfloat32\t-\t-\n"
    "arg\tscalar\ttensor\tinput\tfloat32\t\t-\n";

TEST(launch_plan, is_parsed_field_by_field) {
  const auto plan = parse_launch(kWhole);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->kernel, "_Z3addPf");
  EXPECT_EQ(plan->grid, (std::array<std::uint32_t, 3>{16, 2, 1}));
  EXPECT_EQ(plan->block[0], 256u);
  EXPECT_EQ(plan->shared_bytes, 1024u);
  ASSERT_EQ(plan->args.size(), 7u);
  EXPECT_EQ(plan->args[0].shape, (std::vector<std::int64_t>{64, 3}));
  EXPECT_EQ(plan->args[0].dtype, channel::Dtype::float32);
  EXPECT_EQ(plan->args[1].role, ArgRole::output);
  EXPECT_EQ(plan->args[1].dtype, channel::Dtype::none);
  EXPECT_FALSE(plan->args[1].shape);
  EXPECT_EQ(plan->args[2].integer, INT64_MIN);
  EXPECT_EQ(plan->args[3].real, 3.0);
  EXPECT_EQ(plan->args[4].integer, 1);
  EXPECT_FALSE(plan->args[5].integer);
  EXPECT_EQ(plan->args[6].shape, std::vector<std::int64_t>{});
}

TEST(launch_plan, an_invalid_line_is_an_error_that_names_it) {
  for (const std::string line :
       {"grid\t0\t1\t1", "grid\t1\t1", "block\t1\t1\t4294967296", "shared\t-1", "kernel\t", "dance\t1",
        "arg\tx\ttensor\tinput\tfloat31\t-\t-", "arg\tx\ttensor\tinput\tfloat32\t-\t7", "arg\tx\tint\toutput\t-\t-\t-",
        "arg\tx\tbool\tinput\t-\t-\t2", "arg\tx\tint\tinput\t-\t-\t1.5", "arg\tx\tfloat\tinput\t-\t-\tabc",
        "arg\tx\ttensor\tinput\t-\t1,-2\t-", "arg\tx\ttensor\tinput\t-\t1,1,1,1,1,1,1,1,1\t-",
        "arg\t\ttensor\tinput\t-\t-\t-"}) {
    const auto plan = parse_launch(std::string(kWhole) + line + "\n");
    ASSERT_FALSE(plan) << line;
    EXPECT_NE(plan.error().message.find("line 12"), std::string::npos) << plan.error().message;
  }
}

TEST(launch_plan, an_incomplete_file_is_an_error) {
  EXPECT_FALSE(parse_launch(""));
  EXPECT_FALSE(parse_launch("kernel\tx\ngrid\t1\t1\t1\n"));
}

TEST(launch_plan, floats_may_be_infinite) {
  const auto plan = parse_launch(std::string(kWhole) +
                                 "arg\ti\tfloat\tinput\tfloat32\t-\t-inf\narg\tn\tfloat\tinput\tfloat32\t-\tnan\n");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->args[7].real, -INFINITY);
  EXPECT_TRUE(std::isnan(*plan->args[8].real));
}

TEST(launch_plan, types_and_shapes_have_names) {
  EXPECT_EQ(describe(channel::Dtype::bfloat16, {3, 4}), "bfloat16[3, 4]");
  EXPECT_EQ(name_of(static_cast<channel::Dtype>(99)), "");
}

}  // namespace
}  // namespace kq::launcher
