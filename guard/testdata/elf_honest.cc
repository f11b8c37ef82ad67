// elf_test.cc reads this library. It launches on the current stream, as an extension of torch does.
extern "C" {
int cudaLaunchKernel(const void* kernel, void* stream);
int __cudaRegisterFatBinary(void* code);
int launch(const void* kernel, void* stream) {
  return __cudaRegisterFatBinary(nullptr) + cudaLaunchKernel(kernel, stream);
}
}
