// kq-sim scale: runs one large world on a store on disk and prints its figures.
#pragma once

namespace kq::sim {

// Runs the command and returns the exit code of the program. `arguments[0]` is the word `scale`.
int scale_command(int argument_count, char** arguments);

}  // namespace kq::sim
