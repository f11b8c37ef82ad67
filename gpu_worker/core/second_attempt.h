// Whether an attempt may have failed for a reason that does not lie in its job, so that a second one follows.
#pragma once

#include "core/plan.h"

namespace kq::worker {

// Returns whether something that is not kq has killed a child: the kernel of a machine without memory, or a person. The
// status of a child that was killed for kq's own limit of memory has the bit kKilledForMemory, and no other limit of kq
// sends SIGKILL.
bool is_killed_externally(int wait_status);

// Returns whether a verdict may follow from the death of a child.
bool is_death_of_child(const Verdict& verdict);

// Returns whether a submission, or its problem, found too little memory on the device, which is the host's for a CPU. A
// submission that has too little of the host's memory has reached its own limit.
bool is_short_of_device_memory(const Verdict& verdict, DeviceKind device);

}  // namespace kq::worker
