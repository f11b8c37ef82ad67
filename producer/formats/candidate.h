// What a format finds on disk: one Candidate per job, still as paths; producer/pack.h reads and judges the files.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/submission.h"

namespace kq {

// Bytes that will become a blob: of a file, or given in place.
struct FileRef {
  std::string name;                 // as the worker sees it: "add.py"
  std::filesystem::path path;       // where it is; of `text`: where that was found
  std::optional<std::string> text;  // the bytes themselves, where they are not a file of their own
};

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
};

// What the command line says about every candidate; it wins over what a file says.
struct InputOptions {
  std::optional<std::filesystem::path> problem;   // of single files
  std::optional<std::filesystem::path> problems;  // a directory to look problems up in
  std::optional<Backend> backend;
  std::optional<DeviceWish> device;
  std::optional<std::string> gpu_model;
  std::optional<Precision> precision;
};

// Candidates, and one sentence per mistake: what is wrong, where, and what would be right.
struct Found {
  std::vector<Candidate> candidates;
  std::vector<std::string> mistakes;
};

}  // namespace kq
