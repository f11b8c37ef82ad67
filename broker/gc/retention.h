// Removes finished jobs that are old enough, and files that no remaining job names.
//
// A walk visits the finished jobs from the oldest to the youngest, a few at each Tick, and then pauses. Everything of a
// job is removed in one commit: its records, its key and its entries in runs. Two kinds of jobs stay at any age:
// unfinished jobs, and the first job of the kernel in the first place of each board, whose records are its evidence.
//
// Many jobs may name the same file. Counting references would cost every submission a read and a write, so files are
// swept instead, and rarely: one walk over the remaining submissions fills a filter with the files that they name (new
// submissions add theirs), then a walk over the files removes those that are not in the filter. After a restart a walk
// begins anew.
#pragma once

#include "core/base/error.h"

namespace kq::broker {

struct Step;

// Does one step of retention. It must be the last part of a Tick, so that jobs which the other parts ended stay.
Expected<void> retain(Step& step);

}  // namespace kq::broker
