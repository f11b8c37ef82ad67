# A program in a text that is too long to stand there for a reason.
# expect: rejected policy
# guard: exec_payload
import torch
import torch.nn as nn

TEXT = (
    "value_00 = 0 * (1 + 0)  # one of many lines that only make it long\n"
    "value_01 = 1 * (1 + 1)  # one of many lines that only make it long\n"
    "value_02 = 2 * (1 + 2)  # one of many lines that only make it long\n"
    "value_03 = 3 * (1 + 3)  # one of many lines that only make it long\n"
    "value_04 = 4 * (1 + 4)  # one of many lines that only make it long\n"
    "value_05 = 5 * (1 + 5)  # one of many lines that only make it long\n"
    "value_06 = 6 * (1 + 6)  # one of many lines that only make it long\n"
    "value_07 = 7 * (1 + 7)  # one of many lines that only make it long\n"
    "value_08 = 8 * (1 + 8)  # one of many lines that only make it long\n"
    "value_09 = 9 * (1 + 9)  # one of many lines that only make it long\n"
    "value_10 = 10 * (1 + 10)  # one of many lines that only make it long\n"
    "value_11 = 11 * (1 + 11)  # one of many lines that only make it long\n"
    "value_12 = 12 * (1 + 12)  # one of many lines that only make it long\n"
    "value_13 = 13 * (1 + 13)  # one of many lines that only make it long\n"
    "value_14 = 14 * (1 + 14)  # one of many lines that only make it long\n"
    "value_15 = 15 * (1 + 15)  # one of many lines that only make it long\n"
    "value_16 = 16 * (1 + 16)  # one of many lines that only make it long\n"
    "value_17 = 17 * (1 + 17)  # one of many lines that only make it long\n"
    "value_18 = 18 * (1 + 18)  # one of many lines that only make it long\n"
    "value_19 = 19 * (1 + 19)  # one of many lines that only make it long\n"
    "value_20 = 20 * (1 + 20)  # one of many lines that only make it long\n"
    "value_21 = 21 * (1 + 21)  # one of many lines that only make it long\n"
    "value_22 = 22 * (1 + 22)  # one of many lines that only make it long\n"
    "value_23 = 23 * (1 + 23)  # one of many lines that only make it long\n"
    "value_24 = 24 * (1 + 24)  # one of many lines that only make it long\n"
    "value_25 = 25 * (1 + 25)  # one of many lines that only make it long\n"
    "value_26 = 26 * (1 + 26)  # one of many lines that only make it long\n"
    "value_27 = 27 * (1 + 27)  # one of many lines that only make it long\n"
    "value_28 = 28 * (1 + 28)  # one of many lines that only make it long\n"
    "value_29 = 29 * (1 + 29)  # one of many lines that only make it long\n"
    "value_30 = 30 * (1 + 30)  # one of many lines that only make it long\n"
    "value_31 = 31 * (1 + 31)  # one of many lines that only make it long\n"
    "value_32 = 32 * (1 + 32)  # one of many lines that only make it long\n"
    "value_33 = 33 * (1 + 33)  # one of many lines that only make it long\n"
    "value_34 = 34 * (1 + 34)  # one of many lines that only make it long\n"
    "value_35 = 35 * (1 + 35)  # one of many lines that only make it long\n"
    "value_36 = 36 * (1 + 36)  # one of many lines that only make it long\n"
    "value_37 = 37 * (1 + 37)  # one of many lines that only make it long\n"
    "value_38 = 38 * (1 + 38)  # one of many lines that only make it long\n"
    "value_39 = 39 * (1 + 39)  # one of many lines that only make it long\n"
    "value_40 = 40 * (1 + 40)  # one of many lines that only make it long\n"
    "value_41 = 41 * (1 + 41)  # one of many lines that only make it long\n"
    "value_42 = 42 * (1 + 42)  # one of many lines that only make it long\n"
    "value_43 = 43 * (1 + 43)  # one of many lines that only make it long\n"
    "value_44 = 44 * (1 + 44)  # one of many lines that only make it long\n"
)
exec(TEXT)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
