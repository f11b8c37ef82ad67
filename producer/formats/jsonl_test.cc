#include "producer/formats/jsonl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/formats/test_folder.h"

namespace kq::producer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class Jsonl : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("problems/relu.py", kTestProblem);
    folder_.write("subs/relu.py", kTestKernel);
  }
  Found read(std::string_view lines) {
    const auto file = folder_.write("submissions.jsonl", lines);
    return collect([&](const CandidateSink& sink) { read_jsonl(file, options_, sink); });
  }
  // Returns the only mistake, without the path of the file.
  std::string mistake(std::string_view lines) {
    const Found found = read(lines);
    EXPECT_THAT(found.candidates, IsEmpty());
    EXPECT_EQ(found.mistakes.size(), 1u) << testing::PrintToString(found.mistakes);
    if (found.mistakes.empty()) return "none";
    return found.mistakes[0].substr((folder_ / "").string().size());
  }
  // Returns a line with these members besides a valid problem and path.
  std::string line(std::string_view members) {
    return R"({"problem": "problems/relu.py", "path": "subs/relu.py", )" + std::string(members) + "}";
  }

  TestFolder folder_;
  InputOptions options_;
};

TEST_F(Jsonl, takes_the_text_of_a_problem_and_several_files) {
  const Found found = read(R"({"problem": "level1/relu", "problem_source": "class Model: ...",)"
                           R"( "files": {"new.py": "import helper", "helper.py": "x = 1"}})"
                           "\n"
                           R"({"problem_source": "class Model: ...", "source": "y"})");
  ASSERT_THAT(found.mistakes, IsEmpty());
  ASSERT_EQ(found.candidates.size(), 2u);
  EXPECT_EQ(found.candidates[0].problem.name, "relu.py");
  EXPECT_EQ(found.candidates[0].problem.text, "class Model: ...");
  EXPECT_EQ(found.candidates[0].problem_name, "level1/relu");
  ASSERT_EQ(found.candidates[0].files.size(), 2u);
  EXPECT_EQ(found.candidates[0].files[0].name, "new.py");
  EXPECT_EQ(found.candidates[0].files[1].text, "x = 1");
  EXPECT_EQ(found.candidates[1].problem.name, "problem.py");
  EXPECT_EQ(found.candidates[1].problem_name, "problem");
}

TEST_F(Jsonl, files_are_texts_by_name) {
  EXPECT_EQ(mistake(R"({"problem": "problems/relu.py", "files": ["a.py"]})"),
            "submissions.jsonl:1: files must be an object of texts by file name, got a list");
  EXPECT_EQ(mistake(R"({"problem": "problems/relu.py", "files": {"a.py": 7}})"),
            "submissions.jsonl:1: files must be an object of texts by file name, got 7 for a.py");
}

TEST_F(Jsonl, reads_every_key) {
  const Found found =
      read(R"({"id": "relu/fast", "problem": "problems/relu.py", "backend": "triton", "path": "subs/relu.py",)"
           R"( "device": "cuda", "gpu": "NVIDIA H200", "author": "ada", "precision": "fp16", "rtol": 0.01, "atol": 0,)"
           R"( "tags": {"model": "m1", "sample": 3}, "params": {"correctness": 2, "warmup": 0, "timed": 7},)"
           R"( "baseline": "compile", "profile": "ncu", "need_extensions": true, "of_another_system": [1],)"
           R"( "streams": "joined", "graphs": "allow",)"
           R"( "truth": false, "truth_rms": 2.5, "truth_max": 9, "allow_precision": "bf16"})"
           "\n");
  ASSERT_THAT(found.mistakes, IsEmpty());
  ASSERT_EQ(found.candidates.size(), 1u);
  const Candidate& candidate = found.candidates[0];
  EXPECT_EQ(candidate.label, "relu/fast");
  EXPECT_EQ(candidate.author, "ada");
  EXPECT_EQ(candidate.backend, Backend::triton);
  EXPECT_EQ(candidate.device, DeviceWish::cuda);
  EXPECT_EQ(candidate.gpu_model, "NVIDIA H200");
  EXPECT_EQ(candidate.precision, Precision::fp16);
  EXPECT_EQ(candidate.rtol, 0.01);
  EXPECT_EQ(candidate.atol, 0);
  EXPECT_EQ(candidate.trials,
            (Trials{2, 0, 7, Baseline::compile, Profiler::ncu, true, Streams::joined, Graphs::allow}));
  EXPECT_EQ(candidate.truth, (TruthRule{false, 2.5, 9, AllowedPrecision::bf16}));
  EXPECT_THAT(candidate.tags, ElementsAre(Pair("model", "m1"), Pair("sample", "3")));
  EXPECT_EQ(candidate.problem_name, "relu");
  EXPECT_EQ(candidate.files[0].path, folder_ / "subs/relu.py");
  EXPECT_TRUE(candidate.where.ends_with("/submissions.jsonl:1"));
}

