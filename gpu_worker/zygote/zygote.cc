#include "gpu_worker/zygote/zygote.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/check.h"
#include "gpu_worker/machine/visible_gpus.h"
#include "gpu_worker/zygote/packets.h"
#include "sys/clock.h"
#include "sys/cores.h"
#include "sys/process.h"

namespace kq::worker {
namespace {

using nlohmann::json;

// The import of torch takes 2 to 3 s, and much longer from a cold disk or on a loaded machine.
constexpr std::int64_t kStartLimitMs = 180'000;
constexpr std::int64_t kForkLimitMs = 30'000;

// The zygote inherits these variables only, because a child can read the environment that its zygote was started with
// in /proc/self/environ. The settings of NCCL, and of the libraries that replace it, say what works on this machine.
const std::vector<std::string> kInherited{
    "PATH",       "HOME",       "LANG",    "LC_ALL",    "TMPDIR",   "LD_LIBRARY_PATH",
    "PYTHONPATH", "PYTHONHOME", "KQ_CUDA", "CUDA_HOME", "CUDA_PATH"};
constexpr std::array kInheritedPrefixes{"NCCL_", "NVSHMEM_", "TORCH_SYMM_MEM_"};

std::vector<std::string> inherited_names() {
  std::vector<std::string> names = kInherited;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto is_prefix = [&](std::string_view prefix) { return text.starts_with(prefix); };
    if (std::ranges::any_of(kInheritedPrefixes, is_prefix)) names.emplace_back(text.substr(0, text.find('=')));
  }
  return names;
}

json to_json(std::uint64_t id, const ChildOrder& order, DeviceKind device) {
  return {{"id", id},
          {"role", to_string(order.role)},
          {"device", to_string(device)},
          {"backend", to_string(order.backend)},
          {"dir", order.dir},
          {"uid", order.uid},
          {"entry", order.entry},
          {"problem", order.problem},
          {"precision", to_string(order.precision)},
          {"arch", order.arch},
          {"shared", order.shared},
          {"profiler", order.profiler},
          {"gpus", order.gpus},
          {"device_count", order.device_count},
          {"host_bytes", order.host_bytes},
          {"scratch_bytes", order.scratch_bytes},
          {"window_bytes", order.window_bytes},
          {"audit", order.audit},
          {"cores", order.cores},
          {"compiler", order.compiler}};
}

// Waits for the first packet of a zygote. A signal interrupts the wait, which then goes on unless the start is given
// up.
Expected<sys::FdPacket> first_packet(int socket, const ZygoteOptions& options) {
  const std::int64_t end_ms = sys::monotonic_now_ms() + kStartLimitMs;
  for (std::int64_t now_ms = end_ms - kStartLimitMs; now_ms < end_ms; now_ms = sys::monotonic_now_ms()) {
    if (options.gives_up != nullptr && options.gives_up())
      return our_fault("the worker is told to stop before its Python has started");
    auto packet = sys::receive_packet(socket, end_ms - now_ms);
    if (!packet) break;
    if (*packet) return std::move(**packet);
  }
  return our_fault("the Python of the worker, " + options.python +
                   ", did not start; set KQ_PYTHON to an interpreter with torch and triton");
}

}  // namespace

