#include "gpu_worker/judge/device/cuda_read.h"

#include <algorithm>
#include <cstring>

namespace kq::judge::cuda {

Expected<void> LargeReads::open() {
  for (auto& piece : pieces_) {
    if (piece) continue;
    piece.emplace(driver_);
    if (auto opened = piece->open(kPieceBytes); !opened) {
      piece.reset();
      return opened;
    }
  }
  return {};
}

Expected<void> LargeReads::read(std::span<std::byte> to, Pointer from) {
  if (to.empty()) return {};
  // Without page-locked memory the read is slow and right.
  if (to.size() >= kBytesMin && open()) return read_pieces(to, from);
  const Result r = driver_.copy_to_host(to.data(), from, to.size());
  return r == kSuccess ? Expected<void>() : failure(error_of(driver_, "cuMemcpyDtoH", r));
}

Expected<void> LargeReads::read_pieces(std::span<std::byte> to, Pointer from) {
  const auto begin = [&](std::size_t at) -> Expected<void> {
    if (at >= to.size()) return {};
    void* const piece = pieces_[at / kPieceBytes % pieces_.size()]->host();
    const Result r =
        driver_.start_copy_to_host(piece, from + at, std::min(kPieceBytes, to.size() - at), /*stream=*/nullptr);
    return r == kSuccess ? Expected<void>() : failure(error_of(driver_, "cuMemcpyDtoHAsync", r));
  };
  KQ_TRY(begin(0));
  for (std::size_t at = 0; at < to.size(); at += kPieceBytes) {
    if (const Result r = driver_.synchronize(); r != kSuccess) return failure(error_of(driver_, "cuCtxSynchronize", r));
    KQ_TRY(begin(at + kPieceBytes));
    const auto part = to.subspan(at, std::min(kPieceBytes, to.size() - at));
    std::memcpy(part.data(), pieces_[at / kPieceBytes % pieces_.size()]->host(), part.size());
  }
  return {};
}

}  // namespace kq::judge::cuda
