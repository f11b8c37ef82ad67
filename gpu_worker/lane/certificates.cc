#include "gpu_worker/lane/certificates.h"

#include <bit>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/codec/codec.h"
#include "gpu_worker/machine/whole_file.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kFileMode = 0644;

std::string text_of(const std::optional<double>& number) {
  return number ? std::to_string(std::bit_cast<std::uint64_t>(*number)) : "none";
}

std::size_t count_files(const std::string& dir) {
  std::error_code error;
  std::size_t count = 0;
  for (auto file = fs::directory_iterator(dir, error); !error && file != fs::directory_iterator();
       file.increment(error))
    ++count;
  return count;
}

}  // namespace

Hash certificate_key(const Submission& submission, DeviceKind device) {
  const Problem& problem = submission.problem;
  std::string text = std::string(kEvaluatorVersion) + '\n' + std::string(to_string(device)) + '\n' +
                     to_hex(problem.hash) + '\n' + problem.file + '\n' + std::string(to_string(problem.precision)) +
                     '\n' + text_of(problem.rtol) + '\n' + text_of(problem.atol);
  for (const Workload& workload : problem.workloads) text += '\n' + workload.name;
  return sha256(text);
}

std::optional<ProblemCertificate> Certificates::find(const Hash& key) const {
  std::ifstream file(fs::path(dir_) / to_hex(key), std::ios::binary);
  if (!file) return std::nullopt;
  std::string bytes(kCertificateBytesMax, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  auto certificate = decode<ProblemCertificate>(bytes);
  if (!certificate) return std::nullopt;
  return std::move(*certificate);
}

Expected<void> Certificates::keep(const Hash& key, const ProblemCertificate& certificate) const {
  const std::string bytes = encode(certificate);
  if (bytes.size() > kCertificateBytesMax) return {};  // it is made again for each job
  std::error_code error;
  if (count_files(dir_) >= kCertificatesMax) fs::remove_all(dir_, error);
  fs::create_directories(dir_, error);
  return write_whole_file((fs::path(dir_) / to_hex(key)).string(), bytes, kFileMode);
}

}  // namespace kq::worker
