// Process B, the supervisor of one child. It waits until the job ends, reports the wait status, and kills every other
// process of the child.
#pragma once

namespace kq::sandbox {

// Makes this process a child subreaper: a descendant whose parent ends becomes a child of this process, so that no
// descendant escapes by ending its parent. Returns false if the kernel refuses.
bool become_subreaper();

// Kills the children of this process again and again until it has none. The process must have called
// become_subreaper(). It is for children without a pid namespace; in a pid namespace the kernel kills all processes
// when pid 1 ends.
void kill_children();

// Waits until process `job`, a child of this process, ends, and sends "exit STATUS" with its waitpid status to
// `lifeline`. If the other end of `lifeline` closes first, the zygote is dead: then nothing is sent. In either case
// every descendant is killed first.
void supervise(int lifeline, int job);

}  // namespace kq::sandbox