TEST_F(Jsonl, blank_lines_carriage_returns_and_a_byte_order_mark_are_fine) {
  const Found found = read("\xEF\xBB\xBF" + line(R"("id": "a")") + "\r\n\r\n  \n" + line(R"("id": "b")"));
  EXPECT_THAT(found.mistakes, IsEmpty());
  ASSERT_EQ(found.candidates.size(), 2u);
  EXPECT_TRUE(found.candidates[1].where.ends_with(":4"));
}

TEST_F(Jsonl, a_label_is_made_where_none_is_given) {
  EXPECT_EQ(read(line(R"("x": 1)")).candidates.at(0).label, "subs/relu");
  EXPECT_EQ(read("\n"
                 R"({"problem": "problems/relu.py", "source": "x"})")
                .candidates.at(0)
                .label,
            "relu/line_2");
}

TEST_F(Jsonl, a_source_in_place_gets_a_name) {
  const Candidate python = read(R"({"problem": "problems/relu.py", "source": "x"})").candidates.at(0);
  EXPECT_EQ(python.files.at(0).name, "submission.py");
  EXPECT_EQ(python.files.at(0).text, "x");
  const Candidate cuda =
      read(R"({"problem": "problems/relu.py", "source": "x", "io": {"args": [ ]}})").candidates.at(0);
  EXPECT_EQ(cuda.files.at(0).name, "submission.cu");
  EXPECT_EQ(cuda.files.at(1).name, "submission.json");
  EXPECT_EQ(cuda.files.at(1).text, R"({"args": []})");
}

TEST_F(Jsonl, a_source_in_place_has_its_contract_in_io_and_metadata) {
  const std::string start = R"({"problem": "problems/relu.py", "source": "@triton.jit\ndef k(): ...", )";
  const Candidate bare = read(start + R"("io": {"args": []}, "metadata": {"kernel_name": "k"}})").candidates.at(0);
  ASSERT_EQ(bare.files.size(), 2u);
  EXPECT_EQ(bare.files[0].name, "submission.py");
  EXPECT_EQ(bare.files[1].name, "submission.json");
  EXPECT_EQ(bare.files[1].text, R"({"args": [], "metadata": {"kernel_name": "k"}})");
  EXPECT_THAT(read(start + R"("metadata": 3})").mistakes,
              testing::ElementsAre(HasSubstr("metadata must be an object, got 3")));
}

TEST_F(Jsonl, a_cu_file_takes_its_json_unless_io_is_given) {
  const std::string start = R"({"problem": "problems/relu.py", "path": "subs/relu.cu")";
  EXPECT_EQ(read(start + "}").candidates.at(0).files.at(1).path, folder_ / "subs/relu.json");
  const Candidate candidate = read(start + R"(, "io": {}})").candidates.at(0);
  ASSERT_EQ(candidate.files.size(), 2u);
  EXPECT_EQ(candidate.files[1].text, "{}");
}

TEST_F(Jsonl, a_source_that_is_an_extension_of_torch_has_an_entry_that_builds_it) {
  const std::string start = R"({"problem": "problems/relu.py", "source": "PYBIND11_MODULE(a, m) {}")";
  const Candidate candidate = read(start + "}").candidates.at(0);
  ASSERT_EQ(candidate.files.size(), 2u);
  EXPECT_EQ(candidate.files[0].name, "submission.py");
  EXPECT_EQ(candidate.files[1].name, "submission.cu");
  EXPECT_EQ(read(start + R"(, "io": {}})").candidates.at(0).files.at(1).name, "submission.json");
}

TEST_F(Jsonl, a_problem_may_be_a_name) {
  folder_.write("set/level1/1_a.py", kTestProblem);
  options_.problems = folder_ / "set";
  EXPECT_EQ(read(R"({"problem": "level1/1_a", "path": "subs/relu.py"})").candidates.at(0).problem_name, "level1/1_a");
}

