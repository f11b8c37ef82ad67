#include "producer/client/board_noise.h"

#include <cmath>

#include "core/measurement.h"

namespace kq::producer {

double speedup_noise(const LeaderboardRow& row) {
  if (row.noise_ns <= 0 || row.reference_noise_ns <= 0) return 0;
  Measurement measurement;
  measurement.submission.median_ns = row.median_ns;
  measurement.reference.median_ns = row.reference_ns;
  measurement.noise_ns = row.noise_ns;
  measurement.reference_noise_ns = row.reference_noise_ns;
  const double noise = kq::speedup_noise(measurement);
  return std::isfinite(noise) ? noise : 0;
}

}  // namespace kq::producer
