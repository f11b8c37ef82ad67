// Tests of what a real GPU measures by itself, against what the host finds in the same numbers.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu_worker/judge/check/memory_checks.h"
#include "gpu_worker/judge/check/truth.h"
#include "gpu_worker/judge/testing/measured_on_host.h"
#include "tests/gpu/device_test.h"
#include "tests/gpu/write_to_device.h"

namespace kq::judge {
namespace {

using MeasureGpuTest = DeviceTest;

// How the bits of a real floating-point dtype are divided.
struct Division {
  channel::Dtype dtype;
  int mantissa_bits;
  int exponent_bits;
};
constexpr Division kDivisions[] = {
    {channel::Dtype::float64, 52, 11}, {channel::Dtype::float32, 23, 8},      {channel::Dtype::float16, 10, 5},
    {channel::Dtype::bfloat16, 7, 8},  {channel::Dtype::float8_e4m3fn, 3, 4}, {channel::Dtype::float8_e5m2, 2, 5},
};

// Makes tensors of random numbers, their changed copies and their truth.
struct RandomNumbers {
  std::mt19937_64 random{7};
  Division of;
  bool has_specials = false;  // some numbers are zero, NaN or infinite

  std::size_t width() const { return channel::element_bytes(of.dtype); }
  // Returns a number between 1/8 and 16, of either sign, as bits.
  std::uint64_t number() {
    const std::uint64_t sign = (random() & 1) << (of.mantissa_bits + of.exponent_bits);
    const std::uint64_t mantissa = random() & ((1ull << of.mantissa_bits) - 1);
    if (has_specials && random() % 200 == 0) {
      const std::uint64_t special = ((1ull << of.exponent_bits) - 1) << of.mantissa_bits;
      const std::array<std::uint64_t, 4> all{0, special, special | mantissa, 1};
      return sign | all[random() % all.size()];
    }
    const std::uint64_t exponent = (1ull << (of.exponent_bits - 1)) - 4 + random() % 7;
    return sign | exponent << of.mantissa_bits | mantissa;
  }
  std::vector<std::byte> tensor(std::size_t elements) {
    std::vector<std::byte> bytes(elements * width());
    for (std::size_t at = 0; at < bytes.size(); at += width()) put(bytes, at, number());
    return bytes;
  }
  // Changes the last bit of half of the elements, and one element in fifty to another number.
  std::vector<std::byte> changed(std::vector<std::byte> bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += width()) {
      if (random() % 2 == 0) bytes[at] ^= std::byte{1};
      if (random() % 50 == 0) put(bytes, at, number());
    }
    return bytes;
  }
  template <class Exact>
  std::vector<std::byte> truth_of(std::span<const std::byte> expected) {
    std::vector<Exact> exact;
    for (const double value : numbers_of(of.dtype, expected)) {
      const double error = static_cast<double>(random() % 1'000) * 1e-6;
      exact.push_back(static_cast<Exact>(has_specials && random() % 200 == 0 ? NAN : value * (1 + error)));
    }
    const auto bytes = std::as_bytes(std::span(exact));
    return {bytes.begin(), bytes.end()};
  }

 private:
  void put(std::vector<std::byte>& bytes, std::size_t at, std::uint64_t bits) const {
    std::memcpy(&bytes[at], &bits, width());
  }
};

// Both sides of a tensor and its truth on the host and in device memory, from one element on.
struct MeasuredTensor {
  channel::Dtype truth_dtype = channel::Dtype::none;
  std::vector<std::byte> expected = {}, got = {}, truth = {};
  DeviceComparison comparison = {};
  DeviceTruth device_truth = {};
};

void expect_near(double value, double of_host) {
  EXPECT_NEAR(value, of_host, 1e-12 * of_host);
}

void expect_same_errors(Device& device, const MeasuredTensor& tensor) {
  const DeviceComparison& comparison = tensor.comparison;
  Comparison by_host(*comparison.dtype, comparison.tolerance);
  by_host.add(tensor.expected, tensor.got);
  const auto record = device.measure(comparison);
  ASSERT_TRUE(record && *record);
  EXPECT_EQ((*record)->wrong, by_host.mismatch().mismatched);
  EXPECT_EQ((*record)->not_finite, by_host.mismatch().not_finite);
  EXPECT_EQ((*record)->max_abs_err, by_host.max_abs_err());
  EXPECT_EQ((*record)->max_rel_err, by_host.max_rel_err());
  MemoryChecks checks(device);
  Comparison by_device(*comparison.dtype, comparison.tolerance);
  ASSERT_TRUE(checks.compare(by_device, {*comparison.expected, comparison.expected_offset},
                             {*comparison.got, comparison.got_offset}, comparison.bytes));
  EXPECT_EQ(by_device.last(), by_host.last());
  EXPECT_EQ(by_device.worst(), by_host.worst());
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  const Mismatch a = by_device.mismatch(), b = by_host.mismatch();
  EXPECT_EQ(a.element, b.element);
  EXPECT_EQ(a.total, b.total);
  EXPECT_TRUE(same(a.expected, b.expected) && same(a.got, b.got));
  EXPECT_TRUE(same(a.worst_expected, b.worst_expected) && same(a.worst_got, b.worst_got));
}

void expect_same_truth(Device& device, const MeasuredTensor& tensor) {
  const DeviceComparison& comparison = tensor.comparison;
  const auto measured = device.measure_by_truth(tensor.device_truth, comparison);
  ASSERT_TRUE(measured && *measured);
  const TruthRecord& record = **measured;
  TruthComparison by_device(comparison.tolerance);
  by_device.add_measured(record);
  TruthComparison by_host(comparison.tolerance);
  by_host.add({tensor.truth_dtype, tensor.truth}, {*comparison.dtype, tensor.expected},
              {*comparison.dtype, tensor.got});
  EXPECT_EQ(by_device.errors().submission_max, by_host.errors().submission_max);
  EXPECT_EQ(by_device.errors().reference_max, by_host.errors().reference_max);
  expect_near(by_device.errors().submission_rms, by_host.errors().submission_rms);
  expect_near(by_device.errors().reference_rms, by_host.errors().reference_rms);
  EXPECT_EQ(by_device.is_conclusive(), by_host.is_conclusive());
  EXPECT_EQ(by_device.is_right({}), by_host.is_right({}));
  TruthRecord one_by_one;
  const std::vector<double> truth = numbers_of(tensor.truth_dtype, tensor.truth);
  const std::vector<double> expected = numbers_of(*comparison.dtype, tensor.expected);
  const std::vector<double> got = numbers_of(*comparison.dtype, tensor.got);
  for (std::size_t i = 0; i < truth.size(); ++i) note(one_by_one, truth[i], expected[i], got[i], comparison.tolerance);
  EXPECT_EQ(record.count, one_by_one.count);
  EXPECT_EQ(record.beyond, one_by_one.beyond);
  EXPECT_EQ(record.wrong_form, one_by_one.wrong_form);
  EXPECT_EQ(record.special_truth, one_by_one.special_truth);
  expect_near(record.truth_squares, one_by_one.truth_squares);
  expect_near(record.submission_squares, one_by_one.submission_squares);
}

// Measures random tensors of every format, with and without special numbers, of several sizes and at offsets that are
// multiples of an element only.
TEST_F(MeasureGpuTest, device_and_host_measure_the_same_errors) {
  constexpr std::size_t kElementsMax = 300'007;
  const auto make = [&] { return std::move(*device_->make_window((kElementsMax + 8) * 8)); };
  const auto staging = make(), expected = make(), got = make(), truth = make();
  for (const Division& division : kDivisions) {
    for (const std::size_t elements :
         {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{65'537}, kElementsMax}) {
      for (int round = 0; round < 4; ++round) {
        RandomNumbers numbers{.of = division, .has_specials = round % 2 == 1};
        numbers.random.seed(elements + static_cast<std::size_t>(round));
        const bool is_double = round < 2;
        const std::uint64_t truth_bytes = is_double ? 8 : 4;
        const std::uint64_t begin = static_cast<std::uint64_t>(round);  // in elements
        MeasuredTensor tensor{.truth_dtype = is_double ? channel::Dtype::float64 : channel::Dtype::float32,
                              .expected = numbers.tensor(elements)};
        tensor.got = numbers.changed(tensor.expected);
        tensor.truth = is_double ? numbers.truth_of<double>(tensor.expected) : numbers.truth_of<float>(tensor.expected);
        const auto send = [&](const Memory& to, std::uint64_t offset, std::span<const std::byte> bytes) {
          if (bytes.empty()) return;
          write_to_device(*staging, bytes);
          ASSERT_TRUE(device_->copy(to, offset, *staging, 0, bytes.size()));
        };
        send(*expected, begin * numbers.width(), tensor.expected);
        send(*got, (begin + 1) * numbers.width(), tensor.got);
        send(*truth, begin * truth_bytes, tensor.truth);
        tensor.comparison = {.expected = expected.get(),
                             .expected_offset = begin * numbers.width(),
                             .got = got.get(),
                             .got_offset = (begin + 1) * numbers.width(),
                             .bytes = tensor.got.size(),
                             .dtype = division.dtype,
                             .tolerance = tolerance_for(division.dtype, {}, {})};
        tensor.device_truth = {.memory = truth.get(), .offset = begin * truth_bytes, .dtype = tensor.truth_dtype};
        SCOPED_TRACE("dtype " + std::to_string(static_cast<int>(division.dtype)) + ", " + std::to_string(elements) +
                     " elements, round " + std::to_string(round));
        expect_same_errors(*device_, tensor);
        expect_same_truth(*device_, tensor);
      }
    }
  }
}

}  // namespace
}  // namespace kq::judge