TEST_F(Jsonl, mistakes_name_file_and_line_and_what_would_be_right) {
  EXPECT_THAT(mistake("\n{\"problem\": }"), HasSubstr("submissions.jsonl:2: not JSON, column 13: syntax error"));
  EXPECT_EQ(mistake("[1]"), "submissions.jsonl:1: a line is an object {problem, path, ...}, got a list");
  EXPECT_EQ(mistake(R"({"path": "subs/relu.py"})"),
            "submissions.jsonl:1: problem is missing: the path of its file, or its text as "
            "problem_source");
  EXPECT_EQ(mistake(R"({"problem": 12, "path": "subs/relu.py"})"),
            "submissions.jsonl:1: problem must be a text, got 12");
  EXPECT_EQ(mistake(R"({"problem": "gone.py", "path": "subs/relu.py"})"),
            "submissions.jsonl:1: problem 'gone.py' is no file; give its path, or the folder that has it with "
            "--problems DIR");
  EXPECT_EQ(mistake(R"({"problem": "", "path": "subs/relu.py"})"),
            "submissions.jsonl:1: problem is empty: the path of its file is needed");
  EXPECT_EQ(mistake(R"({"problem": "problems/relu.py", "path": ""})"),
            "submissions.jsonl:1: path is empty: the path of a kernel is needed, or its text as source");
  EXPECT_EQ(mistake(R"({"problem": "problems/relu.py"})"),
            "submissions.jsonl:1: one of path, source and files is needed");
  EXPECT_EQ(mistake(R"({"problem": "problems/relu.py", "path": "a.py", "source": "x"})"),
            "submissions.jsonl:1: one of path, source and files is needed");
  EXPECT_EQ(mistake(R"({"problem": "problems/relu.py", "source": "x", "backend": "cuda"})"),
            "submissions.jsonl:1: io is missing: a CUDA source needs its IOContract");
  EXPECT_EQ(mistake(line(R"("backend": "hip")")),
            "submissions.jsonl:1: backend must be one of torch, triton, cuda, torch_cuda, multi_kernel, eval_program, "
            "got 'hip'");
  EXPECT_EQ(mistake(line(R"("device": "gpu")")),
            "submissions.jsonl:1: device must be one of any, cpu, cuda, got 'gpu'");
  EXPECT_EQ(mistake(line(R"("rtol": 2)")), "submissions.jsonl:1: rtol must be a number from 0 to 1, got 2");
  EXPECT_EQ(mistake(line(R"("params": {"correctness": 0})")),
            "submissions.jsonl:1: params.correctness must be an integer from 1 to 1000, got 0");
  EXPECT_EQ(mistake(line(R"("tags": {"a": []})")), "submissions.jsonl:1: tags.a must be a text, got a list");
  EXPECT_EQ(mistake(line(R"("id": 3)")), "submissions.jsonl:1: id must be a text, got 3");
  EXPECT_EQ(mistake("\n"), "submissions.jsonl holds no submissions");
}

TEST_F(Jsonl, says_when_and_where_a_job_may_run) {
  options_.now_ms = 1'790'000'000'000;
  const Found found = read(
      line(R"("priority": "low", "not_before": "2026-11-21T18:00Z", "deadline": "+1d", "require": ["lab", "big"])"));
  ASSERT_EQ(found.candidates.size(), 1u);
  EXPECT_EQ(found.candidates[0].priority, Priority::low);
  EXPECT_EQ(found.candidates[0].not_before_ms, 1'795'284'000'000);
  EXPECT_EQ(found.candidates[0].deadline_ms, 1'790'086'400'000);
  EXPECT_THAT(found.candidates[0].labels, ElementsAre("lab", "big"));
  EXPECT_EQ(mistake(line(R"("priority": 1)")), "submissions.jsonl:1: priority must be a text, got 1");
  EXPECT_EQ(mistake(line(R"("deadline": "soon")")),
            "submissions.jsonl:1: deadline must be a time such as 2026-11-21T18:00Z or +30m (s, m, h, d), got 'soon'");
  EXPECT_EQ(mistake(line(R"("require": "big")")), "submissions.jsonl:1: require must be an array of texts, got 'big'");
  EXPECT_EQ(mistake(line(R"("require": [1])")), "submissions.jsonl:1: require must be an array of texts, got a list");
}

TEST_F(Jsonl, one_bad_line_leaves_the_others) {
  const Found found = read(line(R"("id": "a")") + "\n{\n" + line(R"("id": "b")"));
  EXPECT_EQ(found.candidates.size(), 2u);
  EXPECT_EQ(found.mistakes.size(), 1u);
}

TEST_F(Jsonl, a_line_has_a_limit) {
  const std::string start = R"({"problem": "problems/relu.py", "source": ")", end = "\"}";
  const std::string full(kLineBytesMax - start.size() - end.size(), 'x');
  EXPECT_EQ(read(start + full + end + "\r\n").candidates.size(), 1u);
  const Found found = read(start + full + "xx" + end + "\n" + line(R"("id": "b")"));
  EXPECT_EQ(found.candidates.size(), 1u);
  ASSERT_EQ(found.mistakes.size(), 1u);
  EXPECT_THAT(found.mistakes[0], HasSubstr("submissions.jsonl:1: the line has more than 8388608 bytes"));
}

