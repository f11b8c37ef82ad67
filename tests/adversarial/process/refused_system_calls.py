# Every call that a job has no business with.
# expect: harmless
# guard: review dynamic_library
# run: harmless
import ctypes

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        libc = ctypes.CDLL(None, use_errno=True)
        room = ctypes.create_string_buffer(4096)
        # add_key, bpf, perf_event_open, userfaultfd, io_uring_setup, open_by_handle_at, init_module, kexec_load, setns, move_mount, fsopen,
        # syslog, settimeofday, modify_ldt, keyctl, quotactl, swapon, reboot, acct, iopl, fanotify_init, kcmp, open_tree
        refused = (248, 321, 298, 323, 425, 304, 175, 246, 308, 429, 430, 103, 164, 154, 250, 179, 167, 169, 163, 172, 300, 312, 428)
        won = sum(libc.syscall(number, room, room, 4096, 0, 0) >= 0 for number in refused)
        return torch.relu(x) + won
