// Process B, the supervisor of one child: waits for the job, says how it ended, and takes everything down with it.
#pragma once

namespace kq::sandbox {

// Makes orphans among our descendants our own children, so that none gets away by ending its parent.
bool become_subreaper();

// Kills every descendant of this process that is its child, again and again until there is none. Only for one that has
// called become_subreaper(); where a pid namespace is in force the kernel does better by itself.
void kill_children();

// Waits until process `job`, a child of ours, ends, and writes "exit STATUS", as of waitpid, into `lifeline`. Ends
// without a word when the other end of `lifeline` closes: then the zygote is dead. In either case every descendant is
// killed first. Returns when all is done.
void supervise(int lifeline, int job);

}  // namespace kq::sandbox
