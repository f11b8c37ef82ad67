"""Tests which flags of a submission reach a compiler."""

import unittest

from harness.extensions.compiler_flags import BadFlag, Flags, read


def flags(host: str = "", device: str = "", link: str = "", arch: str = "sm_90") -> Flags:
    return read([host], [device], [link], [], arch)


class ExtensionFlags(unittest.TestCase):
    def test_those_that_choose_how_code_is_generated(self) -> None:
        self.assertEqual(
            flags("-O3 -std=c++20 -DN=4 -march=native -ffast-math -fopenmp -Wall").host[:3],
            ["-O3", "-std=c++20", "-DN=4"],
        )
        device = (
            "-O3 --use_fast_math -std=c++17 --expt-relaxed-constexpr -lineinfo -Xptxas -O3,-v "
            "--ptxas-options=-v -maxrregcount=64 -U__CUDA_NO_HALF_OPERATORS__"
        )
        self.assertEqual(flags(device=device).device, device.split())
        self.assertEqual(flags(device="-Xcompiler -O2,-fopenmp").device_host, ["-O2", "-fopenmp"])
        self.assertEqual(flags(link="-lcublas -L/usr/lib -lcuda").link, ["-lcublas", "-L/usr/lib", "-lcuda"])

    def test_libraries_mean_nothing_to_an_object_file(self) -> None:
        read = flags(host="-O3 -lcublas", device="-O3 -L/usr/lib -lcublas")
        self.assertEqual((read.host, read.device, read.link), (["-O3"], ["-O3"], []))

    def test_those_that_people_copy_from_builds_of_their_own(self) -> None:
        for device in (
            "-Xptxas=-v",
            "-Xptxas=-O3",
            "-Xptxas=-v,-O3",
            "-Xcudafe=--diag_suppress=550",
            "-m64",
            "-extra-device-vectorization",
            "--default-stream=legacy",
        ):
            self.assertEqual(flags(device=device).device, [device])
        self.assertEqual(flags(device="-Xcompiler -fPIC,-O3").device_host, ["-fPIC", "-O3"])
        self.assertEqual(flags("--std=c++20").host, ["-std=c++20"])
        self.assertEqual(flags("-fdiagnostics-color=always -O3 -fno-diagnostics-color").host, ["-O3"])
        link = "-Wl,--strip-all -Wl,-s -Wl,-rpath,$ORIGIN -Wl,-rpath,$ORIGIN/lib"
        self.assertEqual(flags(link=link).link, link.split())

    def test_those_whose_value_is_the_next_word(self) -> None:
        self.assertEqual(
            flags(device="--default-stream legacy -default-stream legacy").device,
            ["--default-stream", "legacy", "-default-stream", "legacy"],
        )
        self.assertEqual(
            flags("-isystem /usr/include -I /opt/a -isystem/opt/b").includes, ["/usr/include", "/opt/a", "/opt/b"]
        )
        self.assertEqual(flags("-D N=4 -U M").host, ["-DN=4", "-UM"])
        for link in ("-Wl,-rpath -Wl,/opt/lib", "-Xlinker -rpath -Xlinker /opt/lib", "-Wl,-rpath,/opt/lib"):
            self.assertEqual(flags(link=link).link, ["-Wl,-rpath,/opt/lib"])
        self.assertEqual(flags(link="-Wl,-rpath=/opt/lib").link, ["-Wl,-rpath=/opt/lib"])
        for device in ("--default-stream per-thread", "--default-stream"):
            with self.subTest(device), self.assertRaises(BadFlag):
                flags(device=device)
        for host in ("-isystem", "-I", "-D"):
            with self.subTest(host), self.assertRaises(BadFlag):
                flags(host)

    def test_those_that_have_the_source_read_in_another_way(self) -> None:
        for flag in (
            "-finput-charset=UTF-7",
            "-fexec-charset=IBM1047",
            "-fwide-exec-charset=UTF-7",
            "-fpreprocessed",
            "-fdirectives-only",
            "-fmodules-ts",
        ):
            with self.subTest(flag), self.assertRaises(BadFlag):
                flags(flag)
            with self.subTest(flag), self.assertRaises(BadFlag):
                flags(device=f"-Xcompiler {flag}")

    def test_the_architecture_is_the_devices(self) -> None:
        for asked, arch in (
            ("-arch=sm_80", "sm_90"),
            ("-gencode=arch=compute_80,code=sm_80 -gencode arch=compute_90a,code=sm_90a", "sm_90a"),
            ("-arch sm_100a", "sm_90"),
        ):
            found = flags(device=asked)
            self.assertEqual((found.arch, found.device), (arch, []))

    def test_nothing_means_anything_to_a_shell(self) -> None:
        for text in ("$(wc${IFS}-l</etc/passwd)", "`id`", 'x"y', "a\\b", "a;b", "a|b", "a&b", "a>b", "'x'"):
            for host, device, link in (
                ("", f"-DX={text}", ""),
                ("", f"-D X={text}", ""),
                ("", f"-I/x{text}", ""),
                ("", f"-isystem /x{text}", ""),
                (f"-I/x{text}", "", ""),
                ("", f"-Xcompiler -DX={text}", ""),
                ("", "", f"-L/x{text}"),
            ):
                with self.subTest(host + device + link), self.assertRaises(BadFlag):
                    flags(host, device, link)
            with self.subTest(text), self.assertRaises(BadFlag):
                read([], [], [], [f"/x{text}"], "sm_90")
        self.assertEqual(flags('-DNAME="small"').host, ['-DNAME="small"'])  # g++ is started without a shell
        self.assertEqual(
            read([], ["-DT=std::size_t", "-DV=1.5e-3f"], [], ["/usr/my include"], "sm_90").includes, ["/usr/my include"]
        )

    def test_those_that_name_programs_or_files(self) -> None:
        for host in (
            "-fplugin=x.so",
            "-include /etc/passwd",
            "-B/tmp",
            "-specs=x",
            "@x",
            "-wrapper x",
            "-Wp,-MD,x",
            "-fdump-tree-all",
            "-o x",
            "-save-temps",
            "-x c",
        ):
            with self.subTest(host), self.assertRaises(BadFlag):
                flags(host)
        for device in (
            "-ccbin /tmp/x",
            "--options-file x",
            "-Xcompiler -fplugin=x",
            "-rdc=true",
            "-dc",
            "-default-stream per-thread",
            "-Xlinker x",
            "-include x",
            "--run",
            "-Xptxas x/y",
        ):
            with self.subTest(device), self.assertRaises(BadFlag):
                flags(device=device)
        for link in ("-Wl,-T,x", "x.o", "-fuse-ld=/tmp/x", "-Wl,--wrap=f"):
            with self.subTest(link), self.assertRaises(BadFlag):
                flags(link=link)


if __name__ == "__main__":
    unittest.main()
