// The clock: the interval that counts for a submission, and what of it is not the submission's.
//
//   stage the call | prepare | go ... done | probe |
//                            ^ t0                  ^ t2        sample = (t2 - t0) - overhead
//
// On a GPU the last thing before t0 is work of the judge's own context, and t2 comes when a word of the judge's own has run there after
// the child said done: whatever the child left running ran before it. So saying done early gains nothing, and the price of switching the
// GPU there and back is in every bracket; the overhead is the same interval around a null call of a child that has run our code only.
#pragma once

#include <cstdint>
#include <functional>

#include "gpu_worker/judge/child.h"
#include "gpu_worker/judge/device.h"

namespace kq::judge {

// One command under the clock. `prepare` works on the device, and is the last to do so before `go`. An outcome other than an ok answer
// may also be that of the staging.
Expected<Outcome> bracket(Device& device, Child& child, const Order& order, std::uint64_t seed,
                          const std::function<Expected<void>()>& prepare);

// The null calls of a calibration.
inline constexpr int kNullCalls = 20;

// What a sample is: the bracket less the overhead, at least 1 ns.
std::int64_t sample_ns(std::int64_t bracket_ns, double overhead_ns);

}  // namespace kq::judge
