// One job as kq show prints it: what was submitted, how it ended, what it printed, and how to measure it again.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/records.h"
#include "producer/client/json.h"

namespace kq::tools {

// A job with the texts of its files. A file has no text where the broker refuses it to the key of the reader.
struct ShownJob {
  std::string run;
  RunRow row;
  std::vector<std::pair<std::string, std::optional<std::string>>> files;  // by name; the entry first
  std::pair<std::string, std::optional<std::string>> problem;
  std::string refusal = "";  // why files have no text

  bool has_all_files() const;
};

// Returns the whole page of a job. `place_options` follows the names in the commands that it prints.
std::string job_text(const ShownJob& job, const std::string& place_options);
// Returns what the submission printed, made printable line by line.
std::string log_text(const ShownJob& job);
producer::Json job_json(const ShownJob& job);

// Returns the line of JSON Lines that submits the job again. All files must be at hand.
std::string submission_line(const ShownJob& job);

}  // namespace kq::tools
