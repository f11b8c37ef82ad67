#include "guard/elf.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <type_traits>

namespace kq::guard {
namespace {

constexpr std::uint16_t kCudaMachine = 190;
constexpr std::size_t kHeadersMax = 4096;  // program headers or section headers
constexpr std::size_t kRelocationsMax = 4u << 20;
constexpr std::size_t kDynamicMax = 4096;  // entries of the dynamic section that are read

constexpr std::string_view kMagic =
    "\x7f"
    "ELF";
// Host code compiled by nvcc registers its device code, which is in this section, with the CUDA runtime. The second
// text is the name of the runtime's shared memory, which only the runtime's own code holds.
constexpr std::string_view kFatbinSection = ".nvFatBinSegment";
constexpr std::string_view kRuntimeText = "/cudart.shm.";

// Reads one file. Every offset and size is checked before it is used.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  Expected<ElfImports> read() {
    const auto header = at<Elf64_Ehdr>(0);
    if (!header || !is_elf(bytes_)) return bad_input("is no ELF file");
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
      return bad_input("is no ELF file of 64 bits, little endian");
    found_.is_device_code = header->e_machine == kCudaMachine;
    KQ_TRY(found_.is_device_code ? read_sections(*header) : read_programs(*header));
    found_.symbols.assign(names_.begin(), names_.end());
    if (!found_.is_device_code) find_hidden_imports();
    return std::move(found_);
  }

 private:
  template <class T>
  std::optional<T> at(std::uint64_t offset) const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  // Returns the string at `index` of the string table at offset `table` with `size` bytes, or nothing if the string
  // does not end inside the table.
  std::optional<std::string_view> text_at(std::uint64_t table, std::uint64_t size, std::uint64_t index) const {
    if (index >= size || table > bytes_.size() || size > bytes_.size() - table) return std::nullopt;
    const std::string_view rest =
        bytes_.substr(table + index, std::min<std::uint64_t>(size - index, kElfNameBytesMax + 1));
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    return rest.substr(0, end);
  }

