#include "gpu_worker/child/launcher/binding.h"

#include <bit>
#include <cstring>

#include <gtest/gtest.h>

namespace kq::launcher {
namespace {

using channel::Dtype;
using channel::Kind;
using channel::TensorDesc;

TensorDesc tensor(const char* name, std::int64_t n, std::uint64_t offset) {
  TensorDesc desc{};
  std::strncpy(desc.name, name, sizeof desc.name - 1);
  desc.kind = Kind::tensor;
  desc.dtype = Dtype::float32;
  desc.ndim = 1;
  desc.shape[0] = n;
  desc.offset = offset;
  desc.bytes = static_cast<std::uint64_t>(n) * 4;
  return desc;
}

TensorDesc real(const char* name, double value) {
  TensorDesc desc{};
  std::strncpy(desc.name, name, sizeof desc.name - 1);
  desc.kind = Kind::real;
  desc.real = value;
  return desc;
}

// The tables are those of forward(x, scale) of a model with a weight, which returns two tensors.
class BindingTest : public ::testing::Test {
 protected:
  BindingTest() {
    page.inputs[0] = tensor("x", 64, 256);
    page.inputs[1] = real("scale", 1.5);
    page.input_count = 2;
    page.outputs[0] = tensor("out0", 64, 1024);
    page.outputs[1] = tensor("out1", 64, 2048);
    page.output_count = 2;
    page.states[0] = tensor("w", 8, 4096);
    page.state_count = 1;
  }
  tl::expected<Binding, std::string> bind(const std::string& args) {
    const auto plan = parse_launch("kernel\tk\ngrid\t1\t1\t1\nblock\t1\t1\t1\n" + args);
    if (!plan) return tl::unexpected(plan.error().message);
    return Binding::bind(*plan, tables_of(page));
  }
  std::string complaint(const std::string& args) {
    const auto bound = bind(args);
    return bound ? "" : bound.error();
  }
  static std::uint64_t at(Binding& binding, std::size_t i) {
    return *static_cast<std::uint64_t*>(binding.parameters()[i]);
  }

  channel::Page page{};
};

const std::string kOut = "arg\ta\ttensor\toutput\t-\t-\t-\narg\tb\ttensor\toutput\tfloat32\t64\t-\n";

TEST_F(BindingTest, tensors_point_into_the_window) {
  auto binding = bind("arg\tw\ttensor\tinput\t-\t-\t-\narg\tx\ttensor\tinput\tfloat32\t64\t-\n" + kOut);
  ASSERT_TRUE(binding) << binding.error();
  EXPECT_TRUE(binding->fill(1'000'000, page).empty());
  EXPECT_EQ(at(*binding, 0), 1'004'096u);
  EXPECT_EQ(at(*binding, 1), 1'000'256u);
  EXPECT_EQ(at(*binding, 2), 1'001'024u);
  EXPECT_EQ(at(*binding, 3), 1'002'048u);
  page.outputs[1].offset = 8192;
  binding->fill(2'000'000, page);
  EXPECT_EQ(at(*binding, 3), 2'008'192u);
}

TEST_F(BindingTest, a_scalar_has_the_bits_that_a_kernel_reads) {
  auto binding = bind(
      "arg\tn\tint\tinput\t-\t-\t-2\narg\tscale\tfloat\tinput\tfloat32\t-\t-\narg\td\tfloat\tinput\tfloat64\t-\t0x1p-"
      "1\narg\tf\tbool\tinput\t-\t-\t1\n" +
      kOut);
  ASSERT_TRUE(binding) << binding.error();
  EXPECT_EQ(static_cast<std::int32_t>(at(*binding, 0)), -2);
  EXPECT_EQ(static_cast<std::int64_t>(at(*binding, 0)), -2);
  EXPECT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(at(*binding, 1))), 1.5f);
  EXPECT_EQ(std::bit_cast<double>(at(*binding, 2)), 0.5);
  EXPECT_EQ(at(*binding, 3), 1u);
}

TEST_F(BindingTest, an_inout_tensor_is_an_output_if_the_kernel_lacks_one) {
  auto binding = bind("arg\tx\ttensor\tinout\t-\t-\t-\narg\ta\ttensor\toutput\t-\t-\t-\n");
  ASSERT_TRUE(binding) << binding.error();
  const auto& copies = binding->fill(1'000'000, page);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].to, 1'001'024u);
  EXPECT_EQ(copies[0].from, 1'000'256u);
  EXPECT_EQ(copies[0].bytes, 256u);
  EXPECT_EQ(at(*binding, 0), 1'001'024u);
  EXPECT_EQ(at(*binding, 1), 1'002'048u);
}

TEST_F(BindingTest, an_inout_tensor_is_changed_in_place_if_the_kernel_has_all_outputs) {
  auto binding = bind("arg\tx\ttensor\tinout\t-\t-\t-\n" + kOut);
  ASSERT_TRUE(binding) << binding.error();
  EXPECT_TRUE(binding->fill(1'000'000, page).empty());
  EXPECT_EQ(at(*binding, 0), 1'000'256u);
}

TEST_F(BindingTest, an_argument_that_does_not_fit_the_problem_is_an_error_that_names_it) {
  EXPECT_EQ(complaint("arg\ta\ttensor\toutput\t-\t-\t-\n"),
            "the kernel has 1 output and 0 inout tensors, the reference returns 2");
  EXPECT_EQ(complaint("arg\ty\ttensor\tinput\t-\t-\t-\n" + kOut),
            "argument y is neither a parameter of forward() (x, scale) nor a state of the reference (w)");
  EXPECT_EQ(complaint("arg\tscale\ttensor\tinput\t-\t-\t-\n" + kOut),
            "argument scale is a number of forward(), not a tensor");
  EXPECT_EQ(complaint("arg\tx\ttensor\tinput\tfloat16\t64\t-\n" + kOut),
            "argument x is said to be float16[64], the problem has float32[64]");
  EXPECT_EQ(complaint("arg\tn\tint\tinput\t-\t-\t-\n" + kOut),
            "argument n has no value, and forward() has no number of that name");
  page.inputs[0].bytes = 128;
  EXPECT_EQ(complaint("arg\tx\ttensor\tinout\t-\t-\t-\narg\ta\ttensor\toutput\t-\t-\t-\n"),
            "argument x is an input and an output of different sizes");
}

TEST_F(BindingTest, table_counts_beyond_their_maximum_are_limited) {
  page.input_count = page.output_count = page.state_count = 0xFFFFFFFF;
  const Tables tables = tables_of(page);
  EXPECT_EQ(tables.inputs.size(), channel::kInputsMax);
  EXPECT_EQ(tables.states.size(), channel::kStatesMax);
}

}  // namespace
}  // namespace kq::launcher
