// Every bound that more than one room must agree on. A bound that only one room needs stands in that room.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kq {

// One file of a submission or problem. Generated kernels are a few KB; 1 MiB leaves room for embedded tables.
inline constexpr std::size_t kFileBytesMax = 1u << 20;
inline constexpr std::size_t kFilesPerSubmissionMax = 16;

// One message on the wire, and what its decoder accepts.
inline constexpr std::size_t kMessageBytesMax = 64u << 20;
inline constexpr std::size_t kMessageDepthMax = 16;
inline constexpr std::size_t kMessageItemsMax = 1u << 16;  // elements of one array or map
inline constexpr std::size_t kMessageItemsTotalMax = 1u
                                                     << 20;  // elements of all arrays and maps of one message together
inline constexpr std::size_t kSubmitJobsMax = 256;           // jobs in one SubmitBatch
inline constexpr std::size_t kSubmitBytesMax = 16u
                                               << 20;  // blob bytes in one SubmitBatch; a producer splits above this
inline constexpr std::size_t kSubmitContentBytesMax =
    64u << 20;  // and what they are when unpacked, which is looked at before anybody else's message is
inline constexpr std::size_t kQueryRowsMax = 256;     // rows in one reply; a reader pages
inline constexpr std::size_t kJobsScannedMax = 4096;  // for one JobsQuery
inline constexpr std::size_t kQuerySeqsMax = 4096;    // jobs asked about in one StatusQuery

inline constexpr std::uint32_t kQueryWaitMsMax = 30'000;  // that one StatusQuery may wait for its answer

// Names that people choose: run, label, author, gpu model, tag. Printable UTF-8, no control characters.
inline constexpr std::size_t kNameBytesMax = 200;
inline constexpr std::size_t kTagsMax = 32;
inline constexpr std::size_t kLabelsMax = 16;  // that one job asks for, or one worker has

inline constexpr std::size_t kLogBytesMax = 64u << 10;    // of one child's output, head and tail kept
inline constexpr std::size_t kMessageTextMax = 4u << 10;  // a sentence of evidence in a verdict
inline constexpr std::uint32_t kTrialsMax = 1000;         // of each kind in one job
inline constexpr std::uint32_t kAttemptsMax = 3;          // then the job ends as `abandoned`

}  // namespace kq
