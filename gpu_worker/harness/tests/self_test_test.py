"""That an attempt of the sandbox's self-test would be noticed where it succeeds: here, without a sandbox."""

import os
import socket
import unittest

from harness.sandbox.sandbox import self_test


class SelfTest(unittest.TestCase):
    def test_an_abstract_socket_that_somebody_listens_on_is_a_way_out(self) -> None:
        name = f"kq/self-test-{os.getpid()}"
        self.assertFalse(self_test.accepts_connection(name))
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            listening.bind("\0" + name)
            self.assertFalse(self_test.accepts_connection(name), "nobody listens yet")
            listening.listen()
            self.assertFalse(self_test.accepts_connection(name), "it is its own, as CUDA's are")
            child = os.fork()
            if child == 0:
                os._exit(10 + self_test.accepts_connection(name) + 2 * self_test.reach_a_socket_of_the_host())
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 13)
            listening.close()


if __name__ == "__main__":
    unittest.main()
