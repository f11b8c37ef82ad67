#include "gpu_worker/judge/device/cuda_compare.h"

#include <bit>

#include "core/base/check.h"

namespace kq::judge::cuda {
namespace {

constexpr std::uint64_t kWordsEach = sizeof(AgreeWords) / sizeof(std::uint64_t);
static_assert(kDeviceComparisonsMax * kWordsEach <= kPublishMax);

}  // namespace

Comparisons::~Comparisons() {
  if (words_ != 0) driver_.free(words_);
}

Expected<void> Comparisons::open() {
  if (const auto opened = shared_.open(); !opened) return opened;
  if (const Result r = driver_.allocate(&words_, kDeviceComparisonsMax * sizeof(AgreeWords)); r != kSuccess) {
    words_ = 0;
    return failure(error_of(driver_, "cuMemAlloc of a few words", r));
  }
  if (const Result r = driver_.fill_words(words_, 0, kDeviceComparisonsMax * sizeof(AgreeWords) / 4); r != kSuccess) {
    return failure(error_of(driver_, "cuMemsetD32", r));
  }
  return {};
}

void Comparisons::begin() {
  KQ_CHECK(!is_sent_);
  count_ = 0;
}

Pointer Comparisons::next() {
  KQ_CHECK(count_ < kDeviceComparisonsMax);
  return words_ + count_++ * sizeof(AgreeWords);
}

Expected<void> Comparisons::send() {
  const auto sent = kernels_.publish(shared_.device(offsetof(Shared, words)), words_, count_ * kWordsEach,
                                     shared_.device(offsetof(Shared, number)), ++number_);
  is_sent_ = sent.has_value();
  return sent;
}

Expected<std::vector<std::optional<Agreement>>> Comparisons::receive() {
  is_sent_ = false;
  KQ_TRY(await_number(driver_, shared_->number, number_));
  std::vector<std::optional<Agreement>> results(count_);
  for (std::size_t i = 0; i < count_; ++i) {
    const AgreeWords& words = shared_->words[i];
    if (words.wrong == 0)
      results[i] = Agreement{std::bit_cast<double>(words.max_abs_err), std::bit_cast<double>(words.max_rel_err)};
  }
  return results;
}

}  // namespace kq::judge::cuda