  Expected<void> read_programs(const Elf64_Ehdr& header) {
    if (header.e_phnum > kHeadersMax || header.e_phentsize != sizeof(Elf64_Phdr))
      return bad_input("its program headers are of a wrong size");
    std::optional<Elf64_Phdr> dynamic;
    for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
      const auto program = at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
      if (!program) return bad_input("its program headers are cut off");
      if (program->p_type == PT_LOAD) {
        loads_.push_back(*program);
        if ((program->p_flags & PF_W) != 0 && (program->p_flags & PF_X) != 0) found_.has_writable_code = true;
      }
      if (program->p_type == PT_DYNAMIC) dynamic = program;
    }
    // An object file has no such segment, and no loader accepts it.
    if (loads_.empty()) return bad_input("has nothing to load");
    if (!dynamic) return {};
    found_.is_dynamic = true;
    return read_dynamic(*dynamic);
  }

  // Returns the offset in the file of an address of the loaded program, or nothing if no segment of the file holds it.
  // The offset lies inside the file.
  std::optional<std::uint64_t> offset_of(std::uint64_t address) const {
    for (const Elf64_Phdr& load : loads_) {
      if (address < load.p_vaddr || address - load.p_vaddr >= load.p_filesz) continue;
      const std::uint64_t inside = address - load.p_vaddr;
      // A sum that wraps around would be an offset of another part of the file.
      if (load.p_offset >= bytes_.size() || inside >= bytes_.size() - load.p_offset) return std::nullopt;
      return load.p_offset + inside;
    }
    return std::nullopt;
  }

  Expected<void> read_dynamic(const Elf64_Phdr& program) {
    const auto begin = offset_of(program.p_vaddr);
    if (!begin) return bad_input("its dynamic section is not loaded");
    struct Table {
      std::uint64_t address = 0;
      std::uint64_t size = 0;
    } strings, rela, jumps, rel;
    std::uint64_t symbols = 0, jump_kind = DT_RELA;
    std::vector<std::uint64_t> needed;
    for (std::size_t i = 0; i < kDynamicMax; ++i) {
      const auto entry = at<Elf64_Dyn>(*begin + i * sizeof(Elf64_Dyn));
      if (!entry) return bad_input("its dynamic section is cut off");
      const std::uint64_t value = entry->d_un.d_val;
      if (entry->d_tag == DT_NULL) break;
      switch (entry->d_tag) {
        case DT_NEEDED:
          needed.push_back(value);
          break;
        case DT_STRTAB:
          strings.address = value;
          break;
        case DT_STRSZ:
          strings.size = value;
          break;
        case DT_SYMTAB:
          symbols = value;
          break;
        case DT_RELA:
          rela.address = value;
          break;
        case DT_RELASZ:
          rela.size = value;
          break;
        case DT_REL:
          rel.address = value;
          break;
        case DT_RELSZ:
          rel.size = value;
          break;
        case DT_JMPREL:
          jumps.address = value;
          break;
        case DT_PLTRELSZ:
          jumps.size = value;
          break;
        case DT_PLTREL:
          jump_kind = value;
          break;
        default:
          break;
      }
    }
    const auto text = offset_of(strings.address);
    if (!text) return bad_input("has no names");
    strings_at_ = *text;
    strings_size_ = strings.size;
    for (const std::uint64_t index : needed) {
      const auto name = text_at(strings_at_, strings_size_, index);
      if (!name) return bad_input("the name of a library it needs is cut off");
      if (const auto done = count(*name); !done) return done;
      found_.libraries.emplace_back(*name);
    }
    for (const auto& [table, entry_size] :
         {std::pair{rela, sizeof(Elf64_Rela)}, std::pair{rel, sizeof(Elf64_Rel)},
          std::pair{jumps, jump_kind == DT_REL ? sizeof(Elf64_Rel) : sizeof(Elf64_Rela)}}) {
      if (const auto done = read_relocations(table.address, table.size, entry_size, symbols); !done) return done;
    }
    return {};
  }

  Expected<void> read_relocations(std::uint64_t address, std::uint64_t size, std::size_t entry_size,
                                  std::uint64_t symbols) {
    if (size == 0) return {};
    const auto begin = offset_of(address);
    if (!begin || *begin > bytes_.size() || size > bytes_.size() - *begin)
      return bad_input("its relocations are cut off");
    if (size / entry_size > kRelocationsMax) return bad_input("has more relocations than are read");
    const auto table = offset_of(symbols);
    for (std::uint64_t i = 0; i < size / entry_size; ++i) {
      const auto relocation =
          at<Elf64_Rel>(*begin + i * entry_size);  // both kinds of relocation begin with these fields
      const auto index = static_cast<std::uint32_t>(ELF64_R_SYM(relocation->r_info));
      if (index == 0) continue;
      if (const auto done = read_symbol(table, index); !done) return done;
    }
    return {};
  }

  // Adds the name of a symbol, once for all relocations that refer to it.
  Expected<void> read_symbol(std::optional<std::uint64_t> table, std::uint32_t index) {
    // The sum cannot wrap around: the table begins inside the file, and the index has 32 bits.
    const auto symbol = table ? at<Elf64_Sym>(*table + std::uint64_t{index} * sizeof(Elf64_Sym)) : std::nullopt;
    if (!symbol) return bad_input("a relocation is about no symbol");
    if (index >= seen_.size()) seen_.resize(std::size_t{index} + 1);  // bounded: the symbol lies inside the file
    if (seen_[index]) return {};
    seen_[index] = true;
    return symbol->st_shndx == SHN_UNDEF ? take_name(strings_at_, strings_size_, symbol->st_name) : Expected<void>{};
  }

  Expected<void> take_name(std::uint64_t table, std::uint64_t size, std::uint32_t index) {
    const auto name = text_at(table, size, index);
    if (!name) return bad_input("the name of a symbol is cut off");
    if (const auto done = count(*name); !done) return done;
    if (!name->empty()) names_.emplace(*name);
    if (names_.size() > kElfSymbolsMax) return bad_input("has more symbols than are read");
    return {};
  }

  Expected<void> count(std::string_view name) {
    names_bytes_ += name.size();
    if (names_bytes_ > kElfNamesBytesMax) return bad_input("has longer names than are read");
    return {};
  }

  Expected<void> read_sections(const Elf64_Ehdr& header) {
    if (header.e_shnum > kHeadersMax || (header.e_shnum != 0 && header.e_shentsize != sizeof(Elf64_Shdr)))
      return bad_input("its section headers are of a wrong size");
    std::uint64_t symbol_count = 0;  // over all sections, because several may share the same bytes
    for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
      const auto section = at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
      if (!section) return bad_input("its section headers are cut off");
      if (section->sh_type != SHT_SYMTAB) continue;
      const auto strings = section->sh_link < header.e_shnum
                               ? at<Elf64_Shdr>(header.e_shoff + std::uint64_t{section->sh_link} * sizeof(Elf64_Shdr))
                               : std::nullopt;
      if (!strings) return bad_input("its symbols have no names");
      symbol_count += section->sh_size / sizeof(Elf64_Sym);
      if (symbol_count > kRelocationsMax) return bad_input("has more symbols than are read");
      for (std::uint64_t k = 1; k < section->sh_size / sizeof(Elf64_Sym); ++k) {
        const auto symbol = at<Elf64_Sym>(section->sh_offset + k * sizeof(Elf64_Sym));
        if (!symbol) return bad_input("its symbols are cut off");
        if (symbol->st_shndx != SHN_UNDEF) continue;
        if (const auto done = take_name(strings->sh_offset, strings->sh_size, symbol->st_name); !done) return done;
      }
    }
    return {};
  }

  // Searches all bytes of the file, because the names of sections are there even if the section headers were changed.
  void find_hidden_imports() {
    const bool registers = names_.contains("__cudaRegisterFatBinary");
    const bool has_device_code = bytes_.find(kFatbinSection) != std::string_view::npos;
    found_.has_cuda_runtime = (has_device_code && !registers) || bytes_.find(kRuntimeText) != std::string_view::npos;
    found_.is_packed = bytes_.substr(0, 4096).find("UPX!") != std::string_view::npos;
  }

  std::string_view bytes_;
  ElfImports found_;
  std::vector<Elf64_Phdr> loads_;
  std::set<std::string, std::less<>> names_;
  std::size_t names_bytes_ = 0;
  std::vector<bool> seen_;  // by index of the symbol
  std::uint64_t strings_at_ = 0;
  std::uint64_t strings_size_ = 0;
};

