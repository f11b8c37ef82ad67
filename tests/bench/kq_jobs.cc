#include "tests/bench/kq_jobs.h"

#include "net/zmq/keys.h"
#include "tests/bench/measure.h"

namespace kq::bench {
namespace {

constexpr int kLingerMs = 500;
constexpr int kReconnectMs = 5;  // short, so that a measured start of a broker has no reconnect interval in it

constexpr std::string_view kProblem = R"(import torch


class Model(torch.nn.Module):
    """Each row divided by the root of the mean of its squares."""

    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.features = features
        self.eps = eps

    def forward(self, x):
        return x / torch.sqrt(torch.mean(x * x, dim=1, keepdim=True) + self.eps)


def get_inputs():
    return [torch.randn(16, 64, 256, 256)]


def get_init_inputs():
    return [64]
)";

}  // namespace

KqSocket::KqSocket(zmq::context_t& context, int port, const std::optional<net::ClientKey>& key)
    : socket_(context, zmq::socket_type::dealer) {
  socket_.set(zmq::sockopt::linger, kLingerMs);
  socket_.set(zmq::sockopt::reconnect_ivl, kReconnectMs);
  socket_.set(zmq::sockopt::sndhwm, 0);
  socket_.set(zmq::sockopt::rcvhwm, 0);
  if (key) {
    socket_.set(zmq::sockopt::curve_serverkey, key->broker_key);
    socket_.set(zmq::sockopt::curve_publickey, key->own.public_key);
    socket_.set(zmq::sockopt::curve_secretkey, key->own.secret_key);
  }
  socket_.connect("tcp://127.0.0.1:" + std::to_string(port));
}

void KqSocket::send(std::string bytes) {
  // The message owns the string, so that only the kernel copies its bytes.
  auto* kept = new std::string(std::move(bytes));
  zmq::message_t message(
      kept->data(), kept->size(), [](void*, void* owned) { delete static_cast<std::string*>(owned); }, kept);
  if (!socket_.send(message, zmq::send_flags::none)) give_up("kq-broker does not take messages");
}

std::optional<zmq::message_t> KqSocket::receive(int wait_ms) {
  zmq::message_t message;
  if (socket_.recv(message, zmq::recv_flags::dontwait)) return message;
  if (wait_ms == 0) return std::nullopt;
  // A receive timeout replaces zmq_poll, which makes about six system calls for each wait.
  socket_.set(zmq::sockopt::rcvtimeo, wait_ms);
  if (!socket_.recv(message)) return std::nullopt;
  return message;
}

void issue_keys(const std::string& folder) {
  for (const Role role : {Role::submit, Role::work}) {
    const std::string name(to_string(role));
    if (const auto issued = net::issue_key(folder, {name, role}, folder + "." + name); !issued)
      give_up(issued.error().message);
  }
}

std::optional<net::ClientKey> issued_key(const std::string& folder, Role role) {
  if (folder.empty()) return std::nullopt;
  auto key = net::read_client_key(folder + "." + std::string(to_string(role)));
  if (!key) give_up(key.error().message);
  return std::move(*key);
}

const Blob& problem_blob() {
  static const Blob blob{sha256(kProblem), std::string(kProblem)};
  return blob;
}

Submission submission_of(const Hash& source, const std::string& label, const std::string& author) {
  Submission submission;
  submission.label = label;
  submission.author = author;
  submission.files = {{"kernel.py", source}};
  submission.problem.name = "level1/36_RMSNorm_";
  submission.problem.file = "36_RMSNorm_.py";
  submission.problem.hash = problem_blob().hash;
  return submission;
}

Hello hello_of(const std::string& worker, std::uint64_t epoch, std::uint32_t credit) {
  return {.worker = worker,
          .epoch = epoch,
          .devices = {{.kind = DeviceKind::cuda,
                       .model = "NVIDIA H200",
                       .uuid = "GPU-" + worker,
                       .arch = "sm_90",
                       .memory_bytes = 150'754'820'096}},
          .credit = credit,
          .evaluator = std::string(kEvaluatorVersion)};
}

Result passed_result(const DeviceInfo& device) {
  constexpr std::int64_t kSamples = 20;
  Result result;
  for (std::int64_t i = 0; i < kSamples; ++i) {
    result.samples.submission_ns.push_back(81'000 + 7 * i);
    result.samples.reference_ns.push_back(230'000 + 11 * i);
  }
  result.verdict = Passed{{.method = "bracket",
                           .submission = summarise(result.samples.submission_ns),
                           .reference = summarise(result.samples.reference_ns),
                           .overhead_ns = 143'250},
                          {.trials_passed = 25, .max_abs_err = 1e-6, .max_rel_err = 1e-5}};
  result.device = device;
  result.worker = "bench";
  result.times = {.build_ms = 12, .build_cached = false, .run_ms = 640};
  result.software = {.kq = "0.1.0", .python = "3.11.2", .torch = "2.9.0", .triton = "3.5.0", .cuda = "13.0"};
  result.sandbox = "uid,user,pid,mount,ipc,net,rlimits";
  return result;
}

}  // namespace kq::bench
