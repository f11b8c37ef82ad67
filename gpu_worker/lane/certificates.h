// The certificates of problems that this host's workers have made, one file each:
//
//   DIR/KEY   an encoded ProblemCertificate; KEY is the hash in hex of everything that it depends on
//
// Workers that use the same directory share it: a file appears as a whole (gpu_worker/machine/whole_file.h). Two lanes
// that meet a new problem at the same time both make its certificate. A file that cannot be read counts as absent.
#pragma once

#include <optional>
#include <string>

#include "core/bytes/hash.h"
#include "core/device.h"
#include "core/result.h"
#include "core/submission.h"

namespace kq::worker {

// With more files than this all are removed. They are small, and certificates can be made again.
inline constexpr std::size_t kCertificatesMax = 50'000;
inline constexpr std::size_t kCertificateBytesMax = 64u << 10;

// Returns the hash of what a certificate depends on: the problem, its tolerances and workloads, the kind of device, and
// the evaluator.
Hash certificate_key(const Submission& submission, DeviceKind device);

class Certificates {
 public:
  // Creates the directory at the first keep().
  explicit Certificates(std::string dir) : dir_(std::move(dir)) {}

  std::optional<ProblemCertificate> find(const Hash& key) const;
  Expected<void> keep(const Hash& key, const ProblemCertificate& certificate) const;

 private:
  std::string dir_;
};

}  // namespace kq::worker
