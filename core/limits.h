// The limits that more than one part of kq must agree on. A limit of one part alone is defined in that part.
// python/kq/records/limits.py repeats those that a client needs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kq {

// The size of one file of a submission or problem. Generated kernels have a few KB; 1 MiB allows embedded tables.
inline constexpr std::size_t kFileBytesMax = 1u << 20;
inline constexpr std::size_t kFilesPerSubmissionMax = 16;

// The size of one message on the wire, and what the decoder accepts inside.
inline constexpr std::size_t kMessageBytesMax = 64u << 20;
inline constexpr std::size_t kMessageDepthMax = 16;
inline constexpr std::size_t kMessageItemsMax = 1u << 16;  // elements of one array or map
// Elements of all arrays and maps of one message together.
inline constexpr std::size_t kMessageItemsTotalMax = 1u << 20;

inline constexpr std::size_t kSubmitJobsMax = 256;         // jobs in one SubmitBatch
inline constexpr std::size_t kSubmitBytesMax = 16u << 20;  // bytes of all blobs in one SubmitBatch, as sent
// Bytes of all blobs in one SubmitBatch, unpacked. The broker unpacks them before it reads the next message of any
// client.
inline constexpr std::size_t kSubmitContentBytesMax = 64u << 20;

inline constexpr std::size_t kQueryRowsMax = 256;         // rows in one reply; a client asks for more in pages
inline constexpr std::size_t kJobsScannedMax = 4096;      // jobs that the broker reads for one JobsQuery
inline constexpr std::size_t kQuerySeqsMax = 4096;        // jobs in one StatusQuery
inline constexpr std::uint32_t kQueryWaitMsMax = 30'000;  // the longest time that the answer to a StatusQuery may wait

inline constexpr std::size_t kJobSubmittersMax = 64;  // submitters besides the first that an unfinished job records
inline constexpr std::size_t kShareNamesMax = 64;     // names with which one run is shared

inline constexpr std::size_t kHeartbeatBuildsMax = 64;  // builds in one Heartbeat: those in progress for longest

// Names that people choose (run, label, author, GPU model, tag) are UTF-8 without control or invisible characters.
inline constexpr std::size_t kNameBytesMax = 200;
inline constexpr std::size_t kTagsMax = 32;
inline constexpr std::size_t kLabelsMax = 16;  // labels that one job requires, or that one worker has

inline constexpr std::size_t kLogBytesMax = 64u << 10;    // the output of one child: its head and its tail
inline constexpr std::size_t kMessageTextMax = 4u << 10;  // the message in the evidence of a verdict
inline constexpr std::uint32_t kTrialsMax = 1000;         // trials of each kind in one job
inline constexpr std::size_t kWorkloadsMax = 128;         // workloads of one problem, and selections among them
inline constexpr std::uint32_t kDeviceCountMax = 16;      // GPUs of one lane, and of one job
inline constexpr std::uint32_t kAttemptsMax = 3;          // failed attempts after which a job ends as `abandoned`
inline constexpr double kTruthFactorMax = 1000;           // the largest truth_rms and truth_max of a submission

}  // namespace kq
