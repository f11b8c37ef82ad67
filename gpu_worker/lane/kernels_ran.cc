#include "gpu_worker/lane/kernels_ran.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu_worker/lane/call_audit.h"

namespace kq::worker {
namespace {

constexpr std::size_t kKernelsReadMax = 4096;  // lines of kernels that are read

std::string_view take(std::string_view& text, char by) {
  const std::size_t at = std::min(text.find(by), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

template <class T>
bool read_number(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  if constexpr (std::is_signed_v<T>) return number >= 0;
  return true;
}

bool begins_with_any(std::string_view text, std::span<const std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view beginning) { return text.starts_with(beginning); });
}
bool has_any(std::string_view text, std::span<const std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return text.find(part) != text.npos; });
}

std::string printable_name(std::string_view name) {
  std::string clean(name.substr(0, kKernelNameBytesMax));
  std::ranges::replace_if(
      clean, [](char letter) { return letter < ' ' || letter > '~'; }, '?');
  return clean;
}

// The names that torch.compile gives to the kernels that it makes.
bool is_made_by_compiler(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kMade{"triton_poi_", "triton_red_", "triton_per_",
                                                         "triton_tem_", "triton_for_", "triton_mm_"};
  return begins_with_any(name, kMade);
}

// Whether a library launches kernels that its caller gives it, as text or as a function: all but those of its own.
bool launches_given_kernels(std::string_view path, std::string_view name) {
  static constexpr std::array<std::string_view, 8> kLaunchers{"/cuda/bindings/", "/cuda/core/", "/cupy/",   "/pycuda/",
                                                              "/tilelang/",      "/tvm",        "cutlass_", "/warp/"};
  return has_any(path, kLaunchers) && !name.starts_with("cupy_");
}

// The owner of a kernel of which no launch was reported, by its name alone.
KernelOwner owner_by_name(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kTorch{"at::", "c10::", "at_cuda_detail::", "torch::"};
  static constexpr std::array<std::string_view, 8> kLibrary{"cublas", "cudnn",  "_xmma_",     "cask_",
                                                            "cufft",  "nvjet_", "cusparse::", "ncclDevKernel"};
  if (is_made_by_compiler(name) || has_any(name, kTorch)) return KernelOwner::torch;
  return has_any(name, kLibrary) ? KernelOwner::library : KernelOwner::submission;
}

struct Total {
  std::uint64_t count = 0;
  std::int64_t ns = 0;
};

}  // namespace

KernelOwner owner_of(std::string_view modules, std::string_view name, std::string_view python_home) {
  if (modules.empty() || modules == "-") return owner_by_name(name);
  const std::string_view caller = caller_in(modules);
  const std::string_view file = caller.substr(caller.rfind('/') + 1);
  // The launcher that triton compiles for a kernel is in the cache of the job. Triton's own package has its other
  // parts.
  const bool is_triton = file.starts_with("__triton_launcher") || caller.find("/triton/") != caller.npos;
  // torch launches what torch.compile has made, also where the kernel itself is the submission's.
  const bool is_compiled = is_triton || file.starts_with("libtorch_python");
  if (is_compiled && is_made_by_compiler(name)) return KernelOwner::torch;
  if (is_compiled) return KernelOwner::submission;
  if (is_of_submission(caller, python_home)) return KernelOwner::submission;
  if (file.starts_with("libtorch") || file.starts_with("libc10") || file.starts_with("_C.")) return KernelOwner::torch;
  if (launches_given_kernels(caller, name)) return KernelOwner::submission;
  // ctypes and the interpreter stand between a submission that calls the driver itself and the driver.
  if (file.starts_with("libffi") || file.starts_with("python") || file.starts_with("libpython") ||
      file.starts_with("_ctypes") || file.starts_with("libcupti"))
    return KernelOwner::submission;
  return KernelOwner::library;
}

std::optional<KernelsRan> read_kernels(std::string_view text, std::string_view python_home) {
  KernelsRan ran;
  std::map<std::pair<std::string, KernelOwner>, Total> kernels;  // of all calls
  std::map<std::pair<std::string, KernelOwner>, Total> pending;  // of the call that is read
  std::int64_t left_out_ns = 0;
  for (std::size_t lines = 0; !text.empty() && lines < kKernelsReadMax;) {
    std::string_view line = take(text, '\n');
    const std::string_view kind = take(line, '\t');
    if (kind == "kernel") {
      ++lines;
      Total total;
      if (!read_number(take(line, '\t'), total.count) || !read_number(take(line, '\t'), total.ns)) continue;
      const std::string_view modules = take(line, '\t');
      Total& sum = pending[{printable_name(line), owner_of(modules, line, python_home)}];
      sum.count += total.count;
      sum.ns += total.ns;
    } else if (kind == "watched") {
      std::uint32_t distinct = 0;
      std::int64_t ns = 0;
      if (!read_number(take(line, '\t'), distinct) || !read_number(take(line, '\t'), ns)) continue;
      ++ran.calls;
      left_out_ns += ns;
      ran.left_out += distinct > pending.size() ? distinct - static_cast<std::uint32_t>(pending.size()) : 0;
      for (const auto& [key, total] : pending) {
        kernels[key].count += total.count;
        kernels[key].ns += total.ns;
      }
      pending.clear();
    }
  }
  if (ran.calls == 0) return std::nullopt;
  double own_ns = 0;
  auto all_ns = static_cast<double>(left_out_ns);
  for (const auto& [key, total] : kernels) {
    const double ns = static_cast<double>(total.ns);
    all_ns += ns;
    if (key.second == KernelOwner::submission) own_ns += ns;
    ran.kernels.push_back({.name = key.first, .owner = key.second, .count = total.count, .ns = total.ns});
  }
  if (all_ns > 0) ran.own_share = own_ns / all_ns;
  std::ranges::stable_sort(ran.kernels, std::greater(), &RanKernel::ns);
  if (ran.kernels.size() > kRanKernelsMax) {
    ran.left_out += static_cast<std::uint32_t>(ran.kernels.size() - kRanKernelsMax);
    ran.kernels.resize(kRanKernelsMax);
  }
  return ran;
}

bool has_kernels(std::string_view file_name, std::string_view text) {
  static constexpr std::array<std::string_view, 5> kInPython{"triton.jit", "__global__", "load_inline", "RawKernel",
                                                             "cpp_extension"};
  static constexpr std::array<std::string_view, 1> kInCpp{"__global__"};
  const bool is_python = file_name.ends_with(".py");
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    line = line.substr(0, line.find(is_python ? "#" : "//"));
    if (is_python ? has_any(line, kInPython) : has_any(line, kInCpp)) return true;
  }
  return false;
}

}  // namespace kq::worker
