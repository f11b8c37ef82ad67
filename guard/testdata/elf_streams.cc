// elf_test.cc reads this library. It imports functions that create streams.
extern "C" {
int cudaStreamCreateWithFlags(void** stream, unsigned flags);
int cudaLaunchKernel_ptsz(const void* kernel);
void* dlsym(void* library, const char* name);

int make(void** stream) {
  return cudaStreamCreateWithFlags(stream, 1);
}
int launch(const void* kernel) {
  return cudaLaunchKernel_ptsz(kernel);
}
extern void* const kLookUp;
void* const kLookUp = reinterpret_cast<void*>(&dlsym);  // a relocation of data instead of a call
}
