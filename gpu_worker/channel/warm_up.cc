#include "gpu_worker/channel/warm_up.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "sys/error_text.h"

namespace kq::channel {
namespace {

constexpr std::size_t kBytes = 4096;

}  // namespace

Expected<WarmUpPage> WarmUpPage::make() {
  sys::Fd file(::memfd_create("kq-warm-up", MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), kBytes) != 0) return our_fault(sys::error_text("memfd_create"));
  return map(std::move(file));
}

Expected<WarmUpPage> WarmUpPage::map(sys::Fd file) {
  void* const at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED) return our_fault(sys::error_text("mmap of the warm-up page"));
  return WarmUpPage(std::move(file), static_cast<Page*>(at));
}

WarmUpPage::WarmUpPage(WarmUpPage&& other) noexcept
    : file_(std::move(other.file_)), page_(std::exchange(other.page_, nullptr)) {}
WarmUpPage& WarmUpPage::operator=(WarmUpPage&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(page_, other.page_);
  return *this;
}
WarmUpPage::~WarmUpPage() {
  if (page_ != nullptr) ::munmap(page_, kBytes);
}

}  // namespace kq::channel