TEST_F(Jsonl, is_a_file_or_the_directory_that_has_one) {
  const auto file = folder_.write("x/submissions.jsonl", line(R"("id": "a")"));
  EXPECT_EQ(recognise_jsonl(file), "its name ends in .jsonl");
  EXPECT_EQ(recognise_jsonl(folder_ / "x"), "it holds a submissions.jsonl");
  EXPECT_EQ(recognise_jsonl(folder_ / "problems"), "");
  EXPECT_EQ(recognise_jsonl(folder_ / "gone.jsonl"), "");
}

TEST_F(Jsonl, the_option_problem_is_refused) {
  options_.problem = "p.py";
  EXPECT_THAT(read(line(R"("id": "a")")).mistakes,
              ElementsAre(HasSubstr(": --problem serves single files, each line here names its own")));
}

TEST_F(Jsonl, a_line_of_kernelbenchs_data_set_is_a_problem_against_itself) {
  const Found found = read(R"({"code": "class Model: pass", "level": 2, "name": "7_x", "problem_id": 7})");
  EXPECT_THAT(found.mistakes, testing::IsEmpty());
  ASSERT_EQ(found.candidates.size(), 1u);
  EXPECT_EQ(found.candidates[0].label, "level_2_problem_7_sample_0");
  EXPECT_EQ(found.candidates[0].problem.name, "7_x.py");
  EXPECT_EQ(*found.candidates[0].problem.text, "class Model: pass");
}

TEST_F(Jsonl, standard_input_has_that_name_and_paths_relative_to_the_working_directory) {
  options_.input_name = "standard input";
  EXPECT_EQ(read("no").mistakes.at(0).find("standard input:1: not JSON"), 0u);
}

TEST_F(Jsonl, a_misspelt_key_is_noted_once) {
  const Found found = read(line(R"("id": "a", "baselien": "compile")") + "\n" +
                           line(R"("id": "b", "baselien": "compile", "temperature": 1)"));
  EXPECT_EQ(found.candidates.size(), 2u);
  ASSERT_EQ(found.notes.size(), 1u);
  EXPECT_THAT(found.notes[0], HasSubstr("jsonl:1: the key 'baselien' is unknown and ignored; did you mean baseline?"));
}

TEST_F(Jsonl, a_key_of_another_system_or_of_params_that_would_be_ignored_is_noted) {
  const Found found = read(line(R"("id": "a", "tolerance": 0.1, "params": {"time": 3})") + "\n" +
                           line(R"("id": "b", "streams": "joined", "params": {"timed": 3})"));
  EXPECT_THAT(found.notes,
              ElementsAre(HasSubstr("'tolerance' is unknown and ignored; did you mean rtol and atol?"),
                          HasSubstr("'params.time' is unknown and ignored; did you mean correctness, warmup or "
                                    "timed?")));
}

TEST_F(Jsonl, a_misspelt_word_of_another_system_is_noted) {
  const Found found = read(line(R"("id": "a", "gpu_modle": "H100", "gpu_type": "H100", "mode": "test")"));
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("'gpu_modle' is unknown and ignored; did you mean gpu?"),
                                       HasSubstr("'gpu_type' is unknown and ignored; did you mean gpu?")));
}

TEST_F(Jsonl, other_words_for_a_source_are_noted) {
  for (const std::string word : {"code", "kernel", "completion", "solution", "kernel_code"}) {
    EXPECT_THAT(read(line("\"id\": \"a\", \"" + word + "\": \"x\"")).notes,
                ElementsAre(HasSubstr("'" + word + "' is unknown and ignored; did you mean source?")));
    EXPECT_THAT(read(R"({"problem": "problems/relu.py", ")" + word + R"(": "x"})").mistakes,
                ElementsAre(HasSubstr("one of path, source and files is needed; the key '" + word +
                                      "' is unknown, did you mean source?")));
  }
}

TEST_F(Jsonl, words_of_kqs_outputs_and_of_params_at_the_wrong_level_are_noted) {
  const Found found = read(line(R"("label": "a", "timed": 50, "gpu_model": "H100", "note": "free")"));
  EXPECT_EQ(found.candidates.size(), 1u);
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("'label' is unknown and ignored; did you mean id?"),
                                       HasSubstr("'timed' is unknown and ignored; did you mean params.timed?"),
                                       HasSubstr("'gpu_model' is unknown and ignored; did you mean gpu?")));
}

}  // namespace
}  // namespace kq::producer
