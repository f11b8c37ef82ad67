#include "gpu_worker/child/runtime/kernel_trace.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

namespace kq::runtime {
namespace {

// These values are those of cupti_activity.h and cupti_result.h of CUDA 12 and 13.
constexpr int kConcurrentKernel = 10;
constexpr std::uint32_t kFlushForced = 1;
constexpr std::size_t kRecordAlign = 8;

std::atomic<KernelTrace*> traced = nullptr;  // CUPTI's callbacks for buffers have no argument of the user

struct Freed {
  void operator()(char* text) const { std::free(text); }
};

std::string demangled(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return symbol;  // the name of a triton kernel, which might look like an encoded type
  int status = 0;
  const std::unique_ptr<char, Freed> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status));
  return status == 0 && name ? name.get() : symbol;
}

// Returns text that holds no separator of the lines.
std::string as_field(std::string text, std::size_t bytes_max) {
  if (text.size() > bytes_max) text.resize(bytes_max);
  for (char& letter : text) {
    if (static_cast<unsigned char>(letter) < ' ' || letter == '\x7F') letter = '_';
  }
  return text.empty() ? "-" : text;
}

}  // namespace

bool KernelTrace::begin(const CuptiActivity& activity) {
  if (is_on_ || !activity.is_complete()) return false;
  {
    const std::lock_guard lock(mutex_);
    activity_ = activity;
    modules_by_launch_.clear();
    kernels_.clear();
    left_out_ns_ = left_out_count_ = 0;
  }
  traced = this;
  buffers_left_ = kTraceBuffersMax;
  if (!is_registered_ && activity_.register_callbacks(on_buffer_requested, on_buffer_completed) != 0) return false;
  is_registered_ = true;
  is_on_ = activity_.enable(kConcurrentKernel) == 0;
  return is_on_;
}

std::vector<std::string> KernelTrace::end() {
  if (!is_on_) return {};
  const bool is_flushed = activity_.flush(kFlushForced) == 0;
  (void)activity_.disable(kConcurrentKernel);
  is_on_ = false;
  if (!is_flushed) return {};
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::pair<std::string, std::string>, Kernel>> all(kernels_.begin(), kernels_.end());
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [key, kernel] = all[i];
    if (i >= kTraceKernelsMax) {
      left_out_ns_ += kernel.ns;
      continue;
    }
    lines.push_back("kernel\t" + std::to_string(kernel.count) + "\t" + std::to_string(kernel.ns) + "\t" +
                    as_field(key.first, kTraceModulesBytesMax) + "\t" +
                    as_field(demangled(key.second), kTraceNameBytesMax));
  }
  lines.push_back("watched\t" + std::to_string(all.size() + left_out_count_) + "\t" + std::to_string(left_out_ns_));
  return lines;
}

bool KernelTrace::wants_modules_of(std::string_view symbol) {
  const std::lock_guard lock(mutex_);
  if (is_on_) return modules_by_launch_.size() < kTraceLaunchesMax;
  return modules_by_symbol_.size() < kTraceDistinctMax && !modules_by_symbol_.contains(std::string(symbol));
}

void KernelTrace::on_launch(std::uint32_t correlation, std::string_view symbol, const std::string& modules) {
  const std::lock_guard lock(mutex_);
  // The runtime's launch contains the driver's; both have the same caller, and the first report is the outer one.
  if (is_on_ && modules_by_launch_.size() < kTraceLaunchesMax) modules_by_launch_.try_emplace(correlation, modules);
  if (!symbol.empty() && modules_by_symbol_.size() < kTraceDistinctMax)
    modules_by_symbol_.try_emplace(std::string(symbol), modules);
}

void KernelTrace::on_record(const KernelRecord& record) {
  const std::string symbol = record.name == nullptr ? "?" : record.name;
  const std::uint64_t ns = record.end_ns > record.start_ns ? record.end_ns - record.start_ns : 0;
  const std::lock_guard lock(mutex_);
  const std::pair key{modules_of(record.correlation, symbol), symbol};
  auto found = kernels_.find(key);
  if (found == kernels_.end() && kernels_.size() < kTraceDistinctMax) found = kernels_.try_emplace(key).first;
  if (found == kernels_.end()) {
    ++left_out_count_;
    left_out_ns_ += ns;
    return;
  }
  ++found->second.count;
  found->second.ns += ns;
}

std::string KernelTrace::modules_of(std::uint32_t correlation, const std::string& symbol) const {
  const auto launch = modules_by_launch_.find(correlation);
  const auto capture = modules_by_symbol_.find(symbol);
  // The launch of a graph has no symbol of its own, so it is not in modules_by_launch_.
  if (launch != modules_by_launch_.end()) return launch->second;
  return capture != modules_by_symbol_.end() ? capture->second : "-";
}

void KernelTrace::on_buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* record_count_max) {
  *record_count_max = 0;  // as many as fit
  *size = 0;
  *buffer = nullptr;
  KernelTrace* const trace = traced;
  if (trace == nullptr || trace->buffers_left_.fetch_sub(1) <= 0) return;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kRecordAlign, kTraceBufferBytes));
  if (*buffer != nullptr) *size = kTraceBufferBytes;
}

void KernelTrace::on_buffer_completed(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid_size) {
  KernelTrace* const trace = traced;
  void* record = nullptr;
  while (trace != nullptr && buffer != nullptr && valid_size > 0 &&
         trace->activity_.next(buffer, valid_size, &record) == 0) {
    if (*static_cast<const std::uint32_t*>(record) == kConcurrentKernel)
      trace->on_record(*static_cast<const KernelRecord*>(record));
  }
  std::free(buffer);
}

}  // namespace kq::runtime
