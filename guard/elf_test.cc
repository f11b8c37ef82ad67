#include "guard/elf.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

namespace kq::guard {
namespace {

std::string bytes_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
std::string rules_of(std::string_view bytes) {
  std::string text;
  for (const Finding& finding : judge_elf(bytes, "x.so")) text += finding.rule + " ";
  return text;
}
bool uses(const ElfImports& imports, std::string_view symbol) {
  return std::find(imports.symbols.begin(), imports.symbols.end(), symbol) != imports.symbols.end();
}

TEST(Elf, symbols_are_those_that_relocations_name) {
  const auto imports = read_elf(bytes_of(KQ_ELF_STREAMS));
  ASSERT_TRUE(imports) << imports.error().message;
  EXPECT_TRUE(imports->is_dynamic);
  EXPECT_TRUE(uses(*imports, "cudaStreamCreateWithFlags"));
  EXPECT_TRUE(uses(*imports, "cudaLaunchKernel_ptsz"));
  EXPECT_TRUE(uses(*imports, "dlsym"));
  EXPECT_FALSE(uses(*imports, "make"));
  EXPECT_TRUE(std::is_sorted(imports->symbols.begin(), imports->symbols.end()));
}

TEST(Elf, imports_are_found_without_section_headers) {
  std::string bytes = bytes_of(KQ_ELF_STREAMS);
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.e_shnum = header.e_shstrndx = 0;
  header.e_shoff = 0;
  std::memcpy(bytes.data(), &header, sizeof header);
  EXPECT_TRUE(uses(*read_elf(bytes), "cudaStreamCreateWithFlags"));
}

// Makes a cubin with `sections` symbol tables that all share the same bytes. `names[i]` is the offset in `strings` of
// the name of symbol i.
std::string cubin(std::size_t sections, const std::vector<std::uint32_t>& names, const std::string& strings) {
  const std::size_t symbols_at = sizeof(Elf64_Ehdr), strings_at = symbols_at + names.size() * sizeof(Elf64_Sym),
                    headers_at = strings_at + strings.size();
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = 190;
  header.e_shoff = headers_at;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections + 1);
  std::string bytes(headers_at + (sections + 1) * sizeof(Elf64_Shdr), '\0');
  const auto put = [&](std::size_t at, const auto& value) { std::memcpy(bytes.data() + at, &value, sizeof value); };
  put(0, header);
  for (std::size_t i = 0; i < names.size(); ++i) {
    Elf64_Sym symbol{};
    symbol.st_name = names[i];
    put(symbols_at + i * sizeof symbol, symbol);
  }
  std::memcpy(bytes.data() + strings_at, strings.data(), strings.size());
  Elf64_Shdr section{};
  section.sh_type = SHT_STRTAB;
  section.sh_offset = strings_at;
  section.sh_size = strings.size();
  put(headers_at, section);
  section.sh_type = SHT_SYMTAB;
  section.sh_offset = symbols_at;
  section.sh_size = names.size() * sizeof(Elf64_Sym);
  for (std::size_t i = 1; i <= sections; ++i) put(headers_at + i * sizeof section, section);
  return bytes;
}

TEST(Elf, reading_is_bounded_if_tables_or_names_overlap) {
  const std::string name = std::string(kElfNameBytesMax, 'u') + '\0';
  const auto some = read_elf(cubin(2, {0, 0, 1, 4000}, name));
  ASSERT_TRUE(some) << some.error().message;
  EXPECT_EQ(some->symbols.size(), 3u);
  const auto inside = read_elf(cubin(1, std::vector<std::uint32_t>(4'000, 1), name));
  ASSERT_FALSE(inside);
  EXPECT_EQ(inside.error().message, "has longer names than are read");
  const auto again = read_elf(cubin(4'000, std::vector<std::uint32_t>(4'000, 0), std::string(1, '\0')));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message, "has more symbols than are read");
}

// Makes a library with one relocation about a symbol. The table of the symbols is a segment of its own, which begins at
// this offset of the file.
std::string library_with_symbols_at(std::uint64_t offset, std::uint32_t symbol) {
  constexpr std::uint64_t kTableAddress = 1u << 20;
  constexpr std::size_t kPrograms = 3, kEntries = 6;
  const std::size_t dynamic_at = sizeof(Elf64_Ehdr) + kPrograms * sizeof(Elf64_Phdr),
                    relocation_at = dynamic_at + kEntries * sizeof(Elf64_Dyn),
                    strings_at = relocation_at + sizeof(Elf64_Rela), size = strings_at + 16;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = kPrograms;
  Elf64_Phdr programs[kPrograms] = {};
  programs[0].p_type = programs[1].p_type = PT_LOAD;
  programs[0].p_filesz = size;
  programs[1].p_offset = offset;
  programs[1].p_vaddr = kTableAddress;
  programs[1].p_filesz = size;
  programs[2].p_type = PT_DYNAMIC;
  programs[2].p_vaddr = dynamic_at;
  const Elf64_Dyn entries[kEntries] = {{DT_STRTAB, {strings_at}},         {DT_STRSZ, {16}},
                                       {DT_SYMTAB, {kTableAddress}},      {DT_RELA, {relocation_at}},
                                       {DT_RELASZ, {sizeof(Elf64_Rela)}}, {DT_NULL, {0}}};
  Elf64_Rela relocation{};
  relocation.r_info = ELF64_R_INFO(symbol, 0);
  std::string bytes(size, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, programs, sizeof programs);
  std::memcpy(bytes.data() + dynamic_at, entries, sizeof entries);
  std::memcpy(bytes.data() + relocation_at, &relocation, sizeof relocation);
  return bytes;
}

// The offset of the last symbol of this table wraps around to the beginning of the file.
TEST(Elf, a_table_of_symbols_outside_the_file_is_refused) {
  EXPECT_TRUE(read_elf(library_with_symbols_at(0, 1)));
  constexpr std::uint32_t kLast = 0xFFFFFFF0;
  const auto wrapped = read_elf(library_with_symbols_at(0 - std::uint64_t{kLast} * sizeof(Elf64_Sym), kLast));
  ASSERT_FALSE(wrapped);
  EXPECT_EQ(wrapped.error().message, "a relocation is about no symbol");
  EXPECT_FALSE(read_elf(library_with_symbols_at(1u << 20, 1)));
}

TEST(JudgeElf, rejects_streams_and_reports_look_ups) {
  const std::string rules = rules_of(bytes_of(KQ_ELF_STREAMS));
  EXPECT_NE(rules.find("stream_per_thread"), std::string::npos) << rules;
  EXPECT_NE(rules.find("cuda_stream_create"), std::string::npos) << rules;
  EXPECT_NE(rules.find("dynamic_library"), std::string::npos) << rules;
}

TEST(JudgeElf, accepts_an_honest_library) {
  EXPECT_EQ(rules_of(bytes_of(KQ_ELF_HONEST)), "");
}

TEST(JudgeElf, rejects_a_static_cuda_runtime) {
  std::string bytes = bytes_of(KQ_ELF_STREAMS);
  EXPECT_EQ(rules_of(bytes).find("hidden_imports"), std::string::npos);
  bytes += ".nvFatBinSegment";
  EXPECT_NE(rules_of(bytes).find("hidden_imports"), std::string::npos);
  // A library with device code that registers it with the shared runtime is honest.
  EXPECT_EQ(rules_of(bytes_of(KQ_ELF_HONEST) + ".nvFatBinSegment"), "");
}

TEST(JudgeElf, rejects_writable_code) {
  std::string bytes = bytes_of(KQ_ELF_HONEST);
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr program;
    char* at = bytes.data() + header.e_phoff + i * sizeof program;
    std::memcpy(&program, at, sizeof program);
    if (program.p_type == PT_LOAD) program.p_flags = PF_R | PF_W | PF_X;
    std::memcpy(at, &program, sizeof program);
  }
  EXPECT_NE(rules_of(bytes).find("hidden_imports"), std::string::npos);
}

TEST(JudgeElf, a_malformed_file_counts_as_hiding_its_imports) {
  EXPECT_EQ(rules_of(std::string("\x7f"
                                 "ELF") +
                     std::string(60, '\0')),
            "hidden_imports ");
  EXPECT_EQ(rules_of("\x7f"
                     "ELF"),
            "hidden_imports ");
  EXPECT_FALSE(read_elf(""));
}

// The reader must end and stay inside the bytes, however a file is truncated or changed. The sanitizers check that.
TEST(Elf, damaged_files_are_read_or_refused) {
  const std::string whole = bytes_of(KQ_ELF_STREAMS);
  for (std::size_t size = 0; size < whole.size(); size += 1 + size / 50)
    (void)read_elf(std::string_view(whole).substr(0, size));
  Elf64_Ehdr header;
  std::memcpy(&header, whole.data(), sizeof header);
  const std::size_t interesting = header.e_phoff + std::size_t{header.e_phnum} * sizeof(Elf64_Phdr);
  for (std::size_t at = 4; at < interesting; ++at) {
    for (const char value : {'\x00', '\x7f', '\xff'}) {
      std::string bytes = whole;
      bytes[at] = value;
      (void)read_elf(bytes);
    }
  }
}

}  // namespace
}  // namespace kq::guard
