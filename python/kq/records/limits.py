"""The limits of core/limits.h that matter to a client. python/tests/test_house.py checks that both files agree."""

FILE_BYTES_MAX = 1 << 20
FILES_PER_SUBMISSION_MAX = 16
MESSAGE_BYTES_MAX = 64 << 20
SUBMIT_JOBS_MAX = 256
SUBMIT_BYTES_MAX = 16 << 20
QUERY_ROWS_MAX = 256
QUERY_SEQS_MAX = 4096
NAME_BYTES_MAX = 200
TAGS_MAX = 32
LABELS_MAX = 16
TRIALS_MAX = 1000
TRUTH_FACTOR_MAX = 1000
