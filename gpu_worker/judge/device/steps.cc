#include "gpu_worker/judge/device/steps.h"

#include "core/base/check.h"
#include "gpu_worker/judge/device/device.h"

namespace kq::judge {
namespace {

// Returns the device of a step that is taken once.
Device& take(Device*& device) {
  KQ_CHECK(device != nullptr);
  return *std::exchange(device, nullptr);
}

}  // namespace

CopyBatch::CopyBatch(Device& device) : device_(&device) {
  device.begin_copies();
}

CopyBatch::~CopyBatch() {
  if (device_ != nullptr) (void)device_->finish_copies();
}

Expected<void> CopyBatch::finish() && {
  return take(device_).finish_copies();
}

PendingComparisons::~PendingComparisons() {
  if (device_ != nullptr) (void)device_->receive_comparisons();
}

Expected<std::vector<std::optional<Agreement>>> PendingComparisons::finish() && {
  return take(device_).receive_comparisons();
}

RunningSpin::~RunningSpin() {
  if (device_ != nullptr) device_->stop_spin();
}

void RunningSpin::stop() {
  take(device_).stop_spin();
}

GatedQueue::~GatedQueue() {
  if (device_ != nullptr) device_->stop_spin();
}

Expected<RunningSpin> GatedQueue::start_spin() && {
  Device& device = take(device_);
  KQ_TRY(device.start_spin());
  return RunningSpin(device);
}

Probe::Probe(Device& device) : device_(&device), result_(device.run_probe()) {}

Probe::~Probe() {
  if (device_ != nullptr && result_) (void)device_->settle();
}

Expected<void> Probe::settle() && {
  return take(device_).settle();
}

CopyBatch Device::batch_copies() {
  return CopyBatch(*this);
}

Expected<PendingComparisons> Device::start_comparisons(std::span<const DeviceComparison> comparisons) {
  KQ_TRY(send_comparisons(comparisons));
  return PendingComparisons(*this, comparisons.size());
}

Expected<std::vector<std::optional<Agreement>>> Device::compare(std::span<const DeviceComparison> comparisons) {
  KQ_TRY_VALUE(auto pending, start_comparisons(comparisons));
  return std::move(pending).finish();
}

Expected<GatedQueue> Device::open_queue() {
  KQ_TRY(close_gate());
  return GatedQueue(*this);
}

Probe Device::probe() {
  return Probe(*this);
}

Expected<void> Device::check_context() {
  Probe probe(*this);
  if (!probe.result()) return probe.result();
  return std::move(probe).settle();
}

}  // namespace kq::judge
