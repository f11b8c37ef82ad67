// What a format finds on disk: one Candidate per job, still as paths; producer/pack.h reads and judges the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/submission.h"
#include "producer/file_ref.h"

namespace kq {

struct Candidate {
  std::string where;  // for complaints: "run/submissions.jsonl:3", "add.py"
  std::string label;
  std::string author;
  std::map<std::string, std::string> tags;
  std::optional<Backend> backend;  // nothing: told by the entry's text
  std::vector<FileRef> files;      // the entry first
  FileRef problem;
  std::string problem_name;
  DeviceWish device = DeviceWish::any;
  std::string gpu_model;
  Precision precision = Precision::as_given;
  std::optional<double> rtol;
  std::optional<double> atol;
  Trials trials;
  Priority priority = Priority::normal;
  std::int64_t not_before_ms = 0;   // Unix time; 0: at once
  std::int64_t deadline_ms = 0;     // Unix time; 0: none
  std::vector<std::string> labels;  // of the worker, in any order
};

// What the command line says about every candidate; it wins over what a file says.
struct InputOptions {
  std::optional<std::filesystem::path> problem;   // of single files
  std::optional<std::filesystem::path> problems;  // a directory to look problems up in
  std::optional<Backend> backend;
  std::optional<DeviceWish> device;
  std::optional<std::string> gpu_model;
  std::optional<Precision> precision;
  std::optional<Priority> priority;
  std::optional<std::int64_t> not_before_ms;
  std::optional<std::int64_t> deadline_ms;
  std::optional<std::vector<std::string>> labels;
  std::int64_t now_ms = 0;  // Unix time that "+30m" in a file counts from
};

// Candidates, and one sentence per mistake: what is wrong, where, and what would be right.
struct Found {
  std::vector<Candidate> candidates;
  std::vector<std::string> mistakes;
};

}  // namespace kq