Fact fact(FactKind kind, std::string_view name, std::string_view file, std::string_view argument = {}) {
  return {.file = file, .line = 1, .kind = kind, .name = name, .argument = argument};
}

}  // namespace

bool is_elf(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

Expected<ElfImports> read_elf(std::string_view bytes) {
  return Reader(bytes).read();
}

std::vector<Finding> judge_elf(std::string_view bytes, std::string_view name) {
  const auto imports = read_elf(bytes);
  std::vector<Fact> facts;
  const std::string error = imports ? "" : imports.error().message;
  if (!imports) facts.push_back(fact(FactKind::note, "elf.malformed", name, error));
  if (imports && !imports->is_device_code) {
    if (!imports->is_dynamic) facts.push_back(fact(FactKind::note, "elf.no_imports", name));
    if (imports->has_cuda_runtime) facts.push_back(fact(FactKind::note, "elf.static_cudart", name));
    if (imports->is_packed) facts.push_back(fact(FactKind::note, "elf.packed", name));
    if (imports->has_writable_code) facts.push_back(fact(FactKind::note, "elf.writable_code", name));
  }
  if (imports) {
    for (const std::string& library : imports->libraries) facts.push_back(fact(FactKind::symbol, library, name));
    for (const std::string& symbol : imports->symbols) facts.push_back(fact(FactKind::symbol, symbol, name));
  }
  // Each fact gets another line, because a rule is reported only once per line.
  std::uint32_t line = 0;
  for (Fact& each : facts) each.line = ++line;
  std::vector<Finding> findings = judge(facts);
  for (Finding& finding : findings) finding.line = 0;
  return findings;
}

}  // namespace kq::guard
