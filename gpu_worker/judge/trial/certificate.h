// Makes the certificate of a problem: finds out, before a submission is judged, what the problem cannot tell from a
// right kernel. Only the reference runs. A worker keeps the certificate by the problem's hash, so the trials that it
// takes are made once.
#pragma once

#include <string>

#include "core/result.h"
#include "gpu_worker/judge/trial/reference_side.h"
#include "gpu_worker/judge/trial/schedule.h"

namespace kq::judge {

// Trials whose inputs, or whose outputs, are all the same show that these never vary. Outputs of at most
// kFewBytes, such as one truth value, may be equal by chance, so more trials are made of them.
inline constexpr int kCertificateTrials = 6;
inline constexpr int kCertificateTrialsOfFewBytes = 64;
inline constexpr std::uint64_t kFewBytes = 64;
// After this time no more trials are made, and nothing is said about what would need them.
inline constexpr std::int64_t kCertificateNsMax = 5'000'000'000;

// Adds the findings about the reference's loaded workload to the certificate. `workload` is its name, or empty where
// the problem has only one. Replaces the current trial. Stops where the reference fails.
Step<void> certify(Device& device, ReferenceSide& reference, const Plan& plan, const Draw& draw,
                   const std::string& workload, ProblemCertificate& certificate);

// Returns the evidence that the outputs of a problem never change.
Evidence constant_outputs();

}  // namespace kq::judge
