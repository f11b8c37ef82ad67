# Looks at the window between two calls, to be ready before it is asked.
# expect: rejected async
# guard: host_thread
# run: harmless | wrong_answer value | wrong_answer nan | wrong_answer mutated_input | rejected async | rejected tamper
import threading
import time

import torch
import torch.nn as nn

SEEN, READY = None, {}


def look():
    while True:
        if SEEN is not None and float(SEEN[0, 0]) not in READY:
            READY[float(SEEN[0, 0])] = torch.relu(SEEN)
        time.sleep(0)


threading.Thread(target=look, daemon=True).start()


class ModelNew(nn.Module):
    def forward(self, x):
        global SEEN
        SEEN = x
        ready = READY.get(float(x[0, 0]))
        return torch.relu(x) if ready is None else ready
