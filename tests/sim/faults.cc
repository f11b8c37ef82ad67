#include "tests/sim/faults.h"

#include <numeric>
#include <span>

namespace kq::sim {
namespace {

constexpr double kOff = 0.35;  // the probability that a world lacks a fault

// The largest probability of each fault. The largest weight of every event is 1.
constexpr std::array<double, static_cast<std::size_t>(kFirstEvent)> kChanceMax{
    0.25,  // lost
    0.25,  // repeated
    0.10,  // late
    0.10,  // not_taken
    0,     // partitioned: counted where a cut loses a message
    0.25,  // attempt_fails
    0.30,  // attempt_poisoned
    0.50,  // address_reused
    0.30,  // clock_back
};

}  // namespace

FaultRates draw_fault_rates(Random& random) {
  FaultRates rates;
  for (std::size_t i = 0; i < kFaultCount; ++i) {
    if (random.chance(kOff)) continue;
    const double most = i < kChanceMax.size() ? kChanceMax[i] : 1;
    rates.of[i] = random.chance(0.5) ? most : most / 10;
  }
  rates.delay_ms = random.between(0, 50);
  rates.gap_ms_max = random.chance(0.1) ? 20'000 : random.between(200, 4'000);
  return rates;
}

std::optional<Fault> draw_event(const FaultRates& rates, Random& random) {
  const auto weights = std::span(rates.of).subspan(static_cast<std::size_t>(kFirstEvent));
  double left = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (left == 0) return std::nullopt;
  left *= static_cast<double>(random.below(1'000'000)) / 1e6;
  std::size_t i = 0;
  while (i + 1 < weights.size() && left >= weights[i]) left -= weights[i++];
  return static_cast<Fault>(static_cast<std::size_t>(kFirstEvent) + i);
}

FaultCounts& FaultCounts::operator+=(const FaultCounts& other) {
  for (std::size_t i = 0; i < kFaultCount; ++i) of[i] += other.of[i];
  return *this;
}

std::uint64_t FaultCounts::to_messages() const {
  const auto end = of.begin() + static_cast<std::ptrdiff_t>(Fault::partitioned) + 1;
  return std::accumulate(of.begin(), end, std::uint64_t{0});
}

std::uint64_t FaultCounts::to_processes() const {
  return std::accumulate(of.begin(), of.end(), std::uint64_t{0}) - to_messages();
}

std::string FaultCounts::text() const {
  std::string text;
  for (std::size_t i = 0; i < kFaultCount; ++i) {
    if (of[i] == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(to_string(static_cast<Fault>(i))) + " " + std::to_string(of[i]);
  }
  return text;
}

}  // namespace kq::sim
