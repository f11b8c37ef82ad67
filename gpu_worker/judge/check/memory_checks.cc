#include "gpu_worker/judge/check/memory_checks.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "core/base/check.h"

namespace kq::judge {
namespace {

static_assert(std::endian::native == std::endian::little);

std::optional<std::uint64_t> first_difference(std::span<const std::byte> a, std::span<const std::byte> b) {
  const auto found = std::ranges::mismatch(a, b);
  if (found.in1 == a.end()) return std::nullopt;
  return static_cast<std::uint64_t>(found.in1 - a.begin());
}

}  // namespace

std::span<std::byte> MemoryChecks::buffer(std::vector<Word>& words, std::uint64_t bytes) {
  const std::size_t count = (bytes + sizeof(Word) - 1) / sizeof(Word);
  if (words.size() < count) words.resize(count);
  return std::as_writable_bytes(std::span(words)).first(bytes);
}

Expected<bool> MemoryChecks::all_match(std::span<const DeviceComparison> comparisons) {
  KQ_TRY_VALUE(const auto seen, device_.compare(comparisons));
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    if (i < seen.size() && seen[i]) continue;
    KQ_TRY_VALUE(const auto found, difference({*comparisons[i].expected, comparisons[i].expected_offset},
                                              {*comparisons[i].got, comparisons[i].got_offset}, comparisons[i].bytes));
    if (found) return false;
  }
  return true;
}

Expected<std::optional<Agreement>> MemoryChecks::compare_on_device(const DeviceComparison& comparison) {
  return device_.compare({&comparison, 1}).map([](const auto& seen) {
    return seen.empty() ? std::optional<Agreement>() : seen.front();
  });
}

// The numbers of elements that the device names are read one by one: there are two of them.
Expected<NumberPair> MemoryChecks::pair_at(const DeviceComparison& tensor, std::uint64_t element) {
  const std::uint64_t element_bytes = channel::element_bytes(*tensor.dtype);
  const std::uint64_t at = element * element_bytes;
  KQ_TRY_VALUE(const auto expected,
               numbers(*tensor.dtype, {*tensor.expected, tensor.expected_offset + at}, element_bytes));
  KQ_TRY_VALUE(const auto got, numbers(*tensor.dtype, {*tensor.got, tensor.got_offset + at}, element_bytes));
  return NumberPair{expected.front(), got.front()};
}

Expected<bool> MemoryChecks::measure_on_device(Comparison& comparison, const DeviceComparison& tensor) {
  KQ_TRY_VALUE(const auto record, device_.measure(tensor));
  if (!record) return false;
  NumberPair first, worst;
  if (record->wrong > 0) {
    KQ_TRY_VALUE(first, pair_at(tensor, record->first));
    KQ_TRY_VALUE(worst, pair_at(tensor, record->worst));
  }
  comparison.add_measured(tensor.bytes / channel::element_bytes(*tensor.dtype), *record, first, worst);
  return true;
}

Expected<void> MemoryChecks::compare(Comparison& comparison, Location expected, Location got, std::uint64_t bytes) {
  const DeviceComparison tensor{.expected = &expected.memory,
                                .expected_offset = expected.offset,
                                .got = &got.memory,
                                .got_offset = got.offset,
                                .bytes = bytes,
                                .dtype = comparison.dtype(),
                                .tolerance = comparison.tolerance()};
  KQ_TRY_VALUE(const auto agreed, compare_on_device(tensor));
  if (agreed) {
    comparison.add_agreed(bytes / channel::element_bytes(comparison.dtype()), agreed->max_abs_err, agreed->max_rel_err);
    return {};
  }
  KQ_TRY_VALUE(const bool is_measured, measure_on_device(comparison, tensor));
  if (is_measured) return {};
  const std::uint64_t piece = piece_bytes_ * kComparedPieces;
  for (std::uint64_t at = 0; at < bytes; at += piece) {
    const auto e = buffer(expected_, std::min(piece, bytes - at));
    const auto g = buffer(got_, e.size());
    if (const auto read = device_.read(e, expected.memory, expected.offset + at); !read) return read;
    if (const auto read = device_.read(g, got.memory, got.offset + at); !read) return read;
    comparison.add(e, g);
  }
  return {};
}

Expected<std::vector<double>> MemoryChecks::numbers(channel::Dtype dtype, Location at, std::uint64_t bytes) {
  KQ_CHECK(bytes <= piece_bytes_);
  const auto piece = buffer(got_, bytes);
  KQ_TRY(device_.read(piece, at.memory, at.offset));
  return numbers_of(dtype, piece);
}

Expected<std::optional<std::uint64_t>> MemoryChecks::difference(Location expected, Location got, std::uint64_t bytes) {
  KQ_TRY_VALUE(const auto same, compare_on_device({.expected = &expected.memory,
                                                   .expected_offset = expected.offset,
                                                   .got = &got.memory,
                                                   .got_offset = got.offset,
                                                   .bytes = bytes}));
  if (same) return std::optional<std::uint64_t>();
  for (std::uint64_t at = 0; at < bytes; at += piece_bytes_) {
    const auto e = buffer(expected_, std::min<std::uint64_t>(piece_bytes_, bytes - at));
    const auto g = buffer(got_, e.size());
    KQ_TRY(device_.read(e, expected.memory, expected.offset + at));
    KQ_TRY(device_.read(g, got.memory, got.offset + at));
    if (std::memcmp(e.data(), g.data(), e.size()) == 0) continue;
    return std::optional<std::uint64_t>(at + *first_difference(e, g));
  }
  return std::optional<std::uint64_t>();
}

Expected<std::optional<std::uint64_t>> MemoryChecks::difference(std::uint32_t word, Location got, std::uint64_t bytes) {
  KQ_TRY_VALUE(const auto same,
               compare_on_device({.got = &got.memory, .got_offset = got.offset, .bytes = bytes, .word = word}));
  if (same) return std::optional<std::uint64_t>();
  for (std::uint64_t at = 0; at < bytes; at += piece_bytes_) {
    const auto g = buffer(got_, std::min<std::uint64_t>(piece_bytes_, bytes - at));
    KQ_TRY(device_.read(g, got.memory, got.offset + at));
    for (std::size_t i = 0; i < g.size(); ++i) {
      if (g[i] != byte_of(word, got.offset + at + i)) return std::optional<std::uint64_t>(at + i);
    }
  }
  return std::optional<std::uint64_t>();
}

}  // namespace kq::judge
