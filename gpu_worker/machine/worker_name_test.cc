#include "gpu_worker/machine/worker_name.h"

#include <gtest/gtest.h>

namespace kq::worker {
namespace {

TEST(worker_name, a_key_names_its_worker) {
  EXPECT_EQ(default_worker_name({.key = "w1", .host = "lab3", .devices = "cuda:1", .compile_for = {}}), "w1");
}

TEST(worker_name, without_a_key_host_and_chosen_devices_are_the_name) {
  EXPECT_EQ(default_worker_name({.key = "", .host = "lab3", .devices = "auto", .compile_for = {}}), "lab3");
  EXPECT_EQ(default_worker_name({.key = "", .host = "lab3", .devices = "cuda:1", .compile_for = {}}), "lab3:cuda:1");
  EXPECT_EQ(default_worker_name({.key = "", .host = "", .devices = "cpu", .compile_for = {}}), "worker:cpu");
  EXPECT_EQ(default_worker_name({.key = "", .host = "lab3", .devices = "auto", .compile_for = {"cpu", "sm_90"}}),
            "lab3:builds:cpu,sm_90");
}

}  // namespace
}  // namespace kq::worker
