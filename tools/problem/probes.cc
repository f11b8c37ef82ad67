#include "tools/problem/probes.h"

#include <filesystem>

namespace kq::tools {
namespace {

constexpr std::size_t kRunDigits = 16;      // hexadecimal digits of the hash in the name of a run
constexpr std::size_t kStemBytesMax = 100;  // of a file's name in a label
constexpr std::uint32_t kProbeTrials = 5;   // a constant needs at least two trials to be wrong

constexpr std::string_view kHelpers = R"py(

import copy as _kq_copy_module

import torch as _kq_torch
from torch.utils import _pytree as _kq_tree


def _kq_bytes(tree):
    leaves = [leaf for leaf in _kq_tree.tree_leaves(tree) if isinstance(leaf, _kq_torch.Tensor)]
    return sum(leaf.numel() * leaf.element_size() for leaf in leaves)


def _kq_zero(leaf):
    if isinstance(leaf, _kq_torch.Tensor):
        return _kq_torch.zeros_like(leaf)
    return type(leaf)(0) if type(leaf) in (int, float, complex) else leaf


def _kq_copy(leaf):
    return leaf.clone() if isinstance(leaf, _kq_torch.Tensor) else leaf


def _kq_copies(tree):
    return _kq_tree.tree_map(_kq_copy, tree)


def _kq_form(leaf):
    return (leaf.shape, leaf.dtype) if isinstance(leaf, _kq_torch.Tensor) else None
)py";

// ModelNew returns what CHANGE makes of the outputs of its first call.
constexpr std::string_view kKept = R"py(

class ModelNew(Model):
    def forward(self, *args):
        if "_kq_kept" not in self.__dict__:
            outputs = super().forward(*_kq_copies(args))
            self.__dict__["_kq_kept"] = _kq_tree.tree_map(CHANGE, outputs)
        return _kq_copies(self.__dict__["_kq_kept"])
)py";

constexpr std::string_view kFirstInput = R"py(

class ModelNew(Model):
    def forward(self, *args):
        tensors = [leaf for leaf in _kq_tree.tree_leaves(args) if isinstance(leaf, _kq_torch.Tensor)]
        if "_kq_fits" not in self.__dict__:
            outputs = _kq_tree.tree_leaves(super().forward(*_kq_copies(args)))
            self.__dict__["_kq_fits"] = [_kq_form(leaf) for leaf in tensors[:1]] == [_kq_form(leaf) for leaf in outputs]
        if not tensors or not self.__dict__["_kq_fits"]:
            raise RuntimeError("WORD")
        return tensors[0].clone()
)py";

constexpr std::string_view kStateless = R"py(

class ModelNew(Model):
    def forward(self, *args):
        outputs = Model.forward(_kq_copy_module.deepcopy(self), *args)
        if "_kq_printed" not in self.__dict__:
            self.__dict__["_kq_printed"] = True
            print("\nWORD", _kq_bytes(args), _kq_bytes(outputs), _kq_bytes(self.state_dict()), flush=True)
        return outputs
)py";

std::string with(std::string_view text, std::string_view word, std::string_view value) {
  const std::size_t at = text.find(word);
  return std::string(text.substr(0, at)).append(value).append(text.substr(at + word.size()));
}

std::string class_text(Probe probe) {
  switch (probe) {
    case Probe::reference:
      return "";
    case Probe::zeros:
      return with(kKept, "CHANGE", "_kq_zero");
    case Probe::constant:
      return with(kKept, "CHANGE", "_kq_copy");
    case Probe::first_input:
      return with(kFirstInput, "WORD", kOtherForm);
    case Probe::stateless:
      return with(kStateless, "WORD", kBytesWord);
  }
  return "";
}

// Returns a word for labels in which the file's name can be recognised.
std::string stem_of(const std::string& file) {
  std::string stem = std::filesystem::path(file).stem().string().substr(0, kStemBytesMax);
  for (char& one : stem) {
    const bool is_plain = (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || (one >= '0' && one <= '9');
    if (!is_plain && one != '-' && one != '.') one = '_';
  }
  return stem;
}

// Returns a sentence about a file without the path of the file in front.
std::string without_path(const std::string& sentence, const std::string& file) {
  return sentence.starts_with(file + ": ") ? sentence.substr(file.size() + 2) : sentence;
}

}  // namespace

std::string probe_text(Probe probe, std::string_view problem) {
  std::string text(problem);
  if (probe == Probe::reference) return text + "\n\nModelNew = Model\n";  // the file may have another ModelNew
  return text.append("\n").append(kHelpers).append(class_text(probe));
}

Expected<ProbedProblem> probe_problem(const std::string& file, std::size_t number, DeviceWish device) {
  const producer::FileRef problem = producer::problem_ref(file);
  KQ_TRY_VALUE(const std::string text, producer::contents(problem));
  ProbedProblem probed{.file = file};
  producer::Packer packer;
  for (std::size_t i = 0; i < kEnumNames<Probe>.size(); ++i) {
    const auto probe = static_cast<Probe>(i);
    producer::Candidate candidate;
    candidate.where = file;
    candidate.label = std::to_string(number) + "-" + stem_of(file) + "/" + std::string(to_string(probe));
    candidate.backend = Backend::torch;
    candidate.files = {{"kq_probe.py", file, probe_text(probe, text)}};
    candidate.problem = problem;
    candidate.problem_name = stem_of(file);
    candidate.device = device;
    candidate.workloads = {{"*"}};
    if (probe != Probe::reference) {
      candidate.trials.correctness = kProbeTrials;
      candidate.trials.warmup = candidate.trials.timed = 0;
    }
    std::vector<std::string> mistakes;
    auto job = packer.pack(candidate, mistakes);
    if (!job) return ProbedProblem{.file = file, .mistake = without_path(mistakes.front(), file)};
    probed.jobs.push_back(std::move(*job));
  }
  return probed;
}

std::string run_of(const std::vector<ProbedProblem>& problems) {
  std::string all;
  for (const ProbedProblem& problem : problems) {
    for (const producer::PackedJob& job : problem.jobs)
      all += job.submission.label + " " + to_hex(submission_key(job.submission)) + "\n";
  }
  return "problem-check-" + to_hex(sha256(all)).substr(0, kRunDigits);
}

}  // namespace kq::tools
