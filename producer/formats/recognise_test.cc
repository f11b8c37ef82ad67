#include "producer/formats/recognise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/formats/test_folder.h"

namespace kq::producer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Recognise, backend_by_ending_and_text) {
  EXPECT_EQ(recognise_backend("a.cu", "import triton\n@triton.jit\n"), Backend::cuda);
  EXPECT_EQ(recognise_backend("a.py", "import triton\nimport triton.language as tl\n\n@triton.jit\ndef f(): ..."),
            Backend::triton);
  EXPECT_EQ(recognise_backend("a.py", "from triton import jit\n  @jit\n"), Backend::triton);
  EXPECT_EQ(recognise_backend("a.ptx", ".version 8.0"), Backend::cuda);
  EXPECT_EQ(recognise_backend("a.cubin", ""), Backend::cuda);
  EXPECT_EQ(recognise_backend("a.py", "@triton.jit\ndef f(): ..."), Backend::triton);
  EXPECT_EQ(recognise_backend("a.py", "import torch\n"), Backend::torch);
  EXPECT_EQ(recognise_backend("a.py", "import torch\nfrom torch.utils.cpp_extension import load_inline\n"),
            Backend::torch_cuda);
  EXPECT_EQ(recognise_backend("a.py", "import torch\n    m = torch.utils.cpp_extension.load_inline(\n"),
            Backend::torch_cuda);
  EXPECT_EQ(recognise_backend("a.py", "# from torch.utils.cpp_extension import load_inline\n"), Backend::torch);
}

TEST(Recognise, a_mention_of_triton_is_not_triton) {
  EXPECT_EQ(recognise_backend("a.py", "# import triton\n\"\"\"@triton.jit is nice\"\"\"\n"), Backend::torch);
  EXPECT_EQ(recognise_backend("a.py", "import triton\n# @triton.jit\n"), Backend::torch);
  EXPECT_EQ(recognise_backend("a.py", "import tritonclient\n@jit\n"), Backend::torch);
}

TEST(Recognise, a_backend_needs_its_kind_of_file) {
  EXPECT_EQ(backend_error("a.py", Backend::torch), "");
  EXPECT_EQ(backend_error("a.py", Backend::triton), "");
  EXPECT_EQ(backend_error("a.cu", Backend::cuda), "");
  EXPECT_EQ(backend_error("a.cu", Backend::torch),
            "backend torch takes a .py file, a .cu, .ptx or .cubin file is of backend cuda");
  EXPECT_THAT(backend_error("a.py", Backend::cuda),
              testing::StartsWith("backend cuda takes a .cu, .ptx or .cubin file"));
}

TEST(Recognise, what_a_problem_lacks) {
  EXPECT_THAT(missing_from_problem(kTestProblem), IsEmpty());
  EXPECT_THAT(missing_from_problem(kTestKernel), ElementsAre("class Model", "get_inputs"));
  EXPECT_THAT(missing_from_problem("class Model: ...\ndef get_init_inputs(): ..."), ElementsAre("get_inputs"));
  EXPECT_THAT(missing_from_problem("class Model(nn.Module): ...\nget_inputs = list"), IsEmpty());
  EXPECT_THAT(missing_from_problem("class Model: ...\ndef get_input_groups(): ..."), IsEmpty());
}

TEST(Recognise, a_name_of_python) {
  for (const char* name : {"a", "_", "kernel_2", "A1"}) EXPECT_TRUE(is_identifier(name)) << name;
  for (const char* name : {"", "2a", "a-b", "a b", "a.b", "é"}) EXPECT_FALSE(is_identifier(name)) << name;
}

}  // namespace
}  // namespace kq::producer