Expected<std::unique_ptr<Zygote>> Zygote::start(const ZygoteOptions& options) {
  KQ_TRY_VALUE(auto pair, sys::packet_pair());
  std::unique_ptr<Zygote> zygote(new Zygote);
  zygote->device_ = options.device;
  const bool on_gpu = options.device == DeviceKind::cuda;
  const std::string gpu = !on_gpu                       ? ""
                          : options.device_uuid.empty() ? gpu_selector(options.device_index)
                                                        : options.device_uuid;
  const auto pid = sys::start_process(
      {.argv = {options.python, options.harness + "/zygote/main.py", "--device", std::string(to_string(options.device)),
                "--stub", options.stub, "--cores", sys::core_list(options.cores), "--arch", on_gpu ? options.arch : "",
                "--shared-code-bytes", std::to_string(options.shared_code_bytes_max)},
       .environment = {{"CUDA_VISIBLE_DEVICES", gpu},
                       {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                       {"CUDA_DEVICE_MAX_CONNECTIONS", "1"},
                       {"CUDA_DEVICE_MAX_COPY_CONNECTIONS", "1"},      // for harness/children/preforked.py
                       {"GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"}},  // for harness/zygote/huge_pages.py
       .inherited = inherited_names(),
       .socket = pair.second.get(),
       .ignores_drain_signals = true});
  if (!pid) return failure(pid.error());
  zygote->pid_ = *pid;
  zygote->socket_ = std::move(pair.first);
  pair.second = sys::Fd();  // with this end closed, the socket closes when the zygote dies

  KQ_TRY_VALUE(const auto packet, first_packet(zygote->socket_.get(), options));
  auto hello = parse_zygote_hello(packet.bytes);
  if (!hello) return our_fault("the Python of the worker did not start: " + hello.error().message);
  zygote->software_ = std::move(hello->software);
  zygote->compilers_ = std::move(hello->compilers);
  zygote->toolchain_ = std::move(hello->toolchain);
  zygote->prefixes_ = std::move(hello->prefixes);
  zygote->sandbox_ = std::move(hello->sandbox);
  zygote->backends_ = std::move(hello->backends);
  zygote->alive_ = true;
  zygote->reader_ = std::thread([raw = zygote.get()] { raw->read_loop(); });
  return zygote;
}

Zygote::~Zygote() {
  sys::end_process(pid_);  // closes its end of the socket, which ends the reader
  if (reader_.joinable()) reader_.join();
}

void Zygote::stop() {
  const std::lock_guard lock(mutex_);
  if (alive_) ::kill(pid_, SIGKILL);  // the destructor reaps it, so the process id is still its own
}

bool Zygote::alive() const {
  const std::lock_guard lock(mutex_);
  return alive_;
}

Expected<std::uint64_t> Zygote::fork(const ChildOrder& order, int log, int channel, int audit) {
  std::unique_lock lock(mutex_);
  const std::uint64_t id = next_id_++;
  children_.emplace(id, Child{});
  std::vector<int> fds{log};
  if (channel >= 0) fds.push_back(channel);
  KQ_CHECK(order.audit == (audit >= 0));
  if (order.audit) fds.push_back(audit);
  if (const auto sent = sys::send_packet(socket_.get(), to_json(id, order, device_).dump(), fds); !sent) {
    children_.erase(id);
    return failure(sent.error());
  }
  changed_.wait_for(lock, std::chrono::milliseconds(kForkLimitMs), [&] { return !alive_ || children_[id].answered; });
  const Child& child = children_[id];
  if (child.pid > 0) return id;
  const std::string reason = !child.error.empty() ? child.error : alive_ ? "no answer" : "it died";
  children_.erase(id);
  return our_fault("the zygote could not fork a child: " + reason);
}

void Zygote::kill(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto child = children_.find(id);
  // The zygote reports an exit right after it has reaped the child. After its own death the children are dead too, and
  // their process ids may belong to others.
  if (alive_ && child != children_.end() && child->second.pid > 0 && !child->second.exit)
    ::kill(child->second.pid, SIGKILL);
}

Expected<std::optional<int>> Zygote::wait(std::uint64_t id, std::int64_t timeout_ms) {
  std::unique_lock lock(mutex_);
  KQ_CHECK(children_.contains(id));
  changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] { return !alive_ || children_[id].exit; });
  if (children_[id].exit) return children_[id].exit;
  if (!alive_) return our_fault("the zygote died");
  return std::optional<int>();
}

int Zygote::process_of(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto found = children_.find(id);
  return found == children_.end() || found->second.exit ? 0 : found->second.pid;
}

int Zygote::unkilled_processes(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto found = children_.find(id);
  return found == children_.end() ? 0 : found->second.left;
}

void Zygote::forget(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  children_.erase(id);
}

void Zygote::read_loop() {
  for (;;) {
    auto packet = sys::receive_packet(socket_.get(), -1);
    if (packet && !*packet) continue;
    const std::lock_guard lock(mutex_);
    if (!packet) {
      alive_ = false;
      changed_.notify_all();
      return;
    }
    handle((*packet)->bytes);
    changed_.notify_all();
  }
}

void Zygote::handle(const std::string& packet) {
  auto status = parse_child_status(packet);
  if (!status) return;
  const auto found = children_.find(status->id);
  if (found == children_.end()) return;
  Child& child = found->second;
  child.answered = true;
  if (status->pid) child.pid = *status->pid;
  if (status->exit) child.exit = *status->exit;
  child.left = status->left;
  child.error = std::move(status->error);
}

}  // namespace kq::worker
